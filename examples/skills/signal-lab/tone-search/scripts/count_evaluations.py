#!/usr/bin/env python3
"""Count the evaluations of a search plan before running it."""

import argparse


def evaluations(low, high, coarse, fine, kept):
    """Coarse grid over the band plus the fine grids around the candidates."""
    grid = int((high - low) / coarse) + 1
    around = int(2 * coarse / fine) + 1
    return grid + kept * around


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("low", type=float)
    parser.add_argument("high", type=float)
    parser.add_argument("--coarse", type=float, required=True)
    parser.add_argument("--fine", type=float, required=True)
    parser.add_argument("--kept", type=int, required=True)
    options = parser.parse_args()
    count = evaluations(options.low, options.high, options.coarse, options.fine, options.kept)
    print(f"evaluations: {count}")


if __name__ == "__main__":
    main()
