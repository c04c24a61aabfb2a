"""`ingest --no-quotes`: no word of a log is kept in the database or shown, by whatever command."""

import json
import shutil

import pytest

from skilljuror.store.questions import run
from tests.support.cli_process import call
from tests.support.ingested import CALL, READ

TEXTS = """
SELECT preview FROM steps UNION ALL SELECT quote || note FROM events
UNION ALL SELECT coalesce(source_quote, '') || coalesce(action_quote, '') || note FROM verdicts
"""


def texts(study):
    return {text for (text,) in run(study / "study.duckdb", TEXTS).rows}


@pytest.mark.slow
def test_nothing_is_kept_and_nothing_is_shown(tmp_path):
    study = tmp_path / "s"
    assert call("ingest", READ, CALL, "--study", study).returncode == 0
    assert call("judge", study).returncode == 0
    assert texts(study) - {""}
    assert call("ingest", READ, "--study", study, "--no-quotes").returncode == 0
    assert texts(study) == {""}, "of the log that was not named either"
    assert call("ingest", READ, CALL, "--study", study, "--again").returncode == 0
    assert call("judge", study, "--again").returncode == 0
    assert texts(study) == {""}, "a study stays without quotes"
    for (name,) in run(study / "study.duckdb", "SELECT trajectory FROM trajectories").rows:
        shown = json.loads(call("show", study, name, "--json").stdout)
        steps = shown["trajectory"]["steps"]
        assert {step["text"] for step in steps} == {""}
        assert {call["result"]["text"] for step in steps for call in step["calls"]} == {""}
        assert {call["command"] for step in steps for call in step["calls"]} <= {
            call["name"] for step in steps for call in step["calls"]
        }
        assert {event["quote"] for event in shown["events"]} <= {""}
        assert call("show", study, name, "--full").returncode == 0


@pytest.mark.slow
def test_a_database_that_is_made_again_has_none_either(tmp_path):
    study = tmp_path / "s"
    log = shutil.copy(READ, tmp_path / "log.jsonl")
    assert call("ingest", log, "--study", study, "--no-quotes").returncode == 0
    (study / "study.duckdb").unlink()
    assert call("ingest", log, "--study", study).returncode == 0
    assert texts(study) == {""}
