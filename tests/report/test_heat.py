"""`heat`: the knowledge units that runs were shown and used, counted a second time from the events."""

import json
import shutil
from collections import defaultdict

import pytest

from skilljuror.base.files import StudyFolder
from skilljuror.judge.judging.judge_study import judge_study
from skilljuror.report.heat import by_file, heat, painted
from skilljuror.report.own_skill import heat_of_skill
from skilljuror.store.ingest.ingest import ingest_logs
from skilljuror.store.ingest.trials import ingest_trials
from skilljuror.store.questions.run import run
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


def test_a_quoted_line_is_where_the_verdict_says_and_its_units_are_used(judged):
    found = heat(judged)
    proofs = run(StudyFolder(judged).database, PROOFS).records()
    assert proofs
    texts = {file: path.read_text().splitlines() for (_, file), path in found.files.items()}
    quotes = "SELECT source_quote, source_line, e.skill || '/' || e.resource AS file FROM verdicts"
    quotes += " JOIN events AS e USING (event) JOIN trials AS r ON r.trial = verdicts.trial"
    quotes += " WHERE source_line IS NOT NULL AND condition = 'pd'"
    for row in run(StudyFolder(judged).database, quotes).records():
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


def test_files_sum_up_their_units(judged):
    units = heat(judged, "pd").units
    files = list(by_file(units))
    assert sum(one.units for one in files) == len(units)
    assert sum(one.seen for one in files) == sum(one.seen > 0 for one in units)
    assert sum(one.used or 0 for one in files) == sum(bool(one.used_low) for one in units)
    root = next(one for one in files if one.file.endswith("SKILL.md"))
    assert 0 < root.mean_share <= 1
    ran = {one.file for one in files if one.ran}
    executed = run(
        StudyFolder(judged).database,
        "SELECT DISTINCT skill || '/' || resource FROM uses JOIN trials ON trial = run"
        " WHERE condition = 'pd' AND kind = 'exec' AND ok",
    ).rows
    assert ran == {row[0] for row in executed} != set()


def test_the_formats_of_the_command(judged, tmp_path):
    done = call("heat", judged, "--by", "unit", "--json", "--html", tmp_path / "page.html")
    told = json.loads(done.stdout)
    found = heat(judged)
    assert (told["name"], told["units_seen"], told["units_used"]) == ("pd", found.seen, found.used)
    assert len(told["rows"]) == len(found.units)
    page = (tmp_path / "page.html").read_text()
    assert page.count("<details") == len(list(by_file(found.units)))
    lines = [line for _, lines in painted(found) for line in lines]
    assert page.count("<li") == len(lines)
    assert {line.share for line in lines} >= {None, 0.0, 1.0}
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


def test_the_exit_status_says_whether_enough_was_shown_and_used(study, judged):
    found = heat(judged)
    seen, used = 100 * found.seen, 100 * (found.used or 0)
    assert call("heat", judged, "--fail-under", f"seen={seen - 1:.1f},used=0").returncode == 0
    under = call("heat", judged, "--fail-under", f"seen={min(seen + 1, 100):.1f}")
    assert (under.returncode, "were shown to a run, under" in under.stderr) == (1, True)
    unused = call("heat", judged, "--fail-under", f"used={used + 1:.1f}")
    assert (unused.returncode, "were used in a run, under" in unused.stderr) == (1, True)
    unjudged = call("heat", study, "--fail-under", "used=1")
    assert (unjudged.returncode, "not judged yet" in unjudged.stderr) == (2, True)
    wrong = call("heat", study, "--fail-under", "60")
    assert (wrong.returncode, "write seen=N" in wrong.stderr) == (2, True)


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
    assert "--skill DIR" in done.stderr


def test_a_map_that_is_gone_is_an_error_and_not_fewer_units(study, tmp_path):
    shutil.copytree(study, tmp_path / "copy")
    gone, _ = sorted((tmp_path / "copy").glob("variants/*/knowledge.jsonl"))
    gone.unlink()
    ingest_trials(tmp_path / "copy")
    done = call("heat", tmp_path / "copy")
    assert done.returncode == 2
    assert f"{str(gone)!r} is missing or empty; restore it" in done.stderr


SKILL = """---
name: tides
description: Tide tables.
---

# Tides

Use the harbour constant 0.7315 for every port.

- Never round the height before 23:47.
- Write heights with the suffix MHWS-9.
"""


def read_of(skill, text, command, later):
    """A scripted Claude Code session: it reads the Skill's root, then runs a command."""
    records = [
        {"type": "user", "message": {"role": "user", "content": "make the table"}},
        {"type": "assistant", "message": {"role": "assistant", "model": "m", "content": [
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command}}]}},
        {"type": "user", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": text}]}},
        {"type": "assistant", "message": {"role": "assistant", "model": "m", "content": [
            {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": later}}]}},
        {"type": "user", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t2", "content": "ok"}]}},
    ]  # fmt: skip
    common = {"sessionId": skill, "cwd": "/home/kim/harbour", "version": "2.1.0"}
    stamps = (f"2026-05-0{1 + n}T10:00:00Z" for n in range(len(records)))
    return "".join(
        json.dumps({"uuid": f"{skill}-{n}", "timestamp": stamp, **common, **one}) + "\n"
        for n, (one, stamp) in enumerate(zip(records, stamps, strict=True))
    )


@pytest.fixture
def own(tmp_path):
    """Logs of three runs that read a Skill, one of them cut, and the Skill after a revision."""
    logs = tmp_path / "logs"
    logs.mkdir()
    root = "/home/kim/.claude/skills/tides/SKILL.md"
    cut = "\n".join(SKILL.splitlines()[:8])
    for name, text, command in [
        ("a", SKILL, f"cat {root}"), ("b", SKILL, f"cat {root}"), ("c", cut, f"sed -n 1,8p {root}"),
    ]:  # fmt: skip
        log = read_of(name, text, command, "python3 table.py --suffix MHWS-9 --constant 0.7315")
        (logs / f"{name}.jsonl").write_text(log)
    skill = tmp_path / "tides"
    skill.mkdir()
    new = SKILL.replace("before 23:47", "before 23:59") + "\nA sentence of the next version.\n"
    (skill / "SKILL.md").write_text(new)
    ingest_logs(tmp_path / "study", [logs])
    return tmp_path / "study", skill


def test_old_logs_count_for_the_text_that_a_revision_left_unchanged(own):
    study, skill = own
    found = heat_of_skill(study, skill)
    seen = {one.text: (one.seen, one.used_low) for one in found.units}
    assert {one.runs for one in found.units} == {3}
    assert seen["Use the harbour constant 0.7315 for every port."] == (3, 3)
    assert seen["Write heights with the suffix MHWS-9."] == (
        2,
        0,
    )  # too common a word to prove a use
    assert seen["Never round the height before 23:59."] == (0, 0)
    assert seen["A sentence of the next version."] == (0, 0)
