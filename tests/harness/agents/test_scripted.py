import argparse
import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from skilljuror.harness.agents import reading, scripted
from tests.support.example_trials import TASKS
from tests.support.places import EXAMPLES

FILES = [Path(scripted.__file__), Path(reading.__file__)]
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
    made.places[str(skill / "SKILL.md"), 1] = (1.0, reading.words("job"), "Begin here.")
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


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_it_needs_only_the_standard_library(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {getattr(node, "module", None) or node.names[0].name for node in nodes}
    ours = {"skilljuror.harness.agents", "reading"}
    assert {one.split(".")[0] for one in names - ours} <= sys.stdlib_module_names


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_it_knows_no_task_no_skill_and_no_variant(file):
    text = file.read_text(encoding="utf-8").lower()
    skills = [path.parent.name for path in EXAMPLES.glob("skills/*/*/SKILL.md")]
    names = [task.name for task in TASKS] + skills + ["baseline", "no_skill", "progressive", '"pd"']
    assert [name for name in names if name in text or name.replace("-", " ") in text] == []


def test_it_starts_as_a_program_beside_its_second_file(tmp_path):
    for file in FILES:
        (tmp_path / file.name).write_bytes(file.read_bytes())
    argv = [sys.executable, "-S", str(tmp_path / "scripted.py"), "--help"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert argparse.ArgumentParser(prog="scripted.py").format_usage().split()[1] in done.stdout
