"""How good is `pd`, over real sources: does the root keep the main path, does a branch stay together.

    python -m benchmarks.layout [--tree DIR] [--list] [--json] [--sample N] DIR...

A source is all Skills of a task (a folder with an instruction.md) or else each folder with a
SKILL.md, at any depth below DIR. `pd` is planned and rendered, not proved or judged; with --tree by
another checkout of this package, so that one benchmark measures before and after. All is read off
the rendered text (`benchmarks/layout_measures.py`). Main path and branches are those of
`scope_labels.json`, which people labelled, and elsewhere what words of titles say; both are shown.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.construction import sources_below
from benchmarks.layout_measures import measure
from skilljuror.base.errors import SkilljurorError
from skilljuror.skill.bundles import load_bundle

ROOT = Path(__file__).parent.parent
MAKER = Path(__file__).with_name("layout_variants.py")
GROWN = 1.1
"""Root against the source's SKILL.md from which it counts as grown."""
SHOWN = 10
"""Examples of each fault that are shown."""

Row = dict[str, Any]


def rows_of_sources(sources: Sequence[Path], tree: Path, variant: str, jobs: int) -> list[Row]:
    """The measures of every source; one that is refused has only its error."""
    with TemporaryDirectory() as folder:
        parts = [sources[number::jobs] for number in range(jobs)]
        made = []
        for number, part in enumerate(parts):
            out = Path(folder, str(number))
            out.mkdir()
            made.append((_make(part, tree, variant, out), part, out))
        for process, part, _ in made:
            process.communicate(json.dumps([str(path) for path in part]))
            if process.returncode:
                raise SystemExit(f"{MAKER.name} failed with {process.returncode}")
        with ProcessPoolExecutor(jobs) as pool:
            done = pool.map(_measured, [(part, out) for _, part, out in made])
        rows = {row["source"]: row for part in done for row in part}
    return [rows[str(source)] for source in sources]


def _make(sources: Sequence[Path], tree: Path, variant: str, out: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, str(MAKER), variant, str(out)], stdin=subprocess.PIPE, text=True,
        cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)},
    )  # fmt: skip


def _measured(part: tuple[Sequence[Path], Path]) -> list[Row]:
    sources, out = part
    errors = json.loads((out / "errors.json").read_text(encoding="utf-8"))
    rows: list[Row] = []
    for number, source in enumerate(sources):
        row: Row = {"source": str(source), "error": errors.get(str(number))}
        if row["error"] is None:
            try:
                parent = load_bundle(source, inspect=False)
                variant = load_bundle(out / str(number), parent.name, inspect=False)
                row |= measure(parent, variant, source)
            except SkilljurorError as error:
                row["error"] = error.message
        rows.append(row)
    return rows


FAULTS = ("main lost", "branch parted", "splits", "cut", "undefined", "faulty")
"""Measures that list what is wrong."""


def total(name: str, rows: Sequence[Row]) -> Row:
    """One line of the table, over every source that was made."""
    built = [row for row in rows if row["error"] is None]
    people = [row for row in built if row["labelled"]]
    grown = [row for row in built if row["root"] > GROWN * row["source root"]]
    return {
        "set": name, "sources": len(rows), "made": len(built), "labelled": len(people),
        "main by people": (_sum(people, "main kept"), _sum(people, "main")),
        "main by words": (_sum(built, "main kept"), _sum(built, "main")),
        "branch together": (_sum(built, "branch together"), _sum(built, "branch")),
        "cut": sum(len(row["cut"]) for row in built),
        "splits": sum(len(row["splits"]) for row in built),
        "undefined": sum(len(row["undefined"]) for row in built),
        "rows": _sum(built, "rows"), "faulty": sum(len(row["faulty"]) for row in built),
        "grown": len(grown), "grown that disclose": sum(row["discloses"] for row in grown),
        "discloses": sum(row["discloses"] for row in built),
        "nothing": sum(not row["pages"] for row in built),
        "root share": (_sum(built, "root"), _sum(built, "source root")),
    }  # fmt: skip


def _sum(rows: Iterable[Row], name: str) -> int:
    return sum(row[name] for row in rows)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def show(totals: Sequence[Row], rows: Sequence[Row], *, every: bool) -> None:
    """The table as Markdown, and below it what is wrong."""
    print(
        "| set | sources | main path kept: labelled | by titles | branch together | fitting processes cut"
        " | parted without pointer | names undefined | rows at fault | grown (of those that disclose)"
        " | nothing to open | root tokens |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for row in totals:
        cells = [
            row["set"], row["made"],
            f"{_share(*row['main by people'])} of {row['main by people'][1]} ({row['labelled']} sources)",
            f"{_share(*row['main by words'])} of {row['main by words'][1]}",
            f"{_share(*row['branch together'])} of {row['branch together'][1]}",
            row["cut"], row["splits"], row["undefined"], f"{row['faulty']} of {row['rows']}",
            f"{row['grown']} ({row['grown that disclose']} of {row['discloses']})",
            row["nothing"], _share(*row["root share"]),
        ]  # fmt: skip
        print("| " + " | ".join(map(str, cells)) + " |")
    built = [row for row in rows if row["error"] is None]
    for kind in FAULTS:
        found = [(row["source"], text) for row in built for text in row[kind]]
        print(f"\n{kind}: {len(found)}")
        for source, text in found[: None if every else SHOWN]:
            print(f"  {_name(source)}: {text[:160]}")
    grown = [row for row in built if row["discloses"] and row["root"] > GROWN * row["source root"]]
    for row in grown:
        print(f"grown: {_name(row['source'])}: {row['source root']} -> {row['root']}")
    for row in rows:
        if row["error"] is not None:
            print(f"refused: {row['source']}: {row['error']}")


def _name(source: str) -> str:
    parts = [part for part in Path(source).parts[-5:] if part not in {"environment", "skills"}]
    return "/".join(parts[-3:])


def main() -> int:
    """Command line; 1 when a source is refused."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--tree", type=Path, default=ROOT, help="checkout that makes the variants")
    parser.add_argument("--variant", default="pd")
    parser.add_argument("--list", action="store_true", help="every source, every fault")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sample", type=int, help="about so many sources of each folder")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_args()
    start = time.perf_counter()
    rows: list[Row] = []
    totals: list[Row] = []
    for folder in options.folders:
        sources = sources_below(folder.resolve())
        if options.sample:
            sources = sources[:: max(1, len(sources) // options.sample)]
        found = rows_of_sources(sources, options.tree.resolve(), options.variant, options.jobs)
        rows += found
        totals.append(total("/".join(folder.resolve().parts[-2:]), found))
    if len(totals) > 1:
        totals.append(total("all", rows))
    if options.json:
        print(json.dumps({"totals": totals, "rows": rows}, indent=1))
    else:
        show(totals, rows, every=options.list)
        print(f"\n{time.perf_counter() - start:.0f} s, load {os.getloadavg()[0]:.1f}")
    return int(any(row["error"] is not None for row in rows))


if __name__ == "__main__":
    sys.exit(main())
