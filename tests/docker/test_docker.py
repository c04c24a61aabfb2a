"""Trials through Harbor in a real Docker engine; its base images may be stand-ins (`make docker`)."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from skilljuror.base.errors import HarnessError
from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.study import TrialRecord
from skilljuror.study.check import check_study
from skilljuror.study.init_study import StudySource, init_study
from skilljuror.study.run import run_study
from tests.support.cli_process import call
from tests.support.docker_engine import answers, run
from tests.support.harbor_venv import HARBOR, needs_harbor
from tests.support.harness_tasks import alive, make_task, write_tree
from tests.support.live_agents import LIVE, rows
from tests.support.model_server import usage
from tests.support.places import ROOT
from tests.support.studies import MAIN, edit_study, make_study, start, until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(900),
    needs_harbor,
]
ARMS = {"no_skill": None, "baseline": "baseline", "pd": "pd"}
DOCKER: dict[str, Any] = {"name": "harbor", "timeout_sec": 300, "verifier_timeout_sec": 300,
          "options": {"program": str(HARBOR), "environment": "docker"}}  # fmt: skip
VERIFIER = 'r=0; [ "$(cat /app/out.txt)" = done ] && r=1; mkdir -p /logs/verifier; echo $r > /logs/verifier/reward.txt\n'
SOLVE = 'cp "${0%/*}/answer.txt" /app/out.txt\n'
FROM = "FROM python:3.12-slim\nWORKDIR /app\nCOPY input.txt /app/input.txt\n"
WITH_CODEX = (
    FROM
    + """RUN ln -s /given/codex /usr/local/bin/codex
ENTRYPOINT ["/bin/sh", "-c", "PYTHONPATH=/given/repo python3 -m tests.support.model_in_container 8123 & for n in $(seq 300); do python3 -c 'import socket; socket.create_connection((\\"127.0.0.1\\", 8123))' 2>/dev/null && break; sleep 0.2; done; exec \\"$@\\"", "--"]
"""
)
SKILLSBENCH = os.environ.get("SKILLSBENCH")
"""A checkout of SkillsBench, to run three of its tasks."""
BENCH = ("offer-letter-generator", "grid-dispatch-operator", "3d-scan-calc")


@pytest.fixture(scope="module")
def engine():
    """Asked when a test runs, so that collecting the tests needs no engine."""
    if not answers():
        pytest.skip("no Docker engine answers; see make docker")


@pytest.fixture
def nothing_left(engine):
    """What the engine holds is what it held before, but for its cache of builds."""
    before = held()
    yield
    assert held() == before


def held() -> dict[str, set[str]]:
    """Containers, networks, volumes and images of the engine."""
    kinds = {"container": "-aq", "network": "-q", "volume": "-q", "image": "-q"}
    return {kind: set(run("docker", kind, "ls", how).split()) for kind, how in kinds.items()}


def tasks_with_images(base, names, **more):
    """A study in Docker of tasks that are made, in two arms."""
    study = make_study(base, task=names[0], trials=1, harness=DOCKER, **more)
    for name in names:
        make_task(base / name, test=VERIFIER, environment__Dockerfile=FROM)
    edit_study(study, tasks=[{"path": name, "skills": "brew"} for name in names])
    return study


def record(out, trial):
    return read_record(TrialRecord, StudyFolder(out).trial_record(trial))


def locked(out, trial):
    """The Skills that Harbor locked for a trial."""
    lock = json.loads((StudyFolder(out).trial_raw(trial) / "lock.json").read_text())
    return [one["name"] for one in lock.get("skills", [])]


def test_three_arms_of_a_packaged_task(tmp_path, nothing_left):
    study = make_study(
        tmp_path,
        packaged=["redact-lines"],
        variants=ARMS,
        trials=1,
        agent={"name": "scripted"},
        harness=DOCKER,
    )
    out = tmp_path / "out"
    summary = run_study(study, out, jobs=3)
    assert (summary.isolation, summary.statuses) == ("docker", {"scored": 3})
    for arm, variant in ARMS.items():
        trial = f"redact-lines__{arm}__1"
        one, raw = record(out, trial), StudyFolder(out).trial_raw(trial)
        assert (one.network, one.variant) == ("public", variant)
        assert locked(out, trial) == (["log-triage"] if variant else [])
        listed = (raw / "agent" / "trajectory.json").read_text()
        assert ("/harbor/skills" in listed or "SKILL.md" in listed) == bool(variant)


def test_a_check_by_the_oracle_and_by_nothing(tmp_path, nothing_left):
    study = tasks_with_images(tmp_path, ["tea", "needy"])
    write_tree(tmp_path / "tea", {"solution/solve.sh": SOLVE, "solution/answer.txt": "done\n"})
    write_tree(tmp_path / "needy", {"solution/solve.sh": "cat /root/.claude/skills/brew/steep.py\n",
                                    "environment/skills/brew/SKILL.md": "---\nname: brew\n---\n"})  # fmt: skip
    tea, needy = check_study(study, jobs=2).tasks
    assert (tea.verdict, tea.solution, tea.empty) == ("ok", 1, 0)
    assert needy.problems[1].startswith("its own Skill was removed")
    assert "steep.py: No such file" in str(needy.solution_output)


def test_a_build_that_fails_says_why(tmp_path, nothing_left):
    study = tasks_with_images(tmp_path, ["tea"])
    write_tree(tmp_path / "tea", {"environment/Dockerfile": FROM + "RUN echo steep; exit 7\n"})
    out = tmp_path / "out"
    assert run_study(study, out, jobs=2).statuses == {"error": 2}
    assert "exit code: 7" in str(record(out, "tea__a__1").message)


def test_limits_and_mounts_of_the_study_file_hold(tmp_path, nothing_left):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "word").write_text("done\n")
    mount = {
        "type": "bind",
        "source": str(tmp_path / "shared"),
        "target": "/given",
        "read_only": True,
    }
    config = {"override_memory_mb": 256, "mounts": [mount], "env": {"TEA": "green"}}
    harness = {**DOCKER, "options": {**DOCKER["options"], "environment_config": config}}
    script = "cp /given/word out.txt; echo $TEA > $2/tea; cat /sys/fs/cgroup/memory.max > $2/memory" \
        " || cat /sys/fs/cgroup/memory/memory.limit_in_bytes > $2/memory"  # fmt: skip
    study = tasks_with_images(tmp_path, ["tea"], script=script)
    edit_study(study, harness=harness)
    out = tmp_path / "out"
    assert run_study(study, out).statuses == {"scored": 2}
    logs = StudyFolder(out).trial_raw("tea__a__1") / "agent"
    assert record(out, "tea__a__1").reward == 1
    assert (logs / "tea").read_text().strip() == "green"
    assert int((logs / "memory").read_text()) == 256 * 1024 * 1024


def run_or_refusal(study, out):
    """The summary of a run, or why the machine cannot run it."""
    try:
        return run_study(study, out)
    except HarnessError as error:
        return error


@pytest.mark.parametrize("network", ["none", "public"])
def test_a_task_without_internet_has_none(tmp_path, nothing_left, network):
    allowed = "false" if network == "none" else "true"
    look = "python3 -c 'import socket; print(len(socket.if_nameindex()))' > $2/devices; echo done > out.txt"
    study = tasks_with_images(tmp_path, ["tea"], script=look)
    write_tree(tmp_path / "tea", {"task.toml": f"[environment]\nallow_internet = {allowed}\n"})
    out = tmp_path / "out"
    if "'no-network' is not supported" in str(run_or_refusal(study, out)):
        assert network == "none"  # the engine's kernel cannot keep a container from the internet
        return
    assert record(out, "tea__a__1").network == network
    devices = int((StudyFolder(out).trial_raw("tea__a__1") / "agent/devices").read_text())
    assert (devices == 1) == (network == "none")


def codex_program() -> Path | None:
    """The program of Codex that `make live` installed; it needs no node."""
    found = (path for path in (LIVE / "node_modules/@openai").rglob("codex") if path.is_file())
    return next((path for path in found if path.stat().st_size > 10_000_000), None)


def test_the_real_codex_in_two_arms(tmp_path, nothing_left):
    """Its model is scripted, and answers inside the container."""
    if codex_program() is None:
        pytest.skip("Codex is not installed in .live; see make live")
    mounts = [  # not the checkout: the files of an engine below it cannot be mounted again
        {"type": "bind", "source": str(source), "target": f"/given/{name}", "read_only": True}
        for name, source in (("codex", codex_program()), ("repo/tests", ROOT / "tests"))
    ]
    harness = {**DOCKER, "options": {**DOCKER["options"], "environment_config": {"mounts": mounts}}}
    provider = {"name": "loop", "base_url": "http://127.0.0.1:8123/v1", "env_key": "OPENAI_API_KEY",
                "wire_api": "responses", "supports_websockets": False}  # fmt: skip
    config = {"model_provider": "loop", "model_providers": {"loop": provider}}
    agent = {"name": "codex", "model": "gpt-scripted",
             "options": {"keys": ["OPENAI_API_KEY"], "config": config}}  # fmt: skip
    study = make_study(
        tmp_path, trials=1, variants={"none": None, "skill": "origin"}, agent=agent, harness=harness
    )
    make_task(tmp_path / "tea", test=VERIFIER, environment__Dockerfile=WITH_CODEX)
    out = tmp_path / "out"
    for words in (("run", study, "--out", out, "--jobs", 2), ("ingest", "--study", out)):
        done = call(*words, env={**os.environ, "OPENAI_API_KEY": "sk-in-a-container-0123456789"})
        assert done.returncode == 0, done.stderr
    assert locked(out, "tea__none__1") == []
    assert locked(out, "tea__skill__1") == ["brew"]
    ends = "SELECT condition, reward, network, status, reason, message FROM trials ORDER BY 1"
    assert rows(out, ends) == [
        ["none", 0.0, "public", "scored", None, None], ["skill", 1.0, "public", "scored", None, None],
    ]  # fmt: skip
    read = (
        "SELECT DISTINCT trajectory, skill, resource FROM events WHERE kind IN ('read', 'activate')"
    )
    assert rows(out, read) == [["tea__skill__1", "brew", "SKILL.md"]]
    tokens = rows(out, "SELECT sum(output) FROM trajectories WHERE trajectory = 'tea__skill__1'")
    assert tokens == [[sum(usage(turn).output for turn in range(3))]]


KILLS = int(os.environ.get("KILLS", "3"))


def test_what_kills_leave_is_gone_when_the_study_ends(tmp_path, nothing_left):
    """The study and its Harbor are killed at once, at random moments, and gone on with to the end."""
    names = ["tea", "milk", "soup"]
    study = tasks_with_images(tmp_path, names, script="sleep 3; echo done > out.txt")
    write_tree(tmp_path, {"main.py": MAIN})
    out, chance = tmp_path / "out", random.Random(23)
    for _ in range(KILLS):
        process = start(study, out)
        until(partial(alive, str(out / "jobs")), 120)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0.5, 20))
        os.killpg(process.pid, signal.SIGKILL)
        for one in alive(str(out / "jobs")):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        process.communicate()
    summary = run_study(study, out, jobs=2)
    assert (summary.finished, summary.statuses) == (6, {"scored": 6})


@pytest.mark.skipif(not SKILLSBENCH, reason="SKILLSBENCH names no checkout of SkillsBench")
@pytest.mark.timeout(2400)
def test_tasks_of_skillsbench_in_three_arms(tmp_path, nothing_left):
    bench = tmp_path / "bench" / "tasks"
    for name in BENCH:
        shutil.copytree(Path(str(SKILLSBENCH)) / "tasks" / name, bench / name)
    study = tmp_path / "study.yaml"
    init_study(StudySource(skillsbench=tmp_path / "bench"), study)
    harness = {**DOCKER, "timeouts": "task"}
    edit_study(study, agent={"name": "scripted"}, trials_per_cell=1, harness=harness)
    checked = {one.task: one for one in check_study(study, jobs=2).tasks}
    assert {one.empty for one in checked.values()} == {0}
    assert [one.task for one in checked.values() if one.solution == 1]
    out = tmp_path / "out"
    assert run_study(study, out, jobs=2).statuses == {"scored": 9}
    for name in BENCH:
        assert locked(out, f"{name}__no_skill__1") == []
        assert locked(out, f"{name}__pd__1")
