"""A run stops at the first trial of a condition whose log lists other Skills than it offers."""

import json

import pytest

from skilljuror.errors import HarnessError
from skilljuror.ingest.trials import ingest_trials
from skilljuror.queries.run import run as ask
from skilljuror.run.run import run_study
from tests.support import claude_logs as logs
from tests.support.studies import edit_study, make_study

STOPPED = "the log lists mod-making, which its condition does not offer.*accept_skills"
MISSING = "the log lists the skills on offer, and not brew of the variant"


def study(tmp_path, listed, **more):
    """Two arms whose agent writes a log that lists these Skills, but for the one of the variant."""
    listing = {"type": "skill_listing", "names": listed, "content": "", "skillCount": len(listed)}
    rows = [
        logs.user(1, "Make tea."),
        logs.row(2, "attachment", attachment=listing),
        logs.assistant(3, {"type": "text", "text": "Done."}),
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    script = f'echo done > out.txt; mkdir -p "$2"; cp {log} "$2"/{logs.SESSION}.jsonl'
    return make_study(tmp_path, trials=2, script=script, **more)


def test_a_skill_that_no_condition_offers_stops_the_run_until_it_is_accepted(tmp_path):
    file, out = study(tmp_path, ["mod-making"]), tmp_path / "out"
    with pytest.raises(HarnessError, match=STOPPED):
        run_study(file, out)
    assert len([*(out / "trials").iterdir()]) == 1
    ingest_trials(out)
    flags = ask(out / "study.duckdb", "quality_flags").records()
    assert "other_skill_offered" in {row["flag"] for row in flags}
    edit_study(file, accept_skills=["mod-making"])
    assert run_study(file, out).statuses == {"scored": 4}
    ingest_trials(out)
    assert ask(out / "study.duckdb", "SELECT * FROM contaminations").rows == []


def test_a_missing_skill_stops_the_run(tmp_path):
    file = study(tmp_path, [], variants={"flat": "baseline"})
    with pytest.raises(HarnessError, match=MISSING):
        run_study(file, tmp_path / "out")
