"""What people decide about items of the rubric: overridden, rejected, contested, stale."""

import shutil

import pytest

from skilljuror.base.files import append_jsonl
from skilljuror.base.review import Decision
from skilljuror.layouts.build.build import build_source
from skilljuror.layouts.build.reviews import reviewed
from skilljuror.layouts.build.rubric_audit import judge_builds
from tests.support.loopback import model_server
from tests.support.rubric_answers import answers, build_at, client, verdict
from tests.support.scripted_model import WARNINGS

pytestmark = WARNINGS


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A build of which the model says no to SD-4 of pd."""
    build = build_at(tmp_path_factory.mktemp("states"), variants="pd")
    no = verdict("SD-4", "no")
    with model_server(lambda body, n: answers(body, sd_4=no)) as (address, _):
        judge_builds(build, client(address), 1)
    return build


@pytest.fixture
def build(judged, tmp_path):
    return shutil.copytree(judged, tmp_path / "out")


def item(build, name="SD-4", variant="pd"):
    return next(s for s in reviewed(build).items if (s.variant, s.item.id) == (variant, name))


def decide(build, answer, by="Ann", **fields):
    row = Decision(**{
        "item": "rubric:out/pd/SD-4", "answer": answer, "reason": "it stood there", "by": by,
        "at": "2026-01-02T03:04:05+00:00", "seen": item(build).seen, **fields,
    })  # fmt: skip
    append_jsonl(build / "reviews.jsonl", row)


def verdicts(build):
    return {one.variant: one.verdict for one in reviewed(build).record.variants}


def test_a_no_waits_and_the_layers_that_ran_are_named(build):
    assert verdicts(build)["pd"] == "review"
    assert item(build).outcome == "unresolved"
    assert reviewed(build).layers["pd"] == ("deterministic", "rubric")


@pytest.mark.parametrize(
    "answer", ["source_idiosyncrasy", "packaging_artifact", "controlled_repair"]
)
def test_what_a_person_lets_stand_is_overridden_and_the_variant_passes(build, answer):
    decide(build, answer)
    state = item(build)
    assert (state.answer, state.outcome, state.adjudicated_by) == ("no", "overridden", "Ann")
    assert reviewed(build).layers["pd"] == ("deterministic", "rubric", "people")


def test_what_a_person_rejects_fails_the_variant(build):
    decide(build, "reject")
    assert item(build).outcome == "rejected"
    assert verdicts(build)["pd"] == "fail"


def test_a_label_is_no_adjudication(build):
    decide(build, "yes")
    assert item(build).outcome == "unresolved"


def test_no_reviewer_outvotes_another(build):
    decide(build, "packaging_artifact")
    decide(build, "reject", by="Bob")
    assert item(build).outcome == "unresolved"
    decide(build, "controlled_repair", by="Bob")
    state = item(build)
    assert (state.outcome, state.adjudicated_by) == ("overridden", "Ann, Bob")


def test_a_decision_on_other_texts_is_stale(build):
    decide(build, "packaging_artifact", seen="0" * 64)
    assert item(build).outcome == "unresolved"
    assert any(
        "decision of pd/SD-4 by Ann is stale" in note for note in reviewed(build).stale_notes
    )


def test_verdicts_and_decisions_outlive_a_build_of_the_same_source(build, judged):
    decide(build, "packaging_artifact")
    build_source(judged.parent / "source/forms", build, variants=("pd",))
    assert item(build).outcome == "overridden"


def test_a_variant_that_changed_is_told_to_be_judged_anew(build, tmp_path):
    build_at(tmp_path / "other", {"200 characters": "300 characters"})
    build_source(tmp_path / "other/source/forms", build, variants=("pd",))
    assert item(build).outcome == "unanswered"
    assert any("verdicts on pd are stale" in note for note in reviewed(build).stale_notes)
