"""What the attempts of a study have used so far, against what its study file allows.

Every attempt counts, those that were run again included. A run stops between trials once the budget
is reached, and goes on where it is raised.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from skilljuror.files import StudyFolder, read_record
from skilljuror.metrics import efficiency
from skilljuror.models.measure import Price, TrialContext
from skilljuror.models.study import Budget, TrialRecord
from skilljuror.pipeline.ingestion.trials import trajectory_of
from skilljuror.prices import PRICES

PRINTED = "agent-stdout.txt"
"""What an agent printed: it was started, though nobody may know how long it took."""
Job = TypeVar("Job")


class Spending:
    """What has been used of a budget."""

    def __init__(
        self, folder: StudyFolder, budget: Budget, prices: tuple[Price, ...] = PRICES
    ) -> None:
        self._folder = folder
        self._prices = prices
        self._budget = budget
        self._counted: set[tuple[str, str]] = set()
        self.minutes = 0.0
        """Minutes of agents' work."""
        self._costs: list[float] = []
        self.unpriced: dict[str, int] = {}
        """Why the cost of an attempt is not known -> attempts."""
        if budget != Budget():
            for trial in folder.finished_trials():
                self.count(trial)
            for trial, number in folder.earlier_attempts():
                self._add(folder.attempt(trial, number))

    @property
    def dollars(self) -> float:
        """US dollars for models; an attempt of unknown cost counts as the dearest known one."""
        unknown = sum(self.unpriced.values())
        return sum(self._costs) + unknown * max(self._costs, default=0.0)

    def count(self, trial: str) -> None:
        """Count the attempt that a trial holds now, and earlier ones that nobody has counted yet."""
        if self._budget == Budget():
            return
        number = 1
        while (attempt := self._folder.attempt(trial, number)).is_dir():
            self._add(attempt)
            number += 1
        self._add(self._folder.trial(trial))

    def _add(self, attempt: Path) -> None:
        record = read_record(TrialRecord, attempt / "trial.json")
        own = record.trial, record.started_at  # its folder is another once it was run again
        if own in self._counted:
            return
        self._counted.add(own)
        self.minutes += (record.agent_seconds or 0.0) / 60
        if self._budget.dollars is not None:
            cost = _cost(attempt, record, self._prices)
            if isinstance(cost, str):
                self.unpriced[cost] = self.unpriced.get(cost, 0) + 1
            else:
                self._costs.append(cost)

    def affordable(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """The jobs, one by one, as long as the budget is not reached."""
        for job in jobs:
            if self.reached():
                return
            yield job

    def reached(self) -> str | None:
        """What of the budget is used up, in words; None while there is some of all left."""
        budget = self._budget
        if budget.minutes is not None and self.minutes >= budget.minutes:
            return f"budget.minutes: {self.minutes:.1f} of {budget.minutes:g} are used"
        if budget.dollars is not None and self.dollars >= budget.dollars:
            return f"budget.dollars: {self.dollars:.2f} of {budget.dollars:g} are used"
        return None

    def notes(self) -> list[str]:
        """What the figures leave open."""
        if not self.unpriced:
            return []
        reasons = ", ".join(f"{name} {count}" for name, count in sorted(self.unpriced.items()))
        each = "as the dearest known one" if self._costs else "as nothing, for none is known"
        return [
            f"budget.dollars: what {sum(self.unpriced.values())} attempts cost is not known ({reasons});"
            f" each counts {each}"
        ]


def _cost(attempt: Path, record: TrialRecord, prices: tuple[Price, ...]) -> float | str:
    """Dollars of an attempt by list price, else as its log states it; or why nobody knows."""
    raw = attempt / "raw"
    if record.scripted or (record.agent_seconds is None and not (raw / PRINTED).exists()):
        return 0.0
    trajectory = trajectory_of(raw, record)
    context = TrialContext(trial=record.trial, record=record, trajectory=trajectory, prices=prices)
    found = {row.metric: row for row in efficiency.measure(context)}
    for row in (found["cost_usd"], found["cost_usd_logged"]):
        if row.value is not None:
            return row.value
    return found["cost_usd"].reason or "not_reported"
