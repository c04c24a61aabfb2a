"""The shape of the package, held by one dict each: who may import whom, who owns which library."""

import ast
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.support.places import ROOT

PACKAGE = ROOT / "skilljuror"

FLOORS = (
    "base", "measures", "skill", "logs", "events", "audit", "layouts", "harness", "store", "study",
    "judge", "report", "review", "cli",
)  # fmt: skip
"""The rooms, from the ground up: a room imports rooms before it, never one behind it."""

LINES = {
    "base": 5_000, "measures": 2_060, "skill": 2_260, "logs": 6_580, "events": 3_350, "audit": 7_810,
    "harness": 4_755, "layouts": 6_050, "store": 4_035, "study": 4_950, "judge": 4_015,
    "report": 4_165, "review": 1_890, "cli": 2_925,
}  # fmt: skip
"""Most lines of Python of each room. It falls; only a new capability with a named user raises it."""

OWNERS: dict[str, set[str]] = {
    "litellm": {"base"},
    "httpx": {"base"},
    "openai": {"base"},
    "tiktoken": {"base"},
    "markdown_it": {"skill", "audit"},
    "skills_ref": {"skill"},
    "harbor": {"harness"},
    "duckdb": {"store"},
    "regex": {"base", "study"},
    "ray": {"base"},
    "fsspec": {"base"},
    "orjson": {"base", "logs", "measures"},
    "pandas": {"store", "report"},
    "numpy": {"measures"},
    "scipy": set(),
    "pyarrow": set(),
    "matplotlib": {"report"},
    "jinja2": {"report", "review"},
    "starlette": {"review"},
    "uvicorn": {"review"},
    "typer": {"cli"},
    "rich": {"cli"},
    "jsonlines": {"base"},
    "jiter": {"logs"},
    "backports": {"logs"},
}
"""The rooms that may import a heavy library."""


def room_of(path: Path) -> str:
    """The room a module belongs to: its first folder, or its own name."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def imports(path: Path) -> frozenset[str]:
    """Every imported module of a file, imports inside functions included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "_data" not in path.parts)
NAMES = [str(path.relative_to(PACKAGE)) for path in MODULES]


@pytest.mark.slow
def test_imports_point_down():
    wrong = []
    for path in MODULES:
        room = room_of(path)
        if room in {"__init__", "__main__"}:
            continue
        if room not in FLOORS:
            wrong.append(f"{room} is no room of FLOORS: move {path.relative_to(PACKAGE)} into one")
            continue
        rooms = {name.split(".")[1] for name in imports(path) if name.startswith("skilljuror.")}
        wrong += [
            f"{path.relative_to(PACKAGE)} may not import {other}, which stands above {room}"
            for other in rooms & {*FLOORS[FLOORS.index(room) + 1 :]}
        ]
    assert not wrong


def test_rooms_keep_their_budget():
    lines = Counter[str]()
    for path in MODULES:
        lines[room_of(path)] += len(path.read_text(encoding="utf-8").splitlines())
    assert not {room: lines[room] for room, most in LINES.items() if lines[room] > most}
    roomy = {room: lines[room] for room, most in LINES.items() if lines[room] < most - 500}
    assert not roomy, "lower LINES to what stands"


@pytest.mark.slow
def test_heavy_libraries_have_one_owner():
    assert not [
        f"{path.relative_to(PACKAGE)} may not import {name}: OWNERS names {OWNERS[library]}"
        for path in MODULES
        for name in imports(path)
        if room_of(path) not in OWNERS.get(library := name.split(".")[0], {room_of(path)})
    ]


def module_of(path: Path) -> str:
    """The dotted name of a file inside the package."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


MODULE_NAMES = {module_of(path) for path in MODULES}


def imported_modules(path: Path) -> set[str]:
    """The modules of this package that a file imports; a name stands for its module."""
    found = set()
    for name in imports(path):
        name = name.removeprefix("skilljuror.")
        parent = name.rpartition(".")[0]
        found |= {name} & MODULE_NAMES or {parent} & MODULE_NAMES
    return {one for one in found if not any(other.startswith(f"{one}.") for other in found)}


def test_modules_import_in_one_direction():
    graph = {
        module_of(path): imported_modules(path) - {module_of(path)}
        for path in MODULES
        if path.name != "__init__.py"
    }
    list(TopologicalSorter(graph).static_order())


@pytest.mark.slow
def test_no_mocks_and_no_vague_names():
    vague = {"utils.py", "helpers.py", "common.py", "misc.py"}
    assert not [name for name in NAMES if Path(name).name in vague]
    for path in [*MODULES, *(ROOT / "tests").rglob("*.py")]:
        assert "unittest.mock" not in set(imports(path)), path


@pytest.mark.slow
def test_five_broad_excepts():
    """A failed trial is a row, and so are a log that makes its parser fail and a trial whose agent left
    what no reader was made for; Ray and object stores raise what they like."""
    broad = [
        path.name
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception"))
    ]
    assert sorted(broad) == ["artifacts.py", "cluster.py", "object_store.py", "read.py", "trial.py"]


@pytest.mark.slow
def test_tests_import_nothing_from_tests_but_support():
    for path in (ROOT / "tests").rglob("*.py"):
        named = {name for name in imports(path) if name.startswith("tests.")}
        assert all(f"{name}.".startswith("tests.support.") for name in named), path


def test_pytest_passes_over_no_folder_of_tests(pytestconfig):
    folders = {path.name for path in (ROOT / "tests").rglob("*") if path.is_dir()}
    assert folders & {*pytestconfig.getini("norecursedirs")} == set()
