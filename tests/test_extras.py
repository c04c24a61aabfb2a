"""What is not installed: core commands do without it, and the others name its extra before any work."""

import re
import subprocess
import sys
import tomllib

import pytest

from skilljuror.base.errors import EXTRAS
from tests.support.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ABSENT = sorted({library for libraries in EXTRAS.values() for library in libraries} | {"scipy"})
LIGHT = """
import sys
from skilljuror.cli.main import main
try:
    main()
finally:
    found = [name for name in {absent!r} if sys.modules.get(name)]
    assert not found, found
"""
HIDDEN = "import sys\nsys.modules.update(dict.fromkeys({absent!r}))\n"
"""As where they are not installed."""


def run(script, *words, cwd):
    command = [sys.executable, "-c", script.format(absent=ABSENT), *map(str, words)]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


def light(*words, cwd):
    """The output of a command that imports no library of an extra."""
    done = run(LIGHT, *words, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A build and an ingested log."""
    place = tmp_path_factory.mktemp("light")
    light("build", ROOT / "examples" / "skills" / "log-triage", "--out", "made", cwd=place)
    light("ingest", ROOT / "trajectories" / "codex-rollout", "--study", "logs", cwd=place)
    return place


def test_every_extra_is_the_one_of_the_project():
    extras = PROJECT["optional-dependencies"]
    core = {re.split(r"[^\w-]", one)[0] for one in PROJECT["dependencies"]}
    for extra, libraries in EXTRAS.items():
        named = {re.split(r"[^\w-]", one)[0] for one in extras[extra]}
        assert set(libraries) <= named
        assert not set(libraries) & core
    assert extras["all"] == [f"skilljuror[{','.join(sorted(EXTRAS))}]"]
    assert "skilljuror[all]" in extras["dev"]


CORE = {
    "advise": "advise {skill}",
    "audit": "audit {skill} made/variants/pd --kind pd",
    "verify": "verify made",
    "query": "query logs trajectories",
    "query csv": "query logs trajectories --out rows.csv",
    "query parquet": "query logs trajectories --out rows.parquet",
    "events": "events {log}",
    "judge": "judge logs",
    "review --list": "review made --list",
}


@pytest.mark.slow
@pytest.mark.parametrize("words", CORE.values(), ids=CORE.keys())
def test_a_core_command_imports_no_library_of_an_extra(place, words):
    skill = ROOT / "examples" / "skills" / "log-triage"
    log = next((ROOT / "trajectories" / "codex-rollout").rglob("*.jsonl"))
    assert light(*words.format(skill=skill, log=log).split(" "), cwd=place) or "--out" in words


@pytest.mark.slow
def test_show_imports_no_library_of_an_extra(place):
    names = light(
        "query", "logs", "SELECT trajectory FROM trajectories", "--format", "csv", cwd=place
    )
    assert "$" in light("show", "logs", names.splitlines()[1], cwd=place)


EXTRA_COMMANDS = {
    "rubric": ("rubric made --model openai/x", "'rubric --model' needs litellm", "models"),
    "judge": ("judge logs --model openai/x", "'judge --model' needs litellm", "models"),
    "build": (
        "build {skill} --out pages --engine assign --model openai/x",
        "the engine 'assign' needs litellm",
        "models",
    ),
    "review": ("review made", "needs starlette and uvicorn", "review"),
}


@pytest.mark.slow
def test_a_report_without_matplotlib_has_tables_and_says_how_to_get_figures(place):
    done = run(HIDDEN + LIGHT, "report", "logs", "--out", "plain", cwd=place)
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if "matplotlib" in line)
    assert line.endswith("no figures, which need matplotlib: pip install 'skilljuror[report]'")
    assert [*(place / "plain" / "tables").glob("*.csv")]
    assert not (place / "plain" / "figures").exists()


@pytest.mark.slow
def test_pandas_reads_a_table_exported_as_parquet(place):
    import pandas as pd

    light("query", "logs", "trajectories", "--out", "read.parquet", cwd=place)
    assert len(pd.read_parquet(place / "read.parquet"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "told", "extra"), EXTRA_COMMANDS.values(), ids=EXTRA_COMMANDS.keys()
)
def test_a_missing_extra_is_one_line_before_any_work(place, words, told, extra):
    def files():
        return {path: path.stat().st_mtime_ns for path in place.rglob("*")}

    before = files()
    skill = ROOT / "examples" / "skills" / "log-triage"
    done = run(HIDDEN + LIGHT, *words.format(skill=skill).split(" "), cwd=place)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("skilljuror: ")
    assert told in line
    assert line.endswith(f": pip install 'skilljuror[{extra}]'")
    assert done.stdout == ""
    assert files() == before
