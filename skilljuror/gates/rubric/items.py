"""The construction rubric, and the items that code can answer."""

from collections.abc import Sequence
from functools import lru_cache

import yaml
from pydantic import ValidationError

from skilljuror.errors import GateError
from skilljuror.files import data_dir
from skilljuror.gates.layout import ROOT_LINES
from skilljuror.models.build import VariantManifest
from skilljuror.models.gate import GateResult
from skilljuror.models.rubric import ItemAnswer, Rubric

_UNNAMED = ("layout.pd-unnamed", "layout.pd-cue")
"""Findings about a file that the root does not lead to."""


@lru_cache(maxsize=1)
def load_rubric() -> Rubric:
    """Load the packaged rubric. Raises GateError if it is invalid."""
    path = data_dir("rubrics") / "construction.yaml"
    try:
        return Rubric.model_validate(yaml.safe_load(path.read_bytes()))
    except (yaml.YAMLError, ValidationError) as error:
        raise GateError(
            f"rubric {path.name!r} is invalid: {error}; reinstall skilljuror", file=str(path)
        ) from error


def code_answers(
    manifest: VariantManifest, results: Sequence[GateResult]
) -> dict[str, ItemAnswer | None]:
    """Answer the items that code can answer; None if the layout gate did not run. (measures §6)"""
    longest = max((f.lines or 0 for f in manifest.files if f.resource_class == "root"), default=0)
    support = any(file.resource_class == "support" for file in manifest.files)
    return {
        "PD-1": _answer(0 < longest <= ROOT_LINES),
        "PD-2": _answer(support),
        "PD-3": _leads_to_all(manifest.variant, results) if support else "no",
    }


def _leads_to_all(variant: str, results: Sequence[GateResult]) -> ItemAnswer | None:
    layout = [one for one in results if one.gate == "layout" and one.variant == variant]
    if not layout:
        return None
    found = [found for one in layout for found in one.findings]
    return _answer(not any(one.rule in _UNNAMED and not one.waived for one in found))


def _answer(holds: bool) -> ItemAnswer:
    return "yes" if holds else "no"
