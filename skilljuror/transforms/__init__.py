"""Transforms: one file per layout; each emits a Plan and nothing else."""

TRANSFORMS = {
    "origin": "skilljuror.transforms.layouts.origin:Origin",
    "origin-flat": "skilljuror.transforms.layouts.origin:OriginFlat",
    "baseline": "skilljuror.transforms.layouts.baseline:Baseline",
    "flat-files": "skilljuror.transforms.layouts.flat_files:FlatFiles",
    "flat-toc": "skilljuror.transforms.layouts.flat_toc:FlatToc",
    "pd": "skilljuror.transforms.layouts.progressive_disclosure:ProgressiveDisclosure",
    "placebo-irrelevant": "skilljuror.transforms.layouts.placebo_irrelevant:IrrelevantPlacebo",
    "placebo-unrouted": "skilljuror.transforms.layouts.placebo_unrouted:UnroutedPlacebo",
}
