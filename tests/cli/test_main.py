"""The entry point: what it loads, errors as lines and exit statuses, pipes that close."""

import os
import signal
import subprocess
import sys

import pytest

from tests.support.cli_process import call, complaint, error

HEAVY = ("litellm", "pandas", "matplotlib", "duckdb", "scipy", "tiktoken", "numpy", "pyarrow",
         "pydantic", "msgspec", "yaml")  # fmt: skip


def test_help_loads_nothing_heavy():
    script = (
        "import sys; sys.argv = ['skilljuror', '--help']\n"
        "from skilljuror.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"


def test_importing_the_package_does_nothing():
    script = "import sys, skilljuror; print([n for n in sys.modules if n in sys.argv[1:]])"
    done = subprocess.run(
        [sys.executable, "-c", script, *HEAVY], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


WRONG = {
    "no such study": (("query", "nowhere", "outcomes"), "nowhere"),
    "no such option": (("report", "x", "--colour"), "--colour"),
    "no such command": (("rapport",), "rapport"),
    "no such log": (("ingest", "nowhere.jsonl", "--study", "x"), "nowhere.jsonl"),
}


@pytest.mark.parametrize(("words", "named"), WRONG.values(), ids=WRONG.keys())
def test_a_mistake_is_one_line_or_json_that_names_it(words, named, tmp_path):
    assert named in complaint(call(*words, cwd=tmp_path))
    assert named in error(call(*words, "--json", cwd=tmp_path))["message"]


def test_debug_shows_the_traceback(tmp_path):
    assert "Traceback" in call("query", "nowhere", "x", "--debug", cwd=tmp_path).stderr


def test_without_path_and_terminal_a_person_must_decide(tmp_path):
    (tmp_path / ".codex" / "sessions").mkdir(parents=True)
    env = {**os.environ, "HOME": str(tmp_path), "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": ""}
    done = call("ingest", "--study", "x", cwd=tmp_path, env=env, stdin=subprocess.DEVNULL)
    assert done.returncode == 3
    assert "--yes" in done.stderr


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m skilljuror audit --rules --json | head -c 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.returncode in (0, 128 + signal.SIGPIPE)


@pytest.mark.slow
@pytest.mark.parametrize("words", ["audit --rules", "audit --rules --json", "rapport --json"])
def test_a_reader_that_goes_away_at_once_is_no_error(words):
    """A table goes through rich, an error past it: both ways end alike."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "skilljuror", *words.split()]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_closed_streams_are_no_fault():
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m skilljuror audit --rules >&- 2>&-"], check=False
    )
    assert done.returncode == 0


STUDY = """
name: odd
tasks: [{path: tea}]
conditions: [{name: bare}]
agent: {name: "json:loads"}
"""


def test_a_fault_of_our_own_is_one_line_with_its_own_status(tmp_path):
    """An agent that is no agent: nobody foresaw it, and the user still meets no traceback."""
    (tmp_path / "study.yaml").write_text(STUDY)
    line = complaint(call("run", "study.yaml", cwd=tmp_path), status=70)
    assert "TypeError" in line
    assert "internal error of skilljuror" in line
    told = call("run", "study.yaml", "--json", "--debug", cwd=tmp_path)
    assert error(told)["kind"] == "TypeError"
    assert "Traceback" in told.stderr
