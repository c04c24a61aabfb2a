"""Manifests of variants and of a trial's offered Skills."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Literal

from skilljuror.audit.comparison.code_paths import announced_files
from skilljuror.base.build import FileDigest, GateVerdict, PdWorth, VariantManifest
from skilljuror.base.files import StudyFolder, read_rows
from skilljuror.base.skill import Blob, Bundle, MappedUnit, resource_class
from skilljuror.base.study import TrialRecord
from skilljuror.base.texts import count
from skilljuror.base.trajectory import Resource, SkillManifest
from skilljuror.skill.bundles import load_bundle
from skilljuror.skill.markdown import read_text
from skilljuror.skill.units import units_of

READ_LIMIT = 25_000  # tokens that agents' tools usually return for one read of a file
CONTEXT_LIMIT = 100_000  # tokens of a flat file that leave too little context for the task
FLAT = frozenset({"baseline", "origin-flat", "flat-files", "flat-toc"})
SMALL_ROOT = 800
SMALL_FILE = 400
"""Tokens of the root, and of the largest file opened on demand, below which `pd` gains little."""

Feasibility = Literal["ok", "over_read_limit", "over_context"]


def variant_manifest(
    variant: str,
    parent: str | None,
    bundle: Bundle,
    verdict: GateVerdict | None = None,
    expected: tuple[str, ...] = (),
    same_as: str | None = None,
) -> VariantManifest:
    roots = {skill.path for skill in bundle.skills}
    files = tuple(_digest(path, blob, path in roots) for path, blob in bundle.files.items())
    root_files = [one for one in files if one.resource_class == "root"]
    largest = max((one.tokens or 0 for one in root_files), default=0)
    return VariantManifest(
        variant=variant,
        parent=parent,
        tree_digest=bundle.digest,
        skills=tuple(PurePosixPath(skill.directory).name for skill in bundle.skills),
        files=files,
        tokens=sum(one.tokens or 0 for one in files),
        root_lines=sum(one.lines or 0 for one in root_files),
        root_tokens=sum(one.tokens or 0 for one in root_files),
        verdict=verdict,
        feasibility=feasibility(largest) if variant in FLAT else None,
        pd_worth=_pd_worth(files) if variant == "pd" else None,
        announced=tuple(sorted({*announced_files(units_of(bundle))} - bundle.files.keys())),
        expected_findings=expected,
        same_as=same_as,
    )


def feasibility(tokens: int) -> Feasibility:
    """Classify a flat file's tokens by whether one read returns them."""
    if tokens > CONTEXT_LIMIT:
        return "over_context"
    return "over_read_limit" if tokens > READ_LIMIT else "ok"


def _pd_worth(files: Sequence[FileDigest]) -> PdWorth | None:
    """ "none" if there is nothing to open on demand, "small" if root and support files are too small for a
    layout to matter."""
    roots = sum(one.tokens or 0 for one in files if one.resource_class == "root")
    opened = [one.tokens or 0 for one in files if one.resource_class == "support"]
    if not any(opened):
        return "none"
    return "small" if roots < SMALL_ROOT and max(opened) <= SMALL_FILE else None


def _digest(path: str, blob: Blob, root: bool) -> FileDigest:
    text = read_text(blob)
    return FileDigest(
        path=path,
        sha256=blob.sha256,
        size=len(blob.data),
        resource_class="root" if root else resource_class(path, blob),
        executable=blob.executable,
        lines=len(text.lines) if text else None,
        tokens=_tokens(blob) if text else None,
    )


@lru_cache(maxsize=1024)
def _tokens(blob: Blob) -> int:
    return count(blob.text or "")


NOTHING_OFFERED = SkillManifest()  # the manifest of the no-skill arm


@lru_cache(maxsize=32)
def offered_manifest(skills: Path, root: str | None, variant: str | None) -> SkillManifest:
    """Describe a folder of skills for attribution; `root` is its path in the sandbox."""
    bundle = load_bundle(skills)
    resources = []
    for path, blob in bundle.files.items():
        skill, _, inside = path.partition("/")
        if inside:
            text = blob.text
            kind = resource_class(inside, blob)
            counted = None if text is None else count(text)
            resources.append(Resource(skill, inside, kind, text, counted))
    names = tuple(sorted({skill.directory for skill in bundle.skills}))
    return SkillManifest(tuple(resources), (root,) if root else (), names, True, variant)


@lru_cache(maxsize=32)
def units_of_build(build: Path) -> tuple[MappedUnit, ...]:
    return tuple(read_rows(MappedUnit, build / "knowledge.jsonl"))


def offered_by(folder: StudyFolder, record: TrialRecord) -> SkillManifest | None:
    """Describe a trial's offered Skills: empty for the no-skill arm, None if the files are unknown, as
    for an adopted trial."""
    if record.variant is None:
        return NOTHING_OFFERED
    skills = folder.offered(record.task, record.variant)
    if record.variant_digest is None and not skills.exists():
        return None
    return offered_manifest(skills, record.skill_root, record.variant)
