"""A small source, and the record of its build read, changed and brought in line with the folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from skilljuror.base.skill import Blob
from skilljuror.layouts.build.build import digests_of_parts
from skilljuror.layouts.build.folder import load_tar
from skilljuror.layouts.build.manifests import (
    variant_manifest,
)
from skilljuror.skill.bundles import load_bundle, write_bundle

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
