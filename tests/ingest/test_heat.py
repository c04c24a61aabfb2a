"""`heat`: the knowledge units that runs were shown, counted a second time from the events."""

import json
import shutil
from collections import defaultdict

import pytest

from skilljuror.files import StudyFolder
from skilljuror.ingest.heat import by_file, heat
from skilljuror.ingest.trials import ingest_trials
from skilljuror.queries.run import run
from skilljuror.run.run import run_study
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


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    base = tmp_path_factory.mktemp("heat")
    file = make_study(
        base, packaged=["redact-lines"], variants=ARMS, trials=3, agent={"name": "scripted"}
    )
    run_study(file, base / "out")
    ingest_trials(base / "out")
    return base / "out"


def lines_shown(study):
    """(file, line) -> trials of pd that were shown it; None stands for all lines."""
    found = defaultdict(set)
    for row in run(StudyFolder(study).database, SHOWN).records():
        ranges = [(one["first"], one["last"]) for one in row["lines"] or ()]
        for line in [None] if row["whole"] else [n for a, b in ranges for n in range(a, b + 1)]:
            found[row["file"], line].add(row["trial"])
    return found


def test_every_unit_counts_the_runs_that_were_shown_one_of_its_lines(study):
    name, units = heat(study)
    shown = lines_shown(study)
    assert (name, {one.runs for one in units}) == ("pd", {3})
    for one in units:
        file = one.file if "/" in one.file else f"log-triage/{one.file}"
        trials = set(shown[file, None])
        for line in range(one.start, one.end + 1):
            trials |= shown[file, line]
        assert one.seen == len(trials), one
        assert one.at_most == (1.0 if one.seen == 0 else None)
    assert {one.seen > 0 for one in units} == {True, False}


def test_files_sum_up_their_units(study):
    _, units = heat(study, "pd")
    files = list(by_file(units))
    assert sum(one.units for one in files) == len(units)
    assert sum(one.seen for one in files) == sum(one.seen > 0 for one in units)
    root = next(one for one in files if one.file.endswith("SKILL.md"))
    assert 0 < root.mean_share <= 1


def test_the_formats_of_the_command(study):
    done = call("heat", study, "--by", "unit", "--json")
    told = json.loads(done.stdout)
    _, units = heat(study)
    assert told["condition"] == "pd"
    assert len(told["rows"]) == len(units)
    assert told["units_shown"] == sum(one.seen > 0 for one in units) / len(units)
    table = call("heat", study).stdout
    assert f"% of {len(units)} units were shown to at least one run" in table
    trace = call("heat", study, "--format", "lcov").stdout.splitlines()
    sources = [line.removeprefix("SF:") for line in trace if line.startswith("SF:")]
    assert len(sources) == len({one.file for one in units}) == trace.count("end_of_record")
    counts = [int(line.rpartition(",")[2]) for line in trace if line.startswith("DA:")]
    assert (min(counts), max(counts)) == (0, 3)
    assert sum(count > 0 for count in counts) == sum(
        int(line[3:]) for line in trace if line.startswith("LH:")
    )


def test_the_exit_status_says_whether_enough_was_shown(study):
    _, units = heat(study)
    shown = 100 * sum(one.seen > 0 for one in units) / len(units)
    assert call("heat", study, "--fail-under", f"{shown - 1:.1f}").returncode == 0
    under = call("heat", study, "--fail-under", f"{min(shown + 1, 100):.1f}")
    assert (under.returncode, "of the units were shown, under" in under.stderr) == (1, True)


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


def test_a_map_that_is_gone_is_an_error_and_not_fewer_units(study, tmp_path):
    shutil.copytree(study, tmp_path / "copy")
    (gone,) = (tmp_path / "copy").glob("variants/*/knowledge.jsonl")
    gone.unlink()
    done = call("heat", tmp_path / "copy")
    assert done.returncode == 2
    assert f"{str(gone)!r} is missing or empty; restore it" in done.stderr
