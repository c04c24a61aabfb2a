"""Likely pairs of units: none is missed, and texts made to cost much take a bounded number of steps."""

from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.audit.comparison import unit_matching
from skilljuror.audit.comparison.normalised_text import TextNormaliser
from skilljuror.audit.comparison.unit_matching import _CANDIDATES, ALIKE, _sharing, match_texts
from skilljuror.base.skill import CONTENT_KINDS
from skilljuror.skill.units import units_of
from tests.support.knowledge_bundles import skill


def sides(before: str, after: str):
    """The units of two Skills and what normalises them."""
    one, other = skill(before), skill(after)
    old, new = ([u for u in units_of(side) if u.kind in CONTENT_KINDS] for side in (one, other))
    return old, new, TextNormaliser((one, other), (old, new))


COMMON = ["the", "the", "the", "of", "of", "and"]
words = st.lists(st.sampled_from([*COMMON, "kiln", "cone", "glaze", "ash", "oxide"]), max_size=12)


def _long_way(mine: list[str], others: list[list[str]]) -> list[int]:
    counts = [sum((Counter(mine) & Counter(other)).values()) for other in others]
    bound = {n: 2 * count / (len(mine) + len(others[n])) for n, count in enumerate(counts) if count}
    good = sorted((n for n in bound if bound[n] >= ALIKE), key=lambda n: (-bound[n], n))
    return good[:_CANDIDATES]


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(mine=words, others=st.lists(words, max_size=12))
def test_leaving_out_common_words_hides_no_likely_pair(
    mine: list[str], others: list[list[str]]
) -> None:
    index: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, other in enumerate(others):
        for word in set(other):
            index["prose", word].append(number)
    counted = [Counter(other) for other in others]
    found = [n for n, _ in _sharing("prose", mine, index, counted, 0)]
    assert found == _long_way(mine, others)


def test_the_order_of_a_line_of_many_equal_words_is_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_args: object, **_more: object) -> None:
        raise AssertionError("the order of these words costs too much")

    monkeypatch.setattr(unit_matching, "SequenceMatcher", never)
    line = "heat cool " * 4_000
    matching = match_texts(*sides(f"{line} 5\n", f"{line} 6\n"))
    assert len(matching.alike) == 1


@pytest.mark.slow
def test_a_unit_is_measured_against_so_many_others_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: Counter[int] = Counter()
    near = unit_matching._near

    def counted(touched: set[int], here: int) -> object:
        kept = near(touched, here)
        measured[len(kept)] += 1
        return kept

    monkeypatch.setattr(unit_matching, "_near", counted)
    table = "| row | value |\n|---|---|\n"
    rows = [
        "".join(f"| kiln {n} of hall | {n + more} |\n" for n in range(900)) for more in (0, 5_000)
    ]
    matching = match_texts(*sides(table + rows[0], table + rows[1]))
    assert max(measured) <= unit_matching._NEAR
    assert len(matching.alike) == 900
