"""The builds of a study's tasks, and the inputs of one run."""

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct

from skilljuror.base.build import BuildRecord, VariantManifest
from skilljuror.base.errors import GateError, QuestionRefused, StudyError, UnusableAnswer
from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.results import Price
from skilljuror.base.review import verdict_with
from skilljuror.base.study import AgentProgram, BuildChoice, PlannedTask, StudyPlan
from skilljuror.base.texts import PRICES
from skilljuror.base.workers import Listener, Progress
from skilljuror.harness.base import Harness
from skilljuror.layouts.build.build import build_source, load_build
from skilljuror.layouts.build.folder import GATE_RESULTS, RECORD
from skilljuror.layouts.build.given_skills import GivenSkills
from skilljuror.layouts.build.model_build import (
    ModelEngine,
    Rewriting,
    build_with_model,
    model_engine,
)
from skilljuror.layouts.build.reviews import reviewed
from skilljuror.layouts.build.scopes import judged_scopes
from skilljuror.skill.bundles import load_bundle


class StudyBuilds(Struct, frozen=True):
    """The builds of one study."""

    base: Path
    """Folder of the study file, which its paths are relative to."""
    folder: StudyFolder
    transforms: Mapping[str, str]
    """Offered variant -> name of its transform in the study file."""
    choice: BuildChoice
    listener: Listener
    prices: tuple[Price, ...] = PRICES

    def make(self, tasks: Collection[PlannedTask]) -> dict[str, str]:
        """Make missing builds; return task -> why a model gave no variants. Raises UsageError, and
        ModelError for an unreachable model."""
        failed = {}
        for done, task in enumerate(tasks if self.transforms else ()):
            self.listener(Progress("build", done, len(tasks), task.name))
            try:
                self._make(task)
            except (UnusableAnswer, QuestionRefused) as error:
                failed[task.name] = error.message
            self.listener(Progress("build", done + 1, len(tasks), task.name))
        return failed

    def made(self, task: PlannedTask) -> dict[str, VariantManifest]:
        """Offered variant -> manifest, regardless of its gates."""
        if not self.transforms:
            return {}
        return self._offered(task, reviewed(self.folder.build(task.name)).record)

    def accepted(
        self, tasks: Collection[PlannedTask], notes: list[str]
    ) -> dict[str, dict[str, VariantManifest]]:
        """task -> offered variant -> manifest; appends to `notes`. Raises GateError for a variant that
        failed its gates."""
        builds: dict[str, dict[str, VariantManifest]] = {}
        for task in tasks if self.transforms else ():
            judged = reviewed(self.folder.build(task.name))
            builds[task.name] = self._offered(task, judged.record)
            for manifest in builds[task.name].values():
                notes += self._gate_note(task, manifest, judged.review_notes)
            notes += judged.stale_notes
        return builds

    def assay(self, tasks: Collection[PlannedTask], jobs: int) -> None:
        """Measure the gates on builds without an assay, if the study requests it."""
        if not (self.choice.assay and self.transforms):
            return
        sources = {self.folder.build(task.name): self.base / task.skills for task in tasks}
        missing = {build: sources[build] for build in sources if load_build(build).assay is None}
        from skilljuror.layouts.build.assay import AssaySettings, keep_assays

        settings = AssaySettings(sites=self.choice.assay)
        keep_assays(missing, settings, jobs=jobs, progress=self.listener)

    def _offered(self, task: PlannedTask, record: BuildRecord) -> dict[str, VariantManifest]:
        made = {manifest.variant: manifest for manifest in record.variants}
        for name in sorted(self.transforms):
            if name not in made:
                raise StudyError(
                    f"the build of task {task.name!r} has no variant {name!r} (it has"
                    f" {', '.join(sorted(made))}); fix the condition, or delete the build",
                    file=str(self.folder.build(task.name)),
                    field="conditions",
                )
        return {name: made[name] for name in sorted(self.transforms)}

    def _make(self, task: PlannedTask) -> None:
        """Make a missing build. A build with another source or model, or without a variant, is rebuilt
        unless trials have finished. A model's build is used as is if the study names no engine."""
        target, source = self.folder.build(task.name), self.base / task.skills
        choice, wanted = self.choice, sorted(self.transforms)
        if (target / RECORD).is_file():
            record = read_record(BuildRecord, target / RECORD)
            bundle = load_bundle(source, inspect=False)
            same = record.source.tree_digest == bundle.digest
            complete = {manifest.variant for manifest in record.variants} >= set(wanted)
            given = choice.engine == "plan" and record.engine != "plan"
            written = record.engine == "rewrite"
            judged = written or record.options.get("scopes", {}) == judged_scopes(source, bundle)
            fits = same and complete and judged and made_as_asked(record, choice)
            if fits or given or self.folder.finished_trials():
                _check_source(task, target, same)
                return
        engine = engine_of(choice, self.folder.calls)
        build = build_source
        if engine:
            build = partial(build_with_model, engine=engine._replace(prices=self.prices))
        build(
            source,
            target,
            variants=[self.transforms[variant] for variant in wanted],
            options=choice.options,
            gates=choice.gates,
        )

    def _gate_note(
        self, task: PlannedTask, manifest: VariantManifest, waivers: dict[str, str]
    ) -> Iterator[str]:
        where = f"variant {manifest.variant!r} of task {task.name!r}"
        if manifest.verdict == "fail":
            file = self.folder.build(task.name) / GATE_RESULTS
            raise GateError(
                f"{where} {_failed(waivers.get(manifest.variant))}, so it does not preserve the source's"
                f" knowledge; read {file}, then fix the source or waive the findings:"
                f" skilljuror waive {self.folder.root}",
                file=str(file),
            )
        look = f"waits for a person's review: skilljuror review {self.folder.root}"
        notes = {None: "has no gate results", "review": look}
        if manifest.verdict in notes:
            yield f"{where} {notes[manifest.verdict]}"
        elif by := waivers.get(manifest.variant):
            yield f"{where} {verdict_with(manifest.verdict, by)}"


def _failed(note: str | None) -> str:
    return f"failed with {note}" if note else "failed its gates"


def engine_of(choice: BuildChoice, calls: Path) -> ModelEngine | None:
    """Return the engine that a study file names; raises as `model_engine`."""
    rewriting = Rewriting(rubric=choice.rubric)
    return model_engine(choice.engine, choice.model, calls, rewriting=rewriting)


def made_as_asked(record: BuildRecord, choice: BuildChoice) -> bool:
    """Whether engine, model and rubric are those of the study file."""
    if choice.engine != "rewrite":
        return record.engine == choice.engine
    made = record.engine, record.options.get("model"), record.options.get("rubric")
    return made == (choice.engine, choice.model, choice.rubric)


def _check_source(task: PlannedTask, target: Path, same: bool) -> None:
    if not same:
        raise StudyError(
            f"the build at {str(target)!r} has another source than {task.skills!r} of task"
            f" {task.name!r}; build that source there, or run into another folder",
            file=str(target),
        )


class StudyRun(Struct, frozen=True):
    """Inputs of one call of `run_study`."""

    base: Path
    """Folder of the study file, which its paths are relative to."""
    builds: StudyBuilds
    given: GivenSkills
    """The Skills that conditions offer by path."""
    plan: StudyPlan
    folder: StudyFolder
    agents: dict[str, AgentProgram]
    """Condition -> agent."""
    harness: Harness
    listener: Listener
    """Progress callback."""
