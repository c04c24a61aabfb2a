"""Invented runs with Skill text, requests and compactions, to ask questions of."""

from typing import Any

from msgspec.structs import replace

from skilljuror.base.results import CompactionRow, Ingested
from skilljuror.base.trajectory import Exposure, UnitExposure
from skilljuror.store import open_write
from tests.support import fabricated_records as fake
from tests.support.fabricated_studies import rows

A, B = "references/a.md", "references/b.md"


def logged(
    key: str,
    shown: Any,
    compactions: Any = (),
    units: Any = None,
    trial: str | None = None,
    usage: Any = None,
    **fields: Any,
) -> Ingested:
    """A run; `shown` are (step, file), one event of 400 bytes each; `compactions` are (step, had, kept);
    `units` are (unit, tokens) by file; `usage` is (uncached, cached) input tokens by step."""
    events = [
        fake.event(key, n, **{"step": step, "resource": file, "shown_bytes": 400} | more)
        for n, (step, file, more) in enumerate((*one, {})[:3] for one in shown)
    ]
    found = fake.run(key, trial=trial, events=events, **fields)
    if usage is not None:
        known = [one for one in usage if one]
        sums = {"input": sum(a for a, _ in known), "cache_read": sum(b for _, b in known)}
        steps = tuple(
            replace(step, input=one[0], cache_read=one[1]) if one else step
            for step, one in zip(found.steps, usage, strict=True)
        )
        values = {f"tokens {name}": total for name, total in sums.items()}
        values["tokens cache_write"] = "not_reported"
        found = replace(found, steps=steps, measures=fake.measures(trial or key, values))
    places = tuple(
        CompactionRow(key, n, "main", step, None, 50 + n, had, kept)
        for n, (step, had, kept) in enumerate(compactions)
    )
    seen = [
        UnitExposure(key, unit, one.agent, one.step, one.ordinal, tokens)
        for one in events
        for unit, tokens in (units or {}).get(one.resource, ())
    ]
    exposure = Exposure(units=4, seen=tuple(seen)) if units else None
    return replace(found, compactions=places, exposure=exposure)


def asked(
    folder: Any,
    runs: Any,
    question: str,
    *columns: str,
    plan: Any = None,
    units: Any = (),
    **params: Any,
) -> list[Any]:
    """The chosen columns of an answer about these runs."""
    path = folder / "study.duckdb"
    with open_write(path) as store:
        if plan:
            store.put_plan(plan)
            names = [run.trajectory.trial.split("__") for run in runs]
            store.put("trials", [fake.trial(task, arm, int(n)) for task, arm, n in names])
        if units:
            store.put_units(*units)
        fake.put(store, runs)
    return rows(path, question, *columns, **params)
