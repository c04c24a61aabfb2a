import json
import re

from msgspec.structs import replace

from skilljuror.base.study import AgentChoice
from skilljuror.harness.harbor.harness import HarborHarness
from skilljuror.harness.harbor.job import BWRAP, earlier_jobs, write_job
from tests.support.harness_tasks import make_job, make_task, make_variant

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
    return write_job(tmp_path / "jobs", jobs, tasks, lambda job: {"type": job.task.name}, 3)


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
    assert [one["environment"]["type"] for one in said] == ["x", "Y", "Y", "x"]


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


def test_harbor_downloads_the_work_unless_a_verifier_of_its_own_would_get_it(tmp_path):
    def artifacts(kind, settings="", keep=None):
        task = make_task(tmp_path / "tea", **{"task.toml": settings})
        job = make_job(task, keep=keep)
        place = {"import_path": BWRAP} if kind == "bwrap" else {"type": kind}
        made = write_job(tmp_path / "jobs", [job], {"tea": task}, lambda _: place, 1)
        (trial,) = json.loads((made.folder / "job.json").read_text(encoding="utf-8"))["trials"]
        return [one["source"] for one in trial["artifacts"]]

    own = '[verifier]\nenvironment_mode = "separate"\n'
    assert artifacts("bwrap") == artifacts("docker", keep=("*.sh",)) == ["/app"]
    assert artifacts("docker") == artifacts("bwrap", own) == artifacts("bwrap", keep=()) == []
