"""Compare the use of all attempts with the study's budget.

Every attempt counts, including reruns. A run stops between trials when the budget is used up; raise it and
rerun to resume.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.results import Price, TrialContext
from skilljuror.base.study import Budget, TrialRecord
from skilljuror.base.texts import PRICES
from skilljuror.measures.metrics import efficiency
from skilljuror.store.ingest.trials import log_of
from skilljuror.study.faults import RUN_STOPPED

PRINTED = "agent-stdout.txt"
"""Output of an agent: proof that it started, even if its duration is unknown."""
Job = TypeVar("Job")


class Spending:
    def __init__(
        self, folder: StudyFolder, budget: Budget, prices: tuple[Price, ...] = PRICES
    ) -> None:
        self._folder = folder
        self._prices = prices
        self._budget = budget
        self._counted: set[tuple[str, str]] = set()
        self._seconds: list[float] = []
        self.untimed = 0
        """Stopped attempts of unknown duration."""
        self._costs: list[float] = []
        self.unpriced: dict[str, int] = {}
        """Reason for an unknown cost -> attempts."""
        if budget != Budget():
            for trial in folder.finished_trials():
                self.count(trial)
            for trial, number in folder.earlier_attempts():
                self._add(folder.attempt(trial, number))

    @property
    def minutes(self) -> float:
        """Agent minutes; an attempt of unknown duration counts as the longest known one."""
        return (sum(self._seconds) + self.untimed * max(self._seconds, default=0.0)) / 60

    @property
    def dollars(self) -> float:
        """Model costs in US dollars; an attempt of unknown cost counts as the most expensive known one."""
        unknown = sum(self.unpriced.values())
        return sum(self._costs) + unknown * max(self._costs, default=0.0)

    def count(self, trial: str) -> None:
        """Count a trial's current attempt and uncounted earlier ones."""
        if self._budget == Budget():
            return
        number = 1
        while (attempt := self._folder.attempt(trial, number)).is_dir():
            self._add(attempt)
            number += 1
        self._add(self._folder.trial(trial))

    def _add(self, attempt: Path) -> None:
        record = read_record(TrialRecord, attempt / "trial.json")
        own = record.trial, record.started_at  # a rerun changes an attempt's folder
        if own in self._counted:
            return
        self._counted.add(own)
        if record.agent_seconds is not None:
            self._seconds.append(record.agent_seconds)
        elif record.exception == RUN_STOPPED:
            self.untimed += 1
        if self._budget.dollars is not None:
            cost = _cost(attempt, record, self._prices)
            if isinstance(cost, str):
                self.unpriced[cost] = self.unpriced.get(cost, 0) + 1
            else:
                self._costs.append(cost)

    def affordable(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Yield jobs until the budget is reached."""
        for job in jobs:
            if self.reached():
                return
            yield job

    def reached(self) -> str | None:
        """Describe the part of the budget that is used up, or None."""
        budget = self._budget
        if budget.minutes is not None and self.minutes >= budget.minutes:
            return f"budget.minutes: {self.minutes:.1f} of {budget.minutes:g} are used"
        if budget.dollars is not None and self.dollars >= budget.dollars:
            return f"budget.dollars: {self.dollars:.2f} of {budget.dollars:g} are used"
        return None

    def notes(self) -> list[str]:
        """Note unknown durations and costs."""
        notes, nothing = [], "as 0, because no other is known"
        if self.untimed and self._budget.minutes is not None:
            each = "as the longest known one" if self._seconds else nothing
            notes.append(
                f"budget.minutes: the duration of {self.untimed} stopped attempts is unknown; each"
                f" is counted {each}"
            )
        if self.unpriced:
            reasons = ", ".join(f"{name} {count}" for name, count in sorted(self.unpriced.items()))
            each = "as the most expensive known one" if self._costs else nothing
            notes.append(
                f"budget.dollars: the cost of {sum(self.unpriced.values())} attempts is unknown"
                f" ({reasons}); each is counted {each}"
            )
        return notes


def _cost(attempt: Path, record: TrialRecord, prices: tuple[Price, ...]) -> float | str:
    """Dollars of an attempt by list price, else by its log, or the reason why unknown."""
    raw = attempt / "raw"
    started = record.agent_seconds is not None or record.exception == RUN_STOPPED
    if record.scripted or not (started or (raw / PRINTED).exists()):
        return 0.0
    trajectory, _ = log_of(raw, record)
    context = TrialContext(trial=record.trial, record=record, trajectory=trajectory, prices=prices)
    found = {row.metric: row for row in efficiency.measure(context)}
    for row in (found["cost_usd"], found["cost_usd_logged"]):
        if row.value is not None:
            return row.value
    return found["cost_usd"].reason or "not_reported"
