"""The folder of a build: its files, its saved source, and which folders a build may replace."""

import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skilljuror.base.build import BuildRecord
from skilljuror.base.errors import BundleError, StudyError, UsageError
from skilljuror.base.files import StudyFolder, fresh_dir, write_atomic
from skilljuror.base.skill import Blob, Bundle
from skilljuror.skill.bundles import ReadBudget, check_path, make_bundle

RECORD = "build.json"
GATE_RESULTS = "gates.jsonl"  # results of every gate for every variant
KNOWLEDGE = "knowledge.jsonl"  # place of every source unit in every variant
CALLS = "calls.jsonl"  # model answers used by the build
ROUNDS = "rounds.jsonl"  # gate verdicts of each text that a model wrote
DRAFTS = "rounds"  # folder of rejected texts: rounds/<variant>/<round>/
SOURCE = "source.tar"
REVIEWS = "reviews.jsonl"  # waivers and decisions of people
RUBRIC = "rubric.jsonl"  # rubric verdicts of a model
VARIANTS = "variants"
IGNORED = ".DS_Store"  # a file that desktops create in any folder
JUDGED = (REVIEWS, RUBRIC)  # files that survive a rebuild
APART = {RECORD, *JUDGED}  # files that the record does not cover
PARTS = {
    RECORD, GATE_RESULTS, KNOWLEDGE, CALLS, ROUNDS, DRAFTS, SOURCE, *JUDGED, VARIANTS, IGNORED
}  # fmt: skip
"""All names at the top of a build."""


def safe_target(target: Path, source: Path) -> Path:
    """Return the real path of the folder that a build of `source` replaces.

    Raises UsageError if that would delete the source, the working directory or foreign files, and
    for a source that is itself a build.
    """
    _refuse_build(source)
    place, origin = target.resolve(), source.resolve()
    if place == origin or place in origin.parents:
        raise _unfit_target(target, f"holds the source {str(source)!r}", "name a folder elsewhere")
    if origin in place.parents:
        raise _unfit_target(
            target, f"is inside the source {str(source)!r}", "name a folder outside of it"
        )
    if place == Path.cwd() or place in Path.cwd().parents:
        raise _unfit_target(target, "is the current folder", "name a folder below it")
    _refuse_foreign(target, place)
    return place


def builds_at(folder: Path) -> list[Path]:
    """List the builds of a build, a folder of builds or a study. Raises StudyError for none."""
    if (folder / RECORD).is_file():
        return [folder]
    for place in (folder, StudyFolder(folder).builds):
        if found := sorted(path.parent for path in place.glob(f"*/{RECORD}")):
            return found
    raise StudyError(f"no build at {str(folder)!r}; create one with skilljuror build")


@contextmanager
def fresh_build(place: Path) -> Iterator[Path]:
    """Yield a staging folder that replaces a build atomically and keeps its `JUDGED` files."""
    with fresh_dir(place) as staging:
        yield staging
        for name in JUDGED:
            if (place / name).is_file():
                files = [file for file in (place / name, staging / name) if file.is_file()]
                rows = [line for file in files for line in file.read_bytes().splitlines()]
                lines = dict.fromkeys(reversed(rows))  # the last row counts
                write_atomic(staging / name, b"".join(line + b"\n" for line in reversed(lines)))


def _refuse_build(source: Path) -> None:
    around = [source.parent] if source.name == VARIANTS else []
    inside = sorted(place.parent for place in source.glob(f"*/{RECORD}"))
    for place in (source, *around, *inside):
        if (place / RECORD).is_file() and (place / VARIANTS).is_dir():
            chosen = place / VARIANTS / "origin"
            raise UsageError(
                f"{str(source)!r} is the output of a build, not a source;"
                f" name a source, or one variant of it, such as {str(chosen)!r}",
                file=str(source),
            )


def _refuse_foreign(target: Path, place: Path) -> None:
    if not place.exists():
        return
    if not place.is_dir():
        raise _unfit_target(target, "is a file", "name a folder")
    there = sorted(entry.name for entry in place.iterdir())
    foreign = [name for name in there if name not in PARTS or RECORD not in there]
    if foreign:
        raise _unfit_target(
            target,
            f"contains {foreign[0]!r}, which is not part of a build",
            "name a new or empty folder",
        )


def _unfit_target(target: Path, why: str, fix: str) -> UsageError:
    return UsageError(
        f"--out {str(target)!r} {why}; a build replaces its whole folder: {fix}",
        file=str(target),
        field="out",
    )


def saved_source(build: Path, record: BuildRecord) -> Bundle:
    """Load the saved source. Raises BundleError for an invalid file."""
    return load_tar(build / SOURCE, record.name)


def tar_of(bundle: Bundle) -> bytes:
    """Return a tar of every file in bytewise path order, with execute bits, without times or owners."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(bundle.files, key=str.encode):
            blob = bundle.files[path]
            member = tarfile.TarInfo(path)
            member.size = len(blob.data)
            member.mode = 0o755 if blob.executable else 0o644
            archive.addfile(member, io.BytesIO(blob.data))
    return buffer.getvalue()


def load_tar(path: Path, name: str) -> Bundle:
    """Load a bundle named `name` from a tar. Raises BundleError for anything but plain files."""
    files: dict[str, Blob] = {}
    budget = ReadBudget(str(path))
    try:
        with tarfile.open(path, mode="r:") as archive:
            for member in archive:
                _add_tar_member(files, archive, member, budget)
    except (tarfile.TarError, OSError, EOFError, ValueError, RecursionError) as error:
        raise BundleError(
            f"{str(path)!r} is not a readable tar file: {error}", file=str(path)
        ) from error
    return make_bundle(name, files, str(path), [])


def _add_tar_member(
    files: dict[str, Blob], archive: tarfile.TarFile, member: tarfile.TarInfo, budget: ReadBudget
) -> None:
    name = member.name
    check_path(name)
    opened = archive.extractfile(member) if member.isreg() else None
    if opened is None or name in files:
        raise BundleError(f"{name!r} is a link, a folder, a device or a duplicate", file=name)
    budget.add(name, member.size)
    files[name] = Blob(opened.read(), bool(member.mode & 0o100))
