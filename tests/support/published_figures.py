"""Printed figures of the SkillJuror, SkillsBench, SkillGenBench and SWE-Skills-Bench papers.

Every printed number stands for the interval of half a unit in its last place.
"""

from decimal import Decimal

# Pass-count deltas of five trials per task: synthetic, but compatible with 23 wins, 44 ties,
# 15 losses, a net of +17 passes and a half-width of 6.0 points over 82 tasks.
WITNESS = [*[1] * 10, *[2] * 10, 3, 4, 5, *[-1] * 9, *[-2] * 4, -3, -5, *[0] * 44]


def within(value, printed):
    """Whether a number rounds to the printed string, by interval, in the printed unit."""
    half = 0.5 * 10.0 ** int(Decimal(printed).as_tuple().exponent)
    return abs(value - float(printed)) <= half + 1e-9


def half_width(interval):
    return (interval.high - interval.low) / 2


def ends(printed):
    """The interval that a printed number stands for."""
    half = 0.5 * 10.0 ** int(Decimal(printed).as_tuple().exponent)
    return float(printed) - half, float(printed) + half


# rate without Skill %, with Skill %, normalised gain %, of 18 configurations
GAINS = [
    ("51.5", "67.3", "32.6"), ("46.8", "66.5", "37.0"), ("43.0", "61.2", "31.9"),
    ("36.0", "60.8", "38.7"), ("32.7", "58.4", "38.1"), ("45.7", "54.1", "15.5"),
    ("33.4", "54.0", "31.0"), ("42.1", "53.1", "19.1"), ("29.7", "53.0", "33.2"),
    ("33.8", "52.8", "28.7"), ("26.9", "50.1", "31.8"), ("41.1", "48.2", "12.1"),
    ("33.5", "47.2", "20.5"), ("27.5", "44.7", "23.7"), ("22.8", "41.7", "24.4"),
    ("29.9", "41.4", "16.4"), ("18.1", "34.9", "20.5"), ("16.0", "20.1", "4.9"),
]  # fmt: skip
MEAN_GAIN = "25.5"

# tasks with a pass of 187, printed interval of pass@3 in %
BOOTSTRAP = [
    (24, "8.0", "17.6"), (29, "10.7", "20.9"), (32, "11.8", "22.5"), (35, "13.4", "24.6"),
    (36, "13.4", "24.6"), (31, "11.8", "21.9"), (33, "12.3", "23.5"), (25, "9.1", "18.7"),
    (37, "14.4", "25.7"), (19, "5.9", "14.4"), (27, "9.6", "19.8"), (38, "15.0", "26.2"),
]  # fmt: skip

# gain pp, tokens with and without (thousands), overhead %, cost efficiency
EFFICIENCY = [
    ("30.0", "507", "778", "-34.8", "-0.86", "better, cheaper"),
    ("14.3", "326", "205", "58.6", "0.24", "better, dearer"),
    ("10.0", "218", "149", "46.4", "0.22", "better, dearer"),
    ("10.0", "144", "213", "-32.4", "-0.31", "better, cheaper"),
    ("7.7", "115", "165", "-30.4", "-0.25", "better, cheaper"),
    ("7.1", "148", "83", "78.6", "0.09", "better, dearer"),
    ("7.1", "95", "121", "-22.0", "-0.32", "better, cheaper"),
    ("-10.0", "236", "374", "-36.8", "0.27", "worse, cheaper"),
    ("-9.1", "248", "165", "50.3", "-0.18", "worse, dearer"),
    ("-9.1", "482", "462", "4.2", "-2.16", "worse, dearer"),
]
