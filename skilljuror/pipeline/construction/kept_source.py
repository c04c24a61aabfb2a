"""The source of a build, out of the build itself."""

from collections.abc import Mapping
from pathlib import Path

from skilljuror.bundles.reader import make_bundle
from skilljuror.bundles.tarball import load_tar
from skilljuror.errors import TransformError
from skilljuror.files import sha256
from skilljuror.knowledge.plans.render import rebuild
from skilljuror.models.build import BuildRecord
from skilljuror.models.bundle import Blob, Bundle
from skilljuror.models.plan import Plan
from skilljuror.pipeline.construction.build_folder import SOURCE
from skilljuror.pipeline.construction.manifests import plan_from_json

BLANK_FILES = (b"", b"\n", b"\r\n", b"\n\n", b" \n")
"""What a file without content may hold; such a file is in no variant but the origin."""


def kept_source(build: Path, record: BuildRecord, variants: Mapping[str, Bundle]) -> Bundle | None:
    """The source as it was kept, or, of a build of format 1, as a variant and its plan tell it; None
    where none does. Raises BundleError for a file that holds no bundle."""
    if record.format_version > 1:
        return load_tar(build / SOURCE, record.name)
    return _source_by_plan(record, variants)


def _source_by_plan(record: BuildRecord, variants: Mapping[str, Bundle]) -> Bundle | None:
    for entry in record.variants:
        told = entry.variant in record.plans and entry.variant in variants
        if entry.parent != "source" or not told:
            continue
        plan = plan_from_json(record.plans[entry.variant])
        source = _rebuild_source(record, plan, variants[entry.variant])
        if source is not None and source.digest == record.source.tree_digest:
            return source
    return None


def _rebuild_source(record: BuildRecord, plan: Plan, variant: Bundle) -> Bundle | None:
    """The files on record as the variant and its plan tell them; what no variant carries is blank."""
    try:
        contents, problems = rebuild(plan, variant.files)
    except TransformError:
        return None
    for target, path in plan.sidecars.items():
        if target in variant.files:
            contents[path] = variant.files[target].data
    blank = {sha256(data): data for data in BLANK_FILES}
    contents |= {
        file.path: blank[file.sha256] for file in record.source.files if file.sha256 in blank
    }
    if problems or contents.keys() != {file.path for file in record.source.files}:
        return None
    files = {file.path: Blob(contents[file.path], file.executable) for file in record.source.files}
    return make_bundle(record.name, files)
