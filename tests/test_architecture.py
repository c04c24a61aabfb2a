"""The shape of the package, held by one dict each: who may import whom, who owns which library."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from tests.support.places import ROOT

PACKAGE = ROOT / "skilljuror"

WORDS = {"errors", "extras", "models"}
TOOLS = {"registry", "files", "fingerprints", "tokens", "prices", "llm", "knowledge"}
STAGES = {
    "bundles", "studies", "harnesses", "agents", "parsers", "transforms", "gates", "judge",
}  # fmt: skip
PURE = {"attribution", "metrics", "stats"}
READERS = {"queries", "reports"}

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "extras": {"errors"},
    "models": {"errors"},
    "times": set(),
    "work_budget": {"errors"},
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
    "attribution": WORDS | {"work_budget"},
    "metrics": WORDS | {"registry", "prices"},  # one dated list for what agents and judges cost
    "store": WORDS | {"files"},
    "queries": {"errors", "files", "times", "store"},  # --param since=7d, as --since of ingest
    "reports": WORDS | {"files", "queries", "redaction", "stats"},  # what may leave the machine
    **{
        unit: WORDS | TOOLS | STAGES | PURE | {"store", "queries", "reports", "work_budget"} | below
        for unit, below in {
            "runtime": set(),
            "build": {"runtime"},
            "verify": {"build", "runtime"},
            "ingest": {"build", "runtime"},
            "judging": {"ingest", "runtime"},
            "run": {"build", "ingest", "runtime"},  # what a trial cost stands in its log
            "review": {"build", "ingest", "judging", "runtime"},
            "generate": {"build", "ingest", "run", "runtime"},  # a generator is a study
        }.items()
    },
    "study": WORDS | {"files", "queries", "stats", "metrics", "ingest", "judging", "store"},
}
"""`cli` may import everything and nothing imports it; `study` is the notebooks' API."""

PLUGIN = "*"
"""The row of every room that has none of its own, in units of plugins: a plugin needs no row."""

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
        "unread_kinds": {"base", "raw_logs"},
        "read": {"__init__", "base", "raw_logs", "unread_kinds"},
        PLUGIN: {"assembly", "base", "json_lines", "raw_logs"},  # an agent's parsers
        "atif": {"assembly", "base", "claude_code", "codex", "gemini_cli", "mini_swe_agent",
                 "openhands", "raw_logs", "read", "terminus2"},
        "qwen_code": {"assembly", "base", "gemini_cli", "json_lines", "raw_logs"},  # its fork
        "discovery": {"__init__", "assembly", "base", "raw_logs", "read", "unread_kinds"},
        "harbor": {"base", "discovery", "raw_logs", "read"},
    },
    "studies": {
        "criteria": set(),
        "study_file": set(),
        "tasks": set(),
        "task_rubric": set(),
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
        "rules": set(),
        "policies": set(),
        "findings": {"policies", "rules"},
        "pointers": {"findings"},
        "prerequisites": {"findings"},
        "hygiene": {"findings", "pointers"},
        "loader": {"findings"},
        "knowledge": {"findings", "loader"},
        "layout": {"findings", "loader", "prerequisites"},
        "style": {"findings", "rules"},
        "look_alikes": set(),
        "security": {"findings", "look_alikes"},
        PLUGIN: {"findings"},  # a gate
        "mutations": set(),
        "rubric": {"layout"},  # how long a root may be is said once
    },
    "llm": {
        "answers": set(),
        "foreign_text": set(),
        "spending": set(),
        "concurrent": set(),
        "bounded_http": set(),
        "transport": {"answers", "bounded_http"},
        "client": {"answers", "spending", "transport"},
    },
    "judge": {
        "base": set(),
        "replay": set(),
        "features": set(),
        "signals": {"features", "replay"},
        "definition": set(),
        "rubric": {"definition", "features", "signals"},
        "agent_trace": {"features", "replay", "rubric", "signals"},
        "decision": {"agent_trace", "features", "replay"},
        "by_model": {"definition", "replay"},
        "effects": set(),
        "tracing": {"agent_trace", "base", "decision", "features", "replay", "rubric"},
        PLUGIN: {"base", "features", "replay"},  # a judge
    },
}  # fmt: skip
"""What each room (sub-package, or module beside them) of a unit may import of its siblings."""

OWNERS: dict[str, set[str]] = {
    "bracex": {"attribution"},
    "tree_sitter": {"attribution"},
    "tree_sitter_bash": {"attribution"},
    "litellm": {"llm"},
    "httpx": {"llm"},
    "openai": {"llm"},
    "tiktoken": {"tokens"},
    "markdown_it": {"knowledge"},
    "skills_ref": {"bundles"},
    "harbor": {"harnesses"},
    "duckdb": {"store", "parsers"},  # parsers: the only reader of Parquet that is always there
    "msgspec": {
        "models",
        "files",
        "fingerprints",
        "parsers",
        "attribution",
        "harnesses",
        "runtime",
        "build",
        "verify",
        "ingest",
        "judging",
        "run",
        "review",
        "generate",
        "llm",
        "cli",
        "agents",
    },  # their options
    "orjson": {"models", "files", "parsers", "metrics"},
    "pandas": {"queries", "store", "study"},
    "numpy": {"stats", "reports"},
    "scipy": {"stats"},
    "matplotlib": {"reports"},
    "jinja2": {"reports", "review"},
    "starlette": {"review"},
    "uvicorn": {"review"},
    "typer": {"cli"},
    "rich": {"cli"},
    "jsonlines": {"files"},
    "jiter": {"parsers"},
    "backports": {"parsers"},
}

MAX_LINES = 500
LONGER: dict[str, str] = {}
"""Files over the limit, each with its reason."""


def unit_of(path: Path) -> str:
    """The unit a module belongs to: its first folder, or its own name."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


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
UNITS = {unit_of(path) for path in MODULES}


def test_imports_point_down():
    wrong = []
    for path in MODULES:
        unit = unit_of(path)
        if unit in {"cli", "__init__", "__main__"}:
            continue
        if unit not in MAY_IMPORT:
            wrong.append(f"{unit}: add the unit to MAY_IMPORT, with what it may import")
            continue
        units = {name.split(".")[1] for name in imports(path) if name.startswith("skilljuror.")}
        for other in (units & UNITS) - MAY_IMPORT[unit] - {unit}:
            wrong.append(f"{path.relative_to(PACKAGE)} may not import {other}")
    assert not wrong


def test_heavy_libraries_have_one_owner():
    assert not [
        f"{path.relative_to(PACKAGE)} may not import {name}: OWNERS names {OWNERS[library]}"
        for path in MODULES
        for name in imports(path)
        if unit_of(path) not in OWNERS.get(library := name.split(".")[0], {unit_of(path)})
    ]


def test_files_stay_short():
    lines = {
        str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines())
        for path in MODULES
    }
    long = {name for name, count in lines.items() if count > MAX_LINES}
    assert not long - LONGER.keys(), f"over {MAX_LINES} lines: divide them"
    assert not LONGER.keys() - long, "no longer need their exception"


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


def test_rooms_import_what_they_may():
    wrong = []
    for path in MODULES:
        unit, room = unit_of(path), room_of(module_of(path))
        if unit not in ROOMS or room == "__init__":
            continue
        allowed = ROOMS[unit].get(room, ROOMS[unit].get(PLUGIN))
        if allowed is None:
            wrong.append(f"{unit}/{room}: add the room to ROOMS[{unit!r}], with what it may import")
            continue
        rooms = {room_of(name) for name in imported_modules(path) if name.split(".")[0] == unit}
        for other in rooms - allowed - {room}:
            wrong.append(
                f"{path.relative_to(PACKAGE)} may not import the room {other}: import less, or add it to"
                f" ROOMS[{unit!r}][{room!r}] if the graph stays acyclic"
            )
    assert not wrong


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


def test_three_broad_excepts():
    """A failed trial is a row, and so are a log that makes its parser fail and a trial whose agent left
    what no reader was made for."""
    broad = [
        path.name
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception"))
    ]
    assert sorted(broad) == ["artifacts.py", "read.py", "trial.py"]


def test_tests_import_nothing_from_tests_but_support():
    for path in (ROOT / "tests").rglob("*.py"):
        named = {name for name in imports(path) if name.startswith("tests.")}
        assert all(f"{name}.".startswith("tests.support.") for name in named), path


def test_pytest_passes_over_no_folder_of_tests(pytestconfig):
    folders = {path.name for path in (ROOT / "tests").rglob("*") if path.is_dir()}
    assert folders & {*pytestconfig.getini("norecursedirs")} == set()
