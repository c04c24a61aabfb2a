"""The builds of a study's tasks: made where they are not there, and taken as gates and people judge them."""

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct

from skilljuror.bundles import load_bundle
from skilljuror.errors import GateError, StudyError
from skilljuror.files import StudyFolder, read_record
from skilljuror.models.build import BuildRecord, VariantManifest
from skilljuror.models.measure import Price
from skilljuror.models.review import verdict_with
from skilljuror.models.study import BuildChoice, PlannedTask
from skilljuror.pipeline.construction.assay import AssaySettings, keep_assays
from skilljuror.pipeline.construction.build import build_source, load_build
from skilljuror.pipeline.construction.build_folder import GATE_RESULTS, RECORD
from skilljuror.pipeline.construction.model_build import build_with_model, model_engine
from skilljuror.pipeline.construction.reviews import reviewed
from skilljuror.pipeline.workers import Listener, Progress
from skilljuror.prices import PRICES


class StudyBuilds(Struct, frozen=True):
    """The builds of one study."""

    base: Path
    """Folder of the study file, which its paths are relative to."""
    folder: StudyFolder
    transforms: Mapping[str, str]
    """Variant that a condition offers -> the name of its transform, as the study file gives it."""
    choice: BuildChoice
    listener: Listener
    prices: tuple[Price, ...] = PRICES
    """What a model that takes part costs."""

    def make(self, tasks: Collection[PlannedTask]) -> None:
        """Make every build that is not there. Raises UsageError."""
        for done, task in enumerate(tasks if self.transforms else ()):
            self.listener(Progress("build", done, len(tasks), task.name))
            self._make(task)
            self.listener(Progress("build", done + 1, len(tasks), task.name))

    def made(self, task: PlannedTask) -> dict[str, VariantManifest]:
        """Variant -> manifest, of all that the conditions offer, whatever its gates say."""
        if not self.transforms:
            return {}
        return self._offered(task, reviewed(self.folder.build(task.name)).record)

    def accepted(
        self, tasks: Collection[PlannedTask], notes: list[str]
    ) -> dict[str, dict[str, VariantManifest]]:
        """task -> variant -> manifest, of all that the conditions offer; what a reader should know of
        them is added to `notes`. Raises GateError for a variant that failed its gates."""
        builds: dict[str, dict[str, VariantManifest]] = {}
        for task in tasks if self.transforms else ():
            judged = reviewed(self.folder.build(task.name))
            builds[task.name] = self._offered(task, judged.record)
            for manifest in builds[task.name].values():
                notes += self._gate_note(task, manifest, judged.review_notes)
            notes += judged.stale_notes
        return builds

    def assay(self, tasks: Collection[PlannedTask], jobs: int) -> None:
        """Measure the gates on the builds that nobody has measured yet, where the study asks for it."""
        if not (self.choice.assay and self.transforms):
            return
        sources = {self.folder.build(task.name): self.base / task.skills for task in tasks}
        missing = {build: sources[build] for build in sources if load_build(build).assay is None}
        settings = AssaySettings(sites=self.choice.assay)
        keep_assays(missing, settings, jobs=jobs, progress=self.listener)

    def _offered(self, task: PlannedTask, record: BuildRecord) -> dict[str, VariantManifest]:
        made = {manifest.variant: manifest for manifest in record.variants}
        for name in sorted(self.transforms):
            if name not in made:
                raise StudyError(
                    f"the build of task {task.name!r} has no variant {name!r}, only"
                    f" {', '.join(sorted(made))}; correct the condition, or delete the build",
                    file=str(self.folder.build(task.name)),
                    field="conditions",
                )
        return {name: made[name] for name in sorted(self.transforms)}

    def _make(self, task: PlannedTask) -> None:
        """Make the build of a task's source where it is not there; one that is of another source or model,
        or lacks a variant, is made again as long as no trial rests on it. One that a model made before the
        study is taken as it is, unless the study names an engine itself."""
        target, source = self.folder.build(task.name), self.base / task.skills
        choice, wanted = self.choice, sorted(self.transforms)
        if (target / RECORD).is_file():
            record = read_record(BuildRecord, target / RECORD)
            same = record.source.tree_digest == load_bundle(source, inspect=False).digest
            complete = {manifest.variant for manifest in record.variants} >= set(wanted)
            given = choice.engine == "plan" and record.engine != "plan"
            fits = same and complete and _made_as_asked(record, choice)
            if fits or given or self.folder.finished_trials():
                _check_source(task, target, same)
                return
        engine = model_engine(choice.engine, choice.model, self.folder.calls)
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
                f"{where} {_failed(waivers.get(manifest.variant))}, so it does not carry the source's knowledge;"
                f" read {file}, mend the source, or accept what it found:"
                f" skilljuror waive {self.folder.root}",
                file=str(file),
            )
        look = f"waits for a person's review: skilljuror review {self.folder.root}"
        notes = {None: "was judged by no gate", "review": look}
        if manifest.verdict in notes:
            yield f"{where} {notes[manifest.verdict]}"
        elif by := waivers.get(manifest.variant):
            yield f"{where} {verdict_with(manifest.verdict, by)}"


def _failed(note: str | None) -> str:
    return f"failed with {note}" if note else "failed its gates"


def _made_as_asked(record: BuildRecord, choice: BuildChoice) -> bool:
    """Whether a build is of the engine and the model that a study asks for."""
    return (record.engine, record.options.get("model")) == (choice.engine, choice.model)


def _check_source(task: PlannedTask, target: Path, same: bool) -> None:
    if not same:
        raise StudyError(
            f"the build at {str(target)!r} is of another source than {task.skills!r} of task"
            f" {task.name!r}; build that source there, or run into another folder",
            file=str(target),
        )
