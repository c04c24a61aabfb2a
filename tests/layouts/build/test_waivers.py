"""A person's waiver: the finding stands, decides nothing, is told with name and reason, and goes
stale when a text of it changes."""

import json

import pytest

from skilljuror.base.errors import GateError, StudyError, UsageError
from skilljuror.base.files import StudyFolder, read_jsonl
from skilljuror.layouts.build.build import build_many, build_source
from skilljuror.layouts.build.reviews import reviewed
from skilljuror.layouts.verify import verify_build
from skilljuror.review.waivers import open_findings, waive_finding
from skilljuror.store.questions import run
from skilljuror.store.study_files import store_builds
from skilljuror.store.trials import ingest_trials
from skilljuror.study.run import run_study
from tests.support.cli_process import call, complaint
from tests.support.studies import PROGRAMS, make_study

GATE = f"{PROGRAMS}:Cautious"
SKILL = "---\nname: brew\ndescription: Brew tea.\n---\n# Tea\n\nBoil 500 ml of water.\n"


def source(place, text=SKILL):
    (place / "brew").mkdir(exist_ok=True)
    (place / "brew" / "SKILL.md").write_text(text, encoding="utf-8")
    return place / "brew"


def build(place, text=SKILL):
    return build_source(source(place, text), place / "out", variants=["baseline"], gates=[GATE])


def ids(place):
    return {one.finding.rule: one.finding.id for one in open_findings(place)}


def verdict(place):
    return reviewed(place).record.variants[0].verdict


def test_what_a_person_accepts_decides_nothing_and_stands_with_name_and_reason(tmp_path):
    record = build(tmp_path)
    out = tmp_path / "out"
    assert record.variants[0].verdict == "fail"
    for rule, finding in ids(out).items():
        waive_finding(out, finding, f"{rule} is meant", "Ann")
    judged = reviewed(out)
    assert judged.record.variants[0].verdict == "pass"
    assert judged.review_notes == {"baseline": "2 waivers by Ann"}
    told = {one.rule: one.waived for result in judged.results for one in result.findings}
    assert told["cautious.water"] == "cautious.water is meant (Ann)"
    assert open_findings(out) == []


def test_one_of_two_findings_leaves_the_other_to_decide(tmp_path):
    build(tmp_path)
    out = tmp_path / "out"
    waive_finding(out, ids(out)["cautious.water"], "known", "Ann")
    assert verdict(out) == "fail"
    assert set(ids(out)) == {"cautious.length"}


def test_a_row_says_what_was_seen_by_whom_and_when(tmp_path):
    build(tmp_path)
    out = tmp_path / "out"
    waive_finding(out, ids(out)["cautious.water"], "known", "Ann")
    (row,) = read_jsonl(out / "reviews.jsonl")
    assert (row["kind"], row["build"], row["by"], row["reason"]) == (
        "waiver",
        "out",
        "Ann",
        "known",
    )
    assert row["about"]["variant_text"] == "Boil 500 ml of water."
    assert row["at"].endswith("+00:00")


def test_the_gates_own_answers_and_the_proof_are_left_alone(tmp_path):
    build(tmp_path)
    out = tmp_path / "out"
    before = {name: (out / name).read_bytes() for name in ("build.json", "gates.jsonl")}
    waive_finding(out, ids(out)["cautious.water"], "known", "Ann")
    assert {name: (out / name).read_bytes() for name in before} == before
    assert verify_build(out).problems == ()


def test_a_build_made_again_keeps_what_was_decided(tmp_path):
    build(tmp_path)
    out = tmp_path / "out"
    for finding in ids(out).values():
        waive_finding(out, finding, "known", "Ann")
    build(tmp_path)
    assert verdict(out) == "pass"


@pytest.mark.parametrize("rule", ["cautious.water", "cautious.length"])
def test_a_waiver_is_stale_once_what_it_was_about_has_changed(tmp_path, rule):
    """The length has no text of its own: what told it counts."""
    build(tmp_path)
    out = tmp_path / "out"
    finding = ids(out)[rule]
    waive_finding(out, finding, "known", "Ann")
    build(tmp_path, SKILL.replace("500 ml of water", "900 ml of water") + "\nServe.\n")
    judged = reviewed(out)
    assert judged.record.variants[0].verdict == "fail"
    assert judged.review_notes == {}
    (note,) = judged.stale_notes
    assert "by Ann is stale" in note
    assert finding in note


def test_an_id_that_no_build_has_a_missing_reason_and_no_build_are_refused(tmp_path):
    build(tmp_path)
    out = tmp_path / "out"
    with pytest.raises(UsageError, match="lists those that count"):
        waive_finding(out, "cautious.water:0", "known", "Ann")
    with pytest.raises(UsageError, match="--reason"):
        waive_finding(out, ids(out)["cautious.water"], "  ", "Ann")
    with pytest.raises(StudyError, match="no build"):
        waive_finding(tmp_path / "brew", "cautious.water:0", "known", "Ann")
    assert not (out / "reviews.jsonl").exists()


@pytest.mark.slow
def test_the_command_tells_the_ids_and_what_the_verdict_is_then(tmp_path):
    build(tmp_path)
    listed = json.loads(call("waive", "out", "--json", cwd=tmp_path).stdout)
    assert {one["finding"]["rule"] for one in listed} == {"cautious.water", "cautious.length"}
    said = [
        call("waive", "out", one["id"], "--reason", "known", "--by", "Ann", cwd=tmp_path).stdout
        for one in listed
    ]
    assert "out/baseline: failed with 1 waiver by Ann" in said[0]
    assert "passed with 2 waivers by Ann" in said[1]
    complaint(call("waive", "out", "nothing:1", "--reason", "known", cwd=tmp_path))
    again = call(
        "build", "brew", "--out", "out", "--variants", "baseline", "--gate", GATE, cwd=tmp_path
    )
    assert again.returncode == 0, again.stderr
    assert "pass with 2 waivers by Ann" in again.stdout


def test_tables_of_many_builds_tell_it_at_once(tmp_path):
    sources = [source(tmp_path)]

    def made(place, folder):
        return build_source(place, folder, variants=["baseline"], gates=[GATE])

    list(build_many([*sources, *sources], tmp_path / "all", made))
    database = store_builds(tmp_path / "all", ["brew", "brew-2"])
    for finding in ids(tmp_path / "all").values():
        waive_finding(tmp_path / "all", finding, "known", "Ann")
    waived = run(database, "findings").records()
    assert {(row["build"], row["waived"]) for row in waived} == {
        ("brew", "known (Ann)"), ("brew-2", "known (Ann)"),
    }  # fmt: skip
    assert {row["id"] for row in waived} == {
        row["finding"] for row in run(database, "FROM waivers").records()
    }
    rows = {row["build"]: row for row in run(database, "builds").records()}
    assert (rows["brew"]["verdict"], rows["brew"]["waived"], rows["brew"]["stale"]) == (
        "pass",
        2,
        0,
    )
    (gate,) = (row for row in run(database, "gates").records() if row["gate"] == "cautious")
    assert (gate["passed"], gate["waived"]) == (2, 2)
    verdicts = {row["variant"]: row["waivers"] for row in run(database, "variants").records()}
    assert verdicts == {"source": None, "baseline": "2 waivers by Ann"}
    counts = run(database, "finding_counts").records()
    assert {row["waived"] for row in counts} == {2}


@pytest.mark.slow
def test_a_study_goes_on_once_its_variant_is_accepted_and_says_by_whom(tmp_path):
    study = make_study(tmp_path, variants={"flat": "baseline"}, trials=1, build={"gates": [GATE]})
    source(tmp_path)
    out = tmp_path / "out"
    with pytest.raises(GateError, match="skilljuror waive"):
        run_study(study, out)
    for finding in ids(out).values():
        waive_finding(out, finding, "known", "Ann")
    assert len(list(read_jsonl(StudyFolder(out).reviews))) == 2
    summary = run_study(study, out)
    assert "variant 'baseline' of task 'tea' passed with 2 waivers by Ann" in summary.notes
    ingest_trials(out)
    (row,) = run(StudyFolder(out).database, "builds").records()
    assert (row["verdict"], row["waived"]) == ("pass", 2)
