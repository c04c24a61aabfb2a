"""A fabricated study of twelve tasks whose uses a judge and people labelled."""

from pathlib import Path

import duckdb
import numpy as np

from skilljuror.judge.study import label_sample
from skilljuror.store import open_write
from tests.support import fabricated_records as fake

TASKS = [f"task-{n:02}" for n in range(12)]
JUDGE = "cascade/1 (tracing/2, made/up)"
MODEL = "made/up"


def judged_study(folder: Path, *, judge=None) -> tuple[Path, dict[str, str]]:
    """The database, and what people would say of each use.

    Both arms take up six of ten uses; the judge sees that in the baseline and overlooks half in pd.
    `judge` replaces its answer: (arm, truth, random number) -> label.
    """
    rng = np.random.default_rng(9)
    says = judge or overlooking
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "study.duckdb"
    plan = fake.plan({task: {} for task in TASKS}, trials=1)
    truths, runs, verdicts = {}, [], []
    for task in TASKS:
        for arm in ("baseline", "pd"):
            trial = fake.trial(task, arm)
            events = [fake.event(f"log-{trial.trial}", n, step=n + 1) for n in range(10)]
            runs.append((
                trial,
                fake.run(f"log-{trial.trial}", trial=trial.trial, steps=12, events=events),
            ))
            for event in events:
                truth = "yes" if rng.random() < 0.6 else "no"
                truths[event.event] = truth
                label = says(arm, truth, rng.random())
                verdicts.append(fake.verdict(
                    event, label, trial=trial.trial, judge=JUDGE, model=MODEL,
                    prompt_sha256="ab" * 32, category="background" if label == "no" else "implementation",
                ))  # fmt: skip
    with open_write(path) as store:
        store.put_plan(plan)
        store.put("trials", [trial for trial, _ in runs])
        fake.put(store, [made for _, made in runs])
        fake.put_verdicts(store, verdicts)
    return path, truths


def overlooking(arm, truth, chance):
    """Right of all in the baseline; of pd it overlooks half of what was taken up."""
    return "no" if arm == "pd" and truth == "yes" and chance < 0.5 else truth


def label(
    folder: Path, truths, reviewers=("ann",), *, arms=("baseline", "pd"), size=120, blind=True
):
    """People answer about the sample as the truth is; the second one errs about every fifth."""
    drawn = label_sample(folder, size=size).sample
    with duckdb.connect(str(folder / "study.duckdb")) as database:
        seen = dict(database.execute(
            "SELECT event, event_digest(event, file, line, agent, step, skill, resource, kind) FROM events"
        ).fetchall())  # fmt: skip
        for place, use in enumerate(drawn):
            for reviewer in reviewers if use.condition in arms else ():
                wrong = reviewer != reviewers[0] and place % 5 == 0
                told = truths[use.event] if not wrong else "unknown"
                database.execute(
                    "INSERT INTO labels VALUES (?, ?, ?, '', NULL, ?, ?)",
                    [use.event, reviewer, told, blind, seen[use.event]],
                )
    return drawn
