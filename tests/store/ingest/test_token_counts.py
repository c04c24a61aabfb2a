"""Tokens counted on demand: exact, each text once, and filled in by ingesting again."""

from pathlib import Path

import pytest

from skilljuror.measures.run_measures import step_texts
from skilljuror.store.logs import ingest_logs
from skilljuror.store.questions import run
from skilljuror.store.records import MeasureOptions
from tests.support import goldens, places
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


@pytest.mark.slow
def test_ingesting_again_with_the_flag_fills_what_was_not_counted(tmp_path):
    ingest_logs(tmp_path / "twice", [places.GOLDENS])
    ingest_logs(tmp_path / "twice", [places.GOLDENS], options=MeasureOptions(count_tokens=True))
    ingest_logs(tmp_path / "once", [places.GOLDENS], options=MeasureOptions(count_tokens=True))
    assert shares(tmp_path / "twice") == shares(tmp_path / "once")
    assert {reason for _, reason in whole_shares(tmp_path / "once")} <= {None, "no_steps"}
