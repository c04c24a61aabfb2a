"""Tokens counted on demand: exact, each text once, and filled in by ingesting again."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from skilljuror.base import texts
from skilljuror.measures.run_measures import step_texts
from skilljuror.store import rows as token_counts
from skilljuror.store.logs import ingest_logs
from skilljuror.store.questions import run
from skilljuror.store.rows import MeasureOptions
from tests.support import goldens, places
from tests.support.cli_process import call
from tests.support.tokenizer import published_encoding

READ = goldens.raw("codex-rollout/skill-read")
SHARES = (
    "SELECT trial, metric, key, value, reason FROM measures"
    " WHERE metric IN ('skill_token_share', 'skill_text_share') ORDER BY ALL"
)


def shares(study: Path) -> dict[tuple[str, str, str], tuple[float | None, str | None]]:
    rows = run(study / "study.duckdb", SHARES).rows
    return {(trial, metric, key): (value, reason) for trial, metric, key, value, reason in rows}


def whole_shares(study: Path) -> list[tuple[float | None, str | None]]:
    found = shares(study).items()
    return [
        answer for (_, metric, key), answer in found if metric == "skill_token_share" and not key
    ]


def test_the_share_is_that_of_a_count_by_hand(tmp_path):
    ingest_logs(tmp_path, [READ], options=MeasureOptions(count_tokens=True))
    database = tmp_path / "study.duckdb"
    rows = run(database, "SELECT step FROM steps WHERE agent = 'main' AND skill_related").rows
    related = {step for (step,) in rows}
    (trajectory,) = goldens.trajectories("codex-rollout/skill-read")
    encoder = published_encoding()
    by_step = {
        step.index: sum(len(encoder.encode_ordinary(part)) for part in step_texts(step))
        for step in trajectory.steps_of("main")
    }
    part = sum(count for step, count in by_step.items() if step in related)
    assert 0 < part < sum(by_step.values())
    ((value, reason),) = whole_shares(tmp_path)
    assert value == pytest.approx(part / sum(by_step.values()))
    assert reason is None


def test_without_the_flag_the_share_is_a_null_with_its_reason_and_the_proxy_stands(tmp_path):
    ingest_logs(tmp_path, [READ])
    assert whole_shares(tmp_path) == [(None, "not_counted")]
    proxies = [
        answer for (_, name, key), answer in shares(tmp_path).items() if name[6:10] == "text"
    ]
    assert any(value is not None for value, _ in proxies)


def test_ingesting_again_with_the_flag_fills_what_was_not_counted(tmp_path):
    ingest_logs(tmp_path / "twice", [places.GOLDENS])
    ingest_logs(tmp_path / "twice", [places.GOLDENS], options=MeasureOptions(count_tokens=True))
    ingest_logs(tmp_path / "once", [places.GOLDENS], options=MeasureOptions(count_tokens=True))
    assert shares(tmp_path / "twice") == shares(tmp_path / "once")
    assert {reason for _, reason in whole_shares(tmp_path / "once")} <= {None, "no_steps"}


def test_a_text_is_counted_once_however_often_it_comes():
    (trajectory,) = goldens.trajectories("claude-session/skill-call")
    token_counts._counts.clear()
    first = token_counts.step_tokens(trajectory)
    held = dict(token_counts._counts)
    texts = {part for step in trajectory.steps for part in step_texts(step)}
    assert len(held) == len(texts)
    assert token_counts.step_tokens(trajectory) == first
    assert token_counts._counts == held


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(token_counts, "CACHED_TEXTS", 3)
    (trajectory,) = goldens.trajectories("codex-rollout/skill-read")
    expected = {
        (step.agent, step.index): sum(map(texts.count, step_texts(step)))
        for step in trajectory.steps
    }
    assert token_counts.step_tokens(trajectory) == expected
    assert 0 < len(token_counts._counts) <= 3


def test_the_command_counts(tmp_path):
    log = shutil.copy(READ, tmp_path / "log.jsonl")
    done = call("ingest", log, "--study", tmp_path / "s", "--count-tokens", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trajectories"] == 1
    ((value, reason),) = whole_shares(tmp_path / "s")
    assert value is not None
    assert reason is None


def test_a_worker_that_counts_nothing_loads_no_tokenizer(tmp_path):
    script = (
        "import sys; from pathlib import Path\n"
        "from skilljuror.store.logs import ingest_logs\n"
        f"ingest_logs(Path({str(tmp_path)!r}), [Path({str(READ)!r})])\n"
        "print('tiktoken' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False"]
