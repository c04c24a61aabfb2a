"""Shortcuts in comparing texts: they must find what the long way finds."""

import re
from collections import Counter, defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.knowledge.comparison.generated_lines import _FileMentions
from skilljuror.knowledge.comparison.unit_matching import _CANDIDATES, ALIKE, _sharing
from skilljuror.knowledge.units import critical_tokens as criticals
from skilljuror.models.knowledge import Unit

COMMON = ["the", "the", "the", "of", "of", "and"]
words = st.lists(st.sampled_from([*COMMON, "kiln", "cone", "glaze", "ash", "oxide"]), max_size=12)


def _long_way(mine: list[str], others: list[list[str]]) -> list[int]:
    counts = [sum((Counter(mine) & Counter(other)).values()) for other in others]
    bound = {n: 2 * count / (len(mine) + len(others[n])) for n, count in enumerate(counts) if count}
    good = sorted((n for n in bound if bound[n] >= ALIKE), key=lambda n: (-bound[n], n))
    return good[:_CANDIDATES]


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


PHRASES = sorted(criticals._NEGATIONS | criticals._MODALS | criticals._UP | criticals._DOWN)
LETTERS = sorted(word for word in PHRASES if word[0].isalpha())
texts = st.lists(
    st.one_of(
        st.sampled_from(LETTERS), st.sampled_from([" ", "  ", "s", "x", ",", "\n", "\u017f"])
    ),
    max_size=10,
).map("".join)


@settings(max_examples=400, deadline=None)
@given(text=texts)
def test_phrases_grouped_by_letter_read_as_a_plain_list_of_them(text: str) -> None:
    ordered = sorted(LETTERS, key=lambda word: (-len(word), word))
    plain = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in ordered)
    grouped = criticals._phrases(LETTERS)
    spans = [
        [found.span() for found in re.finditer(rf"\b(?:{told})\b", text, re.IGNORECASE)]
        for told in (plain, grouped)
    ]
    assert spans[0] == spans[1]


@settings(max_examples=200, deadline=None)
@given(
    told=st.lists(
        st.sampled_from(["a.py", "x a.py", "-> #toolapy", "A.PY b", "py", ""]), max_size=6
    ),
    name=st.sampled_from(["a.py", "py", "b", ""]),
)
def test_units_laid_end_to_end_are_found_as_one_by_one(told: list[str], name: str) -> None:
    units = [Unit(str(n), "statement", "f", n, n, (), text) for n, text in enumerate(told)]
    wanted = [
        unit
        for unit in units
        if name in unit.text.lower()
        or (" -> #" in unit.text.lower() and unit.text.lower().endswith("apy"))
    ]
    assert _FileMentions(units).units(name, "apy") == wanted
