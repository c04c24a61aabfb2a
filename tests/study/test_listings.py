"""A run stops at the first trial of a condition whose log lists other Skills than it offers."""

import pytest

from skilljuror.base.errors import HarnessError
from skilljuror.store.questions import run as ask
from skilljuror.store.trials import ingest_trials
from skilljuror.study.check import check_study
from skilljuror.study.run import run_study
from tests.support import claude_logs as logs
from tests.support.studies import edit_study, make_study

STOPPED = "the log lists mod-making, which its condition does not offer.*accept_skills"
MISSING = "the log lists the skills on offer, and not brew of the variant"


def session(tmp_path, listed):
    """A log of Claude Code that lists these Skills."""
    listing = {"type": "skill_listing", "names": listed, "content": "", "skillCount": len(listed)}
    rows = [
        logs.user(1, "Make tea."),
        logs.row(2, "attachment", attachment=listing),
        logs.assistant(3, {"type": "text", "text": "Done."}),
    ]
    return logs.write_lines(tmp_path / "log.jsonl", *rows)


def study(tmp_path, listed, **more):
    """Arms whose agent writes such a log."""
    log = session(tmp_path, listed)
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


@pytest.mark.parametrize(
    ("listed", "more", "said"),
    [
        (["mod-making"], {}, "condition 'pd': without a Skill, claude-code lists mod-making"),
        (["mod-making"], {"accept_skills": ["mod-making"]}, ""),
        ([], {}, ""),
    ],
)
def test_check_starts_the_agent_without_a_model_and_reads_its_list(tmp_path, listed, more, said):
    log, program = session(tmp_path, listed), tmp_path / "claude"
    program.write_text(
        '#!/bin/bash\n[ "$1" = --version ] && echo 2.9.0 && exit\nmkdir -p ~/.claude/projects/w\n'
        f"cp {log} ~/.claude/projects/w/{logs.SESSION}.jsonl\n"
    )
    program.chmod(0o755)
    agent = {"name": "claude-code", "model": "m", "options": {"program": str(program)}}
    file = make_study(tmp_path, variants={"a": None, "pd": "pd"}, agent=agent, **more)
    summary = check_study(file)
    assert summary.failed == bool(said)
    assert [line.partition(";")[0] for line in summary.listings] == [said][: bool(said)]
