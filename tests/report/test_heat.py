"""`heat`: the knowledge units that runs were shown and used, counted a second time from the events."""

import json
import re
import shutil
from collections import defaultdict

import pytest

from skilljuror.base.files import StudyFolder
from skilljuror.judge.study import judge_study
from skilljuror.report.heat import by_file, heat
from skilljuror.store.questions import run
from skilljuror.store.trials import ingest_trials
from skilljuror.study.run import run_study
from tests.support.cli_process import call
from tests.support.fabricated_studies import small_study
from tests.support.studies import make_study

ARMS = {"none": None, "baseline": "baseline", "pd": "pd"}
SHOWN = """
SELECT t.trial, e.skill || '/' || e.resource AS file, e.content_exposed = 'full' AS whole, e.lines
FROM events AS e
JOIN trajectories AS t USING (trajectory)
JOIN trials AS r ON r.trial = t.trial
WHERE r.condition = 'pd' AND e.kind IN ('activate', 'read', 'search') AND e.content_exposed <> 'none'
"""
PROOFS = """
SELECT v.trial, e.skill || '/' || e.resource AS file, v.source_line AS line
FROM verdicts AS v JOIN events AS e USING (event) JOIN trials AS r ON r.trial = v.trial
WHERE v.label = 'yes' AND v.source_line IS NOT NULL AND r.condition = 'pd'
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Two tasks with one Skill: three trials each."""
    base = tmp_path_factory.mktemp("heat")
    tasks = ["redact-lines", "alert-rules"]
    file = make_study(base, packaged=tasks, variants=ARMS, trials=3, agent={"name": "scripted"})
    run_study(file, base / "out")
    ingest_trials(base / "out")
    return base / "out"


@pytest.fixture(scope="module")
def judged(study, tmp_path_factory):
    copy = tmp_path_factory.mktemp("judged") / "study"
    shutil.copytree(study, copy)
    judge_study(copy)
    return copy


def lines_shown(study):
    """(file, line) -> trials of pd that were shown it; None stands for all lines."""
    found = defaultdict(set)
    for row in run(StudyFolder(study).database, SHOWN).records():
        ranges = [(one["first"], one["last"]) for one in row["lines"] or ()]
        for line in [None] if row["whole"] else [n for a, b in ranges for n in range(a, b + 1)]:
            found[row["file"], line].add(row["trial"])
    return found


@pytest.mark.slow
def test_every_unit_counts_the_runs_that_were_shown_one_of_its_lines(study):
    found = heat(study)
    shown = lines_shown(study)
    assert (found.name, {one.runs for one in found.units}) == ("pd", {6})
    assert {one.task for one in found.units} == {"alert-rules and 1 more"}
    assert len({(one.file, one.start, one.text) for one in found.units}) == len(found.units)
    for one in found.units:
        file = one.file if "/" in one.file else f"log-triage/{one.file}"
        trials = set(shown[file, None])
        for line in range(one.start, one.end + 1):
            trials |= shown[file, line]
        assert one.seen == len(trials), one
        assert one.at_most == (0.5 if one.seen == 0 else None)
        assert (one.used_low, one.used_high) == (None, None)
    assert {one.seen > 0 for one in found.units} == {True, False}
    assert found.used is None


@pytest.mark.slow
def test_a_quoted_line_is_where_the_verdict_says_and_its_units_are_used(judged):
    found = heat(judged)
    proofs = run(StudyFolder(judged).database, PROOFS).records()
    assert proofs
    texts = {file: path.read_text().splitlines() for (_, file), path in found.files.items()}
    quotes = "SELECT source_quote, source_line, e.skill || '/' || e.resource AS file FROM verdicts"
    quotes += " JOIN events AS e USING (event) JOIN trials AS r ON r.trial = verdicts.trial"
    quotes += " WHERE source_line IS NOT NULL AND condition = 'pd'"
    rows = run(StudyFolder(judged).database, quotes).records()
    own = [row for row in rows if row["file"] in texts]  # the root of several Skills has rows alone
    assert own
    for row in own:
        assert row["source_quote"] in texts[row["file"]][row["source_line"] - 1]
    for one in found.units:
        on_line = {
            p["trial"]
            for p in proofs
            if p["file"] == one.file and one.start <= p["line"] <= one.end
        }
        low, high = one.used_low or 0, one.used_high or 0
        assert len(on_line) <= low <= high <= max(one.seen, low)
    assert 0 < (found.used or 0) < found.seen


@pytest.mark.slow
def test_files_sum_up_their_units(judged):
    units = heat(judged, "pd").units
    files = list(by_file(units))
    assert sum(one.units for one in files) == len(units)
    assert sum(one.seen for one in files) == sum(one.seen > 0 for one in units)
    assert sum(one.used or 0 for one in files) == sum(bool(one.used_low) for one in units)
    page = next(one for one in files if one.file.endswith("incident-triage.md"))
    assert 0 < page.mean_share <= 1
    ran = {one.file for one in files if one.ran}
    executed = run(
        StudyFolder(judged).database,
        "SELECT DISTINCT skill || '/' || resource FROM uses JOIN trials ON trial = run"
        " WHERE condition = 'pd' AND kind = 'exec' AND ok",
    ).rows
    assert ran == {row[0] for row in executed} != set()


@pytest.mark.slow
def test_the_formats_of_the_command(judged, tmp_path):
    done = call("heat", judged, "--by", "unit", "--json", "--figure", tmp_path / "figure.svg")
    told = json.loads(done.stdout)
    found = heat(judged)
    assert (told["name"], told["units_seen"], told["units_used"]) == ("pd", found.seen, found.used)
    assert len(told["rows"]) == len(found.units)
    figure = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    labels = re.findall(r"<text [^>]*>([^<]*(?:SKILL\.md|\.\w+))</text>", figure)
    assert labels[0].endswith(".md")
    assert len(labels) == len(list(by_file(found.units)))
    table = call("heat", judged).stdout
    assert f"% of {len(found.units)} units were shown to a run, {found.used:.1%} used" in table
    trace = call("heat", judged, "--format", "lcov").stdout.splitlines()
    sources = [line.removeprefix("SF:") for line in trace if line.startswith("SF:")]
    assert len(sources) == len({one.file for one in found.units}) == trace.count("end_of_record")
    counts = [int(line.rpartition(",")[2]) for line in trace if line.startswith("DA:")]
    assert (min(counts), max(counts)) == (0, 6)
    assert sum(count > 0 for count in counts) == sum(
        int(line[3:]) for line in trace if line.startswith("LH:")
    )


@pytest.mark.slow
@pytest.mark.parametrize("condition", ["none", "else"])
def test_a_condition_without_a_skill_is_refused(study, condition):
    done = call("heat", study, "--condition", condition)
    assert done.returncode == 2
    assert f"--condition '{condition}': choose one that offers a Skill: baseline, pd" in done.stderr


def test_without_builds_it_says_what_to_ask(tmp_path):
    small_study(tmp_path)
    done = call("heat", tmp_path)
    assert done.returncode == 2
    assert "has no builds, so its Skills have no knowledge map" in done.stderr


@pytest.mark.slow
def test_a_map_that_is_gone_is_an_error_and_not_fewer_units(study, tmp_path):
    shutil.copytree(study, tmp_path / "copy")
    gone, _ = sorted((tmp_path / "copy").glob("variants/*/knowledge.jsonl"))
    gone.unlink()
    ingest_trials(tmp_path / "copy")
    done = call("heat", tmp_path / "copy")
    assert done.returncode == 2
    assert f"{str(gone)!r} is missing or empty; restore it" in done.stderr
