#!/usr/bin/env python3
"""Look for personal data in a redacted file; exit status 1 if any is left."""

import re
import sys

LEFT = {
    "bearer token": re.compile(r"Bearer\s+(?!\[token\])\S+"),
    "mail address": re.compile(r"(?<!\[mail:)\b[\w.%+-]+@[\w.-]+\.\w+"),
    "card number": re.compile(r"\b(?:\d[ -]?){12,15}\d\b"),
    "network address": re.compile(r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b"),
}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_redaction.py FILE")
    bad = 0
    with open(sys.argv[1], encoding="utf-8", errors="replace") as source:
        for number, line in enumerate(source, 1):
            for kind, pattern in LEFT.items():
                if pattern.search(line):
                    bad += 1
                    print(f"line {number}: {kind} left, see references/redaction.md")
    print(f"{bad} left")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
