"""The question `label_pairs`, from rows made by hand."""

from collections import Counter

import duckdb
import pytest

from skilljuror.store import open_write
from skilljuror.store.questions import run
from tests.support import fabricated_records as fake

PROOF, FIRST, SECOND = "proof/1", "cascade/1 (proof/1, lab/m)", "cascade/1 (proof/1, lab/n)"
SAID = {
    PROOF: ("yes", "no", "unknown", "unknown"),
    FIRST: ("yes", "no", "yes", "no"),
    SECOND: ("yes", "no", "no", "no"),
}
"""Two models are asked about what the proof leaves open; the rest of their cascades is the proof's."""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("pairs") / "study.duckdb"
    events = [fake.event("run", number) for number in range(4)]
    with open_write(path) as store:
        fake.put(store, [fake.run("run", events=events)])
        for judge, labels in SAID.items():
            asked = None if judge == PROOF else judge[-6:-1]
            models = (None, None, asked, asked)
            fake.put_verdicts(store, [
                fake.verdict(event, label, model=model, judge=judge)
                for event, label, model in zip(events, labels, models, strict=True)
            ])  # fmt: skip
    with duckdb.connect(str(path)) as database:
        database.execute(
            "INSERT INTO labels SELECT event, 'ann', 'yes', '', NULL, true,"
            " event_digest(event, file, line, agent, step, skill, resource, kind) FROM events"
        )
    return path


def pairs(path, first, second):
    """Pair of labels -> uses."""
    return Counter({
        (row["first_label"], row["second_label"]): row["events"]
        for row in run(path, "label_pairs").records()
        if (row["first"], row["second"]) == (first, second)
    })  # fmt: skip


def test_models_agree_on_what_they_were_asked_about_and_on_nothing_else(path):
    assert pairs(path, FIRST, SECOND) == {("yes", "no"): 1, ("no", "no"): 1}


def test_a_cascade_does_not_agree_with_the_judge_that_it_copies(path):
    assert pairs(path, FIRST, PROOF) == {("yes", "unknown"): 1, ("no", "unknown"): 1}


def test_beside_a_person_all_verdicts_of_a_cascade_count(path):
    assert pairs(path, FIRST, "ann") == {("yes", "yes"): 2, ("no", "yes"): 2}
