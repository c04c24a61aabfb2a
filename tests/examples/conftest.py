"""The packaged Skills, built once per session."""

import functools
from pathlib import Path

import pytest
import yaml

from skilljuror.base.study import StudyConfig
from skilljuror.layouts.build.build import build_source
from tests.support.example_trials import SETS, TASKS, Trial
from tests.support.places import EXAMPLES


@pytest.fixture(scope="session")
def study() -> StudyConfig:
    text = (EXAMPLES / "study.yaml").read_text(encoding="utf-8")
    return StudyConfig.model_validate(yaml.safe_load(text))


@pytest.fixture(scope="session")
def variants(tmp_path_factory) -> dict[tuple[str, str], Path]:
    """(set, variant) -> folder of the built skill folders."""
    built = {}
    for source in SETS:
        target = tmp_path_factory.mktemp("builds") / source.name
        build_source(source, target, variants=("baseline", "flat-toc", "pd"))
        for variant in ("baseline", "flat-files", "flat-toc", "pd"):
            built[source.name, variant] = target / "variants" / variant
    return built


@pytest.fixture(scope="session")
def source_of(study):
    """Task name -> folder of its source Skills."""
    sources = {Path(task.path).name: EXAMPLES / task.skills for task in study.tasks}
    return sources.__getitem__


@pytest.fixture(scope="session")
def skills_of(source_of, variants):
    """(task name, variant) -> folder of the Skills that such a trial is offered."""
    return lambda task, variant: variants[source_of(task).name, variant]


@pytest.fixture(scope="session")
def ran(skills_of, tmp_path_factory):
    """(task name, variant, seed) -> (folder, steps, reward) of a trial that is run once."""

    @functools.cache
    def run(name, variant, seed):
        folder = tmp_path_factory.mktemp("trials") / f"{name}-{variant}-{seed}"
        (task,) = (one for one in TASKS if one.name == name)
        trial = Trial(folder, task, skills_of(name, variant))
        return folder, trial.agent(seed), trial.reward()

    return run


@pytest.fixture(scope="session")
def passing(ran):
    """(task name, variant) -> the first seed with which that trial passes."""

    def find(name, variant):
        return next(seed for seed in range(40) if ran(name, variant, seed)[2] == 1.0)

    return find
