#!/usr/bin/env python3
"""Print the upper bounds of a histogram layout, in milliseconds."""

import argparse


def bounds(growth, smallest, limit):
    """Upper bounds of all buckets but the last, which has none."""
    return [smallest * growth**number for number in range(limit - 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--growth", type=float, required=True)
    parser.add_argument("--smallest", type=float, required=True)
    parser.add_argument("--limit", type=int, required=True)
    options = parser.parse_args()
    for number, bound in enumerate(bounds(options.growth, options.smallest, options.limit), 1):
        print(f"{number:4d} {bound:12.2f}")


if __name__ == "__main__":
    main()
