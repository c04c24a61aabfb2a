"""`plan` tells what a study needs before it is paid for."""

import json

import pytest

from skilljuror.base.errors import HarnessError
from skilljuror.harness.harbor import engine_requirements, refuse_too_many, require_engine
from skilljuror.report.forecast import forecast
from tests.support.cli_process import call
from tests.support.harness_tasks import write_tree
from tests.support.loopback import model_server
from tests.support.studies import edit_study, make_study

ENGINE = """#!/bin/sh
case "$1 $2" in
  "info --format") printf '%s' '{info}';;
  "network ls") printf 'a\\nb\\n';;
esac
"""


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """A scripted `docker` on PATH, and what it says of itself."""
    programs = tmp_path / "programs"

    def says(**info):
        """Answer so from now on."""
        write_tree(programs, {"docker": ENGINE.format(info=json.dumps(info))})
        (programs / "docker").chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")

    return says


def rows(study, **kwargs):
    return {one.name: one for one in forecast(study, **kwargs).requirements}


def test_a_study_that_can_run_says_so(tmp_path):
    found = rows(make_study(tmp_path))
    assert {name: one.ready for name, one in found.items()} == {
        "harness local": True, "tasks": True, "disk": True, "agent shell": True,
    }  # fmt: skip
    assert found["harness local"].detail == "isolation none"


def test_what_is_missing_is_told_and_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    study = make_study(tmp_path)
    write_tree(tmp_path, {"tea/environment/Dockerfile": "FROM x\nRUN pip install y\n"})
    options = {"program": str(tmp_path / "none"), "environment": "docker"}
    edit_study(
        study, harness={"name": "harbor", "options": options},
        agent={"name": "codex", "model": "openai/gpt-5.4", "options": {"keys": ["OPENAI_API_KEY"]}},
    )  # fmt: skip
    done = call("plan", study)
    assert done.returncode == 0
    assert "harness harbor" in done.stdout
    assert "uv tool install" in done.stdout
    assert "OPENAI_API_KEY, which is not" in done.stdout


def test_a_model_is_asked_once(tmp_path, monkeypatch):
    study = make_study(tmp_path)
    edit_study(study, agent={"name": "command", "model": "openai/m", "options": {"argv": ["true"]}})
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with model_server(lambda body, number: "ready") as (address, asked):
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        assert "model openai/m" not in rows(study)
        assert "it answered 'ready'" in rows(study, live=True)["model openai/m"].detail
        assert len(asked) == 1
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert not rows(study, live=True)["model openai/m"].ready


def test_as_many_trials_as_docker_has_networks(engine):
    engine(ServerVersion="20", DefaultAddressPools=[{"Base": "172.20.0.0/22", "Size": 24}])
    refuse_too_many(2)
    with pytest.raises(HarnessError, match=r"--jobs 3: each trial needs a network, .* for 2 more"):
        refuse_too_many(3)
    engine(ServerVersion="20", DefaultAddressPools=None)
    refuse_too_many(29)
    with pytest.raises(HarnessError, match="use --jobs 29, or add default-address-pools"):
        refuse_too_many(30)


def test_tasks_with_more_cpus_than_docker_has_are_named(engine, tmp_path):
    engine(ServerVersion="20", DockerRootDir="/nowhere", NCPU=2)
    write_tree(tmp_path, {"tea/task.toml": "[environment]\ncpus = 2\n"})
    write_tree(tmp_path, {"soup/task.toml": "[environment]\ncpus = 4\n"})
    tasks = [tmp_path / "tea", tmp_path / "soup"]

    def cpus(override=None):
        return {one.name: one for one in engine_requirements(tasks, override)}["cpus"]

    assert cpus().ready is False
    assert cpus().detail.startswith(
        "2 CPUs; 1 of 2 tasks ask for more, and Docker will not start them: soup;"
    )
    assert cpus(1).ready is True


def test_an_engine_that_does_not_answer_is_named(engine, monkeypatch, tmp_path):
    engine(ServerErrors=["Cannot connect to the Docker daemon"])
    with pytest.raises(
        HarnessError, match=r"Docker does not answer: Cannot connect .* DOCKER_HOST"
    ):
        require_engine()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HarnessError, match="no program `docker` on PATH"):
        require_engine()
