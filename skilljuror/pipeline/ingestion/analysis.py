"""One trajectory through attribution, exposure and metrics."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skilljuror.attribution.attribute import attribute
from skilljuror.attribution.exposure import expose
from skilljuror.metrics import METRICS
from skilljuror.metrics.base import Metric
from skilljuror.models.events import SkillManifest
from skilljuror.models.ingest import Ingested
from skilljuror.models.knowledge import MappedUnit
from skilljuror.models.measure import Measure, TrialContext
from skilljuror.models.trajectory import Trajectory
from skilljuror.pipeline.ingestion.rows import offered_rows, step_rows, trajectory_row
from skilljuror.pipeline.ingestion.token_counts import step_tokens, with_tokens
from skilljuror.registry import resolve

if TYPE_CHECKING:  # what workers load counts: no pydantic where logs are read
    from skilljuror.models.study import TrialRecord


def analyse(
    name: str,
    trajectory: Trajectory | None,
    record: "TrialRecord | None" = None,
    manifest: SkillManifest | None = None,
    units: Sequence[MappedUnit] = (),
    *,
    count_tokens: bool = False,
) -> Ingested:
    """Everything the database keeps of one trial, or of one foreign run (no record).

    Tokens of Skill text are counted where a knowledge map stands; `count_tokens` counts those of
    every step as well, which is the one slow measure.
    """
    if trajectory is None:
        context = TrialContext(trial=name, record=record, manifest=manifest)
        return Ingested(trajectory=None, measures=measures_of(context))
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
        manifest=attribution.manifest,
        step_bytes={(row.agent, row.step): row.text_bytes for row in steps},
        step_tokens=step_tokens(trajectory) if count_tokens else {},
    )
    return Ingested(
        trajectory=trajectory_row(trajectory, name if record else None),
        steps=steps,
        offered=offered_rows(trajectory),
        events=attribution.events,
        measures=measures_of(context),
        exposure=exposure,
    )


def measures_of(context: TrialContext) -> tuple[Measure, ...]:
    """The rows of every registered metric."""
    rows: list[Measure] = []
    for family in METRICS:
        metric: Metric = resolve(METRICS, family, "metric")
        rows.extend(metric(context))
    return tuple(rows)
