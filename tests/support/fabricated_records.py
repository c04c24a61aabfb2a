"""Fabricated studies: small numbers made up by hand, put in through the store's own door.

Nothing in here was measured; every figure exists to be recomputed by a person.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import structs

from skilljuror.base.build import (
    AssayReport,
    AssayRow,
    BuildRecord,
    FileDigest,
    Finding,
    GateResult,
    VariantManifest,
)
from skilljuror.base.results import (
    CheckOutcome,
    CheckResult,
    Ingested,
    Measure,
    OfferedRow,
    StepRow,
    TrajectoryRow,
    Verdict,
)
from skilljuror.base.review import JudgedBuild
from skilljuror.base.study import (
    Condition,
    Contrast,
    PlannedTask,
    PlannedTrial,
    StudyConfig,
    StudyPlan,
    TaskEntry,
    TrialRecord,
)
from skilljuror.base.texts import model_date, plain_model
from skilljuror.base.trajectory import Exposure, ResourceEvent, UnitExposure
from skilljuror.layouts.build.reviews import item_states
from skilljuror.logs.read import traits_of
from skilljuror.store import Store, open_write
from skilljuror.store.rows import definition_rows

DIGEST = "d" * 64
SUBSTRATE = "-".join(["d" * 16] * 3)
VARIANTS = {
    "no-skill": None, "origin": "origin", "baseline": "baseline", "pd": "pd", "flat-files": "flat-files",
}  # fmt: skip


def plan(
    tasks: Mapping[str, Mapping[str, str]] | Sequence[str],
    conditions: Sequence[str] = ("no-skill", "baseline", "pd"),
    trials: int = 1,
) -> StudyPlan:
    """A plan over the given tasks (with attributes) and conditions."""
    named = tasks if isinstance(tasks, Mapping) else {task: {} for task in tasks}
    contrast = Contrast(treatment="pd", control="baseline") if "pd" in conditions else None
    config = StudyConfig(
        name="fabricated",
        trials_per_cell=trials,
        tasks=tuple(TaskEntry(path=task) for task in named),
        conditions=tuple(Condition(name=name, variant=VARIANTS.get(name)) for name in conditions),
        contrast=contrast,
        accept_skills=("unused",),
    )
    cells = [(t, c, n) for n in range(1, trials + 1) for t in named for c in conditions]
    planned = tuple(
        PlannedTrial(
            trial=name_of(task, condition, number), task=task, condition=condition, number=number,
            order=order, block=number - 1, seed=number,
        )
        for order, (task, condition, number) in enumerate(cells)
    )  # fmt: skip
    return StudyPlan(
        skilljuror_version="0", config=config, config_digest=DIGEST, trials=planned,
        tasks=tuple(_planned_task(name, dict(found)) for name, found in named.items()),
    )  # fmt: skip


def digest_of(variant: str | None) -> str | None:
    """Tree digest of a variant, the same in every build."""
    return variant and sha256(variant.encode()).hexdigest()


def name_of(task: str, condition: str, number: int = 1) -> str:
    """Name of a trial."""
    return f"{task}__{condition}__{number}"


def _planned_task(name: str, attributes: dict[str, str]) -> PlannedTask:
    return PlannedTask(
        name=name, path=f"tasks/{name}", skills=f"skills/{name}", attributes=attributes,
        instruction_digest=DIGEST, environment_digest=DIGEST, verifier_digest=DIGEST,
        source_digest=DIGEST,
    )  # fmt: skip


def trial(task: str, condition: str, number: int = 1, **fields: Any) -> TrialRecord:
    """A finished trial, a strict pass of six minutes unless told otherwise."""
    defaults: dict[str, Any] = {
        "trial": name_of(task, condition, number), "task": task, "condition": condition,
        "number": number, "seed": number, "status": "scored", "reward": 1.0, "agent": "invented",
        "harness": "local", "isolation": "none", "config_digest": DIGEST,
        "substrate_digest": SUBSTRATE, "variant": VARIANTS.get(condition), "skill_root": None,
        "variant_digest": digest_of(fields.get("variant", VARIANTS.get(condition))),
        "started_at": "2026-01-02T03:04:05+00:00", "finished_at": "2026-01-02T03:10:05+00:00",
        "agent_seconds": 360.0, "verifier_seconds": 1.0,
    }  # fmt: skip
    return TrialRecord(**(defaults | fields))


def rubric_item(task: str, condition: str, number: int, award: float) -> CheckResult:
    """An item of one point, decided by code."""
    outcome: CheckOutcome = "passed" if award else "failed"
    named = name_of(task, condition, number)
    return CheckResult(
        named, "rubric", "item", outcome, 1.0, award, judge="code", item_group="goal"
    )


def measures(trial: str, values: Mapping[str, float | str | None]) -> tuple[Measure, ...]:
    """Measures by name, or by "name key"; a string is the reason of a null."""
    found = []
    for name, value in values.items():
        metric, _, key = name.partition(" ")
        if isinstance(value, str):
            found.append(Measure(trial, metric, None, key, value))
        else:
            found.append(Measure(trial, metric, value, key))
    return tuple(found)


def event(trajectory: str, ordinal: int = 0, **fields: Any) -> ResourceEvent:
    """A successful read of SKILL.md at step 1, unless told otherwise."""
    defaults: dict[str, Any] = {
        "trajectory": trajectory, "ordinal": ordinal, "line": 10 + ordinal, "agent": "main",
        "step": 1, "skill": "csv-report", "resource": "SKILL.md", "resource_class": "root",
        "kind": "read", "via": "shell", "ok": True, "content_exposed": "full",
        "lines": ((1, 40),), "quote": "cat SKILL.md",
    }  # fmt: skip
    return ResourceEvent(**(defaults | fields))


def run(
    key: str,
    *,
    trial: str | None = None,
    steps: int = 4,
    events: Sequence[ResourceEvent] = (),
    values: Mapping[str, float | str | None] | None = None,
    **fields: Any,
) -> Ingested:
    """One run; `fields` replace those of its trajectory row."""
    touched = {found.step for found in events if found.counts}
    return Ingested(
        trajectory=_trajectory(key, trial, steps, fields),
        steps=tuple(_step(key, number, number in touched) for number in range(1, steps + 1)),
        offered=(OfferedRow(key, "csv-report", False), OfferedRow(key, "unused", False)),
        events=tuple(events),
        measures=measures(trial or key, values or {}),
        exposure=Exposure(units=4, seen=(UnitExposure(key, "u1", "main", 1, 0, tokens=5),)),
    )


def unread(trial: str, values: Mapping[str, float | str | None]) -> Ingested:
    """A trial whose log nobody can read: measures alone."""
    return Ingested(trajectory=None, measures=measures(trial, values))


def replaced(run: Ingested, **fields: Any) -> Ingested:
    """A run with some parts replaced."""
    return structs.replace(run, **fields)


def _trajectory(key: str, trial: str | None, steps: int, fields: dict[str, Any]) -> TrajectoryRow:
    defaults: dict[str, Any] = {
        "trajectory": key, "trial": trial, "source": f"logs/{key}.jsonl", "format": "codex-rollout",
        "session": key, "agent": "invented", "agent_version": "1", "model": "none",
        "started_at": 1_767_323_045.0, "finished_at": 1_767_323_405.0, "steps": steps,
        "sub_agents": 0, "sub_steps": 0, "inherited_steps": 0, "input": 10, "cache_write": 0, "cache_read": 5,
        "output": 3, "reasoning": 1, "hour_write": None, "cost_usd": None, "compactions": 0, "complete": True,
        "skipped_records": 0,
    }  # fmt: skip
    traits = traits_of(fields.get("agent"))
    for name in ("lists_every_skill", "lists_folder_names"):
        defaults[name] = getattr(traits, name)
    row = TrajectoryRow(**(defaults | fields))
    plain, date = (row.model and found(row.model) for found in (plain_model, model_date))
    return structs.replace(row, plain_model=plain, model_date=date)


def _step(key: str, number: int, related: bool) -> StepRow:
    return StepRow(
        trajectory=key, agent="main", step=number, file=None, line=number * 10,
        timestamp=1_767_323_045.0 + number, actions=("shell",), failed_calls=0,
        skill_related=related, text_bytes=100, preview=f"step {number}",
    )  # fmt: skip


def verdict(event: ResourceEvent, label: str = "yes", **fields: Any) -> Verdict:
    """A judge's answer on one event."""
    defaults: dict[str, Any] = {
        "event": event.event, "trial": event.trajectory, "judge": "tracing-1", "label": label,
        "category": {"yes": "implementation", "no": "background"}.get(label, "not_shown"),
    }  # fmt: skip
    return Verdict(**(defaults | fields))


def _files(names: Iterable[str]) -> tuple[FileDigest, ...]:
    return tuple(
        FileDigest(
            path=name, sha256=DIGEST, size=100, lines=10, tokens=25,
            resource_class="root" if name.endswith("SKILL.md") else "support",
        )
        for name in names
    )  # fmt: skip


def manifest(variant: str, files: Sequence[str], **fields: Any) -> VariantManifest:
    """A variant with files of ten lines each."""
    defaults: dict[str, Any] = {
        "variant": variant, "parent": "source", "tree_digest": digest_of(variant), "skills": ("csv-report",),
        "files": _files(files), "tokens": 25 * len(files), "root_lines": 10, "root_tokens": 25,
        "verdict": "pass",
    }  # fmt: skip
    return VariantManifest(**(defaults | fields))


def build(name: str = "alpha", verdict: str = "pass") -> JudgedBuild:
    """A build with a flat and a PD variant; `verdict` is that of the knowledge gate on pd."""
    root, support = "csv-report/SKILL.md", "csv-report/references/a.md"
    source = manifest("source", [root, support], parent=None, verdict=None, tree_digest=DIGEST)
    record = BuildRecord(
        name=name, skilljuror_version="0", engine="plan", tokenizer="estimate-v1", source=source,
        variants=(manifest("baseline", [root]), manifest("pd", [root, support], verdict=verdict)),
    )  # fmt: skip
    finding = Finding(rule="unit-missing", severity="high", file=root, source_text="x" * 400)
    results = [
        _gate("layout", "baseline"),
        _gate("layout", "pd"),
        _gate("knowledge", "baseline"),
        _gate("knowledge", "pd", verdict, () if verdict == "pass" else (finding,)),
    ]
    return JudgedBuild(record, results, items=item_states(Path("nowhere"), record, results))


def assayed(
    name: str,
    rows: Mapping[str, tuple[int, int]],
    *,
    source: str = DIGEST,
    harmless: Collection[str] = (),
    **fields: Any,
) -> JudgedBuild:
    """A build with an assay: mutation -> (changes planted, flagged); `source` tells sources apart.

    One more of each kind was equivalent; half of what was flagged failed.
    """
    record, results, *_ = build(name)
    found = tuple(
        AssayRow(
            mutation=mutation, drift=mutation not in harmless, mutants=planted, equivalent=1,
            flagged=flagged, failed=flagged // 2, rate=None, low=None, high=None,
        )
        for mutation, (planted, flagged) in rows.items()
    )  # fmt: skip
    defaults: dict[str, Any] = {
        "name": name, "policy": "strict", "seed": 0, "sites": 2, "rows": found,
    }  # fmt: skip
    report = AssayReport(**(defaults | fields)).model_dump(mode="json", exclude={"slips"})
    digest = record.source.model_copy(update={"tree_digest": source})
    return JudgedBuild(record.model_copy(update={"assay": report, "source": digest}), results)


def _gate(
    gate: str, variant: str, verdict: Any = "pass", findings: tuple[Finding, ...] = ()
) -> GateResult:
    return GateResult(
        gate=gate, variant=variant, parent="source", policy="strict", verdict=verdict,
        findings=findings, checked={"unit": 7},
    )  # fmt: skip


def put(store: Store, runs: Iterable[Ingested]) -> None:
    """Put runs as a worker hands them over."""
    store.put("runs", list(runs))
    store.put("metrics", definition_rows())


def count_verdicts(database: Path) -> None:
    """Count verdicts anew after a test has changed them by SQL."""
    with open_write(database) as store:
        store.put("verdict_counts", (), store.names("SELECT trajectory FROM trajectories"))


def put_verdicts(store: Store, verdicts: Iterable[Verdict]) -> None:
    """Put verdicts as judges do: all that one says of a run takes the place of what it said before."""
    said: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        said.setdefault(verdict.judge, []).append(verdict)
    for judge, found in said.items():
        store.put_judged(judge, {verdict.trial: None for verdict in found}, found)
