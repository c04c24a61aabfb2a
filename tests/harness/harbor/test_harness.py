"""The real Harbor, without Docker."""

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from msgspec import structs

from skilljuror.base.errors import HarnessError, UsageError
from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.study import SKILL_ROOTS, AgentProgram, TrialRecord
from skilljuror.harness.harbor.harness import HarborHarness
from skilljuror.harness.harbor.program import find_harbor
from skilljuror.harness.local import LocalHarness
from skilljuror.study.check import check_study
from skilljuror.study.run import run_study
from tests.support.cli_process import call
from tests.support.harbor_venv import HARBOR, PYTHON, needs_harbor
from tests.support.harness_tasks import (
    SKILL,
    make_job,
    make_task,
    make_variant,
    needs_bwrap,
    write_tree,
)
from tests.support.loopback import model_server
from tests.support.studies import PACKAGED, edit_study, make_study

pytestmark = needs_harbor


def packaged_study(base, *, agent="scripted", **more):
    """A study of packaged tasks in two arms, run by the real Harbor."""
    harbor = {"name": "harbor", "options": {"program": str(HARBOR)}}
    fields = {"harness": harbor, "agent": {"name": agent}, "trials": 1} | more
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
    assert (summary.finished, summary.statuses, summary.isolation) == (6, {"scored": 6}, "bwrap")
    for record in records(out).values():
        raw = StudyFolder(out).trial_raw(record.trial)
        result = json.loads((raw / "result.json").read_bytes())
        assert record.reward == result["verifier_result"]["rewards"]["reward"]
        assert (record.harness, record.agent, record.network) == ("harbor", "scripted", "none")
        assert (raw / "verifier" / "reward.json").exists() or (raw / "verifier/reward.txt").exists()
        assert any((raw / "agent").iterdir())
        assert not (raw / "artifacts" / "work").exists()
        listed = {one["path"] for one in json.loads((raw / "artifacts.json").read_bytes())["files"]}
        work = {str(path.relative_to(raw / "work")) for path in (raw / "work").rglob("*.*")}
        assert work
        assert work < listed or record.task == "alert-rules"  # it begins with an empty folder
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_what_the_agent_read_is_attributed(scripted):
    out, _ = scripted
    assert call("ingest", "--study", out).returncode == 0
    sql = "SELECT condition, count(*) FROM events JOIN trajectories USING (trajectory) JOIN trials USING (trial) GROUP BY 1"
    done = call("query", out, sql, "--format", "csv")
    arms = dict(line.split(",") for line in done.stdout.splitlines()[1:])
    assert list(arms) == ["pd"], done.stderr
    assert int(arms["pd"]) >= 6


@pytest.mark.slow
def test_the_study_reports(scripted):
    out, _ = scripted
    assert call("ingest", "--study", out).returncode == 0
    done = call("report", out)
    assert done.returncode == 0, done.stderr
    assert "harbor" in (out / "report" / "report.html").read_text(encoding="utf-8")


BARE = [{"name": "a", "variant": None}, {"name": "b", "variant": None}]


@pytest.mark.slow
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


@pytest.mark.slow
def test_tasks_are_proved_in_harbor_where_the_study_runs_there(tmp_path):
    summary = check_study(packaged_study(tmp_path), jobs=2)
    assert summary.isolation == "bwrap"
    assert {(one.task, one.verdict, one.solution) for one in summary.tasks} == {
        (task, "ok", 1.0) for task in PACKAGED
    }
    assert all(one.empty is not None and one.empty < 1 for one in summary.tasks)


@pytest.mark.slow
def test_an_agent_that_takes_no_skills_is_refused_where_some_are_offered(tmp_path):
    done = call("run", packaged_study(tmp_path, agent="oracle"), "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "agent 'oracle' takes no Skills in Harbor" in done.stderr.splitlines()[-1]


@pytest.mark.slow
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


@pytest.mark.parametrize("place", ["deep/brew/SKILL.md", "brew/skill.md"])
def test_a_skill_that_harbor_would_not_take_is_refused(tmp_path, place):
    job = make_job(make_task(tmp_path / "tea"), variant=write_tree(tmp_path / "v", {place: SKILL}))
    with pytest.raises(HarnessError, match=f"in one folder.* has '{place}'"):
        HarborHarness({"program": str(HARBOR)}).run(job, tmp_path)


@pytest.fixture
def disk():
    """A folder on the disk, readable by all."""
    with TemporaryDirectory(dir="/tmp") as folder:  # a sandbox has a /dev/shm of its own
        Path(folder).chmod(0o755)
        yield Path(folder)


LOOKS = """
cp "$1" $2/prompt.txt; cp ~/.tea/settings $2/; echo $TEA_POT > $2/pot; ls "$3" > $2/listed
mkdir -p ~/.tea/logs/deep; echo said > ~/.tea/logs/deep/one; echo done > out.txt; ls -d $4 > $2/shown
ls -A $4/tea > $2/hidden
"""


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["~/.tea/skills", None])
def test_an_agent_of_ours_finds_in_harbor_what_it_finds_locally(tmp_path, disk, folder):
    shown = disk / "shown"
    shown.mkdir()
    argv = ("bash", "-c", LOOKS, "x", "{instruction}", "{logs}", "{skills}", str(shown))
    agent = AgentProgram(
        "looker", "1", (), argv, scripted=True, skills=folder, env={"TEA_POT": "blue"},
        home_files={".tea/settings": "strong\n"}, logs=("~/.tea/logs",), shown=(shown,),
    )  # fmt: skip
    job = make_job(make_task(shown / "tea"), agent=agent, variant=make_variant(tmp_path / "v"))
    job = structs.replace(job, disclosed="Skills available for this task: brew.")
    seen = {}
    for harness in (LocalHarness({}), HarborHarness({"program": str(HARBOR)})):
        raw = tmp_path / type(harness).__name__
        raw.mkdir()
        record = harness.run(job, raw)
        assert record.reward == 1.0, record.message
        names = ("prompt.txt", "hidden", "settings", "pot", "listed", "shown", "tea/logs/deep/one")
        seen[raw.name] = [(raw / "agent" / name).read_text() for name in names]
        assert json.loads((raw / "agent.json").read_text())["name"] == "looker"
    local, harbor = seen.values()
    if folder is None:  # the places differ, and are told as they are
        local[0] = local[0].replace("/root/.agents/skills", skills_root())
    assert harbor == local
    assert harbor[1] == "", "the task's own folder is empty in one that is shown"
    assert harbor[0].endswith("\n\nSkills available for this task: brew.\n")
    assert ("<available_skills>" in harbor[0]) == (folder is None)


@pytest.mark.slow
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


@pytest.mark.slow
@needs_bwrap
def test_an_agent_reaches_the_listed_hosts_alone(tmp_path):
    """Through a proxy, in a sandbox without a network; so does what Harbor runs there besides."""
    with (
        model_server(lambda body, number: "tea") as (address, _),
        model_server(lambda body, number: "") as (other, _),
    ):
        ask = (
            "import os, sys, urllib.request as web\n"
            "for address in sys.argv[2:]:\n"
            "    try:\n        said = web.urlopen(address, b'{}', timeout=5).status\n"
            "    except OSError as error:\n        said = error\n"
            "    print(said, file=open(sys.argv[1] + '/said', 'a'))\n"
            "os.environ.clear()\n"
            "try:\n    web.build_opener(web.ProxyHandler({})).open(sys.argv[2], b'{}', timeout=5)\n"
            "except OSError as error:\n    print(error, file=open(sys.argv[1] + '/said', 'a'))\n"
        )
        addresses = [f"{one}/chat/completions" for one in (address, other)]
        argv = ("python3", "-c", ask, "{logs}", *addresses)
        agent = AgentProgram("asker", "1", (), argv)
        options = {
            "program": str(HARBOR),
            "network": [address.removeprefix("http://").partition("/")[0]],
        }
        (tmp_path / "raw").mkdir()
        job = make_job(make_task(tmp_path / "tea"), agent=agent)
        record = HarborHarness(options).run(job, tmp_path / "raw")
    said = (tmp_path / "raw" / "agent" / "said").read_text().splitlines()
    assert record.network == "allowlist"
    assert said == [
        "200", "HTTP Error 403: Host is not in harness.options.network",
        "<urlopen error [Errno 111] Connection refused>",
    ]  # fmt: skip
    with pytest.raises(
        UsageError, match=r"'docker' has its own list; set environment_config.extra_all"
    ):
        HarborHarness({"environment": "docker", "network": ["x"]})
