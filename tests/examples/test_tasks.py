import re
import shutil
import tomllib

import pytest

from tests.support.every import every
from tests.support.example_trials import TASKS, Trial

VALIDATIONS = {"exact_artifact", "numeric_tolerance", "code_tests", "performance_threshold"}
tasks = pytest.mark.parametrize("task", TASKS, ids=lambda path: path.name)


def config(task):
    return tomllib.loads((task / "task.toml").read_text(encoding="utf-8"))


@every("task", TASKS)
def test_every_task_is_complete_in_harbor_format(task):
    assert config(task)["schema_version"] == "1.4"
    assert config(task)["task"]["name"].endswith("/" + task.name)
    assert {"workflow_type", "validation_type", "domain", "difficulty"} <= set(
        config(task)["metadata"]
    )
    for path in ("instruction.md", "environment/Dockerfile", "tests/test.sh", "solution/solve.sh"):
        assert (task / path).is_file(), path


def test_tasks_are_spread_over_kinds_of_validation():
    found = [config(task)["metadata"]["validation_type"] for task in TASKS]
    assert set(found) == VALIDATIONS
    assert min(found.count(kind) for kind in VALIDATIONS) >= 2


@every("task", TASKS)
def test_the_container_gets_every_file_of_the_environment(task):
    recipe = (task / "environment" / "Dockerfile").read_text(encoding="utf-8")
    copied = dict(re.findall(r"^COPY (\S+) /app/(\S+)$", recipe, re.M))
    there = {path.name for path in (task / "environment").iterdir()} - {"Dockerfile"}
    assert copied == {name: name for name in there}


@every("task", TASKS)
def test_the_instruction_tells_of_no_skill(task):
    text = (task / "instruction.md").read_text(encoding="utf-8").lower()
    assert not re.search(r"skill|reference|handbook|documentation", text)


@tasks
def test_the_solution_earns_everything_and_an_empty_run_nothing(task, tmp_path):
    empty = Trial(tmp_path / "empty", task)
    assert empty.reward() == 0.0
    solved = Trial(tmp_path / "solved", task)
    done = solved.run("sh", str(task / "solution" / "solve.sh"))
    assert done.returncode == 0, done.stderr
    assert solved.reward() == 1.0


@tasks
def test_the_verifier_survives_whatever_lies_in_the_app_folder(task, tmp_path):
    trial = Trial(tmp_path / "trial", task)
    for path in (trial.folder / "app").iterdir():
        path.write_bytes(b"\xff\x00 no text of any kind\n")
    for name in ("weekly.csv", "summary.json", "ledger.txt", "layout.json", "plan.json"):
        (trial.folder / "app" / name).write_text("[1, {}]", encoding="utf-8")
    assert trial.reward() == 0.0


@pytest.mark.slow
@tasks
@pytest.mark.parametrize("seed", [3, 14])
def test_the_roots_alone_do_not_hold_what_is_needed(task, seed, tmp_path, source_of):
    source = shutil.copytree(source_of(task.name), tmp_path / "source")
    for folder in [*source.glob("*/references"), *source.glob("*/scripts")]:
        shutil.rmtree(folder)
    trial = Trial(tmp_path / "trial", task, source)
    trial.agent(seed)
    assert trial.reward() < 1.0
