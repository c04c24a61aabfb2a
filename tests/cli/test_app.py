"""The commands put together: help in panels, examples, shell completion."""

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
import typer
from typer.main import get_command

from skilljuror.cli.app import PANELS, app
from tests.support.cli_process import call, complaint, write_skill
from tests.support.git_repositories import git
from tests.support.places import ROOT
from tests.support.terminals import at_terminal

EXAMPLES = {
    name: texts["example"] for commands in PANELS.values() for name, texts in commands.items()
}


def test_help_names_every_command_in_its_panel():
    done = call("--help")
    assert done.returncode == 0
    assert re.findall(r"^([A-Z]\w+):$", done.stdout, re.MULTILINE) == ["Options", *PANELS]
    assert re.findall(r"^  ([a-z]+) +[A-Z]", done.stdout, re.MULTILINE) == list(EXAMPLES)
    assert len(next(iter(PANELS.values()))) == 10, "the most used commands come first"


def test_help_of_each_command_ends_with_an_example_that_parses():
    group = get_command(app)
    root = typer.Context(group, info_name="skilljuror", terminal_width=80)
    for name, example in EXAMPLES.items():
        command = group.commands[name]  # type: ignore[attr-defined]
        text = command.get_help(typer.Context(command, info_name=name, parent=root))
        assert text.endswith(f"\n\n  Example: skilljuror {example}"), name
        assert "  --json " in text
        assert "  --debug " in text
        assert [one.help for one in command.params if len(one.help) >= 60] == []
        first, *words = shlex.split(example)
        assert first == name
        command.make_context(name, words).close()


def test_h_is_help_everywhere():
    for words in ([], ["events"]):
        assert call(*words, "-h").stdout == call(*words, "--help").stdout != ""


def test_help_at_a_terminal_is_plain_text(tmp_path):
    status, shown = at_terminal("--help", cwd=tmp_path)
    assert status == 0
    assert shown.replace("\r", "").strip() == call("-h").stdout.strip()


def test_a_wrong_word_leads_to_the_help_of_its_command():
    assert "(see skilljuror audit --help)" in complaint(call("audit", "--kind", "flat"))


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_completion_is_installed_for_the_shell_and_completes_words(tmp_path):
    script = f"{sys.executable} -m skilljuror --install-completion && {{ cat ~/.bashrc; true; }}"
    env = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert "bash completion installed" in done.stdout, done.stderr
    assert "skilljuror.sh" in done.stdout
    env |= {
        "_SKILLJUROR_COMPLETE": "complete_bash",
        "COMP_WORDS": "skilljuror re",
        "COMP_CWORD": "1",
    }
    assert call(env=env).stdout.split() == ["report", "review"]


LONG = {
    "build": "build {skill} --out made",
    "verify": "verify made",
    "advise": "advise {skill}",
    "audit": "audit --changed HEAD~1",
    "plan": "plan {study}",
}


@pytest.mark.slow
def test_a_command_that_may_take_long_shows_that_it_works_on_a_terminal_alone(tmp_path):
    git(tmp_path, "init", "-q", ".")
    for name in ("one", "two"):
        root = write_skill(tmp_path / "skills" / name) / "SKILL.md"
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", name)
        root.write_text(root.read_text().replace("0.01", "0.02"))
    git(tmp_path, "commit", "-qam", "both changed")
    places = {"skill": ROOT / "examples/skills/log-triage", "study": ROOT / "examples/study.yaml"}
    for stage, words in LONG.items():
        given = words.format(**places).split(" ")
        _, shown = at_terminal(*given, cwd=tmp_path)
        assert re.search(rf"{stage} +(\x1b\[[\d;]*m)*━", shown), shown
        assert call(*given, cwd=tmp_path).stderr == "", stage
