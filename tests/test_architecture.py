"""The shape of the package, held by one dict each: who may import whom, who owns which library."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.support.places import ROOT

PACKAGE = ROOT / "skilljuror"

WORDS = {"errors", "models"}
TOOLS = {"registry", "files", "fingerprints", "tokens", "prices", "llm", "knowledge"}
STAGES = {
    "bundles", "studies", "harnesses", "agents", "parsers", "transforms", "gates", "judge",
}  # fmt: skip
PURE = {"attribution", "metrics", "stats"}
READERS = {"queries", "reports", "web"}

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "models": {"errors"},
    "moments": set(),
    "work": {"errors"},
    "registry": WORDS,
    "files": WORDS,
    "fingerprints": set(),
    "tokens": WORDS,
    "redaction": set(),
    "prices": WORDS,
    "llm": WORDS | {"files", "prices", "redaction"},
    "knowledge": WORDS | {"tokens"},
    **dict.fromkeys(STAGES, WORDS | TOOLS),
    # keys of agents stay out of what trials leave; Harbor's result.json is read in one place
    "harnesses": WORDS | TOOLS | {"redaction", "parsers"},
    **dict.fromkeys(PURE, WORDS),
    "attribution": WORDS | {"work"},
    "metrics": WORDS | {"registry", "prices"},  # one dated list for what agents and judges cost
    "store": WORDS | {"files"},
    "queries": {"errors", "moments", "store"},  # --param since=7d, as --since of ingest
    "reports": WORDS | {"files", "queries", "stats"},
    "web": WORDS | {"files", "queries", "stats"},
    "pipeline": WORDS | TOOLS | STAGES | PURE | {"store", "queries", "reports", "work"},
    "study": WORDS | {"files", "queries", "stats", "metrics", "pipeline", "store"},
}
"""`cli` may import everything and nothing imports it; `study` is the notebooks' API."""

ROOMS: dict[str, dict[str, set[str]]] = {
    "attribution": {
        "paths": set(),
        "shell": {"paths"},
        "accesses": set(),
        "python": {"accesses", "paths"},
        "commands": {"accesses", "paths", "python", "shell"},
        "resolution": {"accesses", "commands", "paths", "python", "shell"},
        "evidence": {"accesses", "paths", "resolution", "shell"},
        "run_context": {"accesses", "evidence", "paths", "resolution"},
        "events": {"accesses", "evidence", "paths", "resolution", "run_context"},
        "attribute": {"events", "evidence", "resolution", "run_context"},
        "exposure": {"evidence", "resolution"},
    },
    "parsers": {
        "raw_logs": set(),
        "base": set(),
        "assembly": {"base", "raw_logs"},
        "json_lines": {"assembly", "base", "raw_logs"},
        "read": {"__init__", "base", "raw_logs"},
        **{
            name: {"assembly", "base", "json_lines", "raw_logs"}
            for name in ("claude_code", "codex", "copilot_cli", "gemini_cli", "mini_swe_agent",
                         "opencode", "openhands", "terminus2")
        },
        "atif": {"assembly", "base", "claude_code", "codex", "gemini_cli", "mini_swe_agent",
                 "openhands", "raw_logs", "read", "terminus2"},
        "discovery": {"__init__", "base", "raw_logs", "read"},
        "harbor": {"base", "discovery", "raw_logs", "read"},
        "field_coverage": {"base", "discovery", "raw_logs", "read"},
    },
    "studies": {
        "study_file": set(),
        "tasks": set(),
        "plan": {"tasks"},
    },
    "knowledge": {
        "markdown": set(),
        "generated": {"markdown"},
        "units": {"generated", "markdown"},
        "plans": {"generated", "markdown", "units"},
        "comparison": {"generated", "markdown", "plans", "units"},
    },
    "transforms": {
        "base": set(),
        "editing": set(),
        "flattening": {"editing"},
        "disclosure": {"editing"},
        "layouts": {"base", "disclosure", "editing", "flattening"},
        "llm": {"disclosure", "editing", "layouts"},
    },
    "gates": {
        "base": set(),
        "rules": set(),
        "policies": set(),
        "findings": {"policies", "rules"},
        "pointers": {"findings"},
        "code_paths": {"findings"},
        "hygiene": {"code_paths", "findings", "pointers"},
        **{gate: {"findings"} for gate in ("knowledge", "layout", "routing", "security", "size", "style")},
        "mutations": set(),
        "rubric": {"layout"},  # how long a root may be is said once
    },
    "llm": {
        "answers": set(),
        "foreign_text": set(),
        "spending": set(),
        "concurrent": set(),
        "transport": {"answers"},
        "client": {"answers", "spending", "transport"},
    },
    "judge": {
        "base": set(),
        "replay": set(),
        "features": set(),
        "signals": {"features", "replay"},
        "rubric": {"features", "signals"},
        "agent_trace": {"features", "replay", "rubric", "signals"},
        "decision": {"agent_trace", "features", "replay"},
        "by_model": {"replay"},
        "effects": set(),
        "tracing": {"agent_trace", "base", "decision", "features", "replay", "rubric"},
    },
    "pipeline": {
        "workers": set(),
        "review_rows": set(),
        "model_calls": set(),
        "construction": {"model_calls", "review_rows", "workers"},
        "execution": {"construction", "ingestion", "review_rows", "workers"},  # what a trial cost stands in its log
        "ingestion": {"construction", "review_rows", "workers"},
        "adoption": set(),
        "init_study": {"construction"},  # Skills in a git revision are found as a run finds them
        "lookup": {"ingestion", "workers"},
        "judging": {"ingestion", "lookup", "workers"},
        "judging_repeats": set(),
        "judging_by_model": {"ingestion", "judging", "judging_repeats", "lookup", "model_calls", "workers"},
        "judging_sample": {"lookup"},
        "reviewing": {"construction", "judging_sample", "lookup", "review_rows"},
        "task_attributes": {"model_calls", "workers"},
        "doctor": set(),
        "demo": {"execution", "ingestion", "judging", "lookup", "workers"},
    },
}  # fmt: skip
"""What each room (sub-package, or module beside them) of a unit may import of its siblings."""

OWNERS: dict[str, set[str]] = {
    "bracex": {"attribution"},
    "tree_sitter": {"attribution"},
    "tree_sitter_bash": {"attribution"},
    "litellm": {"llm"},
    "openai": {"llm"},
    "tiktoken": {"tokens"},
    "markdown_it": {"knowledge"},
    "skills_ref": {"bundles"},
    "harbor": {"harnesses"},
    "duckdb": {"store"},
    "pyarrow": {"store"},
    "msgspec": {
        "models",
        "files",
        "fingerprints",
        "parsers",
        "attribution",
        "harnesses",
        "pipeline",
        "llm",
        "cli",
        "agents",
    },  # their options
    "orjson": {"models", "files", "parsers", "metrics"},
    "pandas": {"queries", "reports", "study"},
    "numpy": {"stats", "reports"},
    "scipy": {"stats"},
    "matplotlib": {"reports"},
    "jinja2": {"reports", "web"},
    "starlette": {"web"},
    "uvicorn": {"web"},
    "typer": {"cli"},
    "rich": {"cli"},
    "jsonlines": {"files"},
    "jiter": {"parsers"},
}

MAX_LINES = 500
LONGER: dict[str, str] = {}
"""Files over the limit, each with its reason."""


def unit_of(path: Path) -> str:
    """The unit a module belongs to: its first folder, or its own name."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    """Every imported module of a file, imports inside functions included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "_data" not in path.parts)
NAMES = [str(path.relative_to(PACKAGE)) for path in MODULES]


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_imports_point_down(path):
    unit = unit_of(path)
    if unit in {"cli", "__init__", "__main__"}:
        return
    assert unit in MAY_IMPORT, f"{unit!r} is not in the dependency rule"
    allowed = MAY_IMPORT[unit] | {unit}
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "skilljuror" and len(parts) > 1 and (PACKAGE / parts[1]).exists():
            assert parts[1] in allowed, f"{unit} may not import {name}"
        if parts[0] == "skilljuror" and len(parts) > 1 and (PACKAGE / f"{parts[1]}.py").exists():
            assert parts[1] in allowed, f"{unit} may not import {name}"


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_heavy_libraries_have_one_owner(path):
    for name in imports(path):
        owners = OWNERS.get(name.split(".")[0])
        assert owners is None or unit_of(path) in owners, f"{name} belongs to {owners}"


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_files_stay_short(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    name = str(path.relative_to(PACKAGE))
    if name in LONGER:
        assert lines > MAX_LINES, f"{name} no longer needs its exception"
    else:
        assert lines <= MAX_LINES, f"{name} has {lines} lines"


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


def room_of(module: str) -> str:
    """The room of a unit that a module belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def test_packages_are_two_levels_deep():
    deep = [name for name in NAMES if len(Path(name).parts) > 3]
    assert not deep


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_rooms_import_what_they_may(path):
    unit, room = unit_of(path), room_of(module_of(path))
    if unit not in ROOMS or room == "__init__":
        return
    assert room in ROOMS[unit], f"{unit}/{room} is not in the rule of its unit"
    allowed = ROOMS[unit][room] | {room}
    for name in imported_modules(path):
        if name.split(".")[0] == unit:
            assert room_of(name) in allowed, f"{unit}/{room} may not import {name}"


def test_the_rooms_of_every_unit_are_acyclic():
    graph: dict[str, set[str]] = {}
    for path in MODULES:
        module = module_of(path)
        unit = module.split(".")[0]
        here = graph.setdefault(f"{unit}.{room_of(module)}", set())
        here |= {
            f"{unit}.{room_of(name)}"
            for name in imported_modules(path)
            if name.split(".")[0] == unit
        }
    for room, targets in graph.items():
        targets -= {room}
    list(TopologicalSorter(graph).static_order())


def test_no_mocks_and_no_vague_names():
    vague = {"utils.py", "helpers.py", "common.py", "misc.py"}
    assert not [name for name in NAMES if Path(name).name in vague]
    for path in [*MODULES, *(ROOT / "tests").rglob("*.py")]:
        assert "unittest.mock" not in set(imports(path)), path


def test_one_broad_except():
    """A failed trial is a row: exactly one place catches everything, in the pipeline."""
    broad = [
        path.name
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception"))
    ]
    assert len(broad) <= 1, broad


def test_tests_import_nothing_from_tests_but_support():
    for path in (ROOT / "tests").rglob("*.py"):
        named = {name for name in imports(path) if name.startswith("tests.")}
        assert all(f"{name}.".startswith("tests.support.") for name in named), path
