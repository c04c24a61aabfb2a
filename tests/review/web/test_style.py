"""The look of the review page that people with poor sight, or who are made ill by motion, rest on."""

import re

import pytest

from tests.support.places import ROOT

CSS = (ROOT / "skilljuror" / "review" / "web" / "static" / "review.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))
    for block in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
)


def luminance(colour):
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("front", "back", "least"),
    [
        ("ink", "paper", 7), ("ink", "card", 7), ("ink", "code", 7), ("ink", "mark", 7),
        ("soft", "paper", 4.5), ("accent", "paper", 4.5), ("accent", "card", 4.5),
        ("on-accent", "accent", 4.5), ("warn", "warn-paper", 4.5), ("warn", "card", 4.5),
        ("edge", "paper", 3), ("edge", "card", 3),
    ],
)  # fmt: skip
def test_contrast_is_what_wcag_asks(colours, front, back, least):
    bright, dim = sorted((luminance(colours[front]), luminance(colours[back])), reverse=True)
    assert (bright + 0.05) / (dim + 0.05) >= least


def test_nothing_moves_and_nothing_comes_from_elsewhere():
    assert not re.search("transition|animation|scroll-behavior|url\\(|@import", CSS)
