"""What every judge is held to, on events whose uptake is known.

python -m tests.support.judge_contract JUDGE

JUDGE is a name of `JUDGES` or a module:attribute. It prints how each category fares and what the
judge leaves open, and ends with 1 where the contract is broken.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from skilljuror.base.errors import resolve
from skilljuror.base.results import Verdict
from skilljuror.base.trajectory import Trajectory
from skilljuror.judge import JUDGES, Judge
from skilljuror.judge.shown import RUN_KINDS, call_text
from tests.support.planted_uptake import PlantedEvent, planted_events

LEAST_PRECISION = 0.98
"""Share of a judge's yes that must be true."""


class Answer(NamedTuple):
    """One planted event, and all that the judge said about its run."""

    planted: PlantedEvent
    """The event with the truth."""
    verdicts: tuple[Verdict, ...]
    """The verdicts on every event of its run."""

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the event itself."""
        return next((one for one in self.verdicts if one.event == self.planted.event.event), None)

    @property
    def label(self) -> str:
        """What was said: yes, no, unknown, or none."""
        return self.verdict.label if self.verdict else "none"


def answers(judge: Judge) -> list[Answer]:
    """What a judge says about every planted event."""
    return [
        Answer(one, tuple(judge.judge(one.id, one.trajectory, one.events, None)))
        for one in planted_events()
    ]


def breaches(given: Sequence[Answer]) -> list[str]:
    """How the answers break the contract; empty where they keep it."""
    found = [f"{one.planted.id}: {why}" for one in given for why in _broken(one)]
    right, yes = precision(given)
    if yes and right / yes < LEAST_PRECISION:
        wrong = [one.planted.id for one in given if one.label == "yes" and not one.planted.truth]
        found.append(f"{right} of {yes} yes are true, too few; false: {', '.join(wrong)}")
    return found


def precision(given: Sequence[Answer]) -> tuple[int, int]:
    """(true yes, yes)."""
    yes = [one.planted.truth for one in given if one.label == "yes"]
    return sum(yes), len(yes)


def _broken(answer: Answer) -> Iterator[str]:
    planted = answer.planted
    counted = [event.event for event in planted.events if event.counts]
    if [one.event for one in answer.verdicts] != counted:
        yield "not one verdict per counted event in order"
    steps = {event.event: event for event in planted.events}
    shown, written = _folded(_shown(planted.trajectory)), _folded(_written(planted.trajectory))
    for one in answer.verdicts:
        if one.label != "yes":
            continue
        event = steps[one.event]
        if not one.source_quote or _folded(one.source_quote) not in shown + written:
            yield f"the source quote {one.source_quote!r} is not in the run"
        if not one.action_quote or _folded(one.action_quote) not in written + shown:
            yield f"the action quote {one.action_quote!r} is not in the run"
        later = one.action_step is not None and one.action_step > event.step
        if not later and event.kind not in RUN_KINDS:
            yield f"the action at step {one.action_step} is no later one"


def _folded(text: str) -> str:
    return " ".join(text.split())


def _shown(run: Trajectory) -> str:
    results = [c.result.text for step in run.steps for c in step.calls if c.result]
    return "\n".join(results + [message.text for message in run.messages])


def _written(run: Trajectory) -> str:
    calls = [call_text(call) for step in run.steps for call in step.calls]
    return "\n".join(calls + [f"{step.text}\n{step.reasoning}" for step in run.steps])


def report(given: Sequence[Answer]) -> str:
    """How each category fares: true and false yes, and what is left open."""
    rows: dict[str, list[Answer]] = defaultdict(list)
    for one in given:
        rows[one.planted.category].append(one)
    width = max(map(len, rows))
    lines = [f"{'':<{width}}  events  uptake  yes  false yes  wrong no  left open"]
    for name, part in [*sorted(rows.items()), ("all", list(given))]:
        truths = [(one.planted.truth, one.label) for one in part]
        lines.append(
            f"{name:<{width}}{len(part):>8}{sum(truth for truth, _ in truths):>8}"
            f"{truths.count((True, 'yes')):>5}{truths.count((False, 'yes')):>11}"
            f"{truths.count((True, 'no')):>10}{truths.count((True, 'unknown')):>11}"
        )
    left = [one.planted.id for one in given if one.planted.truth and one.label == "unknown"]
    right, yes = precision(given)
    whole = sum(one.planted.truth for one in given)
    lines.append(f"left open: {', '.join(left) or 'nothing'}")
    lines.append(f"precision of yes {right}/{yes}, recall {right}/{whole}")
    return "\n".join(lines)


def main(argv: Sequence[str]) -> int:
    """Print the report and every breach."""
    judge: Judge = resolve(JUDGES, argv[0], "judge", Judge)()
    given = answers(judge)
    broken = breaches(given)
    sys.stdout.write("\n".join([report(given), *(f"broken: {line}" for line in broken), ""]))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
