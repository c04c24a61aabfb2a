"""Run attribution, exposure and metrics on one trajectory."""

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from skilljuror.base.errors import UsageError
from skilljuror.base.files import path_of
from skilljuror.base.results import Ingested, Measure, Price, TrialContext
from skilljuror.base.skill import MappedUnit
from skilljuror.base.trajectory import SkillManifest, Trajectory
from skilljuror.events.attribute import Attribution, attribute
from skilljuror.events.exposure import expose
from skilljuror.measures.metrics import METRICS, families
from skilljuror.store.ingest.rows import compaction_rows, offered_rows, step_rows, trajectory_row
from skilljuror.store.ingest.token_counts import step_tokens, with_tokens

if TYPE_CHECKING:  # kept light for workers: no pydantic where logs are read
    from skilljuror.base.study import TrialRecord


class MeasureOptions(Struct, frozen=True):
    """Optional measures and columns."""

    count_tokens: bool = False
    """Count the tokens of every step exactly; otherwise their share is null."""
    metrics: tuple[str, ...] = ()
    """Metrics of other packages, `module:attribute`."""
    quotes: bool = True
    """Store previews of steps and quotes of evidence."""
    prices: tuple[Price, ...] | None = None
    """Model prices; None for the packaged list."""
    projects: bool = False
    """Store names of projects and persons; never without quotes."""


NOTHING_FURTHER = MeasureOptions()


def analyse(
    name: str,
    trajectory: Trajectory | None,
    record: "TrialRecord | None" = None,
    manifest: SkillManifest | None = None,
    units: Sequence[MappedUnit] = (),
    *,
    options: MeasureOptions = NOTHING_FURTHER,
) -> Ingested:
    """Return all database rows of one trial, or of one foreign run (without a record).

    Tokens of Skill text are counted if there is a knowledge map; those of every step only on
    request, because that is slow. Raises UsageError if a metric returns an undefined measure.
    """
    if trajectory is None:
        context = TrialContext(trial=name, record=record, manifest=manifest)
        return Ingested(trajectory=None, measures=measures_of(context, options.metrics))
    attribution = attribute(trajectory, manifest)
    variant = attribution.manifest.variant
    exposure = None
    if units and variant:
        exposure = expose(
            trajectory, attribution.events, units, variant, attribution.manifest.skills
        )
        exposure = with_tokens(exposure, attribution.events, attribution.manifest, units)
    steps = step_rows(trajectory, attribution.events)
    context = TrialContext(
        trial=name,
        record=record,
        trajectory=trajectory,
        events=attribution.events,
        exposure=exposure,
        unknown_use=_unknown_use(trajectory, attribution),
        manifest=attribution.manifest,
        step_bytes={(row.agent, row.step): row.text_bytes for row in steps},
        step_tokens=step_tokens(trajectory) if options.count_tokens else {},
        prices=options.prices,
    )
    return Ingested(
        trajectory=trajectory_row(
            trajectory, name if record else None, attribution.warnings, named=options.projects
        ),
        steps=steps,
        offered=offered_rows(trajectory),
        events=attribution.events,
        compactions=compaction_rows(trajectory, attribution.events),
        measures=measures_of(context, options.metrics),
        exposure=exposure,
        unknown_tools=attribution.unknown_tools,
    )


def _unknown_use(trajectory: Trajectory, attribution: Attribution) -> bool:
    """Whether an unknown tool may have opened a Skill that is not the agent's own."""
    own = {skill.name for skill in trajectory.offered or () if skill.bundled}
    return any(skill not in own for one in attribution.unknown_tools for skill in one.skills)


def size_of(files: Iterable[str]) -> int:
    """Total bytes of raw files; missing ones count 0."""
    paths = [path_of(file) for file in files]
    return sum(path.stat().st_size for path in paths if path.is_file())


def measures_of(context: TrialContext, further: tuple[str, ...] = ()) -> tuple[Measure, ...]:
    """Rows of every registered metric and of `further` ones."""
    rows: list[Measure] = []
    for name, metric in families(further).items():
        found = list(metric(context))
        if name not in METRICS:
            _check_defined(name, metric.definitions, found)
        rows += found
    return tuple(rows)


def _check_defined(name: str, defined: Container[str], found: Iterable[Measure]) -> None:
    for measure in found:
        if measure.metric not in defined:
            raise UsageError(f"metric {name!r} returns the undefined measure {measure.metric!r}")


def definition_rows(further: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Rows of the table `metrics`, one per measure. Raises UsageError for an invalid name."""
    return [
        {"metric": measure, "family": name, **vars(definition)}
        for name, metric in families(further).items()
        for measure, definition in metric.definitions.items()
    ]
