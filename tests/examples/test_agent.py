"""The scripted agent on the packaged tasks: what it does follows from what it read."""

import re
import shutil
from itertools import product

import pytest

from tests.support.every import every
from tests.support.example_trials import TASKS, Trial

pytestmark = pytest.mark.slow

tasks = pytest.mark.parametrize("task", TASKS, ids=lambda path: path.name)
VARIANTS = ("baseline", "pd")
both = pytest.mark.parametrize("variant", VARIANTS)
BY_NAME = {task.name: task for task in TASKS}
FACTS = [
    ("basket-screen", "Cut-off: 3.5", "Cut-off: 3.6", "cut_off = 3.6"),
    ("rotor-hum", "Mains guard: 4", "Mains guard: 7", "mains_guard = 7"),
    ("latency-layout", "Flush interval: 250", "Flush interval: 251", "flush_interval = 251"),
    ("girder-strain", "| Road bridge | 10 |", "| Road bridge | 11 |", "reference_temperature = 11"),
    ("alert-rules", "| 12 minutes |", "| 13 minutes |", "BURN_WINDOW = 13"),
]
facts = pytest.mark.parametrize(
    ("name", "said", "changed", "used"), FACTS, ids=[fact[0] for fact in FACTS]
)


def commands(steps):
    return [call["arguments"]["command"] for step in steps for call in step.get("tool_calls", [])]


def outputs(steps):
    return [step["observation"]["results"][0]["content"] for step in steps if "observation" in step]


def without_times(steps):
    return [{key: value for key, value in step.items() if key != "timestamp"} for step in steps]


def edited(skills, target, edit):
    """A copy of a folder of Skills with every text edited line by line."""
    shutil.copytree(skills, target)
    for path in (one for one in target.rglob("*") if one.is_file()):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(edit(line) for line in lines), encoding="utf-8")
    return target


@both
@facts
def test_a_changed_number_is_used_as_changed(
    name, said, changed, used, variant, skills_of, tmp_path, passing
):
    seed = passing(name, variant)
    skills = edited(
        skills_of(name, variant), tmp_path / "edited", lambda line: line.replace(said, changed)
    )
    trial = Trial(tmp_path / "trial", BY_NAME[name], skills)
    assert any(used in command for command in commands(trial.agent(seed)))


@both
@facts
def test_a_trial_fails_without_the_line_it_depends_on(
    name, said, changed, used, variant, skills_of, tmp_path, passing
):
    seed = passing(name, variant)
    skills = edited(
        skills_of(name, variant), tmp_path / "edited", lambda line: "" if said in line else line
    )
    trial = Trial(tmp_path / "trial", BY_NAME[name], skills)
    trial.agent(seed)
    assert trial.reward() < 1.0


@every("task", TASKS)
def test_one_seed_gives_one_log(task, ran, skills_of):
    folder, steps, _ = ran(task.name, "pd", 1)
    shutil.rmtree(folder)
    again = Trial(folder, task, skills_of(task.name, "pd")).agent(1)
    assert without_times(again) == without_times(steps)


@both
def test_five_seeds_are_not_one(variant, ran):
    logs = [ran("basket-screen", variant, seed)[1] for seed in range(5)]
    assert len({len(steps) for steps in logs}) > 1


@every("task, variant, seed", product(TASKS, VARIANTS, [0, 1]))
def test_every_value_but_a_guess_was_printed_before(task, variant, seed, ran):
    _, steps, _ = ran(task.name, variant, seed)
    for number, step in enumerate(steps):
        filled = dict(re.findall(r"(\w+) from (?!a guess)(\S+)", step["message"]))
        seen = "\n".join(outputs(steps[:number]))
        for key, value in re.findall(
            r"^(\w+) = \"?([^\"\n]+)\"?$", "\n".join(commands([step])), re.M
        ):
            assert key not in filled or value in seen, key


@every("task, variant", product(TASKS, VARIANTS))
def test_the_log_is_whole_and_plain(task, variant, ran):
    _, steps, _ = ran(task.name, variant, 1)
    assert [step["step_id"] for step in steps] == list(range(1, len(steps) + 1))
    assert [step["source"] for step in steps[:3]] == ["system", "user", "agent"]
    assert steps[0]["message"].startswith("<available_skills>\n  <skill>\n    <name>")
    for step in (one for one in steps if "tool_calls" in one):
        (call,), (result,) = step["tool_calls"], step["observation"]["results"]
        assert (call["function_name"], step["llm_call_count"]) == ("bash", 0)
        assert result["source_call_id"] == call["tool_call_id"]
        assert step["message"]
        assert "metrics" not in step


@tasks
def test_without_skills_none_is_offered_and_none_is_read(task, tmp_path):
    steps = Trial(tmp_path / "trial", task).agent(5)
    assert steps[0]["message"] == "<available_skills>\n</available_skills>"
    assert not any("skills" in command for command in commands(steps))


@tasks
def test_the_source_itself_can_be_offered(task, source_of, tmp_path):
    steps = Trial(tmp_path / "trial", task, source_of(task.name)).agent(5)
    assert steps[0]["message"].count("<name>") == 2
    assert any("SKILL.md" in command for command in commands(steps))
