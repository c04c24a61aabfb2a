"""The gates, measured over the whole synthetic corpus: the power that the documentation states."""

import pytest

from skilljuror.audit.gates.mutations.catalog import MUTATIONS
from skilljuror.layouts.build.assay import AssaySettings, assay, pooled
from skilljuror.layouts.build.build import build_source
from tests.support.bundle_corpus import RELAYS, TRAPS, write
from tests.support.ordered_bundle import ORDERED
from tests.support.rich_bundle import RICH
from tests.support.worded_bundle import WORDED

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]

CAUGHT = 0.98
LESS = {"retarget-link": 0.93, "swap-files": 0.92, "retarget-row": 0.95}
"""Missed: links to one of several equal headings, and pages made from the roots of further Skills."""
ENOUGH = 45
FEWER = {"dull-cue": 10, "retarget-row": 20}
"""Kinds with fewer places in the corpus: a root has few rows."""
DRIFT = [name for name, mutation in MUTATIONS.items() if mutation.drift]
MANY_FILES = ("crowded", "large", "commands", "routed")
PER_FILE = ("none", "bullets", "paraphrase")
"""Harmless changes of a whole file or bundle; there are no more of them than of those."""


def sites(name: str) -> int:
    """Places per mutation and variant: more where there is more to change."""
    if name in RELAYS:
        return 10
    return 4 if name in {*RICH, *ORDERED, *WORDED} else 20 if name in MANY_FILES else 2


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("assay")
    found = {}
    for name in TRAPS:
        build_source(write(name, folder), folder / "builds" / name)
        found[name] = assay(folder / "builds" / name, AssaySettings("rewritten", sites=sites(name)))
    return found


@pytest.fixture(scope="module")
def rows(reports):
    return {row.mutation: row for row in pooled(list(reports.values())).rows}


@pytest.mark.parametrize("name", DRIFT)
def test_drift_is_caught(rows, name):
    assert rows[name].mutants >= FEWER.get(name, ENOUGH)
    assert rows[name].rate >= LESS.get(name, CAUGHT)


@pytest.mark.parametrize("name", ["rewrap", "emphasis", "none"])
def test_what_only_looks_different_is_never_flagged(rows, name):
    assert rows[name].mutants >= (ENOUGH if name not in PER_FILE else len(TRAPS))
    assert rows[name].flagged == 0


@pytest.mark.parametrize(
    "name", ["bullets", "synonym", "quotes", "contractions", "reference-links"]
)
def test_other_marks_and_words_are_hardly_flagged(rows, name):
    assert rows[name].mutants >= (ENOUGH if name not in PER_FILE else len(TRAPS))
    assert rows[name].rate <= 0.03


def test_a_light_paraphrase_fails_nowhere_and_is_rarely_for_review(reports, rows):
    flagged = [
        name
        for name, report in reports.items()
        for row in report.rows
        if row.mutation == "paraphrase" and row.flagged
    ]
    assert len(flagged) <= 0.2 * len(reports)
    assert rows["paraphrase"].failed == 0
