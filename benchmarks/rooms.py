"""The house in figures: rooms, their size, and the imports between them.

    python -m benchmarks.rooms [--tree TREE] [--mermaid]

Prints one row a room: files, lines, records (classes with fields), functions, and the rooms that it imports; then, for
each entrance, how many modules of the package an import loads, and how many its imports and those inside functions reach. `--mermaid` prints the picture of the imports alone.
"""

import argparse
import ast
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
ENTRANCES = {
    "read a log": "skilljuror.logs.read",
    "events of a log": "skilljuror.events.attribute",
    "build": "skilljuror.layouts.build.build",
    "run a study": "skilljuror.study.run",
    "ask a study": "skilljuror.report.notebook",
}
"""What a person does -> the module where it begins."""


def modules(package: Path) -> dict[str, ast.Module]:
    """Dotted name -> syntax tree of every module."""
    return {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): (ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(package.rglob("*.py"))
        if "_data" not in path.parts
    }


def imported(tree: ast.Module, names: set[str]) -> set[str]:
    """The modules that a module imports, also inside functions."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            wanted = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in names else node.module for name in wanted}
    return found & names


def reached(start: str, graph: dict[str, set[str]]) -> set[str]:
    """The modules that an import of `start` may load, packages on the way included."""
    seen, waiting = set[str](), [start]
    while waiting:
        name = waiting.pop()
        if name not in graph or name in seen or name == "skilljuror":
            continue
        seen.add(name)
        waiting += [*graph[name], name.rpartition(".")[0]]
    return seen


def loaded(start: str, tree: Path) -> int:
    """Count the modules of the package that an import of `start` loads."""
    script = (
        f"import sys, {start}; print(sum(name.startswith('skilljuror') for name in sys.modules))"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], cwd=tree, capture_output=True, text=True, check=True
    )
    return int(told.stdout)


def main() -> None:
    """Print the tables, or the picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("--mermaid", action="store_true")
    given = parser.parse_args()
    measure(given.tree / "skilljuror", mermaid=given.mermaid)


def measure(package: Path, *, mermaid: bool) -> None:
    """Count the files of every room and print the tables, or the picture."""
    trees = modules(package)
    graph = {name: imported(tree, {*trees}) for name, tree in trees.items()}
    rooms, arrows = defaultdict[str, Counter[str]](Counter), defaultdict[str, Counter[str]](Counter)
    for name, tree in trees.items():
        path = package.parent / Path(*name.split("."))
        file = path.with_suffix(".py")
        file = file if file.is_file() else path / "__init__.py"
        room = [*name.split("."), "(top)"][1]
        room = room if (package / room).is_dir() else "(top)"
        rooms[room]["files"] += file.name != "__init__.py"
        rooms[room]["lines"] += len(file.read_text(encoding="utf-8").splitlines())
        for node in ast.walk(tree):
            rooms[room]["functions"] += isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            rooms[room]["records"] += isinstance(node, ast.ClassDef) and any(
                isinstance(line, ast.AnnAssign) for line in node.body
            )
        for other in graph[name]:
            target = other.split(".")[1] if other.count(".") else "(top)"
            if target != room and (package / target).is_dir():
                arrows[room][target] += 1
    order = sorted(rooms, key=lambda room: (len(reached_rooms(room, arrows)), room))
    if mermaid:
        print("flowchart BT")
        for room in filter(lambda room: room != "(top)", order):
            print(*(f"  {room} --> {other}" for other in sorted(needed(room, arrows))), sep="\n")
    else:
        print_tables(rooms, arrows, graph, order, package.parent)


def print_tables(
    rooms: dict[str, Counter[str]],
    arrows: dict[str, Counter[str]],
    graph: dict[str, set[str]],
    order: list[str],
    tree: Path,
) -> None:
    """Print a row a room, and a row an entrance."""
    columns = ("files", "lines", "records", "functions")
    print("| room | files | lines | records | functions | imports |\n|---|---|---|---|---|---|")
    for room in order:
        row = [f"{rooms[room][key]:,}" for key in columns]
        print(f"| {room} | {' | '.join(row)} | {', '.join(sorted(arrows[room]))} |")
    row = [f"{sum(counted[key] for counted in rooms.values()):,}" for key in columns]
    print(
        f"| **all** | {' | '.join(row)} | |\n\n| entrance | modules loaded | reached | of all |\n|---|---|---|---|"
    )
    for what, start in ENTRANCES.items():
        if start in graph:
            row = [loaded(start, tree), len(reached(start, graph)), len(graph)]
            print(f"| {what} (`{start}`) | {' | '.join(map(str, row))} |")


def reached_rooms(room: str, arrows: dict[str, Counter[str]]) -> set[str]:
    """Every room that a room stands on."""
    seen, waiting = set[str](), [*arrows.get(room, ())]
    while waiting:
        other = waiting.pop()
        if other not in seen:
            seen.add(other)
            waiting += arrows.get(other, ())
    return seen


def needed(room: str, arrows: dict[str, Counter[str]]) -> set[str]:
    """The arrows of a room that no longer path implies: what a picture must show."""
    near = {*arrows.get(room, ())}
    return near - {far for other in near for far in reached_rooms(other, arrows)}


if __name__ == "__main__":
    main()
