"""The scripted agent: what it reads, and what it does with that."""

import argparse
import ast
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.harness import scripted
from skilljuror.harness.scripted import (
    Blank,
    Page,
    blanks_in,
    commands_in,
    filled,
    mentions_in,
    words,
)
from tests.support.example_trials import TASKS
from tests.support.places import EXAMPLES

FILE = Path(scripted.__file__)
TASK = "# Small job\n\nFill in `job.ini`.\n"
LIMIT = "- Size limit: 77\n"


def agent(folder, monkeypatch, reference, seed=1):
    """An agent in an app folder with one Skill that has one reference."""
    app, skill = folder / "app", folder / "skills" / "job"
    (skill / "references").mkdir(parents=True)
    app.mkdir()
    monkeypatch.chdir(app)
    (app / "job.ini").write_text("size_limit =   # number\n")
    (skill / "SKILL.md").write_text(
        "---\nname: job\ndescription: Small job.\n---\n# Job\nSee references/size.md.\n"
    )
    (skill / "references" / "size.md").write_text(reference)
    made = scripted.ScriptedAgent(
        scripted.TrajectoryLog(folder / "logs"), TASK, folder / "skills", seed
    )
    made.places[str(skill / "SKILL.md"), 1] = (1.0, words("job"), "Begin here.")
    return made


def written(made):
    made.work()
    return Path("job.ini").read_text(encoding="utf-8")


def test_a_value_that_was_read_is_used(tmp_path, monkeypatch):
    assert written(agent(tmp_path, monkeypatch, f"# Size\n\n{LIMIT}")) == "size_limit = 77\n"


def test_what_was_cut_from_an_output_is_not_known(tmp_path, monkeypatch):
    long = "# Size\n" + "This line is about nothing.\n" * 1_000
    made = agent(tmp_path, monkeypatch, long + LIMIT)
    made.context, made.lookups = 1_000, 2
    text = written(made)
    shown = [
        step["observation"]["results"][0]["content"]
        for step in made.log.document["steps"]
        if "observation" in step
    ]
    assert any(one.endswith(scripted.CUT) for one in shown)
    assert max(map(len, shown)) < scripted.SHOWN + 100
    assert "77" not in text


def test_without_a_skill_it_guesses_and_says_so(tmp_path, monkeypatch):
    made = agent(tmp_path, monkeypatch, LIMIT)
    made.places.clear()
    assert "77" not in written(made)
    assert any("a guess" in step["message"] for step in made.log.document["steps"])


def test_every_step_leaves_a_whole_log(tmp_path):
    log = scripted.TrajectoryLog(tmp_path)
    for number in range(1, 4):
        log.run(f"Step {number}.", f"echo {number}")
        document = json.loads((tmp_path / "trajectory.json").read_text(encoding="utf-8"))
        assert [step["step_id"] for step in document["steps"]] == list(range(1, number + 1))
    assert [path.name for path in tmp_path.iterdir()] == ["trajectory.json"]


def test_a_log_holds_output_errors_and_status_of_a_command(tmp_path):
    text, status = scripted.TrajectoryLog(tmp_path).run("Try.", "echo out; echo bad >&2; exit 3")
    assert (text, status) == ("out\nbad\n", 3)


def test_a_command_that_never_ends_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(scripted, "SECONDS", 0.2)
    _, status = scripted.TrajectoryLog(tmp_path).run("Wait.", "sleep 60")
    assert status == 124


def test_it_needs_only_the_standard_library():
    tree = ast.parse(FILE.read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {getattr(node, "module", None) or node.names[0].name for node in nodes}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def test_it_knows_no_task_no_skill_and_no_variant():
    text = FILE.read_text(encoding="utf-8").lower()
    skills = [path.parent.name for path in EXAMPLES.glob("skills/*/*/SKILL.md")]
    names = [task.name for task in TASKS] + skills + ["baseline", "no_skill", "progressive", '"pd"']
    assert [name for name in names if name in text or name.replace("-", " ") in text] == []


def test_it_starts_as_a_program(tmp_path):
    (tmp_path / FILE.name).write_bytes(FILE.read_bytes())
    argv = [sys.executable, "-S", str(tmp_path / "scripted.py"), "--help"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert argparse.ArgumentParser(prog="scripted.py").format_usage().split()[1] in done.stdout


def page(text, path="x.md"):
    made = Page(path)
    made.add(dict(enumerate(text.split("\n"), 1)), whole=True)
    return made


def stated(text):
    return {
        (statement.name, statement.about): statement.value for statement in page(text).statements
    }


@pytest.mark.parametrize(
    ("text", "name", "about", "value"),
    [
        ("- Cut-off: 3.5", "cut-off", "", "3.5"),
        ("- Field separator: `semicolon` (never a comma)", "field separator", "", "semicolon"),
        ("- Page lines: 18, counting lines only", "page lines", "", "18"),
        ("Severity of an unknown class: `minor`", "severity", "unknown class", "minor"),
        ("The limit for small files is `12`.", "limit", "small files", "12"),
        ("LIMIT = 12  # files", "limit", "", "12"),
        ("| a | gain |\n|---|---|\n| K-2 | 1.5 |", "gain", "K-2", "1.5"),
        ("| a | b | c |\n|---|---|---|\n| gain | 1 | 2 |", "gain", "c", "2"),
        ("| name | value |\n|---|---|\n| gain | 7 |", "gain", "", "7"),
    ],
)
def test_what_a_text_states_is_found_by_its_shape(text, name, about, value):
    assert stated(text)[words(name), words(about)] == value


def test_headings_go_with_a_fact_and_code_has_none():
    text = "# A\n## B\n- x one: 1\n```\n# no heading\ny two = 2\n```\n## C\n- z three: 3"
    assert [statement.headings for statement in page(text).statements] == [
        ("A", "B"),
        ("A", "B"),
        ("A", "C"),
    ]


def test_a_table_without_its_header_says_nothing():
    assert page("| K-2 | 1.5 |\n| K-3 | 1.7 |").statements == []


CODE = "## Helper implementation for `scripts/a.py`\n\n```python\ndef f(x):\n    return x\n```\n"


def test_code_counts_only_when_it_was_seen_to_its_end():
    assert page(CODE).blocks == {"scripts/a.py": "def f(x):\n    return x"}
    assert page(CODE.removesuffix("```\n")).blocks == {}


def test_a_gap_in_what_was_printed_joins_nothing():
    made = Page("x.md")
    lines = dict(enumerate(CODE.split("\n"), 1))
    made.add({number: line for number, line in lines.items() if number != 4})
    assert made.blocks == {}
    made.add({4: lines[4]})
    assert set(made.blocks) == {"scripts/a.py"}


def test_a_command_carries_the_words_around_it():
    ((command, script, cue),) = page("## Checks\nTry it\n```sh\npython3 a/b.py <in>\n```").commands
    assert (command, script) == ("python3 a/b.py <in>", "a/b.py")
    assert words("checks try") <= cue


@pytest.mark.parametrize(
    ("hint", "value", "fits"),
    [
        ("one of: lf, crlf", "crlf, also at the end", "crlf"),
        ("one of: lf, crlf", "CRLF", "crlf"),
        ("one of: lf, crlf", "mac", None),
        ("number: of lines", "12 minutes", "12"),
        ("number", "-0.6", "-0.6"),
        ("number", "none", None),
        ("", "carried forward", "carried forward"),
    ],
)
def test_a_blank_takes_only_what_has_its_shape(hint, value, fits):
    assert Blank("f", "key", hint).fit(value) == fits


def test_blanks_are_found_and_filled():
    text = 'a = # number\nB = None  # one of: x, y\nc = 1\ndef f(line):\n    """Doc."""\n    ...\n'
    a, b, f = blanks_in("f.py", text)
    assert [a.key, b.key, f.key, f.hint] == ["a", "B", "f", "line"]
    done = filled(filled(text, a, "4"), b, "x")
    done = filled(done, f, "def f(line):\n    return 1")
    assert blanks_in("f.py", done) == []
    space: dict[str, object] = {}
    exec(done, space)
    assert (space["a"], space["B"], space["c"]) == (4, "x", 1)


@given(st.text())
def test_any_text_can_be_read(text):
    made = page(text)
    assert all(1 <= statement.line <= len(made.seen) for statement in made.statements)
    assert blanks_in("f", text) == blanks_in("f", text)


HOSTILE = [" " * 20_000, "a " * 20_000, "a=" + " " * 20_000 + "x", "|" * 20_000, "`" * 20_000,
           "a/" * 20_000, ". " * 20_000, "# " + " " * 20_000, "def f(x):\n" + "    \n" * 20_000,
           "python3 " * 5_000, "x is `" * 5_000]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_hostile_lines_take_no_time(text):
    begun = time.perf_counter()
    page(f"```\n{text}\n```\n{text}")
    blanks_in("f.py", text)
    commands_in(text)
    mentions_in(text)
    assert time.perf_counter() - begun < 2
