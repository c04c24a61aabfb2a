"""How good is `pd`, over real sources: what stays in the root, what rows say, whether they lead.

    python -m benchmarks.layout [--tree DIR] [--list] [--json] [--sample N] DIR...

A source is all Skills of a task (a folder with an instruction.md) or else each folder with a
SKILL.md, at any depth below DIR. `pd` is planned and rendered, not proved or judged; with --tree by
another checkout of this package, so that one benchmark measures before and after. All is read off
the rendered text (`benchmarks/layout_measures.py`). Routing: every statement, item and table row
of a supporting page is a query, the rows that an agent meets on the way are ranked by BM25, rows
that fit as well count as before the right one; `authors` is the same for rows that sources have of
their own, `ours there` the same statements in `pd`.
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
from benchmarks.layout_measures import instruction_of, measure
from skilljuror.bundles import load_bundle
from skilljuror.errors import SkilljurorError

ROOT = Path(__file__).parent.parent
MAKER = Path(__file__).with_name("layout_variants.py")
GROWN = 1.1
"""Root against the source's SKILL.md from which it counts as grown."""
SHOWN = 10
"""Best and worst roots, and examples of each fault, that are shown."""

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
                row |= measure(parent, variant, instruction_of(source))
            except SkilljurorError as error:
                row["error"] = error.message
        rows.append(row)
    return rows


def total(name: str, rows: Sequence[Row]) -> Row:
    """One line of the table, over every source that was made."""
    built = [row for row in rows if row["error"] is None]
    asked = [row["task"] for row in built if "task" in row and row["task"] != 0]
    grown = [row for row in built if row["root"] > GROWN * row["source root"]]
    return {
        "set": name, "sources": len(rows), "made": len(built),
        "duties kept": (_sum(built, "duties kept"), _sum(built, "duties")),
        "titles named": (_sum(built, "titles named"), _sum(built, "titles")),
        "splits": sum(len(row["splits"]) for row in built),
        "cues": _sum(built, "cues"),
        "cues cut": sum(len(row["cues cut"]) for row in built),
        "cues shared": _sum(built, "cues in shared"),
        "grown": len(grown),
        "grown where rows were": sum(row["discloses"] for row in grown),
        "discloses": sum(row["discloses"] for row in built),
        "root share": (_sum(built, "root"), _sum(built, "source root")),
        **{name: tuple(map(sum, zip(*(row[name] for row in built), strict=True))) or (0, 0, 0)
           for name in ("units", "authors", "ours there")},
        "tasks": (len(asked), sum(p == 1 for p in asked), sum(bool(p) and p <= 3 for p in asked)),
    }  # fmt: skip


def _sum(rows: Iterable[Row], name: str) -> int:
    return sum(row[name] for row in rows)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def _firsts(counts: Sequence[int]) -> str:
    asked, first, three = counts
    return f"{_share(first, asked)} / {_share(three, asked)} of {asked}"


def score(row: Row) -> float:
    """How good a root is: the mean of the shares that have something to count, less its faults."""
    shares = [
        part / whole
        for part, whole in (
            (row["duties kept"], row["duties"]), (row["titles named"], row["titles"]),
            (row["units"][1], row["units"][0]),
        ) if whole
    ]  # fmt: skip
    faults = len(row["splits"]) + len(row["cues cut"]) + row["cues in shared"]
    growth = max(0.0, row["root"] / max(1, row["source root"]) - GROWN)
    return float(sum(shares) / max(1, len(shares)) - 0.05 * faults - growth)


def show(totals: Sequence[Row], rows: Sequence[Row], *, every: bool) -> None:
    """The table as Markdown, and below it the best, the worst and what is wrong."""
    print(
        "| set | sources | duties kept | titles named | split without pointer | cues | cut | shared |"
        " roots grown (of those with rows) | root tokens | units: first / in three | authors' rows |"
        " ours there | tasks |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for row in totals:
        cells = [
            row["set"], row["made"], f"{_share(*row['duties kept'])} of {row['duties kept'][1]}",
            f"{_share(*row['titles named'])} of {row['titles named'][1]}", row["splits"],
            row["cues"], row["cues cut"], row["cues shared"],
            f"{row['grown']} ({row['grown where rows were']} of {row['discloses']})",
            _share(*row["root share"]), _firsts(row["units"]), _firsts(row["authors"]),
            _firsts(row["ours there"]), _firsts(row["tasks"]),
        ]  # fmt: skip
        print("| " + " | ".join(map(str, cells)) + " |")
    built = sorted(
        (row for row in rows if row["error"] is None), key=lambda row: (-score(row), row["source"])
    )
    with_pages = [row for row in built if row["pages"]]
    for title, chosen in (("best", with_pages[:SHOWN]), ("worst", with_pages[: -SHOWN - 1 : -1])):
        print(f"\nTen {title} roots (score, source):")
        for row in chosen:
            print(f"  {score(row):6.2f} {_line(row)}")
    limit = None if every else SHOWN
    if every:
        print("\nEvery source:")
        for row in built:
            print(f"  {score(row):6.2f} {_line(row)}")
    for kind in ("splits", "cues cut", "cues shared"):
        found = [(row["source"], text) for row in built for text in row[kind]]
        print(f"\n{kind}: {len(found)}")
        for source, text in found[:limit]:
            print(f"  {_name(source)}: {text[:160]}")
    for row in rows:
        if row["error"] is not None:
            print(f"refused: {row['source']}: {row['error']}")


def _line(row: Row) -> str:
    return (
        f"{_name(row['source'])}: duties {row['duties kept']}/{row['duties']}, titles"
        f" {row['titles named']}/{row['titles']}, splits {len(row['splits'])}, cut {len(row['cues cut'])},"
        f" shared {row['cues in shared']}, root {row['source root']} -> {row['root']},"
        f" first {row['units'][1]}/{row['units'][0]}"
    )


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
