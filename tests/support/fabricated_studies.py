"""Fabricated studies to ask questions of; every expected answer is worked out by hand."""

from pathlib import Path
from typing import Any

import pytest

from skilljuror.base.results import Ingested, Verdict
from skilljuror.base.review import Acceptance
from skilljuror.base.study import TrialRecord
from skilljuror.base.trajectory import ResourceEvent
from skilljuror.store import open_write
from skilljuror.store.logs import ingest_logs
from skilljuror.store.questions import run
from tests.support import fabricated_records as fake
from tests.support.places import CORPUS, GOLDENS

ALPHA, BETA = "alpha", "beta"


def rows(study: Path, question: str, *columns: str, **params: Any) -> list[tuple[Any, ...]]:
    """The chosen columns of every row of an answer."""
    found = run(study, question, **params).records()
    return [tuple(row[name] for name in columns) for row in found]


def ingested(folder: Path, which: str) -> Path:
    """The database of logs of every format: those of this project ("goldens") or real ones
    ("corpus"), without which the test is skipped."""
    logs = {"goldens": GOLDENS, "corpus": CORPUS}[which]
    if not logs.is_dir():
        pytest.skip(f"the reference logs are not there: {logs}")
    ingest_logs(folder, [logs])
    return folder / "study.duckdb"


def small_study(folder: Path, *, whole: bool = False) -> Path:
    """Two tasks, three conditions, two trials each; see the comments for what was made up.

    Strict passes: no-skill 1 of 4, baseline 2 of 4, pd 3 of 4; beta/pd/2 was never finished, no-skill trials list
    the Skill. With `whole`, every trial is usable: beta/pd/2 broke, and a person accepted it and beta/baseline/2.
    """
    path = folder / "study.duckdb"
    plan = fake.plan(
        {
            ALPHA: {"validation_type": "tests", "workflow_type": "repair"},
            BETA: {"validation_type": "tolerance", "workflow_type": "repair"},
        },
        trials=2,
    )
    with open_write(path) as store:
        store.put_plan(plan)
        store.put_builds([fake.build(ALPHA), fake.build(BETA, "review")])
        store.put("trials", _trials())
        runs = _runs()
        if whole:
            store.put(
                "trials",
                [fake.trial(BETA, "pd", 2, status="error", reward=None, exception="OSError")],
            )
            accepted = [fake.name_of(BETA, condition, 2) for condition in ("baseline", "pd")]
            at = "2026-01-02T03:04:05+00:00"
            store.put_attempts(
                [], [Acceptance(trial=one, reason="kept", by="Ann", at=at) for one in accepted]
            )
            runs = [run if run.events else fake.replaced(run, offered=()) for run in runs]
        fake.put(store, runs)
        fake.put_verdicts(store, _verdicts(runs))
    return path


def _trials() -> list[TrialRecord]:
    return [
        fake.trial(ALPHA, "no-skill", 1, reward=0.0),
        fake.trial(ALPHA, "no-skill", 2),
        fake.trial(BETA, "no-skill", 1, reward=0.5),
        fake.trial(
            BETA, "no-skill", 2, reward=None, status="timeout", exception="AgentTimeoutError"
        ),
        fake.trial(ALPHA, "baseline", 1),
        fake.trial(ALPHA, "baseline", 2, reward=0.9999),
        fake.trial(BETA, "baseline", 1),
        fake.trial(BETA, "baseline", 2, reward=None, status="unscored"),
        fake.trial(ALPHA, "pd", 1),
        fake.trial(ALPHA, "pd", 2),
        fake.trial(BETA, "pd", 1, exception="NonZeroAgentExitCodeError"),
    ]


def _runs() -> list[Ingested]:
    """Logs of every finished trial but beta/no-skill/2; only the Skill arms touch the Skill."""
    runs = []
    for record in _trials():
        if record.status == "timeout":
            continue
        key = f"log-{record.trial}"
        events = _events(key, record.condition)
        values = _values(record.condition, minutes=float(record.number), passed=record.strict_pass)
        runs.append(fake.run(key, trial=record.trial, steps=10, events=events, values=values))
    return runs


def _events(key: str, condition: str) -> list[ResourceEvent]:
    root = fake.event(key, 0, step=1)
    support = {"resource": "references/a.md", "resource_class": "support"}
    return {
        "no-skill": [],
        "baseline": [root],
        "pd": [
            root,
            fake.event(key, 1, step=4, **support),
            fake.event(key, 2, step=9, kind="list", resource=".", content_exposed="none"),
            fake.event(key, 3, step=9, kind="mention", content_exposed="none", **support),
        ],
    }[condition]


def _values(condition: str, minutes: float, passed: bool) -> dict[str, float | str | None]:
    skill_steps = {"no-skill": 0, "baseline": 1, "pd": 3}[condition]
    thirds = {"no-skill": (0, 0, 0), "baseline": (1, 0, 0), "pd": (1, 1, 1)}[condition]
    return {
        "agent_minutes": minutes,
        "display_tokens": 1000.0 if condition == "pd" else "no_usage",
        "cost_usd": "no_price",
        "agent_steps": 10,
        "skill_steps": skill_steps,
        "skill_step_share": skill_steps / 10,
        "step_tokens": "not_counted",
        "skill_step_tokens": "not_counted",
        "skill_token_share": "not_counted",
        "skill_text_share": skill_steps / 20,
        "support_read": float(condition == "pd"),
        "script_exec": 0.0,
        "helper_use": 0.0,
        "fanout": {"no-skill": 0, "baseline": 1, "pd": 2}[condition],
        "fanout_support": float(condition == "pd"),
        **{f"skill_steps_in_third {third}": n for third, n in enumerate(thirds)},
        **{f"skill_steps_in_bin {n:02}": float(n == 1 and skill_steps > 0) for n in range(20)},
        "exposed": float(skill_steps > 0),
        "distributed": float(condition == "pd") if skill_steps else "not_exposed",
        "fewer_than_three_steps": 0.0,
        "skill_invoked": float(skill_steps > 0),
        "strict_pass": float(passed),
    }


def _verdicts(runs: list[Ingested]) -> list[Verdict]:
    """SKILL.md yes, support yes in the first pd trial and no in the others, the listing unknown."""
    labels = {0: "yes", 1: "no", 2: "unknown"}
    return [
        fake.verdict(
            event,
            "yes" if event.ordinal == 1 and event.trajectory.endswith("alpha__pd__1") else labels[event.ordinal],
        )
        for run in runs
        for event in run.events
        if event.counts
    ]  # fmt: skip
