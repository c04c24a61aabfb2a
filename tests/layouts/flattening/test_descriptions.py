"""Descriptions of several skills as one."""

import pytest

from skilljuror.layouts.flattening import (
    cut_at_sentence,
    description_of,
    joined_descriptions,
)
from tests.support.bundle_corpus import bundle


@pytest.mark.parametrize(
    ("text", "limit", "told"),
    [
        ("Repairs things. Then more", 17, "Repairs things."),
        ("unbrokenword after", 8, ""),
        ("棚の部品を。静かに戻す", 7, "棚の部品を。"),
        ("棚の部品を静かに戻す", 4, ""),
        ("short", 9, "short"),
    ],
    ids=["sentence", "no word fits", "at a mark", "no blank", "fits"],
)
def test_a_text_is_never_cut_inside_a_word(text: str, limit: int, told: str) -> None:
    assert cut_at_sentence(text, limit) == told


def test_a_union_of_many_descriptions_ends_with_a_whole_word() -> None:
    told = joined_descriptions(
        [f"Describes thing{n} in extraordinarily many words." for n in range(60)], 300
    )
    assert len(told) <= 300
    assert all(word in {"Describes", "in", "extraordinarily", "many", "words."} or word[:5] == "thing"
               for word in told.split())  # fmt: skip


def test_a_description_with_an_escaped_line_break_gives_way_to_the_first_paragraph() -> None:
    source = bundle("union")
    skill = next(one for one in source.skills if one.directory == "bench_odd")
    lines = (source.files[skill.path].text or "").split("\n")
    assert skill.description is not None
    assert skill.description.startswith("Odd blanks")
    assert description_of(skill, lines) == "Keep the lid shut."
