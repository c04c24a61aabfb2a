#!/usr/bin/env python3
"""Count the error classes of a log file, most frequent first."""

import re
import sys
from collections import Counter

CLASS = re.compile(r"\b[A-Z]{3,}(?:_[A-Z]+)+\b")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: count_classes.py LOG")
    with open(sys.argv[1], encoding="utf-8", errors="replace") as source:
        found = Counter(match[0] for match in map(CLASS.search, source) if match)
    for name, count in sorted(found.items(), key=lambda item: (-item[1], item[0])):
        print(f"{count:6d} {name}")


if __name__ == "__main__":
    main()
