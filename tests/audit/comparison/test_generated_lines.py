"""What generated lines are made of is found by shortcuts that miss nothing."""

from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.audit.comparison.generated_lines import (
    LEAST_CUT,
    MOST_CUT,
    GeneratedLineProvenance,
    _FileMentions,
)
from skilljuror.audit.comparison.normalised_text import TextNormaliser
from skilljuror.audit.comparison.unit_matching import MatchedBundles, match_units
from skilljuror.base.skill import Unit
from skilljuror.skill.units import units_of
from tests.support.knowledge_bundles import skill


@settings(max_examples=200, deadline=None)
@given(
    texts=st.lists(
        st.sampled_from(["a.py", "x a.py", "-> #toolapy", "A.PY b", "py", ""]), max_size=6
    ),
    name=st.sampled_from(["a.py", "py", "b", ""]),
)
def test_units_laid_end_to_end_are_found_as_one_by_one(texts: list[str], name: str) -> None:
    units = [Unit(str(n), "statement", "f", n, n, (), text) for n, text in enumerate(texts)]
    wanted = [
        unit
        for unit in units
        if name in unit.text.lower()
        or (" -> #" in unit.text.lower() and unit.text.lower().endswith("apy"))
    ]
    assert _FileMentions(units).units(name, "apy") == wanted


def test_a_heading_of_many_words_is_cut_at_few_places() -> None:
    title = " ".join(f"word{n}" for n in range(3_000))
    parent = skill(f"# {title}\n\nText.\n")
    units = units_of(parent)
    normaliser = TextNormaliser((parent, parent), (units, units))
    matching = match_units(units, units, normaliser)
    both = MatchedBundles(parent, parent, units, units, normaliser, matching)
    titles = GeneratedLineProvenance(both)._titles
    assert sum(len(words) >= LEAST_CUT for words in titles) <= MOST_CUT
