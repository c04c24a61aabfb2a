"""Metrics: one file per family, each turning a TrialContext into Measure rows."""

METRICS = {
    "outcome": "skilljuror.metrics.outcome:measure",
    "efficiency": "skilljuror.metrics.efficiency:measure",
    "process": "skilljuror.metrics.process:measure",
    "timing": "skilljuror.metrics.timing:measure",
    "invocation": "skilljuror.metrics.invocation:measure",
    "exposure": "skilljuror.metrics.exposure:measure",
}
