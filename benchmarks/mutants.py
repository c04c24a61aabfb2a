"""How many small defects the tests of a unit notice: mutants of its code, drawn with a fixed seed.

    python -m benchmarks.mutants [UNIT …] [--count 100] [--seed 2026] [--out FILE] [--before FILE]

Each mutant changes one place of one file: a comparison, a constant by one, `and` for `or`, plus for
minus, a condition negated, a value returned as None, or a statement removed. It runs first against the
tests that reach its line (one run under coverage tells which), and where these pass, against all fast
tests of the unit, because a test may use what another test's fixture computed. A mutant is never
written to disk: a process forked for it imports the changed module. Hypothesis draws the same examples
each time, and a mutant's time is processor time, so that two runs can be compared.

`--out` keeps a line of JSON per mutant and goes on where it stopped. `--before` names such a file of an
earlier run of the same code: its survivors are not run again, the others first meet the tests that
killed them. Printed are the survivors; the exit status is 1 when one of them was killed before.
"""

import argparse
import ast
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import pickle
import random
import resource
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest

ROOT = Path(__file__).parent.parent
UNITS = ("measures", "events", "store")
MEMORY = 8 << 30
PATIENCE = 40
"""Seconds of processor time for a mutant, and three times what its tests took under coverage."""

COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
CALCULATED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}


class Site(NamedTuple):
    """A place that can be changed, and how."""

    path: str
    """Below the root."""
    number: int
    """The how-manieth node of the file's tree, as `ast.walk` meets it."""
    operator: str
    lines: tuple[int, ...]
    """Its statement's, from the first to the end of the place."""
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.lines[-1]} {self.operator}: {self.text}"


# ---- what can be changed ---------------------------------------------------------------------------


def _operators(node: ast.AST) -> Iterator[str]:
    """The changes that a node allows."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        yield "comparison"
    elif isinstance(node, ast.Constant) and type(node.value) in {int, float}:
        yield "constant + 1"
        yield "constant - 1"
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "opposite"
    elif isinstance(node, ast.BoolOp):
        yield "and/or"
    elif isinstance(node, ast.BinOp) and type(node.op) in CALCULATED:
        yield "arithmetic"
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "negated"
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield "negated filter"
    elif isinstance(node, ast.Return) and not _is_none(node.value):
        yield "return None"
    elif isinstance(node, ast.AugAssign | ast.Continue | ast.Break | ast.Raise) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.YieldFrom)
    ):
        yield "removed"


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def change(node: Any, operator: str) -> None:
    """Make the change, in place."""
    match operator:
        case "comparison":
            node.ops[0] = COMPARED[type(node.ops[0])]()
        case "constant + 1" | "constant - 1":
            node.value += 1 if operator.endswith("+ 1") else -1
        case "opposite":
            node.value = not node.value
        case "and/or":
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case "arithmetic":
            node.op = CALCULATED[type(node.op)]()
        case "negated":
            node.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
        case "negated filter":
            node.ifs[0] = ast.copy_location(ast.UnaryOp(ast.Not(), node.ifs[0]), node.ifs[0])
        case "return None":
            node.value = ast.copy_location(ast.Constant(None), node)
        case "removed":
            place = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
            node.__class__ = ast.Pass
            node.__dict__.clear()
            node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = place


def _untouched(tree: ast.Module) -> set[ast.AST]:
    """Annotations, and what only a type checker runs: nothing that a test could notice."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        hidden: list[ast.AST | None] = []
        if isinstance(node, ast.AnnAssign | ast.arg):
            hidden.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            hidden.append(node.returns)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            hidden.append(node)
        for top in hidden:
            found.update(ast.walk(top) if top is not None else ())
    return found


def _statements(tree: ast.Module) -> dict[ast.AST, ast.stmt]:
    """The innermost statement around every node."""
    around: dict[ast.AST, ast.stmt] = {}

    def visit(node: ast.AST, statement: ast.stmt | None) -> None:
        statement = node if isinstance(node, ast.stmt) else statement
        if statement is not None:
            around[node] = statement
        for child in ast.iter_child_nodes(node):
            visit(child, statement)

    visit(tree, None)
    return around


def sites(path: Path) -> Iterator[Site]:
    """Every change of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    untouched, around = _untouched(tree), _statements(tree)
    for number, node in enumerate(ast.walk(tree)):
        if node in untouched:
            continue
        for operator in _operators(node):
            place: Any = node.target if isinstance(node, ast.comprehension) else node
            header = node.test if isinstance(node, ast.If | ast.While) else place
            lines = tuple(range(around[node].lineno, header.end_lineno + 1))
            shown = " ".join(ast.unparse(header if operator == "negated" else node).split())
            where = path.relative_to(ROOT).as_posix()
            yield Site(where, number, operator, (*lines, place.lineno), shown[:90])


def draw(unit: str, count: int, seed: int) -> list[Site]:
    """Mutants of a unit, in the order in which they were drawn: those run so far are a fair sample."""
    folder = ROOT / "skilljuror" / unit
    every = [site for path in sorted(folder.rglob("*.py")) for site in sites(path)]
    return random.Random(f"{seed} {unit}").sample(every, min(count, len(every)))


# ---- running tests in a forked process -------------------------------------------------------------


class _Changed(importlib.machinery.SourceFileLoader):
    """A module with one place changed."""

    def __init__(self, name: str, path: str, site: Site) -> None:
        super().__init__(name, path)
        self.site = site

    def get_code(self, fullname: str) -> Any:
        tree = ast.parse(Path(self.path).read_text(encoding="utf-8"))
        for number, node in enumerate(ast.walk(tree)):
            if number == self.site.number:
                change(node, self.site.operator)
                break
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, site: Site) -> None:
        self.site = site
        parts = Path(site.path).with_suffix("").parts
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self.name:
            return None
        file = str(ROOT / self.site.path)
        loader = _Changed(fullname, file, self.site)
        below = [str(Path(file).parent)] if file.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(
            fullname, file, loader=loader, submodule_search_locations=below
        )


@dataclass(eq=False)
class _Watch:
    """What pytest says while it runs: which tests, how long, and the first that fails."""

    wanted: Sequence[str] | None = None
    coverage: Any = None
    seconds: dict[str, float] = field(default_factory=dict)
    failed: str = ""

    def pytest_configure(self) -> None:
        from hypothesis import settings

        settings.register_profile("mutants", derandomize=True, deadline=None, database=None)
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.wanted is not None:
            rank = {test: n for n, test in enumerate(self.wanted)}
            items[:] = sorted((i for i in items if i.nodeid in rank), key=lambda i: rank[i.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if self.coverage is not None:
            self.coverage.switch_context(nodeid)

    def pytest_runtest_logfinish(self) -> None:
        if self.coverage is not None:
            self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0) + report.duration
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


def _forked(work: Callable[[], Any], seconds: float | None = None) -> Any:
    """What a forked process returns; None when it was ended for its time, or died."""
    with tempfile.NamedTemporaryFile() as answer:
        child = os.fork()
        if child == 0:
            _answer(work, Path(answer.name), seconds)
        _, ended = os.waitpid(child, 0)
        return pickle.loads(Path(answer.name).read_bytes()) if ended == 0 else None


def _answer(work: Callable[[], Any], place: Path, seconds: float | None) -> NoReturn:
    """Write what the work returns, silently and within its limits, and end the process. What pytest
    prints goes to the file that MUTANTS_LOG names."""
    status = 1
    try:
        silent = os.open(os.environ.get("MUTANTS_LOG", os.devnull), os.O_RDWR | os.O_CREAT)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        if seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 2))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        place.write_bytes(pickle.dumps(work()))
        status = 0
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _pytest(where: Sequence[str], watch: _Watch) -> None:
    pytest.main(
        [
            "-q",
            "-x",
            "--no-header",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
            *where,
        ],
        plugins=[watch],
    )


@dataclass(frozen=True)
class Reached:
    """Which test reaches which line of a unit."""

    tests: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]

    def by(self, site: Site) -> list[str]:
        """The tests that reach a mutant, the tests of its own module first, then the fast ones."""
        lines = self.tests.get(site.path, {})
        found = {test for line in site.lines for test in lines.get(line, ()) if test}
        own = f"test_{Path(site.path).stem}.py"
        return sorted(found, key=lambda t: (own not in t, self.seconds.get(t, 0), t))


def measure(unit: str) -> Reached:
    """One run of the unit's tests under coverage."""

    if importlib.util.find_spec("coverage") is None:
        sys.exit(
            "mutants: coverage is missing; install it: .venv/bin/python -m pip install coverage"
        )

    def work() -> Reached:
        import coverage

        folder = str(ROOT / "skilljuror" / unit)
        cover = coverage.Coverage(
            data_file=None, include=[f"{folder}/*"], config_file=False, messages=False
        )
        cover.start()
        watch = _Watch(coverage=cover)
        _pytest([f"tests/{unit}"], watch)
        cover.stop()
        if watch.failed:
            return Reached({"": {0: [watch.failed]}}, {})
        data = cover.get_data()
        return Reached(
            {
                Path(file).relative_to(ROOT).as_posix(): dict(data.contexts_by_lineno(file))
                for file in data.measured_files()
            },
            watch.seconds,
        )

    reached = _forked(work)
    if not isinstance(reached, Reached) or not reached.seconds:
        sys.exit(f"mutants: the tests of '{unit}' do not pass without a mutant: {reached}")
    return reached


def killer(site: Site, tests: Sequence[str], seconds: float) -> str:
    """The first of some tests that notices a mutant, '' when all of them pass."""

    def work() -> str:
        sys.meta_path.insert(0, _Finder(site))
        watch = _Watch(wanted=tests)
        _pytest(sorted({test.split("::")[0] for test in tests}), watch)
        return watch.failed or ("" if watch.seconds else "no test could run")

    answer = _forked(work, seconds)
    return "out of time or memory" if answer is None else str(answer)


def judge(site: Site, reached: Reached, first: str) -> str:
    """What kills a mutant, '' for a survivor."""
    tests = reached.by(site)
    if first in reached.seconds:
        tests = [first, *(test for test in tests if test != first)]
    if tests:
        patience = PATIENCE + 3 * sum(reached.seconds.get(test, 0) for test in tests)
        killed = killer(site, tests, patience)
        if killed:
            return killed
    others = sorted(set(reached.seconds) - set(tests))
    return killer(site, others, PATIENCE + 3 * sum(reached.seconds.values()))


# ---- the command -----------------------------------------------------------------------------------


def _kept(path: Path | None) -> dict[str, str]:
    """Mutant to killer, of an earlier run."""
    if path is None or not path.exists():
        return {}
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["mutant"]: row["killed_by"] for row in rows}


def _name(site: Site) -> str:
    return f"{site} [{site.number}]"


def _warm() -> None:
    """Import once what every forked process needs, but nothing of the project."""
    for name in ("hypothesis", "numpy", "scipy.stats", "pydantic", "msgspec", "duckdb", "pandas",
                 "yaml", "tiktoken", "markdown_it", "orjson"):  # fmt: skip
        try:
            __import__(name)
        except ImportError:
            continue


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("units", nargs="*", default=UNITS)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--before", type=Path)
    options = parser.parse_args(arguments)
    os.chdir(ROOT)
    _warm()
    before, worse = _kept(options.before), 0
    for unit in options.units:
        mutants = draw(unit, options.count, options.seed)
        killed = _judged(unit, mutants, options.out, before)
        survivors = sorted(name for name, by in killed.items() if not by)
        print(f"{unit}: {len(survivors)} of {len(mutants)} mutants survive")
        for name in survivors:
            print(f"  {name}{'  (was killed)' if before.get(name) else ''}")
            worse += bool(before.get(name))
    return 1 if worse else 0


def _judged(
    unit: str, mutants: Sequence[Site], out: Path | None, before: dict[str, str]
) -> dict[str, str]:
    """What kills each mutant, '' for the survivors; written to `out` one by one."""
    done = _kept(out) | {name: "" for name, killed in before.items() if not killed}
    killed = {_name(site): done[_name(site)] for site in mutants if _name(site) in done}
    left = [site for site in mutants if _name(site) not in done]
    reached = measure(unit) if left else None
    for site in left:
        assert reached is not None
        name = _name(site)
        killed[name] = judge(site, reached, before.get(name, ""))
        if out:
            with out.open("a", encoding="utf-8") as kept:
                kept.write(json.dumps({"mutant": name, "killed_by": killed[name]}) + "\n")
    return killed


if __name__ == "__main__":
    sys.exit(main())
