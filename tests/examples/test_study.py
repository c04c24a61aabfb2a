from pathlib import Path

import yaml

from skilljuror.base.study import NO_SKILL, StudyConfig
from tests.support.example_trials import TASKS
from tests.support.places import EXAMPLES


def test_the_study_names_every_task_and_a_source_for_each(study):
    assert sorted(EXAMPLES / task.path for task in study.tasks) == TASKS
    assert all(list((EXAMPLES / task.skills).glob("*/SKILL.md")) for task in study.tasks)


def test_five_arms_in_five_trials_contrast_pd_with_the_flat_page_that_has_its_files(study):
    arms = {condition.name: condition.variant for condition in study.conditions}
    layouts = ("baseline", "flat-files", "flat-toc", "pd")
    assert arms == {NO_SKILL: None, **{name: name for name in layouts}}
    assert study.trials_per_cell == 5
    assert (study.contrast.treatment, study.contrast.control) == ("pd", "flat-files")


def test_it_runs_without_a_model_or_a_container(study):
    assert (study.harness.name, study.agent.name, study.agent.model) == ("local", "scripted", None)


def test_the_study_of_a_real_agent_is_the_same_but_for_who_acts(study):
    text = (EXAMPLES / "codex.yaml").read_text(encoding="utf-8")
    real = StudyConfig.model_validate(yaml.safe_load(text))
    assert (real.agent.name, real.trials_per_cell) == ("codex", 1)
    assert "40 trials" in text
    assert len(real.tasks) * len(real.conditions) * real.trials_per_cell == 40
    same = {"name": study.name, "agent": study.agent, "trials_per_cell": study.trials_per_cell}
    seconds = {"timeout_sec": study.harness.timeout_sec}
    same["harness"] = real.harness.model_copy(update=seconds)
    assert real.model_copy(update=same) == study


def test_every_study_is_in_the_readme_with_its_trials_and_who_acts():
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for path in EXAMPLES.glob("*.yaml"):
        told = StudyConfig.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
        trials = len(told.tasks) * len(told.conditions) * told.trials_per_cell
        assert f"| `{path.name}` | {trials}, {told.agent.name}".lower() in readme.lower()
        assert all((EXAMPLES / task.path / "task.toml").is_file() for task in told.tasks)


def test_every_task_is_described_for_a_reader():
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [task.name for task in TASKS if f"`{task.name}`" not in readme] == []
    assert [
        path.name for path in Path(EXAMPLES / "skills").iterdir() if f"`{path.name}`" not in readme
    ] == []
