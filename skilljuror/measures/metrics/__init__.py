"""Metrics: one file per family, each turning a TrialContext into Measure rows."""

from functools import cache

from skilljuror.base.errors import UsageError, resolve
from skilljuror.measures.metrics.base import Definition, Metric

METRICS = {
    "outcome": "skilljuror.measures.metrics.outcome:measure",
    "efficiency": "skilljuror.measures.metrics.efficiency:measure",
    "process": "skilljuror.measures.metrics.process:measure",
    "timing": "skilljuror.measures.metrics.timing:measure",
    "invocation": "skilljuror.measures.metrics.invocation:measure",
    "exposure": "skilljuror.measures.metrics.exposure:measure",
}


@cache
def families(further: tuple[str, ...] = ()) -> dict[str, Metric]:
    """Return name -> metric: all registered, and further ones of other packages.

    Raises UsageError for one that cannot be loaded, is invalid, or redefines a measure.
    """
    names = dict.fromkeys([*METRICS, *further])
    loaded: dict[str, Metric] = {name: resolve(METRICS, name, "metric", Metric) for name in names}
    owners: dict[str, str] = {}
    for name, metric in loaded.items():
        for measure, definition in dict(metric.definitions).items():
            if not isinstance(definition, Definition):
                raise UsageError(
                    f"metric {name!r}: the definition of {measure!r} must be a Definition"
                )
            if owners.setdefault(measure, name) != name:
                raise UsageError(
                    f"metric {name!r} defines {measure!r}, which {owners[measure]!r} already"
                    " defines; rename it"
                )
    return loaded


def definitions(further: tuple[str, ...] = ()) -> dict[str, Definition]:
    """Return measure -> definition for all families. Raises UsageError like `families`."""
    return {
        measure: definition
        for metric in families(further).values()
        for measure, definition in metric.definitions.items()
    }
