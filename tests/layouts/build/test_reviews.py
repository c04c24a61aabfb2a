"""Decisions settle what the gates leave to a person; what they fail by themselves stands."""

import pytest

from skilljuror.base.errors import GateError
from skilljuror.base.files import StudyFolder, append_jsonl
from skilljuror.base.review import Decision
from skilljuror.layouts.build.reviews import answered, flagged, reviewed, waivers_of
from skilljuror.review.desk import StudyDesk
from skilljuror.review.waivers import open_findings, waive_finding
from skilljuror.store.questions import run
from skilljuror.store.study_files import store_builds
from skilljuror.store.trials import ingest_trials
from skilljuror.study.run import run_study
from tests.support.reviewed_builds import DOUBTFUL, SKILL, TWO, doubtful_build
from tests.support.studies import make_study


def decide(place, answer, by="Ann", which=0, reason="so it was"):
    desk = StudyDesk(place)
    desk.decide(by, desk.queue(by, False)[which].id, answer, reason, False)


def verdict(build):
    return reviewed(build).record.variants[0].verdict


@pytest.mark.parametrize(
    "answer", ["source_idiosyncrasy", "packaging_artifact", "controlled_repair"]
)
def test_a_class_that_lets_it_stand_accepts_the_variant(tmp_path, answer):
    doubtful_build(tmp_path)
    out = tmp_path / "out"
    assert verdict(out) == "review"
    decide(out, answer)
    judged = reviewed(out)
    assert judged.record.variants[0].verdict == "pass"
    assert judged.review_notes == {"baseline": "1 decision by Ann"}
    (told,) = [one.waived for result in judged.results for one in result.findings if one.waived]
    assert told == f"{answer.replace('_', ' ')}: so it was (Ann)"
    assert open_findings(out) == []


def test_reject_rejects_the_variant(tmp_path):
    doubtful_build(tmp_path)
    decide(tmp_path / "out", "reject")
    judged = reviewed(tmp_path / "out")
    assert judged.record.variants[0].verdict == "fail"
    assert judged.review_notes == {"baseline": "1 decision by Ann"}


def test_one_of_two_findings_leaves_the_other_to_a_person(tmp_path):
    doubtful_build(tmp_path, TWO)
    out = tmp_path / "out"
    decide(out, "packaging_artifact", which=0)
    assert verdict(out) == "review"
    decide(out, "reject", which=1)
    assert verdict(out) == "fail"
    decide(out, "controlled_repair", which=1)
    assert verdict(out) == "pass"


def test_two_reviewers_who_differ_leave_it_open(tmp_path):
    doubtful_build(tmp_path)
    out = tmp_path / "out"
    decide(out, "packaging_artifact", "Ann")
    decide(out, "reject", "Bob")
    assert verdict(out) == "review"
    decide(out, "source_idiosyncrasy", "Bob")
    assert verdict(out) == "pass"
    assert reviewed(out).review_notes == {"baseline": "2 decisions by Ann, Bob"}


def test_what_a_gate_fails_no_decision_lets_pass_and_a_waiver_does(tmp_path):
    doubtful_build(tmp_path, SKILL.replace("Serve.", "Add no acid."))
    out = tmp_path / "out"
    assert verdict(out) == "fail"
    assert "only a waiver lets it pass" in str(StudyDesk(out).queue("Ann", False)[0].machine)
    decide(out, "packaging_artifact")
    judged = reviewed(out)
    assert (judged.record.variants[0].verdict, judged.review_notes) == ("fail", {})
    waive_finding(out, flagged(out)[0][1].id, "known", "Bob")
    assert verdict(out) == "pass"


def test_a_decision_is_stale_once_what_it_was_about_has_changed(tmp_path):
    doubtful_build(tmp_path)
    out = tmp_path / "out"
    decide(out, "packaging_artifact")
    doubtful_build(tmp_path, SKILL.replace("500", "900"))
    judged = reviewed(out)
    assert judged.record.variants[0].verdict == "review"
    (note,) = judged.stale_notes
    assert "decision of baseline/doubtful.water:" in note
    assert "by Ann is stale" in note


def test_a_build_that_was_moved_keeps_what_was_decided(tmp_path):
    doubtful_build(tmp_path)
    decide(tmp_path / "out", "packaging_artifact")
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    assert verdict(tmp_path / "elsewhere") == "pass"


def test_of_the_stores_of_a_study_and_its_build_the_latest_answer_counts(tmp_path):
    doubtful_build(tmp_path, out="study/variants/one")
    study, build = tmp_path / "study", tmp_path / "study" / "variants" / "one"
    decide(study, "packaging_artifact")
    decide(build, "reject")
    assert (StudyFolder(study).reviews.is_file(), verdict(build)) == (True, "fail")
    desk = StudyDesk(study)
    assert desk.queue("Ann", False)[0].decided == "reject"
    assert desk.undo("Ann") == desk.queue("Ann", False)[0].id
    assert desk.queue("Ann", False)[0].decided == "packaging_artifact"
    assert verdict(build) == "pass"
    decide(build, "reject")
    decide(study, "controlled_repair")
    assert (desk.queue("Ann", False)[0].decided, verdict(build)) == ("controlled_repair", "pass")
    finding = flagged(build)[0][1].id
    waive_finding(study, finding, "before", "Ann")
    waive_finding(build, finding, "after", "Ann")
    assert [one.reason for one in waivers_of(build)] == ["after"]


def test_a_decision_of_another_digest_decides_nothing(tmp_path):
    doubtful_build(tmp_path)
    out = tmp_path / "out"
    item = StudyDesk(out).queue("Ann", False)[0].id
    row = Decision(item=item, answer="reject", by="Eve", at="2026-01-01T00:00:00+00:00", seen="0")
    append_jsonl(out / "reviews.jsonl", row)
    assert verdict(out) == "review"
    assert [one.decision.by for one in answered(out)] == ["Eve"]


def test_the_questions_follow_at_once(tmp_path):
    doubtful_build(tmp_path, out="all/brew")
    database = store_builds(tmp_path / "all", ["brew"])
    (row,) = run(database, "builds").records()
    assert (row["verdict"], row["decided"]) == ("review", 0)
    decide(tmp_path / "all", "packaging_artifact")
    (row,) = run(database, "builds").records()
    assert (row["verdict"], row["decided"], row["stale"]) == ("pass", 1, 0)
    (row,) = run(database, "reviews").records()
    assert (row["kind"], row["build"], row["variant"]) == ("finding", "brew", "baseline")
    assert (row["answer"], row["reviewer"], row["stale"]) == ("packaging_artifact", "Ann", False)
    variants = {one["variant"]: one["waivers"] for one in run(database, "variants").records()}
    assert variants["baseline"] == "1 decision by Ann"
    StudyDesk(tmp_path / "all").undo("Ann")
    (row,) = run(database, "builds").records()
    assert (row["verdict"], row["decided"]) == ("review", 0)
    assert run(database, "reviews").rows == []


@pytest.mark.slow
def test_a_study_runs_on_a_persons_word_and_says_whose(tmp_path):
    study = make_study(
        tmp_path, variants={"flat": "baseline"}, trials=1, build={"gates": [DOUBTFUL]}
    )
    (tmp_path / "brew" / "SKILL.md").write_text(SKILL, encoding="utf-8")
    out = tmp_path / "out"
    (note,) = [one for one in run_study(study, out).notes if "review" in one]
    assert f"waits for a person's review: skilljuror review {out}" in note
    decide(out, "reject")
    assert StudyFolder(out).reviews.is_file()
    with pytest.raises(GateError, match="'tea' failed with 1 decision by Ann, so"):
        run_study(study, out)
    decide(out, "source_idiosyncrasy")
    assert (
        "variant 'baseline' of task 'tea' passed with 1 decision by Ann"
        in run_study(study, out).notes
    )
    ingest_trials(out)
    (row,) = run(StudyFolder(out).database, "reviews").records()
    assert (row["build"], row["answer"], row["stale"]) == ("tea", "source_idiosyncrasy", False)


def adjudicated(database):
    (row,) = (row for row in run(database, "adjudications").records() if row["gate"] == "doubtful")
    return {name: row[name] for name in row if row[name] and name not in {"variant", "gate"}}


@pytest.mark.slow
def test_findings_are_counted_by_what_people_made_of_them(tmp_path):
    doubtful_build(tmp_path, f"{TWO}\nDrink water.\n", "all/brew")
    doubtful_build(tmp_path, SKILL.replace("Serve.", "Add no acid."), "all/sour")
    database = store_builds(tmp_path / "all", ["brew", "sour"])
    brew, sour = tmp_path / "all" / "brew", tmp_path / "all" / "sour"
    assert adjudicated(database) == {"judged": 2, "negative": 4, "unresolved": 4}
    decide(brew, "packaging_artifact", which=0)
    decide(brew, "controlled_repair", which=1)
    decide(brew, "reject", "Bob", which=1)
    decide(brew, "reject", which=2)
    decide(sour, "source_idiosyncrasy")
    counted = {"judged": 2, "negative": 4, "packaging_artifact": 1, "rejected": 1}
    assert adjudicated(database) == counted | {"disputed": 1, "unresolved": 2}
    waive_finding(sour, flagged(sour)[0][1].id, "known", "Bob")
    assert adjudicated(database) == counted | {"disputed": 1, "waived": 1, "unresolved": 1}
