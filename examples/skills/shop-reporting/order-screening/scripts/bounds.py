#!/usr/bin/env python3
"""Print median, scaled deviation and screening bounds of one column of a CSV file."""

import argparse
import csv
from statistics import median


def bounds(values, cut_off, scale):
    """(middle, scaled deviation, lower bound, upper bound)."""
    middle = median(values)
    deviation = scale * median(abs(value - middle) for value in values)
    return middle, deviation, middle - cut_off * deviation, middle + cut_off * deviation


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("orders")
    parser.add_argument("--column", default="value")
    parser.add_argument("--cut-off", type=float, default=3.0)
    parser.add_argument("--scale", type=float, default=1.4826)
    options = parser.parse_args()
    with open(options.orders, encoding="utf-8", newline="") as source:
        values = [float(row[options.column]) for row in csv.DictReader(source)]
    names = ("median", "scaled deviation", "lower bound", "upper bound")
    for name, value in zip(names, bounds(values, options.cut_off, options.scale)):
        print(f"{name}: {value:.4f}")


if __name__ == "__main__":
    main()
