"""Transforms: one file per layout; each emits a Plan and nothing else."""

TRANSFORMS = {
    "origin": "skilljuror.layouts.flattening:Origin",
    "origin-flat": "skilljuror.layouts.flattening:OriginFlat",
    "baseline": "skilljuror.layouts.flattening:Baseline",
    "flat-files": "skilljuror.layouts.flat_files:FlatFiles",
    "flat-toc": "skilljuror.layouts.flat_files:FlatToc",
    "pd": "skilljuror.layouts.disclosure:ProgressiveDisclosure",
    "placebo-irrelevant": "skilljuror.layouts.controls:IrrelevantPlacebo",
    "placebo-unrouted": "skilljuror.layouts.controls:UnroutedPlacebo",
}
