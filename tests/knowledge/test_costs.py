"""Texts made to cost much: the number of steps is bounded, counted and not timed."""

from collections import Counter

import pytest

from skilljuror.knowledge.comparison import file_matching as filepairs
from skilljuror.knowledge.comparison import unit_matching as matching
from skilljuror.knowledge.comparison.diff import diff
from skilljuror.knowledge.comparison.generated_lines import (
    LEAST_CUT,
    MOST_CUT,
    GeneratedLineProvenance,
)
from skilljuror.knowledge.comparison.unit_matching import match_units
from skilljuror.knowledge.units.extract import units_of
from skilljuror.knowledge.units.normalised_text import TextNormaliser
from tests.support.knowledge_bundles import skill


def test_the_order_of_a_line_of_many_equal_words_is_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_args: object, **_more: object) -> None:
        raise AssertionError("the order of these words costs too much")

    monkeypatch.setattr(matching, "SequenceMatcher", never)
    line = "heat cool " * 4_000
    found = diff(skill(f"{line} 5\n"), skill(f"{line} 6\n"))
    assert [pair.change for pair in found.altered] == ["number"]


def test_a_unit_is_measured_against_so_many_others_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured: Counter[int] = Counter()
    near = matching._near

    def counted(touched: set[int], here: int) -> object:
        kept = near(touched, here)
        measured[len(kept)] += 1
        return kept

    monkeypatch.setattr(matching, "_near", counted)
    table = "| row | value |\n|---|---|\n"
    rows = [
        "".join(f"| kiln {n} of hall | {n + more} |\n" for n in range(900)) for more in (0, 5_000)
    ]
    found = diff(skill(table + rows[0]), skill(table + rows[1]))
    assert max(measured) <= matching._NEAR
    assert [pair.change for pair in found.altered] == ["number"] * 900


def test_a_heading_of_many_words_is_cut_at_few_places() -> None:
    title = " ".join(f"word{n}" for n in range(3_000))
    parent = skill(f"# {title}\n\nText.\n")
    units = units_of(parent)
    matched = match_units(units, units, TextNormaliser((parent, parent), (units, units)))
    titles = GeneratedLineProvenance((parent, parent), (units, units), matched)._titles
    assert sum(len(words) >= LEAST_CUT for words in titles) <= MOST_CUT


def test_files_are_paired_without_trying_all_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[str, str]] = []
    is_tail = filepairs.is_tail

    def counted(one: str, two: str) -> bool:
        tried.append((one, two))
        return is_tail(one, two)

    monkeypatch.setattr(filepairs, "is_tail", counted)
    before = skill("Text.\n", **{f"data/{n}.bin": f"{n}" for n in range(400)})
    after = skill("Text.\n", **{f"more/data/{n}.bin": f"{n}" for n in range(400)})
    found = diff(before, after)
    assert [pair.change for pair in found.altered] == ["renamed"] * 400
    assert len(tried) <= 4 * 400
