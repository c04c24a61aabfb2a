"""A record counts once, in whatever files it stands; its copies are context of the later run."""

import os
from itertools import chain

import pytest

from skilljuror.store.logs import ReadPolicy, ingest_logs
from skilljuror.store.questions import run
from tests.support.forked_sessions import (
    EARLIER,
    FIRST_TURN,
    FORKS,
    LATER,
    OWN_TURN,
    codex_fork,
    codex_meta,
    codex_turn,
    dated,
    write_lines,
)
from tests.support.parsed_logs import read_one

COUNTED = """
SELECT steps, input + output, (SELECT count(*) FROM events AS e WHERE e.trajectory = t.trajectory)
FROM trajectories AS t ORDER BY started_at
"""
WHOLE, OWN = (2, 2130, 1), (1, 505, 0)
"""(steps, tokens, events) of the first session, and of what its fork adds."""


def counted(study, logs, *, prune=False):
    for path in logs.rglob("*.json*"):
        os.utime(path, (1e9, 1e9))  # not written during the ingest
    ingest_logs(study, [logs], policy=ReadPolicy(prune=prune))
    return [tuple(row) for row in run(study / "study.duckdb", COUNTED).rows]


@pytest.mark.parametrize("fork", FORKS)
def test_a_copied_history_counts_in_the_session_that_made_it(fork, tmp_path):
    FORKS[fork](tmp_path / "logs")
    assert counted(tmp_path / "study", tmp_path / "logs") == [WHOLE, OWN]


@pytest.mark.slow
@pytest.mark.parametrize("fork", ["opencode", "claude, not marked"])
def test_which_of_them_comes_or_goes_first_changes_nothing(fork, tmp_path):
    written, study = FORKS[fork](tmp_path / "logs"), tmp_path / "study"
    away = written.first.rename(tmp_path / "away")
    assert counted(study, tmp_path / "logs") == [(3, 2635, 1)]
    away.rename(written.first)
    assert counted(study, tmp_path / "logs") == [WHOLE, OWN]
    written.first.unlink()
    assert counted(study, tmp_path / "logs") == [WHOLE, OWN]
    assert counted(study, tmp_path / "logs", prune=True) == [(3, 2635, 1)]


@pytest.mark.parametrize("fork", sorted(FORKS.keys() - {"opencode", "claude, not marked"}))
def test_a_fork_alone_knows_its_copies_and_keeps_them_as_context(fork, tmp_path):
    written = FORKS[fork](tmp_path / "logs")
    written.first.unlink()
    assert counted(tmp_path / "study", tmp_path / "logs") == [OWN]


def test_a_sub_agent_that_gets_its_parent_s_history_did_not_make_it(tmp_path):
    copied, numbered = tmp_path / "copied", tmp_path / "numbered"
    spawned = {"session_id": EARLIER, "parent_thread_id": EARLIER}
    codex_fork(copied, **spawned)
    fork = codex_fork(numbered, **spawned).fork
    meta = codex_meta(LATER, **spawned, subagent_history_start_ordinal=len(FIRST_TURN) + 1)
    rows = dated([meta, *FIRST_TURN, *OWN_TURN], 10)
    write_lines(fork, [{**row, "ordinal": at} for at, row in enumerate(rows)])
    for logs in (copied, numbered):
        assert counted(tmp_path / f"study of {logs.name}", logs) == [(2, 2635, 1)]


def test_a_thread_that_goes_on_in_a_second_file_is_one_run(tmp_path):
    first = [codex_meta(EARLIER), *FIRST_TURN]
    base = {"thread_id": EARLIER, "end_ordinal_exclusive": len(first)}
    write_lines(tmp_path / f"rollout-1-{EARLIER}.jsonl", dated(first, 9))
    later = [codex_meta(EARLIER, history_base=base), *OWN_TURN]
    write_lines(tmp_path / f"rollout-2-{LATER}.jsonl", dated(later, 10))
    assert counted(tmp_path / "study", tmp_path) == [(3, 2635, 1)]


def test_where_no_record_says_what_is_copied_the_tokens_are_unknown(tmp_path):
    turns = (
        codex_turn(f"turn {n}", "Go.", "Done.", (9 * n, n), (9 * n + 9, n + 1)) for n in (0, 1, 2)
    )
    rows = [codex_meta(LATER, forked_from_id=EARLIER), *chain.from_iterable(turns)]
    log = read_one(write_lines(tmp_path / "rollout-2.jsonl", dated(rows, 10)), "codex-rollout")
    assert (len(log.steps), log.usage) == (1, None)
    assert "does not say where the history" in log.warnings[0]
