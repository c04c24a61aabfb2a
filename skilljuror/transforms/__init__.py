"""Transforms: one file per layout; each emits a Plan and nothing else."""

TRANSFORMS = {
    "origin": "skilljuror.transforms.origin:Origin",
    "origin-flat": "skilljuror.transforms.origin_flat:OriginFlat",
    "baseline": "skilljuror.transforms.baseline:Baseline",
    "pd": "skilljuror.transforms.pd:ProgressiveDisclosure",
}
