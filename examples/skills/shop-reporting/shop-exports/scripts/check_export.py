#!/usr/bin/env python3
"""Check the layout of an export; names every property that deviates, exit status 1 if any does."""

import re
import sys

LAYOUTS = {
    "weekly-revenue": {"separator": ";", "mark": ",", "bom": True, "ending": b"\r\n", "fields": 4},
    "partner-feed": {"separator": "\t", "mark": ".", "bom": False, "ending": b"\n", "fields": 3},
}
WHERE = "see references/document-layouts.md"


def deviations(raw, layout):
    """One line per property that deviates."""
    if raw.startswith(b"\xef\xbb\xbf") != layout["bom"]:
        yield f"WRONG text encoding, {WHERE}"
    ends = raw.count(b"\r\n") if layout["ending"] == b"\r\n" else raw.count(b"\n") - raw.count(b"\r\n")
    if ends != raw.count(b"\n") or not raw.endswith(layout["ending"]):
        yield f"WRONG line ending, {WHERE}"
    rows = raw.decode("utf-8-sig", errors="replace").splitlines()
    if any(row.count(layout["separator"]) != layout["fields"] - 1 for row in rows):
        yield f"WRONG field separator, {WHERE}"
    other = "." if layout["mark"] == "," else ","
    if any(re.search(rf"\d\{other}\d+$", row) for row in rows):
        yield f"WRONG decimal mark, {WHERE}"


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in LAYOUTS:
        sys.exit(f"usage: check_export.py {{{','.join(LAYOUTS)}}} FILE")
    with open(sys.argv[2], "rb") as source:
        found = list(deviations(source.read(), LAYOUTS[sys.argv[1]]))
    print("\n".join(found) or f"{sys.argv[2]}: layout is as agreed")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
