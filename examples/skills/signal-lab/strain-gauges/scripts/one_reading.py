#!/usr/bin/env python3
"""Convert one reading in mV/V to microstrain, without zero and temperature."""

import argparse


def microstrain(ratio, gauge_factor, bridge_factor, lead):
    """Strain of a bridge with equal gauges; ratio in mV/V."""
    return 4000 * ratio / (gauge_factor * bridge_factor) * lead


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ratio", type=float)
    parser.add_argument("--gauge-factor", type=float, default=2.0)
    parser.add_argument("--bridge-factor", type=float, default=1.0)
    parser.add_argument("--lead", type=float, default=1.0)
    options = parser.parse_args()
    value = microstrain(options.ratio, options.gauge_factor, options.bridge_factor, options.lead)
    print(f"microstrain: {value:.2f}")


if __name__ == "__main__":
    main()
