"""Fabricated databases for reports: scripted, observed, hostile, empty."""

from pathlib import Path

from skilljuror.base.results import Ingested, OfferedRow, SourceRow
from skilljuror.base.review import JudgedBuild
from skilljuror.base.trajectory import ResourceEvent
from skilljuror.store import open_write
from tests.support import fabricated_records as fake

SECRET = "correct-horse-battery"
"""Stands in every place that may hold words or paths of a log."""

HARMLESS = "unsupported log format"
"""Why a file was skipped, in words that quote nothing."""

EVIL = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>$\\frac{1}{0}$\x1b[31m 技能 🧪 "
    + "x" * 300
)


def scripted_study(folder: Path) -> Path:
    """Four tasks of which pd solves one more than baseline; a scripted policy ran them all."""
    path = folder / "study.duckdb"
    tasks = {f"task-{n}": {"validation_type": "ab"[n % 2]} for n in range(4)}
    trials = [
        fake.trial(task, condition, scripted=True, reward=float(n > 1 or (condition == "pd" and n)))
        for n, task in enumerate(tasks)
        for condition in ("no-skill", "baseline", "pd")
    ]
    runs = [_run(trial.trial, trial.condition) for trial in trials]
    events = [event for run in runs for event in run.events]
    with open_write(path) as store:
        store.put_plan(fake.plan(tasks))
        store.put_builds([fake.build(task) for task in tasks])
        store.put("trials", trials)
        fake.put(store, runs)
        fake.put_verdicts(store, [fake.verdict(event) for event in events])
    return path


def _run(trial: str, condition: str) -> Ingested:
    count = {"no-skill": 0, "baseline": 1, "pd": 3}[condition]
    events = [fake.event(f"log-{trial}", n, step=n + 1) for n in range(count)]
    values = {"agent_minutes": 2.0, "fanout": count} | {
        f"skill_steps_in_bin {n:02}": float(n < count) for n in range(20)
    }
    return fake.run(f"log-{trial}", trial=trial, steps=10, events=events, values=values)


def observed_logs(folder: Path) -> Path:
    """Two runs that were offered two skills; one opened two files of the first."""
    path = folder / "study.duckdb"
    events = (
        _seen(0, "SKILL.md", "root"),
        _seen(1, "forms.md", "support"),
        _seen(2, "forms.md", "support", step=3),
    )
    verdict = fake.verdict(events[1], source_quote=SECRET, action_quote=SECRET)
    with open_write(path) as store:
        store.put(
            "sources",
            [
                SourceRow(f"/home/{SECRET}/a.jsonl", "parsed", "codex-rollout", size=10),
                SourceRow(f"/home/{SECRET}/b.bin", "error", reason=f"{SECRET}: line 3 is cut off"),
                SourceRow(f"/home/{SECRET}/c.txt", "skipped", reason=HARMLESS),
            ],
        )
        for key, found in (("run-1", events), ("run-2", ())):
            run = fake.run(key, events=found, source=f"/home/{SECRET}/a.jsonl", warnings=(SECRET,))
            offered = (OfferedRow(key, "pdf-tools", False), OfferedRow(key, "never-used", False))
            fake.put(store, [fake.replaced(run, offered=offered)])
        fake.put_verdicts(store, [verdict])
    return path


def _seen(ordinal: int, resource: str, kind: str, **fields: int) -> ResourceEvent:
    return fake.event(
        "run-1", ordinal, skill="pdf-tools", resource=resource, resource_class=kind,
        quote=SECRET, note=SECRET, file=f"/home/{SECRET}/sub.jsonl", **fields,
    )  # fmt: skip


def hostile_study(folder: Path) -> Path:
    """A study whose names and texts try to leave their place."""
    path = folder / "study.duckdb"
    tasks = {"alpha": {"validation_type": EVIL}, "beta": {"validation_type": "plain"}}
    record, results, *_ = fake.build("alpha", "review")
    finding = results[-1].findings[0].model_copy(update={"message": "=HYPERLINK(1)"})
    results[-1] = results[-1].model_copy(update={"findings": (finding,)})
    trials = [
        fake.trial(task, condition, message=EVIL, exception=EVIL, agent=EVIL)
        for task in tasks
        for condition in ("baseline", "pd")
    ]
    with open_write(path) as store:
        store.put_plan(fake.plan(tasks, ("baseline", "pd")))
        store.put_builds([JudgedBuild(record, results)])
        store.put("trials", trials)
        for trial in trials:
            key = f"{EVIL}{trial.trial}"
            events = [fake.event(key, 0, skill=EVIL, resource=EVIL, quote=EVIL)]
            fake.put(store, [fake.run(key, trial=trial.trial, events=events)])
            fake.put_verdicts(store, [fake.verdict(events[0], note=EVIL)])
    return path


def nothing(folder: Path) -> Path:
    """A database without a row."""
    path = folder / "study.duckdb"
    with open_write(path):
        return path
