"""Paths in a study folder."""

from pathlib import Path
from shlex import quote

from skilljuror.base.errors import StudyError


class StudyFolder:
    """Paths in a study folder; no other code composes them."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def existing(cls, root: Path) -> "StudyFolder":
        """Return an existing study folder. Raises StudyError."""
        if not root.is_dir():
            why = "that is a file" if root.exists() else "the folder does not exist"
            raise StudyError(
                f"no study at {str(root)!r}: {why}; name the folder that `skilljuror run` or"
                " `skilljuror ingest` wrote",
                file=str(root),
            )
        return cls(root)

    @property
    def planned(self) -> bool:
        """Whether the study has its own trials; otherwise it holds foreign logs."""
        return self.plan_file.is_file()

    @property
    def study_file(self) -> Path:
        """Copy of the study file as run."""
        return self.root / "study.yaml"

    @property
    def plan_file(self) -> Path:
        """The frozen plan."""
        return self.root / "plan.json"

    @property
    def database(self) -> Path:
        """The disposable DuckDB file."""
        return self.root / "study.duckdb"

    @property
    def existing_database(self) -> Path:
        """The DuckDB file. Raises StudyError if it does not exist."""
        if not self.database.is_file():
            study, logs = str(self.root), "" if self.planned else " PATH"
            if (self.root / "build.json").is_file():
                raise StudyError(
                    f"{study!r} is a single build, which has files but no database: list its findings with"
                    f" skilljuror waive {quote(study)}; a database needs two or more sources in one folder (skilljuror build"
                    " A B --out DIR) or the trials of a study",
                    file=str(self.database),
                )
            raise StudyError(
                f"{study!r} has no database; create it with:"
                f" skilljuror ingest{logs} --study {quote(study)}",
                file=str(self.database),
            )
        return self.database

    @property
    def trials(self) -> Path:
        """Finished trials, one folder each."""
        return self.root / "trials"

    @property
    def jobs(self) -> Path:
        """Jobs of a harness that runs trials in batches, including unfinished attempts."""
        return self.root / "jobs"

    @property
    def sources_file(self) -> Path:
        """Paths given to `ingest` in observed mode, so that it can be repeated."""
        return self.root / "sources.jsonl"

    @property
    def calls(self) -> Path:
        """Log of model calls for its builds: a question is paid once per study."""
        return self.root / "calls.jsonl"

    @property
    def generation(self) -> Path:
        """Skills that were generated in this study, and where each came from."""
        return self.root / "generation.jsonl"

    @property
    def reviews(self) -> Path:
        """Decisions of people: waivers, answers, and accepted trials."""
        return self.root / "reviews.jsonl"

    @property
    def task_attributes(self) -> Path:
        """A model's classification of each task."""
        return self.root / "task-attributes.jsonl"

    @property
    def judged_items(self) -> Path:
        """Verdicts on the items of rubrics, by code and models."""
        return self.root / "judged-items.jsonl"

    @property
    def label_sample(self) -> Path:
        """The uses to be labelled by people, sampled once."""
        return self.root / "label-sample.json"

    @property
    def no_quotes(self) -> Path:
        """Exists in a study that stores no texts of its logs."""
        return self.root / "no-quotes"

    @property
    def report(self) -> Path:
        """Default folder of the report."""
        return self.root / "report"

    @property
    def builds(self) -> Path:
        """Builds of the tasks, one folder each."""
        return self.root / "variants"

    def build(self, task: str) -> Path:
        """The build of one task."""
        return self.builds / task

    def variant(self, task: str, variant: str) -> Path:
        """The skill folders of one variant of one task."""
        return self.build(task) / "variants" / variant

    @property
    def given(self) -> Path:
        """Skills that conditions offer unchanged, one folder each below the task's."""
        return self.root / "skills"

    def offered(self, task: str, variant: str) -> Path:
        """Return the Skill folders offered to a trial: a Skill as it is, or a variant."""
        given = self.given / task / variant
        return given if given.is_dir() else self.variant(task, variant)

    def trial(self, trial: str) -> Path:
        """The folder of one trial."""
        return self.trials / trial

    def trial_record(self, trial: str) -> Path:
        """The record of one trial."""
        return self.trial(trial) / "trial.json"

    def trial_raw(self, trial: str) -> Path:
        """The raw artifacts of one trial, unchanged."""
        return self.trial(trial) / "raw"

    def acceptance(self, trial: str) -> Path:
        """Where earlier versions stored the acceptance of a trial's result; now in `reviews`."""
        return self.trial(trial) / "accepted.json"

    @property
    def attempts(self) -> Path:
        """Earlier attempts at trials, one folder each; they do not count as results."""
        return self.root / "attempts"

    def attempt(self, trial: str, number: int) -> Path:
        """Return the folder of an earlier attempt at a trial, numbered from 1."""
        return self.attempts / f"{trial}__{number}"

    def earlier_attempts(self) -> list[tuple[str, int]]:
        """Yield (trial, number) of every earlier attempt, sorted."""
        if not self.attempts.is_dir():
            return []
        parts = (entry.name.rpartition("__") for entry in self.attempts.iterdir())
        return sorted((trial, int(number)) for trial, _, number in parts if number.isdecimal())

    def finished_trials(self) -> list[str]:
        """Return the names of trials that have a record, sorted."""
        if not self.trials.is_dir():
            return []
        return sorted(
            entry.name
            for entry in self.trials.iterdir()
            if not entry.name.startswith(".") and (entry / "trial.json").is_file()
        )
