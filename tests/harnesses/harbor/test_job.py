import json

from msgspec.structs import replace

from skilljuror.harnesses.harbor.harness import HarborHarness
from skilljuror.harnesses.harbor.job import earlier_jobs, jobs_of, write_job
from skilljuror.models.study import AgentChoice
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


def description(tmp_path, job):
    made = write_job(tmp_path / "jobs", [job], {"tea": tmp_path / "copy" / "tea"}, {})
    return json.loads((made.folder / "job.json").read_text(encoding="utf-8"))


def test_trials_of_one_block_condition_and_variant_share_a_job(tmp_path):
    cells = [("x", "pd", 0, "d"), ("y", "none", 0, None), ("y", "pd", 0, "d"), ("z", "pd", 0, "e"),
             ("x", "none", 0, None), ("x", "pd", 1, "d")]  # fmt: skip
    groups = jobs_of(several(tmp_path, *cells))
    assert [[one.trial.trial for one in group] for group in groups] == [
        ["x__pd__0", "y__pd__0"], ["y__none__0", "x__none__0"], ["z__pd__0"], ["x__pd__1"],
    ]  # fmt: skip


def test_what_a_job_says(tmp_path):
    job = make_job(make_task(tmp_path / "tea"), variant=make_variant(tmp_path / "variant"))
    job = replace(job, agent=replace(job.agent, keys=(KEY,), model="tea/one"))
    said = description(tmp_path, job)
    assert (said["n_attempts"], said["retry"]) == (1, {"max_retries": 0})
    assert said["tasks"] == [{"path": str(tmp_path / "copy" / "tea")}]
    (agent,) = said["agents"]
    assert agent["skills"] == [str(tmp_path / "variant" / "brew")]
    assert (agent["model_name"], agent["env"]) == ("tea/one", {KEY: f"${{{KEY}}}"})
    assert agent["kwargs"]["seeds"] == {"tea": job.trial.seed}
    assert agent["override_timeout_sec"] == job.choice.timeout_sec


def test_an_agent_of_harbor_is_named_with_its_arguments(tmp_path):
    options = {"version": "2.1.328", "keys": [KEY]}
    program = own_agent("claude-code", model="anthropic/x", options=options)
    assert (program.keys, program.scripted, program.model) == ((KEY,), False, "anthropic/x")
    (agent,) = description(tmp_path, make_job(make_task(tmp_path / "tea"), agent=program))["agents"]
    assert (agent["name"], agent["kwargs"]) == ("claude-code", {"version": "2.1.328"})
    assert agent["model_name"] == "anthropic/x"


def test_a_prompt_that_names_the_skills_does_so_for_agents_of_both(tmp_path):
    job = replace(make_job(make_task(tmp_path / "tea")), disclosed="Skills: brew.")
    (ours,) = description(tmp_path, job)["agents"]
    assert ours["kwargs"]["program"]["disclosed"] == "Skills: brew."
    said = description(tmp_path, replace(job, agent=own_agent("codex")))
    assert said["extra_instructions"] == ["Skills: brew."]
    assert "extra_instructions" not in description(tmp_path, replace(job, disclosed=None))


def test_the_effort_of_an_arm_reaches_an_agent_of_harbor():
    asked = own_agent("codex", effort="high", options={"reasoning_effort": "low"})
    assert asked.effort == "high"
    assert json.loads(asked.argv[1])["kwargs"]["reasoning_effort"] == "high"
    assert own_agent("codex", options={"reasoning_effort": "low"}).effort == "low"
    assert own_agent("codex").effort is None


def test_codex_lists_no_skills_of_its_own_unless_it_is_asked_to():
    def bundled(options):
        program = own_agent("codex", options=options)
        return json.loads(program.argv[1])["kwargs"]["config"]

    assert bundled({}) == {"skills": {"bundled": {"enabled": False}}}
    asked = {"model_provider": "x", "skills": {"bundled": {"enabled": True}}}
    assert bundled({"config": asked}) == asked


def test_agents_of_ours_are_left_to_us():
    for name in ("scripted", "my_agents:one"):
        assert HarborHarness().own_agent(AgentChoice(name=name)) is None
    assert own_agent("oracle").scripted


def test_earlier_jobs_are_known_with_what_is_pending(tmp_path):
    first, second = several(tmp_path, ("x", "pd", 0, "d"), ("y", "pd", 0, "d"))
    made = write_job(tmp_path / "jobs", [first, second], {"x": tmp_path, "y": tmp_path}, {})
    (found,) = earlier_jobs(tmp_path / "jobs", [second])
    assert (found.folder, found.trials) == (made.folder, {"y": second})
    assert list(earlier_jobs(tmp_path / "jobs", [replace(second, config_digest="other")])) == []
    again = write_job(tmp_path / "jobs", [second], {"y": tmp_path}, {})
    assert again.folder != made.folder
