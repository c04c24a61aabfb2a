"""Made-up judges and people, of whom the truth is known: for coverage of intervals."""

from typing import TypeVar

import numpy as np

from skilljuror.measures.agreement import stratified_sample
from skilljuror.measures.prediction_powered import JudgedItem

T = TypeVar("T")


def there(value: T | None) -> T:
    """The value, which must not be missing."""
    assert value is not None
    return value


def judged_arm(rng, tasks, *, lift=0.0, sensitivity=0.8, false_yes=0.15):
    """[(task, what people would say, what the judge says)] of one arm: uses of one task are alike, 5 %
    are open to people, and the judge leaves a tenth undecided."""
    rows = []
    for task, level in enumerate(tasks):
        for _ in range(1 + rng.poisson(9)):
            taken_up = rng.random() < 1 / (1 + np.exp(-(level + lift)))
            truth = "unknown" if rng.random() < 0.05 else ("yes" if taken_up else "no")
            says_yes = rng.random() < (sensitivity if taken_up else false_yes)
            judge = "unknown" if rng.random() < 0.1 else ("yes" if says_yes else "no")
            rows.append((f"t{task:03}", truth, judge))
    return rows


def labelled(arms, labels, seed):
    """The arms as judged items of which a stratified sample of `labels` carries people's answers."""
    rows = {f"{arm}/{n}": row for arm, rows in enumerate(arms) for n, row in enumerate(rows)}
    strata = {item: (item[0], row[2]) for item, row in rows.items()}
    drawn = {one.item: 1 / one.probability for one in stratified_sample(strata, labels, seed)}
    items: tuple[list[JudgedItem], list[JudgedItem]] = ([], [])
    for item, (task, truth, judge) in rows.items():
        person = truth if item in drawn else None
        items[int(item[0])].append(JudgedItem(task, judge, person, drawn.get(item, 1.0)))
    return items


def true_rate(lift):
    """yes / (yes + no) of tasks in general, for task levels that are normal(0.5, 1)."""
    levels = np.linspace(-5, 6, 4001)
    density = np.exp(-((levels - 0.5) ** 2) / 2)
    return float((density / (1 + np.exp(-(levels + lift)))).sum() / density.sum())
