"""Failed trials of the treatment: a person codes them, from the log to the question."""

import json
from typing import get_args

import pytest

from skilljuror.base.review import Answer
from skilljuror.review.desk import StudyDesk
from skilljuror.review.harm import SUSPICION, harm_codes
from skilljuror.store.ingest.trials import ingest_trials
from skilljuror.store.questions.run import run
from skilljuror.study.run import run_study
from tests.support import claude_logs as logs
from tests.support.studies import make_study

ARMS = {"no_skill": None, "baseline": "baseline"}
HEAVY = "pattern:tea__baseline__1"


@pytest.fixture
def study(tmp_path):
    """Two trials of each arm: those with the Skill fail."""
    rows = [
        logs.user(1, "Write done to out.txt."),
        logs.assistant(2, {"type": "text", "text": "I build a pipeline."}),
    ]
    log, out = logs.write_lines(tmp_path / "log.jsonl", *rows), tmp_path / "out"
    skilled = 'if [ -e "$3/brew" ]; then echo almost; else echo done; fi > out.txt'
    script = f'{skilled}; mkdir -p "$2"; cp {log} "$2"/{logs.SESSION}.jsonl'
    run_study(make_study(tmp_path, variants=ARMS, script=script), out)
    ingest_trials(out)
    return out


def codes(study):
    found = run(study / "study.duckdb", "harm_codes").records()
    return [(row["list"], row["code"], row["trials"], row["coded"], row["failed"]) for row in found]


def test_every_code_of_the_lists_is_an_answer():
    lists = harm_codes()
    assert {*lists} == {"pattern", "failure"}
    assert {code for one in lists.values() for code in one["codes"]} <= {*get_args(Answer)}


def test_only_failed_trials_of_the_treatment_are_asked_about(study):
    items = StudyDesk(study).queue("Ann", False)
    assert sorted(item.id for item in items) == [
        f"{kind}:tea__baseline__{n}" for kind in ("failure", "pattern") for n in (1, 2)
    ]
    heavy = next(item for item in items if item.id == HEAVY)
    assert heavy.answers[:3] == ("heavy_pipeline", "displaced_strategy", "undebuggable_solver")
    assert heavy.suspicion == 2 * SUSPICION  # the control solves the task
    headings = {text.heading: text.text for text in heavy.texts}
    assert "I build a pipeline." in headings["what the agent did"]
    assert headings["the task"] == "Write done to out.txt."
    assert "- heavy_pipeline: " in headings["the codes"]
    blind = StudyDesk(study).queue("Ann", True)
    assert "baseline" not in json.dumps([(one.id, one.title, one.machine) for one in blind])


def test_codes_are_counted_until_the_trial_is_another_one(study):
    desk = StudyDesk(study)
    desk.decide("Ann", HEAVY, "heavy_pipeline", "", blind=False)
    desk.decide("Ann", HEAVY.replace("__1", "__2"), "none", "", blind=False)
    desk.decide("Bob", HEAVY.replace("__1", "__2"), "unknown", "", blind=False)
    desk.decide("Ann", HEAVY.replace("pattern", "failure"), "rule", "", blind=False)
    assert codes(study) == [
        ("pattern", "disputed", 1, 2, 2),
        ("pattern", "heavy_pipeline", 1, 2, 2),
        ("failure", "rule", 1, 1, 2),
    ]
    (study / "study.duckdb").unlink()
    record = study / "trials/tea__baseline__1/trial.json"
    record.write_text(record.read_text().replace('"seed"', ' "seed"', 1))
    ingest_trials(study)
    assert codes(study) == [("pattern", "disputed", 1, 1, 2)]
