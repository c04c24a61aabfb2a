"""Stop a run whose agent lists other Skills than its conditions offer, before the other trials are paid for."""

from skilljuror.base.errors import HarnessError
from skilljuror.base.files import StudyFolder
from skilljuror.base.study import TrialRecord
from skilljuror.store.ingest.trials import contaminations_of, log_of

_FLAGS = {"other_skill_offered", "skill_not_offered"}


class FirstListings:
    """Compares the Skills in the first log of each condition with those that the condition offers."""

    def __init__(self, folder: StudyFolder) -> None:
        self._folder = folder
        self._compared: set[str] = set()

    def compare(self, record: TrialRecord) -> None:
        """Compare a finished trial. Raises HarnessError for a Skill too many or missing that the study does
        not accept."""
        trial = record.trial
        if record.condition in self._compared or not self._folder.trial_record(trial).is_file():
            return
        run, _ = log_of(self._folder.trial_raw(trial), record)
        if run is None or run.offered is None:
            return
        self._compared.add(record.condition)
        found = contaminations_of(self._folder.root, record)
        if said := "; ".join(detail for flag, detail in found if flag in _FLAGS):
            raise HarnessError(
                f"the run stopped: trial {trial!r}: {said}. Fix the agent and resume with --rerun contaminated"
                " after an ingest, or name the Skill in accept_skills of the study file and resume",
                field="accept_skills",
            )
