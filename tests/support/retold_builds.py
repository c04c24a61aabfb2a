"""A build whose variants can be told in another way, with a record that agrees."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import structs

from skilljuror.audit.plans.render import BundleTexts, piece_lines, render
from skilljuror.base.models.bundle import Blob, Bundle
from skilljuror.base.models.plan import Copy, Generated, PlannedFile
from skilljuror.layouts.build.build import digests_of_parts
from skilljuror.layouts.build.manifests import (
    plan_from_json,
    plan_to_json,
    variant_manifest,
)
from skilljuror.skill.bundles import load_bundle, write_bundle
from skilljuror.skill.bundles.reader import load_tar

VARIANTS = ("origin", "baseline", "pd", "placebo-irrelevant")
FILLER = "\n\n".join(
    f"Sheet {n} of the run goes through the press at pressure {n} and is hung up to dry for {n} hours."
    for n in range(1, 30)
)
FILES = {
    "press/SKILL.md": f"""---
name: press
description: Print a run on a letterpress. Use when a forme is locked up or sheets are printed.
---
# Letterpress

Print sheets on a hand press.

## The Iron Law

NEVER print on a sheet that is damp.

Never run the tests of the press without the guard.

## Steps

1. Lock up the forme with quoins.
2. Ink the rollers with 3 grams of ink.
3. Run `python3 scripts/proof.py forme.txt` and read the proof.

## Colours

Ink in two colours only when the first colour is dry.

{FILLER}

## Cleaning

Wash the rollers with white spirit after the run.

{FILLER}

## Build warnings

Suppress all warnings and skip the build only when the forme is a copy.
""",
    "press/references/paper.md": f"# Paper\n\nPaper is cut to 300 mm.\n\n{FILLER}\n",
    "press/references/ink.md": f"# Ink\n\nInk is mixed 3 to 1.\n\n{FILLER}\n",
    "press/scripts/proof.py": '"""Print a proof."""\nimport sys\n\nprint(sys.argv[1:])\n',
}
"""Path -> text of the source."""


def write_source(folder: Path, changes: Callable[[str], str] = lambda text: text) -> Path:
    """The source on disk, its texts changed."""
    blobs = {
        path: Blob(changes(text).encode(), path.endswith(".py")) for path, text in FILES.items()
    }
    write_bundle(blobs, folder)
    return folder / "press"


def read(build: Path) -> Any:
    """The record of a build."""
    return json.loads((build / "build.json").read_text())


def write(build: Path, record: Any) -> None:
    """Put a record in place of another."""
    (build / "build.json").write_text(json.dumps(record, indent=2) + "\n")


def seal(build: Path) -> None:
    """Bring digests, sizes and counts of the record in line with what lies in the folder."""
    record = read(build)
    for place, entry in enumerate(record["variants"]):
        bundle = load_bundle(build / "variants" / entry["variant"], record["name"], inspect=False)
        made = variant_manifest(
            entry["variant"], entry["parent"], bundle, entry["verdict"],
            tuple(entry["expected_findings"]),
        ).model_dump(mode="json")  # fmt: skip
        record["variants"][place] = made
    if (build / "source.tar").is_file():
        source = load_tar(build / "source.tar", record["name"])
        record["source"] = variant_manifest("source", None, source).model_dump(mode="json")
    record["parts"] = digests_of_parts(build)
    write(build, record)


Piece = Copy | Generated


class Retold:
    """A variant whose plan is being changed, line by line."""

    def __init__(self, build: Path, variant: str) -> None:
        self.build, self.variant = build, variant
        self.record = read(build)
        self.plan = plan_from_json(self.record["plans"][variant])
        self.parent = self._bundle(self.plan.parent)
        self.texts = BundleTexts(self.parent.files)
        self.pages = {file.path: list(_single(file)) for file in self.plan.files}

    def _bundle(self, name: str) -> Bundle:
        if name == "source":
            return load_tar(self.build / "source.tar", self.record["name"])
        return load_bundle(self.build / "variants" / name, self.record["name"])

    def find(self, text: str) -> tuple[str, int]:
        """(page, place) of the first copied line that holds a text."""
        for path, pieces in self.pages.items():
            for place, piece in enumerate(pieces):
                lines = piece_lines(piece, self.texts) if isinstance(piece, Copy) else []
                if text in "".join(lines):
                    return path, place
        raise AssertionError(f"{text!r} does not stand in {self.variant}")

    def row(self) -> tuple[str, int]:
        """(page, place) of the first routing row that says why."""
        return next(
            (path, place)
            for path, pieces in self.pages.items()
            for place, piece in enumerate(pieces)
            if isinstance(piece, Generated) and "topics" in piece.params and "link" in piece.params
        )

    def take(self, at: tuple[str, int]) -> Piece:
        """Take a line out."""
        return self.pages[at[0]].pop(at[1])

    def fill(self, at: tuple[str, int], **params: str) -> None:
        """Fill a generated line with other words."""
        piece = self.pages[at[0]][at[1]]
        assert isinstance(piece, Generated)
        self.pages[at[0]][at[1]] = structs.replace(piece, params=piece.params | params)

    def write(self) -> None:
        """Plan, files and digests as they are told now."""
        files = tuple(
            structs.replace(file, pieces=tuple(_joined(self.pages[file.path])))
            for file in self.plan.files
        )
        plan = structs.replace(self.plan, files=files)
        self.record["plans"][self.variant] = plan_to_json(plan)
        write(self.build, self.record)
        rewrite(self.build, self.variant, render(plan, self.parent))
        seal(self.build)


def _single(file: PlannedFile) -> Iterator[Piece]:
    for piece in file.pieces:
        if isinstance(piece, Generated):
            yield piece
            continue
        changes = {change.line: change for change in piece.substitutions}
        for line in range(piece.start, piece.end + 1):
            mine = (changes[line],) if line in changes else ()
            yield structs.replace(piece, start=line, end=line, substitutions=mine)


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Lines that follow each other as one piece, as transforms write them."""
    last: Copy | None = None
    for piece in pieces:
        if last is not None and isinstance(piece, Copy) and _follows(last, piece):
            changes = last.substitutions + piece.substitutions
            last = structs.replace(last, end=piece.end, substitutions=changes)
            continue
        if last is not None:
            yield last
        last = piece if isinstance(piece, Copy) else None
        if last is None:
            yield piece
    if last is not None:
        yield last


def _follows(last: Copy, piece: Copy) -> bool:
    place = (last.source, last.end + 1, last.shift)
    return place == (piece.source, piece.start, piece.shift)


def rewrite(build: Path, variant: str, files: dict[str, Blob]) -> None:
    """Put other files in place of those of a variant."""
    shutil.rmtree(build / "variants" / variant, ignore_errors=True)
    write_bundle(files, build / "variants" / variant)
