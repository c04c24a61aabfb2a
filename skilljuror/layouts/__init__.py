"""Transforms: one file per layout; each emits a Plan and nothing else."""

TRANSFORMS = {
    "origin": "skilljuror.layouts.layouts.origin:Origin",
    "origin-flat": "skilljuror.layouts.layouts.origin:OriginFlat",
    "baseline": "skilljuror.layouts.layouts.baseline:Baseline",
    "flat-files": "skilljuror.layouts.layouts.flat_files:FlatFiles",
    "flat-toc": "skilljuror.layouts.layouts.flat_toc:FlatToc",
    "pd": "skilljuror.layouts.disclosure:ProgressiveDisclosure",
    "placebo-irrelevant": "skilljuror.layouts.layouts.placebo_irrelevant:IrrelevantPlacebo",
    "placebo-unrouted": "skilljuror.layouts.layouts.placebo_unrouted:UnroutedPlacebo",
}
