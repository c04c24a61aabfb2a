"""The folder of a build: what lies in it, and which folders a build may replace without loss."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skilljuror.errors import UsageError
from skilljuror.files import fresh_dir, write_atomic

RECORD = "build.json"
"""The record of a build."""
GATE_RESULTS = "gates.jsonl"
"""What every gate said of every variant."""
KNOWLEDGE = "knowledge.jsonl"
"""Where every unit of the source stands in every variant."""
CALLS = "calls.jsonl"
"""The answers of a model that a build rests on."""
ROUNDS = "rounds.jsonl"
"""What the gates said of each text that a model wrote for a variant."""
DRAFTS = "rounds"
"""The folder of texts that were not taken: rounds/<variant>/<round>/."""
SOURCE = "source.tar"
"""The source as it was read."""
REVIEWS = "reviews.jsonl"
"""What people decided."""
RUBRIC = "rubric.jsonl"
"""What a model answered to the items of the rubric; kept like what people decided."""
SIGNATURE = f"{RECORD}.sig"
"""Somebody's signature of the record."""
VARIANTS = "variants"
"""The folder of its variants."""
IGNORED = ".DS_Store"
"""What a tool may leave in any folder."""
JUDGED = (REVIEWS, RUBRIC)
"""What people and models said of a build; one that takes the place of another keeps it."""
APART = {RECORD, SIGNATURE, *JUDGED, IGNORED}
"""Files whose digests no record holds: itself, and what comes after it."""
PARTS = {
    RECORD, GATE_RESULTS, KNOWLEDGE, CALLS, ROUNDS, DRAFTS, SOURCE, *JUDGED, SIGNATURE, VARIANTS, IGNORED
}  # fmt: skip
"""All that lies at the top of a build."""


def safe_target(target: Path, source: Path) -> Path:
    """The real path of the folder that a build of `source` will replace as a whole.

    Raises UsageError when that would take away the source, the working directory, or anything
    that no build made; and for a source that is itself the output of a build.
    """
    _refuse_build(source)
    place, origin = target.resolve(), source.resolve()
    if place == origin or place in origin.parents:
        raise _unfit_target(target, f"holds the source {str(source)!r}", "name a folder elsewhere")
    if origin in place.parents:
        raise _unfit_target(
            target, f"lies inside the source {str(source)!r}", "name a folder outside of it"
        )
    if place == Path.cwd() or place in Path.cwd().parents:
        raise _unfit_target(target, "is the folder you stand in", "name a folder below it")
    _refuse_foreign(target, place)
    return place


@contextmanager
def fresh_build(place: Path) -> Iterator[Path]:
    """A staging folder that takes the place of a build as a whole; what people and models said of the
    old one goes with it."""
    with fresh_dir(place) as staging:
        yield staging
        for name in JUDGED:
            if (place / name).is_file():
                write_atomic(staging / name, (place / name).read_bytes())


def _refuse_build(source: Path) -> None:
    around = [source.parent] if source.name == VARIANTS else []
    for place in (source, *around, *_inside(source)):
        if (place / RECORD).is_file() and (place / VARIANTS).is_dir():
            chosen = place / VARIANTS / "origin"
            raise UsageError(
                f"{str(source)!r} is the output of a build, not a source;"
                f" name a source, or one variant of it, such as {str(chosen)!r}",
                file=str(source),
            )


def _inside(source: Path) -> list[Path]:
    return sorted(place.parent for place in source.glob(f"*/{RECORD}"))


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
            f"holds {foreign[0]!r}, which no build made",
            "nothing was touched; name a new or empty folder",
        )


def _unfit_target(target: Path, why: str, mend: str) -> UsageError:
    return UsageError(
        f"--out {str(target)!r} {why}; a build replaces its folder as a whole: {mend}",
        file=str(target),
        field="out",
    )
