"""Transforms: one file per layout; each emits a Plan and nothing else."""

TRANSFORMS = {
    "origin": "skilljuror.transforms.origin:Origin",
    "origin-flat": "skilljuror.transforms.origin_flat:OriginFlat",
    "baseline": "skilljuror.transforms.baseline:Baseline",
    "pd": "skilljuror.transforms.pd:ProgressiveDisclosure",
    "placebo-irrelevant": "skilljuror.transforms.placebo_irrelevant:IrrelevantPlacebo",
    "placebo-unrouted": "skilljuror.transforms.placebo_unrouted:UnroutedPlacebo",
}
