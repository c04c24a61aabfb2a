"""The harness for Harbor, up to Harbor itself: its jobs, its results, its tasks and its program."""

import json
import os
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from skilljuror.base.errors import HarnessError, UsageError
from skilljuror.base.study import AgentChoice
from skilljuror.harness.harbor import (
    HarborHarness,
    HarborJob,
    HarborProgram,
    collect,
    collect_stopped,
    earlier_jobs,
    find_harbor,
    prepare_task,
    write_job,
)
from tests.support.cli_process import call, complaint
from tests.support.harbor_jobs import lock_skill
from tests.support.harbor_trials import copied_trial
from tests.support.harbor_venv import HARBOR, PYTHON, needs_harbor
from tests.support.harness_tasks import SKILL, make_job, make_task, make_variant, write_tree
from tests.support.programs import talkative
from tests.support.studies import PACKAGED, make_study

TIMEOUT = {"exception_type": "AgentTimeoutError", "exception_message": "out of time\nat line 3"}


PLACE = ("docker", "none")


@pytest.fixture
def job(tmp_path):
    return make_job(make_task(tmp_path / "tea"))


@pytest.fixture
def offering(tmp_path):
    return make_job(make_task(tmp_path / "tea"), variant=make_variant(tmp_path / "variant"))


def kept(job, trial, target):
    target.mkdir()
    return collect(job, trial, target, PLACE, "/harbor/skills")


def result(**changes):
    return lambda given: given.update(changes)


def rewards(**numbers):
    return result(verifier_result={"rewards": numbers}, exception_info=None)


def test_every_artifact_is_kept_byte_for_byte(job, tmp_path):
    trial = copied_trial(tmp_path)
    (trial / "verifier").mkdir(exist_ok=True)
    (trial / "verifier" / "odd.bin").write_bytes(os.urandom(5_000))
    (trial / "lock.json").unlink(missing_ok=True)
    kept(job, trial, tmp_path / "raw")
    files = sorted(path.relative_to(trial) for path in trial.rglob("*") if path.is_file())
    assert len(files) > 2
    assert all(
        (tmp_path / "raw" / name).read_bytes() == (trial / name).read_bytes() for name in files
    )


def test_out_of_time_with_a_reward_is_both(job, tmp_path):
    changes = result(exception_info=TIMEOUT, verifier_result={"rewards": {"reward": 1.0}})
    record = kept(job, copied_trial(tmp_path, changes), tmp_path / "raw")
    assert (record.status, record.reward, record.exception) == ("timeout", 1.0, "AgentTimeoutError")
    assert (record.strict_pass, record.message) == (True, "out of time")


@pytest.mark.parametrize(
    ("change", "status", "reward"),
    [
        (rewards(reward=0.5, style=3.0), "scored", 0.5),
        (rewards(tests=1.0), "scored", 1.0),
        (rewards(reward=1.5), "unscored", None),
        (rewards(a=1.0, b=0.0), "unscored", None),
        (result(verifier_result=None, exception_info=None), "unscored", None),
        (result(verifier_result=None, exception_info={"exception_type": "Oops"}), "error", None),
    ],
)
def test_reward_and_status(job, tmp_path, change, status, reward):
    record = kept(job, copied_trial(tmp_path, change), tmp_path / "raw")
    assert (record.status, record.reward) == (status, reward)


def test_the_skills_that_harbor_locked_are_those_of_the_variant(offering, tmp_path):
    trial = copied_trial(tmp_path, rewards(reward=1.0))
    lock_skill(trial, offering.variant_dir / "brew")
    record = kept(offering, trial, tmp_path / "raw")
    assert (record.variant_digest, record.skill_root) == (offering.variant_digest, "/harbor/skills")


@pytest.mark.parametrize("what", ["another text", "another skill", "none", "no lock"])
def test_other_skills_are_refused(offering, tmp_path, what):
    trial = copied_trial(tmp_path, rewards(reward=1.0))
    skill = offering.variant_dir / "brew"
    lock_skill(trial, skill)
    lock = json.loads((trial / "lock.json").read_text())
    if what == "another text":
        (skill / "SKILL.md").write_text("Steep for 5 minutes.\n", encoding="utf-8")
    elif what == "another skill":
        lock["skills"].append({"name": "imagegen", "digest": "sha256:" + "0" * 64})
    elif what == "none":
        lock["skills"] = []
    (trial / "lock.json").write_text(json.dumps(lock))
    if what == "no lock":
        (trial / "lock.json").unlink()
    with pytest.raises(HarnessError, match="did not get the Skills of its condition"):
        kept(offering, trial, tmp_path / "raw")


def test_a_skill_in_the_arm_without_one_is_refused(job, tmp_path):
    trial = copied_trial(tmp_path, rewards(reward=1.0))
    lock_skill(trial, make_variant(tmp_path / "variant") / "brew")
    with pytest.raises(HarnessError, match="the arm has none"):
        kept(job, trial, tmp_path / "raw")


def in_a_job(job, tmp_path, *changes, name="tea__1"):
    """A copied trial in a job, with its start file: (trial, job)."""
    place = tmp_path / "job" / "harbor"
    place.mkdir(parents=True)
    trial = copied_trial(place, *changes).rename(place / name)
    (trial / "config.json").write_text("{}")
    return trial, HarborJob(tmp_path / "job", {"tea__1": job})


def broken_off(job, tmp_path, end, name="tea__1", **more):
    """A trial without an end of its own, and its job."""
    cancelled = {"exception_type": "CancelledError", "exception_message": ""}
    more |= {"verifier_result": None} if end == "by a signal" else {}
    exception = cancelled if end == "cancelled" else None
    change = result(exception_info=exception, **more)
    half = (lambda text: text[:99]) if end == "half a result" else (lambda text: text)
    trial, left = in_a_job(job, tmp_path, change, half, name=name)
    if end == "no result":
        (trial / "result.json").unlink()
    return trial, left


@pytest.mark.parametrize(
    "end", ["cancelled", "by a signal", "no result", "half a result", "of another run"]
)
def test_a_trial_that_never_ended_is_none(job, tmp_path, end):
    _, left = broken_off(job, tmp_path, end, "tea__2" if end == "of another run" else "tea__1")
    assert left.finished() == {}


@pytest.mark.parametrize("end", ["cancelled", "by a signal", "no result", "half a result"])
def test_what_was_broken_off_is_handed_out_once_with_what_is_known(job, tmp_path, end):
    trial, left = broken_off(job, tmp_path, end)
    assert left.stopped() == {"tea__1": trial}
    (tmp_path / "raw").mkdir()
    record = collect_stopped(job, trial, tmp_path / "raw", PLACE)
    assert (record.agent_seconds is None) is ("result" in end)
    assert (tmp_path / "raw" / "config.json").exists()
    left.remove_kept({(job.trial.trial, record.started_at)})
    assert left.stopped() == {}


def test_a_trial_whose_agent_never_started_spent_nothing(job, tmp_path):
    _, left = broken_off(job, tmp_path, "cancelled", agent_execution=None)
    assert left.stopped() == {}


def test_a_trial_that_ended_is_found_by_its_name(job, tmp_path):
    trial, left = in_a_job(job, tmp_path, result(exception_info=TIMEOUT))
    assert left.finished() == {"tea__1": trial}


@pytest.mark.parametrize(
    ("said", "ended"), [(None, []), ("", []), ("b\na\n", ["b", "a"]), ("b\nhal", ["b"])]
)
def test_a_trial_has_ended_when_its_line_is_whole(job, tmp_path, said, ended):
    if said is not None:
        (tmp_path / "ended.txt").write_text(said)
    assert HarborJob(tmp_path, {}).ended() == ended


def test_a_key_is_in_nothing_that_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TEA_API_KEY", "sk-planted-key-0123456789")
    agent = talkative({"script": "true"}, None)
    job = make_job(make_task(tmp_path / "tea"), agent=agent)
    trial = copied_trial(tmp_path, rewards(reward=1.0))
    (trial / "agent" / "said.txt").write_text("my key is sk-planted-key-0123456789\n")
    record = kept(job, trial, tmp_path / "raw")
    assert "[redacted]" in (tmp_path / "raw" / "agent" / "said.txt").read_text()
    assert "planted" not in record.model_dump_json()


def test_a_key_is_in_nothing_that_a_job_leaves(tmp_path, monkeypatch):
    monkeypatch.setenv("TEA_API_KEY", "sk-planted-key-0123456789")
    job = make_job(make_task(tmp_path / "tea"), agent=talkative({"script": "true"}, None))
    trial, left = in_a_job(job, tmp_path)
    (trial / "result.json").unlink()
    for said in (tmp_path / "job" / "harbor.txt", trial / "agent" / "said.txt"):
        said.write_text("my key is sk-planted-key-0123456789\n")
    left.without_keys()
    for said in (tmp_path / "job" / "harbor.txt", trial / "agent" / "said.txt"):
        assert said.read_text().startswith("my key is [redacted")


def test_what_is_left_of_a_kept_attempt_is_handed_out_no_second_time(job, tmp_path):
    trial, left = in_a_job(job, tmp_path, result(exception_info=None))
    record = kept(job, trial, tmp_path / "raw")
    left.remove_kept({(job.trial.trial, "2001-01-01T00:00:00.000+00:00")})
    assert left.finished()
    left.remove_kept({(job.trial.trial, record.started_at)})
    assert left.finished() == {}


KEY = "TEA_API_KEY"


def several(tmp_path, *cells):
    """Jobs for cells of (task, condition, block, digest of the variant)."""
    job = make_job(make_task(tmp_path / "tea"))
    return [
        replace(
            job,
            trial=job.trial.model_copy(
                update={"trial": f"{t}__{c}__{b}", "condition": c, "block": b, "number": b + 1}
            ),
            task=job.task.model_copy(update={"name": t}),
            variant_digest=digest,
        )
        for t, c, b, digest in cells
    ]


def own_agent(name, **more):
    """The program of an agent that is Harbor's."""
    program = HarborHarness().own_agent(AgentChoice(name=name, **more))
    assert program is not None
    return program


def written(tmp_path, *jobs):
    """A job of trials, as it is written."""
    tasks = {job.task.name: tmp_path / "copy" / job.task.name for job in jobs}
    return write_job(tmp_path / "jobs", jobs, tasks, {"type": "docker"}, 3)


def description(tmp_path, job):
    """What the file of a job says of its one trial."""
    made = written(tmp_path, job)
    said = json.loads((made.folder / "job.json").read_text(encoding="utf-8"))
    assert said["at_once"] == 3
    (trial,) = said["trials"]
    return trial


def test_trials_stay_in_the_order_of_the_plan_each_with_a_name_and_settings_of_its_own(tmp_path):
    cells = [("x", "pd", 0, "d"), ("Y", "none", 0, None), ("Y", "pd", 0, "d"), ("x", "pd", 1, "d")]
    jobs = several(tmp_path, *cells)
    made = written(tmp_path, *jobs)
    said = json.loads((made.folder / "job.json").read_text(encoding="utf-8"))["trials"]
    assert list(made.trials.values()) == jobs
    assert [one["trial_name"] for one in said] == list(made.trials)
    assert len(set(made.trials)) == 4
    assert all(re.fullmatch("[xy]__[0-9a-f]{8}", name) for name in made.trials)


def test_what_a_job_says(tmp_path):
    job = make_job(make_task(tmp_path / "tea"), variant=make_variant(tmp_path / "variant"))
    job = replace(job, agent=replace(job.agent, keys=(KEY,), model="tea/one"))
    said = description(tmp_path, job)
    assert said["task"] == {"path": str(tmp_path / "copy" / "tea")}
    agent = said["agent"]
    assert agent["skills"] == [str(tmp_path / "variant" / "brew")]
    assert (agent["model_name"], agent["env"]) == ("tea/one", {KEY: f"${{{KEY}}}"})
    assert agent["kwargs"]["seed"] == job.trial.seed
    assert agent["override_timeout_sec"] == job.choice.timeout_sec


def test_an_agent_of_harbor_is_named_with_its_arguments(tmp_path):
    options = {"version": "2.1.328", "keys": [KEY]}
    program = own_agent("claude-code", model="anthropic/x", options=options)
    assert (program.keys, program.scripted, program.model) == ((KEY,), False, "anthropic/x")
    agent = description(tmp_path, make_job(make_task(tmp_path / "tea"), agent=program))["agent"]
    assert (agent["name"], agent["kwargs"]) == (
        "claude-code", {"version": "2.1.328", "disallowed_tools": "WebSearch,WebFetch"},
    )  # fmt: skip
    assert agent["model_name"] == "anthropic/x"


def test_a_prompt_that_names_the_skills_does_so_for_agents_of_both(tmp_path):
    job = replace(make_job(make_task(tmp_path / "tea")), disclosed="Skills: brew.")
    ours = description(tmp_path, job)
    assert ours["agent"]["kwargs"]["program"]["disclosed"] == "Skills: brew."
    said = description(tmp_path, replace(job, agent=own_agent("codex")))
    assert said["extra_instructions"] == ["Skills: brew."]
    said = description(tmp_path, replace(job, agent=own_agent("codex"), disclosed=None))
    assert said["extra_instructions"] == ours["extra_instructions"] == []


def test_the_effort_of_an_arm_reaches_an_agent_of_harbor():
    asked = own_agent("codex", effort="high", options={"reasoning_effort": "low"})
    assert asked.effort == "high"
    assert json.loads(asked.argv[1])["kwargs"]["reasoning_effort"] == "high"
    assert own_agent("codex", options={"reasoning_effort": "low"}).effort == "low"
    assert own_agent("codex").effort is None


def test_codex_has_no_skills_of_its_own_and_no_web_unless_it_is_asked_to():
    def config(options):
        program = own_agent("codex", options=options)
        return json.loads(program.argv[1])["kwargs"]["config"]

    assert config({}) == {"skills": {"bundled": {"enabled": False}}, "web_search": "disabled"}
    asked = {"model_provider": "x", "skills": {"bundled": {"enabled": True}}, "web_search": "live"}
    assert config({"config": asked}) == asked


def test_agents_of_ours_are_left_to_us():
    for name in ("scripted", "my_agents:one"):
        assert HarborHarness().own_agent(AgentChoice(name=name)) is None
    assert own_agent("oracle").scripted


def test_earlier_jobs_are_known_with_what_is_pending(tmp_path):
    first, second = several(tmp_path, ("x", "pd", 0, "d"), ("y", "pd", 0, "d"))
    made = written(tmp_path, first, second)
    (found,) = earlier_jobs(tmp_path / "jobs", [second])
    assert (found.folder, list(found.trials.items())) == (
        made.folder, list(made.trials.items())[1:],
    )  # fmt: skip
    assert list(earlier_jobs(tmp_path / "jobs", [replace(second, config_digest="other")])) == []
    assert written(tmp_path, second).folder.name == "2"


def test_harbor_downloads_the_work_that_a_study_names_unless_a_verifier_of_its_own_would_get_it(
    tmp_path,
):
    def artifacts(settings="", keep=("*.sh",)):
        task = make_task(tmp_path / "tea", **{"task.toml": settings})
        made = write_job(tmp_path / "jobs", [make_job(task, keep=keep)], {"tea": task}, {}, 1)
        (trial,) = json.loads((made.folder / "job.json").read_text(encoding="utf-8"))["trials"]
        return [one["source"] for one in trial["artifacts"]]

    own = '[verifier]\nenvironment_mode = "separate"\n'
    assert artifacts() == ["/app"]
    assert artifacts(own) == artifacts(keep=None) == artifacts(keep=()) == []


@pytest.mark.parametrize("place", ["deep/brew/SKILL.md", "brew/skill.md"])
@needs_harbor
def test_a_skill_that_harbor_would_not_take_is_refused(tmp_path, place):
    job = make_job(make_task(tmp_path / "tea"), variant=write_tree(tmp_path / "v", {place: SKILL}))
    with pytest.raises(HarnessError, match=f"in one folder.* has '{place}'"):
        HarborHarness({"program": str(HARBOR), "environment": "x"}).run(job, tmp_path)


def test_a_field_of_the_environment_that_is_none_is_refused():
    with pytest.raises(UsageError, match=r"environment_config: unknown field 'memory'; choose one"):
        HarborHarness({"environment_config": {"memory": 1}})


def fake(folder, version):
    """A program beside a Python that says it has a Harbor of some version."""
    for name in ("harbor", "python"):
        (folder / name).write_text(f"#!/bin/sh\necho {version}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder / "harbor"


def test_the_program_that_the_study_names_is_asked_for_its_version(tmp_path):
    found = find_harbor(str(fake(tmp_path, "0.25.3")))
    assert (found.version, found.skills_root) == ("0.25.3", "/runtime/skills")


@pytest.mark.parametrize("version", ["0.23.0", "0.26.0", "1.0.0", "unknown"])
def test_another_version_is_refused(tmp_path, version):
    with pytest.raises(HarnessError, match=rf"is Harbor {version}, and .* 0.24 and 0.25; install"):
        find_harbor(str(fake(tmp_path, version)))


def test_a_program_that_is_not_there_is_one_line(tmp_path):
    harbor = {"name": "harbor", "options": {"program": str(tmp_path / "none")}}
    study = make_study(tmp_path, packaged=PACKAGED, harness=harbor)
    line = complaint(call("run", study, "--out", tmp_path / "out"))
    assert "no program `harbor`" in line
    assert "uv tool install" in line
    assert not (tmp_path / "out").exists()


def test_a_program_that_fails_is_refused(tmp_path):
    path = fake(tmp_path, "0.25.3")
    (tmp_path / "python").write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    with pytest.raises(HarnessError, match="does not print its version"):
        find_harbor(str(path))


@needs_harbor
def test_the_python_of_its_first_line_is_asked_where_none_is_beside_it(tmp_path):
    path = tmp_path / "harbor"
    path.write_text(f"#!{PYTHON}\n", encoding="utf-8")
    path.chmod(0o755)
    assert find_harbor(str(path)) == HarborProgram(PYTHON, find_harbor(str(HARBOR)).version)


def test_a_program_of_no_python_is_refused(tmp_path):
    path = fake(tmp_path, "0.25.3")
    (tmp_path / "python").unlink()
    with pytest.raises(HarnessError, match="no Python beside it or in its first line; install"):
        find_harbor(str(path))


DOCKERFILE = """\
FROM python:3.12-slim
WORKDIR /app
COPY input.txt /app/
COPY skills /root/.claude/skills
COPY deep/../skills /app/skills
COPY --chmod=755 ./skills/brew notes.txt /app/
"""
SETTINGS = '[environment]\nskills_dir = "/skills"\ncpus = 2\n\n[metadata]\ndomain = "tea"\n'


def test_a_task_that_bakes_no_skill_is_copied_as_it_is(tmp_path):
    task = make_task(tmp_path / "tea", solution__solve_sh="true\n")
    copied = prepare_task(make_job(task), tmp_path / "copies")
    files = [path.relative_to(task) for path in sorted(task.rglob("*")) if path.is_file()]
    assert files == [
        path.relative_to(copied) for path in sorted(copied.rglob("*")) if path.is_file()
    ]
    assert all((task / name).read_bytes() == (copied / name).read_bytes() for name in files)
    assert (copied / "tests" / "test.sh").stat().st_mode & 0o100


def test_nothing_of_a_baked_skill_is_left(tmp_path):
    more = {
        "environment/Dockerfile": DOCKERFILE,
        "environment/skills/brew/SKILL.md": SKILL,
        "environment/notes.txt": "notes\n",
        "environment/deep/skills/keep.txt": "data of the task\n",
        "task.toml": SETTINGS,
    }
    task = make_task(tmp_path / "tea", **more)
    before = {path: path.read_bytes() for path in task.rglob("*") if path.is_file()}
    copied = prepare_task(make_job(task), tmp_path / "copies")
    assert not (copied / "environment" / "skills").exists()
    assert (copied / "environment/deep/skills/keep.txt").exists()
    assert (copied / "environment/Dockerfile").read_text().splitlines() == [
        "FROM python:3.12-slim",
        "WORKDIR /app",
        "COPY input.txt /app/",
        "COPY --chmod=755 notes.txt /app/",
    ]
    assert (copied / "task.toml").read_text() == SETTINGS.replace('skills_dir = "/skills"\n', "")
    assert {path: path.read_bytes() for path in task.rglob("*") if path.is_file()} == before


def test_what_is_taken_out_is_not_taken_out_of_the_host(tmp_path):
    """A task may link to any file; what is edited is the copy."""
    more = {"environment/Dockerfile": DOCKERFILE, "task.toml": SETTINGS}
    task = make_task(tmp_path / "tea", **more, environment__skills__brew__SKILL=SKILL)
    for name in more:
        host = tmp_path / Path(name).name
        (task / name).rename(host)
        (task / name).symlink_to(host)
    copied = prepare_task(make_job(task), tmp_path / "copies")
    assert (tmp_path / "Dockerfile").read_text() == DOCKERFILE
    assert (tmp_path / "task.toml").read_text() == SETTINGS
    assert "skills" not in (copied / "task.toml").read_text()


def test_a_skills_dir_that_cannot_be_taken_out_alone_is_refused(tmp_path):
    settings = 'environment = {cpus = 2, skills_dir = "/skills"}\n'
    job = make_job(make_task(tmp_path / "tea", **{"task.toml": settings}))
    with pytest.raises(HarnessError, match="put it on a line of its own"):
        prepare_task(job, tmp_path / "copies")
