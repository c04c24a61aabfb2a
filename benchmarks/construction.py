"""Build every skill of some folders, twice, and tell what came of it.

    python -m benchmarks.construction [--each] [--variants A,B] [--json] DIR...

A source is a folder directly below DIR that holds a SKILL.md, whatever the case of its name, at
any depth; or DIR itself, when a SKILL.md lies directly in it. With --each every folder with a
SKILL.md is a source of its own. Every source is built by the plan engine, each time in a fresh
folder, proved again from the files on disk, and built a second time in another process under
another PYTHONHASHSEED. Times are seconds of one build: reading, all variants, proofs, gates,
knowledge map and writing; verdicts are those of the policy "strict".
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from skilljuror.base.errors import SkilljurorError
from skilljuror.base.files import read_jsonl, sha256
from skilljuror.base.texts import count
from skilljuror.layouts.build.build import (
    DEFAULT_VARIANTS,
    build_source,
)
from skilljuror.layouts.build.folder import GATE_RESULTS
from skilljuror.layouts.verify import verify_build

ROOT = Path(__file__).parent.parent
SEEDS = ("1", "2")
MEDIAN = 0.1
"""Seconds that the median source may take."""
MOST = 5.0
"""Seconds that any source may take."""

Row = dict[str, Any]


def sources_of(folder: Path, *, each: bool) -> list[Path]:
    """The sources of one folder, in the order of their paths."""
    roots = sorted({path.parent for path in _roots(folder)})
    if each:
        return [path for path in roots if not any(up in roots for up in path.parents)]
    if folder in roots:
        return [folder]
    return sorted({folder / path.relative_to(folder).parts[0] for path in roots})


def _roots(folder: Path) -> Iterator[Path]:
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        yield from (Path(base, name) for name in names if name.lower() == "skill.md")


def sources_below(folder: Path) -> list[Path]:
    """The sources of a folder in the order of their paths: all Skills of a task (a folder with an
    instruction.md), or else each outermost folder with a SKILL.md."""
    found = []
    for skill in sources_of(folder, each=True):
        found.append((task_of(skill, folder) or skill, skill))
    tasks: dict[Path, list[Path]] = {}
    for source, skill in found:
        tasks.setdefault(source, []).append(skill)
    return [source if source in skills else _holding(skills) for source, skills in tasks.items()]


def task_of(place: Path, folder: Path) -> Path | None:
    """The innermost task, inside a folder, that a place stands in."""
    above = (up for up in (place, *place.parents) if folder in {up, *up.parents})
    return next((up for up in above if (up / "instruction.md").is_file()), None)


def _holding(skills: Sequence[Path]) -> Path:
    """The innermost folder that holds the folders of all these Skills."""
    return next(up for up in skills[0].parents if all(up in skill.parents for skill in skills))


def measure(source: Path, variants: Sequence[str]) -> Row:
    """What became of one source, proved again from the files on disk."""
    with TemporaryDirectory() as folder:
        row = build_once(source, Path(folder), variants)
        if row["error"] is None:
            row["problems"] = list(verify_build(_target(Path(folder), source)).problems)
    return row


def build_once(source: Path, target: Path, variants: Sequence[str]) -> Row:
    """What became of one source, built in a folder of its own below `target`."""
    row: Row = {"source": str(source), "error": None}
    build = _target(target, source)
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        record = build_source(source, build, variants=variants)
    except SkilljurorError as error:
        return row | {"error": error.message}
    row |= {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    row["digests"] = {one.variant: one.tree_digest for one in record.variants}
    row["verdicts"] = {one.variant: one.verdict for one in record.variants}
    row["reasons"] = sorted(_reasons(build))
    return row


def _target(folder: Path, source: Path) -> Path:
    return folder / sha256(str(source).encode())[:16]


def _reasons(target: Path) -> Iterator[str]:
    """Rules behind verdicts other than pass, as "variant rule"."""
    for result in read_jsonl(target / GATE_RESULTS):
        if result["verdict"] != "pass":
            own = [one for one in result["findings"] if not one["inherited"]]
            yield from {
                f"{result['variant']} {one['rule']}" for one in own if one["severity"] != "info"
            }


def run(sources: Iterable[Path], variants: Sequence[str], seed: str) -> list[Row]:
    """Every source in one process of its own under a hash seed."""
    command = [sys.executable, "-m", "benchmarks.construction", "--measure", ",".join(variants)]
    done = subprocess.run(
        command, input=json.dumps([str(path) for path in sources]), stdout=subprocess.PIPE,
        cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, text=True, check=True,
    )  # fmt: skip
    rows: list[Row] = json.loads(done.stdout)
    return rows


def table(name: str, first: Sequence[Row], second: Sequence[Row]) -> Row:
    """One line of the table."""
    built = [row for row in first if row["error"] is None]
    again = {row["source"]: row.get("digests") for row in second}
    verdicts = Counter(
        max(row["verdicts"].values(), key=("pass", "review", "fail").index) for row in built
    )
    reasons = Counter(reason for row in built for reason in row["reasons"])
    return {
        "set": name,
        "sources": len(first),
        "complete": len(built),
        "verified": sum(not row["problems"] for row in built),
        "median": statistics.median(row["wall"] for row in built) if built else None,
        "most": max((row["wall"] for row in built), default=None),
        "median cpu": statistics.median(row["cpu"] for row in built) if built else None,
        "most cpu": max((row["cpu"] for row in built), default=None),
        "slowest": max(built, key=lambda row: row["cpu"], default={"source": "–"})["source"],
        **{verdict: verdicts[verdict] for verdict in ("pass", "review", "fail")},
        "reasons": dict(reasons.most_common(4)),
        "digests equal": sum(row["digests"] == again[row["source"]] for row in built),
        "refused": {row["source"].rpartition("/")[2]: row["error"] for row in first if row["error"]},
        "unproved": {row["source"].rpartition("/")[2]: row["problems"][0] for row in built
                     if row["problems"]},
    }  # fmt: skip


def show(rows: Sequence[Row]) -> None:
    """The table as Markdown, and below it what it counts."""
    print(
        "| set | sources | complete | verified | median s | most s | CPU median s | CPU most s |"
        " pass / review / fail | digests equal |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    for row in rows:
        times = (row["median"], row["most"], row["median cpu"], row["most cpu"])
        told = " | ".join("–" if value is None else f"{value:.2f}" for value in times)
        print(
            f"| {row['set']} | {row['sources']} | {row['complete']} | {row['verified']} | {told}"
            f" | {row['pass']} / {row['review']} / {row['fail']} | {row['digests equal']} |"
        )
    for row in rows:
        for kind in ("reasons", "refused", "unproved"):
            for name, why in row[kind].items():
                print(f"{row['set']}: {kind}: {name}: {why}")
    for row in rows:
        print(f"{row['set']}: slowest: {row['slowest'].rpartition('/')[2]}")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


def main() -> int:
    """Command line; 1 when a source is refused, not proved, or differs between two runs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="DIR")
    parser.add_argument("--each", action="store_true", help="every folder with a SKILL.md")
    parser.add_argument("--variants", default=",".join(DEFAULT_VARIANTS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        sources = [Path(path) for path in json.load(sys.stdin)]
        count("Vocabularies are read once a process.")
        print(json.dumps([measure(path, options.measure.split(",")) for path in sources]))
        return 0
    if not options.folders:
        parser.error("name at least one folder of skills")
    rows: list[Row] = []
    every: tuple[list[Row], list[Row]] = ([], [])
    for folder in options.folders:
        sources = sources_of(folder.resolve(), each=options.each)
        first, second = (run(sources, options.variants.split(","), seed) for seed in SEEDS)
        every[0].extend(first)
        every[1].extend(second)
        rows.append(table("/".join(folder.resolve().parts[-2:]), first, second))
    if len(rows) > 1:
        rows.append(table("all", *every) | {"reasons": {}, "refused": {}, "unproved": {}})
    print(json.dumps(rows, indent=2)) if options.json else show(rows)
    return int(
        any(
            row["sources"] != row["verified"] or row["complete"] != row["digests equal"]
            for row in rows
        )
    )


if __name__ == "__main__":
    sys.exit(main())
