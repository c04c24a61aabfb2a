"""Count rewards and exceptions of a run by task, and by condition only on request.

Pass counts by condition invite early stopping, so by default a run hides the difference.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from skilljuror.base.study import TrialRecord

NO_REWARD = "none"
MOST_NAMES = 8
"""Maximum tasks named in a note."""


class OutcomeCounts(Struct, frozen=True):
    """Ends of the finished trials of a task, or of one of its cells."""

    task: str
    condition: str | None
    """None for all conditions together."""
    trials: int
    """Finished trials."""
    rewards: dict[str, int]
    """Reward -> trials; "none" for a missing reward."""
    exceptions: dict[str, int]
    """Exception -> trials."""


def count_outcomes(
    records: Iterable[TrialRecord], *, unblind: bool = False
) -> tuple[OutcomeCounts, ...]:
    """Count ends by task, and by condition as well with `unblind`."""
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
    """Note tasks and conditions whose trials all have the same reward: often the verifier is wrong, and
    such a task does not distinguish conditions."""
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
            f"on {len(tasks)} of {whole} tasks all trials have the same reward, so they do not"
            f" distinguish conditions: {shown}{more}"
        )
    if arms := _uniform((record.condition, record) for record in scored):
        which = ", ".join(f"{name} ({reward})" for name, reward in arms.items())
        shown = which if unblind else "--unblind shows which"
        notes.append(f"in {len(arms)} conditions all trials have the same reward: {shown}")
    return notes


def _uniform(grouped: Iterable[tuple[str, TrialRecord]]) -> dict[str, str]:
    """Name -> common reward, for names with two or more trials of one reward."""
    rewards: dict[str, list[str]] = defaultdict(list)
    for name, record in grouped:
        rewards[name].append(_reward(record))
    return {
        name: found[0]
        for name, found in sorted(rewards.items())
        if len(found) > 1 and len(set(found)) == 1
    }
