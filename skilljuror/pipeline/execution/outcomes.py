"""What a run says of its trials' ends: rewards and exceptions by task, by condition only on demand.

Who sees pass counts of conditions before all trials have run may stop when they please; so a run tells
only what says nothing about the difference.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from skilljuror.models.study import TrialRecord

NO_REWARD = "none"
MOST_NAMES = 8
"""Tasks that a note names."""


class OutcomeCounts(Struct, frozen=True):
    """How the finished trials of a task, or of one of its cells, ended."""

    task: str
    """The task."""
    condition: str | None
    """The condition; None for all of them together."""
    trials: int
    """Finished trials."""
    rewards: dict[str, int]
    """Reward -> trials; "none" for those without one."""
    exceptions: dict[str, int]
    """Class of the end when it was not clean -> trials."""


def count_outcomes(
    records: Iterable[TrialRecord], *, unblind: bool = False
) -> tuple[OutcomeCounts, ...]:
    """How trials ended, task by task, and condition by condition as well with `unblind`."""
    groups: dict[tuple[str, str | None], list[TrialRecord]] = defaultdict(list)
    for record in records:
        groups[record.task, record.condition if unblind else None].append(record)
    return tuple(
        OutcomeCounts(
            task,
            condition,
            len(group),
            dict(sorted(Counter(map(_reward, group)).items())),
            dict(sorted(Counter(one.exception for one in group if one.exception).items())),
        )
        for (task, condition), group in sorted(groups.items(), key=lambda one: str(one[0]))
    )


def _reward(record: TrialRecord) -> str:
    return NO_REWARD if record.reward is None else f"{record.reward:g}"


def uniform_rewards(records: Sequence[TrialRecord], *, unblind: bool = False) -> list[str]:
    """What is to be said of tasks and conditions all whose trials have one reward: often a verifier is
    wrong there, and a task on which all are alike tells no conditions apart."""
    scored = [record for record in records if record.reward is not None]
    everywhere = _uniform(("all", record) for record in scored)
    if everywhere:
        return [f"all {len(scored)} trials with a reward have reward {everywhere['all']}"]
    notes = []
    if tasks := _uniform((record.task, record) for record in scored):
        shown = ", ".join(f"{name} ({reward})" for name, reward in list(tasks.items())[:MOST_NAMES])
        more = f" and {len(tasks) - MOST_NAMES} more" if len(tasks) > MOST_NAMES else ""
        whole = len({record.task for record in scored})
        notes.append(
            f"on {len(tasks)} of {whole} tasks every trial has one reward, so that they tell no"
            f" conditions apart: {shown}{more}"
        )
    if arms := _uniform((record.condition, record) for record in scored):
        which = ", ".join(f"{name} ({reward})" for name, reward in arms.items())
        told = which if unblind else "--unblind says which"
        notes.append(f"in {len(arms)} conditions every trial has one reward: {told}")
    return notes


def _uniform(grouped: Iterable[tuple[str, TrialRecord]]) -> dict[str, str]:
    """Name -> the one reward of its trials, of those with two trials or more."""
    rewards: dict[str, list[str]] = defaultdict(list)
    for name, record in grouped:
        rewards[name].append(_reward(record))
    return {
        name: found[0]
        for name, found in sorted(rewards.items())
        if len(found) > 1 and len(set(found)) == 1
    }
