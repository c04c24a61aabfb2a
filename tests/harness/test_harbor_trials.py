"""The real Harbor, in an environment that needs no engine: whole studies, stopped and killed runs."""

import contextlib
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from datetime import datetime

import pytest
from msgspec import structs

from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.skill import SKILL_ROOTS
from skilljuror.base.study import AgentProgram, Budget, TrialRecord
from skilljuror.harness.harbor import HarborHarness, find_harbor
from skilljuror.harness.local import LocalHarness
from skilljuror.study.check import check_study
from skilljuror.study.run import Spending, run_study
from tests.support.cli_process import call
from tests.support.harbor_venv import HARBOR, OPTIONS, PYTHON, needs_harbor
from tests.support.harness_tasks import alive, make_job, make_task, make_variant
from tests.support.studies import PACKAGED, edit_study, make_study, start, until

pytestmark = [needs_harbor, pytest.mark.slow]
IN_HARBOR = {"name": "harbor", "options": OPTIONS, "timeout_sec": 60}


def packaged_study(base, *, agent="scripted", **more):
    """A study of packaged tasks in two arms, run by the real Harbor."""
    fields = {
        "harness": IN_HARBOR,
        "keep": ["*"],
        "agent": {"name": agent},
        "trials": 1,
    } | more
    arms = {"no_skill": None, "pd": "pd"}
    return make_study(base, packaged=PACKAGED, variants=arms, file=f"{agent}.yaml", **fields)


def records(out):
    """Every finished trial's record."""
    folder = StudyFolder(out)
    found = [
        read_record(TrialRecord, folder.trial_record(name)) for name in folder.finished_trials()
    ]
    return {record.trial: record for record in found}


@pytest.fixture(scope="module")
def scripted(tmp_path_factory):
    """The scripted agent in two arms of three trials: folder of the study, summary."""
    base = tmp_path_factory.mktemp("scripted")
    summary = run_study(packaged_study(base), base / "out", jobs=6)
    return base / "out", summary


def test_every_trial_is_run_and_kept_with_all_that_harbor_left(scripted):
    out, summary = scripted
    assert (summary.finished, summary.statuses, summary.isolation) == (
        6,
        {"scored": 6},
        OPTIONS["environment"],
    )
    for record in records(out).values():
        raw = StudyFolder(out).trial_raw(record.trial)
        result = json.loads((raw / "result.json").read_bytes())
        assert record.reward == result["verifier_result"]["rewards"]["reward"]
        assert (record.harness, record.agent, record.network) == ("harbor", "scripted", "public")
        assert (raw / "verifier" / "reward.json").exists() or (raw / "verifier/reward.txt").exists()
        assert any((raw / "agent").iterdir())
        assert not (raw / "artifacts" / "work").exists()
        listed = {one["path"] for one in json.loads((raw / "artifacts.json").read_bytes())["files"]}
        work = {str(path.relative_to(raw / "work")) for path in (raw / "work").rglob("*.*")}
        assert work
        assert work <= listed
        assert record.skill_root == ("/root/.agents/skills" if record.variant else None)


def skills_root():
    """Where the installed Harbor itself says that it puts Skills."""
    ask = (
        "from harbor.models.trial.paths import EnvironmentPaths as P; print(P().default_skills_dir)"
    )
    said = subprocess.run([PYTHON, "-c", ask], capture_output=True, text=True, check=True)
    return said.stdout.strip()


def test_the_roots_of_skills_are_those_of_the_installed_harbor():
    version = find_harbor(str(HARBOR)).version
    assert SKILL_ROOTS[".".join(version.split(".")[:2])] == skills_root()


def test_the_outcomes_are_those_of_the_local_sandbox(scripted, tmp_path):
    out, _ = scripted
    run_study(packaged_study(tmp_path, harness={"name": "local"}), tmp_path / "out", jobs=2)
    local = records(tmp_path / "out")
    assert {name: record.reward for name, record in records(out).items()} == {
        name: record.reward for name, record in local.items()
    }
    assert {record.variant_digest for record in records(out).values()} == {
        record.variant_digest for record in local.values()
    }


def test_what_the_agent_read_is_attributed(scripted):
    out, _ = scripted
    assert call("ingest", "--study", out).returncode == 0
    sql = "SELECT condition, count(*) FROM events JOIN trajectories USING (trajectory) JOIN trials USING (trial) GROUP BY 1"
    done = call("query", out, sql, "--format", "csv")
    arms = dict(line.split(",") for line in done.stdout.splitlines()[1:])
    assert list(arms) == ["pd"], done.stderr
    assert int(arms["pd"]) >= 6


def test_the_study_reports(scripted):
    out, _ = scripted
    assert call("ingest", "--study", out).returncode == 0
    done = call("report", out)
    assert done.returncode == 0, done.stderr
    assert "harbor" in (out / "report" / "report.html").read_text(encoding="utf-8")


BARE = [{"name": "a", "variant": None}, {"name": "b", "variant": None}]


def test_agents_of_harbor_run_by_their_names(tmp_path):
    rewards = {}
    for agent in ("oracle", "nop"):
        study = packaged_study(tmp_path, agent=agent, conditions=BARE)
        summary = run_study(study, tmp_path / agent, jobs=6)
        assert summary.statuses == {"scored": 6}
        found = records(tmp_path / agent).values()
        rewards[agent] = [record.reward for record in found]
        assert {(record.agent, record.scripted, record.usage_reason) for record in found} == {
            (agent, True, "no_model")
        }
    assert rewards["oracle"] == [1.0] * 6
    assert max(rewards["nop"]) < 1.0


def test_tasks_are_proved_in_harbor_where_the_study_runs_there(tmp_path):
    summary = check_study(packaged_study(tmp_path), jobs=2)
    assert summary.isolation == OPTIONS["environment"]
    assert {(one.task, one.verdict, one.solution) for one in summary.tasks} == {
        (task, "ok", 1.0) for task in PACKAGED
    }
    assert all(one.empty is not None and one.empty < 1 for one in summary.tasks)


def test_an_agent_that_takes_no_skills_is_refused_where_some_are_offered(tmp_path):
    done = call("run", packaged_study(tmp_path, agent="oracle"), "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "agent 'oracle' takes no Skills in Harbor" in done.stderr.splitlines()[-1]


def test_what_harbor_refuses_stops_the_run_in_one_line(tmp_path):
    study = packaged_study(
        tmp_path,
        harness={
            "name": "harbor",
            "options": {"program": str(HARBOR), "environment": "no-such-place"},
        },
    )
    done = call("run", study, "--out", tmp_path / "out")
    assert done.returncode == 2
    line = done.stderr.splitlines()[-1]
    assert "Harbor ended without a result for trial" in line
    assert "no-such-place" in line


LOOKS = """
cp "$1" $2/prompt.txt; cp ~/.tea/settings $2/; echo $TEA_POT > $2/pot; ls "$3" > $2/listed
mkdir -p ~/.tea/logs/deep; echo said > ~/.tea/logs/deep/one; echo done > out.txt
"""


@pytest.mark.parametrize("folder", ["~/.tea/skills", None])
def test_an_agent_of_ours_finds_in_harbor_what_it_finds_locally(tmp_path, folder):
    argv = ("bash", "-c", LOOKS, "x", "{instruction}", "{logs}", "{skills}")
    agent = AgentProgram(
        "looker", "1", (), argv, scripted=True, skills=folder, env={"TEA_POT": "blue"},
        home_files={".tea/settings": "strong\n"}, logs=("~/.tea/logs",),
    )  # fmt: skip
    job = make_job(make_task(tmp_path / "tea"), agent=agent, variant=make_variant(tmp_path / "v"))
    job = structs.replace(job, disclosed="Skills available for this task: brew.")
    seen = {}
    for harness in (LocalHarness({}), HarborHarness(OPTIONS)):
        raw = tmp_path / type(harness).__name__
        raw.mkdir()
        record = harness.run(job, raw)
        assert record.reward == 1.0, record.message
        names = ("prompt.txt", "settings", "pot", "listed", "tea/logs/deep/one")
        seen[raw.name] = [(raw / "agent" / name).read_text() for name in names]
        assert json.loads((raw / "agent.json").read_text())["name"] == "looker"
    local, harbor = seen.values()
    if folder is None:  # the places differ, and are told as they are
        local[0] = local[0].replace("/root/.agents/skills", skills_root())
    assert harbor == local
    assert harbor[0].endswith("\n\nSkills available for this task: brew.\n")
    assert ("<available_skills>" in harbor[0]) == (folder is None)


def test_a_budget_stops_between_blocks_and_trials_run_again_keep_their_attempts(tmp_path):
    study, out = packaged_study(tmp_path), tmp_path / "out"
    edit_study(study, budget={"minutes": 0.0001}, trials_per_cell=2)
    first = run_study(study, out, jobs=4)
    assert first.stopped is not None
    assert (first.finished, first.planned) == (6, 12)
    for path in (out / "trials").glob("*/trial.json"):
        record = json.loads(path.read_text()) | {"status": "unscored", "reward": None}
        path.write_text(json.dumps(record))
    edit_study(study, budget={"minutes": 100})
    second = run_study(study, out, jobs=4, rerun={"unscored"})
    assert (second.finished, second.rerun, second.statuses) == (12, 6, {"scored": 12})
    assert len(StudyFolder(out).earlier_attempts()) == 6


TASKS = ("tea", "milk", "soup", "bread", "rice")


def study_of(base, trials, seconds):
    """A study of five tasks in two arms whose agent takes its time."""
    study = make_study(
        base, trials=trials, variants={"a": None, "b": "baseline"},
        script=f"echo said > $2/early; sleep {seconds}; echo done > out.txt; echo log > $2/log",
    )  # fmt: skip
    for task in TASKS[1:]:
        make_task(base / task)
    tasks = [{"path": task, "skills": "brew"} for task in TASKS]
    edit_study(study, tasks=tasks, harness=IN_HARBOR)
    return study


def stopped_attempts(out):
    """Folder and record of every attempt that a stop or a kill broke off."""
    folder = StudyFolder(out)
    found = [folder.attempt(*one) for one in folder.earlier_attempts()]
    records = [(path, read_record(TrialRecord, path / "trial.json")) for path in found]
    assert all(
        (record.status, record.reward, record.exception) == ("error", None, "RunStoppedError")
        for _, record in records
    )
    return records


def results(folder):
    """Id of every trial below a folder that Harbor ran to its end."""
    found = {}
    for path in folder.rglob("result.json"):
        try:
            result = json.loads(path.read_bytes())
        except (ValueError, FileNotFoundError):
            continue
        cancelled = "CancelledError" in json.dumps(result.get("exception_info"))
        spoke = result.get("exception_info") or result.get("verifier_result")
        if "trial_name" in result and result["finished_at"] and spoke and not cancelled:
            found[result["id"]] = path
    return found


def test_thirty_trials_killed_ten_times_are_thirty_trials(tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    study, out, moments = (
        study_of(tmp_path, trials=3, seconds=2),
        tmp_path / "out",
        random.Random(7),
    )
    seen, plans, killed = set(), set(), 0
    for _ in range(10):
        process = start(study, out)
        time.sleep(moments.uniform(3.0, 7.0))
        killed += process.poll() is None
        with contextlib.suppress(ProcessLookupError):  # it may have run all of them
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        until(lambda: not alive(str(out / "jobs")))
        seen |= results(out).keys()
        plans |= {(out / "plan.json").read_bytes()} if (out / "plan.json").exists() else set()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    summary = run_study(study, out, jobs=4)
    assert killed >= 5
    assert (summary.finished, summary.statuses) == (30, {"scored": 30})
    folder = StudyFolder(out)
    kept = {name: json.loads((folder.trial_raw(name) / "result.json").read_bytes())["id"]
            for name in folder.finished_trials()}  # fmt: skip
    assert len(set(kept.values())) == 30
    assert seen <= set(kept.values()), "a trial that had ended was run again"
    assert {(out / "plan.json").read_bytes()} == plans
    found = [read_record(TrialRecord, folder.trial_record(name)) for name in kept]
    assert len({(record.task, record.substrate_digest) for record in found}) == len(TASKS)
    assert len({(record.condition, record.variant_digest) for record in found}) == 2
    assert not alive(str(scratch))


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_takes_harbor_and_its_trials_along(tmp_path, sign):
    study, out = study_of(tmp_path, trials=1, seconds=77.7), tmp_path / "out"
    process = start(study, out)
    until(lambda: alive("sleep\x0077.7"))
    process.send_signal(sign)
    process.communicate(timeout=60)
    until(lambda: not alive(str(out / "jobs")) and not alive("sleep 77.7"))
    assert not results(out)
    assert not list((out / "trials").iterdir())
    attempts = stopped_attempts(out)
    if sign == signal.SIGTERM:  # which ends this run at once, and the next one keeps what it left
        assert not attempts
        assert list((out / "jobs").glob("*/harbor/*/config.json"))
        return
    for path in (out / "jobs").glob("*/harbor/*/result.json"):
        assert json.loads(path.read_bytes())["agent_execution"] is None, "it is handed out"
    assert all(record.agent_seconds > 0 for _, record in attempts)
    assert "said\n" in [path.read_text() for path in (out / "attempts").glob("*/raw/agent/early")]
    assert Spending(StudyFolder(out), Budget(minutes=1)).minutes > 0


@pytest.mark.parametrize("both", [False, True], ids=["the run", "the run and Harbor"])
def test_what_a_kill_broke_off_counts_in_the_next_run(tmp_path, both):
    """Harbor ends by itself when its run is killed, and fetches the logs; killed as well, nobody knows."""
    study, out = study_of(tmp_path, trials=1, seconds=8.9), tmp_path / "out"
    arms = [{"name": "a", "variant": None}]
    edit_study(study, tasks=[{"path": "tea", "skills": "brew"}], conditions=arms)
    process = start(study, out)
    until(lambda: alive("sleep\x008.9"))
    harbor = alive(str(out / "jobs"))
    os.killpg(process.pid, signal.SIGKILL)
    for one in harbor if both else ():
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    process.communicate()
    until(lambda: not alive(str(out / "jobs")) and not alive("sleep 8.9"))
    assert not stopped_attempts(out)
    edit_study(study, budget={"minutes": 0.0001})
    summary = run_study(study, out)
    ((path, record),) = stopped_attempts(out)
    assert record.trial == "tea__a__1"
    if both:
        assert (record.agent_seconds, summary.stopped) == (None, None)
        assert any(
            "the duration of 1 stopped attempts is unknown" in note for note in summary.notes
        )
    else:
        assert record.agent_seconds > 0
        assert (path / "raw/agent/early").exists()
        assert (summary.finished, summary.ran) == (0, 0)
        assert "budget.minutes" in str(summary.stopped)


def test_under_a_budget_block_goes_after_block(tmp_path):
    study, out = study_of(tmp_path, trials=2, seconds=0), tmp_path / "out"
    edit_study(study, budget={"minutes": 60})
    summary = run_study(study, out, jobs=4)
    assert summary.statuses == {"scored": 20}
    said = [json.loads(path.read_bytes()) for path in (out / "jobs").glob("*/trials.json")]
    blocks = [{name[-1] for name in one["trials"].values()} for one in said]
    assert sorted(blocks, key=min) == [{"1"}, {"2"}]


def test_a_slot_is_given_back_when_its_trial_ends(tmp_path):
    study, out = study_of(tmp_path, trials=1, seconds="$(( $4 % 4 * 2 ))"), tmp_path / "out"
    summary = run_study(study, out, jobs=2)
    assert summary.statuses == {"scored": 10}
    folder = StudyFolder(out)
    records = [
        read_record(TrialRecord, folder.trial_record(one)) for one in folder.finished_trials()
    ]
    starts = sorted(datetime.fromisoformat(record.started_at) for record in records)
    ends = sorted(datetime.fromisoformat(record.finished_at) for record in records)
    idle = [(start - end).total_seconds() for end, start in zip(ends, starts[2:], strict=False)]
    assert min(idle) >= 0, "three ran at once"
    assert max(idle) < 1.5, "a slot was free while trials waited"
    assert len(list((out / "jobs").glob("*/trials.json"))) == 1
