"""A kill -9 at a random moment of a command that writes loses nothing: the same command again gives what an
uninterrupted one gives, and nothing is left lying about."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import yaml

from skilljuror.base.files import StudyFolder, digest_tree, read_record, sha256
from skilljuror.base.study import StudyPlan, TrialRecord
from tests.support.changing_logs import ChangingLogs
from tests.support.harness_tasks import ISOLATIONS
from tests.support.ingested import tables
from tests.support.places import EXAMPLES, ROOT
from tests.support.studies import make_study, start, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

KILLS = {"run": 2, "ingest": 3, "ingest logs": 3, "judge": 2}
"""Kills of the commands that write for long, each at a random moment; one of any other command."""
COMMANDS = {
    "run": "run study.yaml --out study --jobs 2",
    "ingest": "ingest --study study",
    "ingest logs": "ingest {trajectories} --study mine",
    "judge": "judge study",
    "report": "report study",
    "query": "query study trials --format csv --out trials.csv",
    "query tables": "query study --out tables",
    "build": "build {skill} --out build",
    "waive": "waive study {trial} --reason done",
    "assay": "assay study --keep",
    "generate": "generate {skill} --by outline --out gen",
}
"""What is killed; the study lies in the current folder, with all that comes before the command."""
BEFORE = {"run": (), "ingest": ("run",), "judge": ("run", "ingest")}
"""What the study has seen before the command; all of it for the others."""
RESUMED = {"run", "ingest", "ingest logs", "judge"}
"""Commands that say how much of the work was done before."""
OF_FILES = ("files", "readings", "judged")
"""Tables of the facts of files, which differ between two copies of them."""


@pytest.fixture(scope="module")
def stages(tmp_path_factory):
    """Folders with a small study after none, one, two … of its commands."""
    folder = tmp_path_factory.mktemp("stages") / "none"
    shutil.copytree(EXAMPLES, folder)
    study = yaml.safe_load((folder / "study.yaml").read_text())
    study |= {"tasks": study["tasks"][:2], "trials_per_cell": 1, "build": {}}
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    made: dict[tuple[str, ...], Path] = {(): folder}
    for done in (("run",), ("run", "ingest"), ("run", "ingest", "judge")):
        made[done] = folder.parent / done[-1]
        shutil.copytree(made[done[:-1]], made[done], symlinks=True)
        finished = _finished(COMMANDS[done[-1]], made[done])
        assert finished.returncode == 0, finished.stderr
        if done == ("run",):
            _lose_reward(made[done])
    return made


def _lose_reward(folder: Path) -> None:
    """The last trial's verifier gave no answer, so that somebody may accept that."""
    trial = max((folder / "study" / "trials").iterdir())
    shutil.rmtree(trial / "raw" / "verifier")
    record = trial / "trial.json"
    fields: dict[str, object] = {"status": "unscored", "reward": None, "rewards": {}}
    record.write_text(json.dumps(json.loads(record.read_text()) | fields))


def _words(template: str, folder: Path) -> list[str]:
    trials = sorted(path.name for path in folder.glob("study/trials/*"))
    places = {
        "trajectories": ROOT / "trajectories",
        "trial": trials[-1] if trials else "",
        "task": trials[0].partition("__")[0] if trials else "",
        "skill": next((path for path in sorted(folder.glob("skills/*")) if path.is_dir()), ""),
    }
    return [sys.executable, "-m", "skilljuror", *template.format(**places).split()]


def _finished(template: str, folder: Path) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(_words(template, folder), cwd=folder, capture_output=True, check=False)


def _kill(template: str, folder: Path, seconds: float) -> bool:
    """Whether the command was still running when it was killed. What it started must end too."""
    with subprocess.Popen(
        _words(template, folder), cwd=folder, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        time.sleep(seconds)
        process.kill()
    until(lambda: not _group(process.pid))
    return process.returncode == -signal.SIGKILL


def _group(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True


def _state(folder: Path, timed: bool) -> dict[str, object]:
    """What a folder holds: the rows of databases, all else byte by byte. Where trials ran, names and
    numbers of rows alone, without the attempts that a kill cut off: their cost counts."""
    state: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".duckdb":
            held = tables(path.parent)
            if timed:
                held.pop("attempts", None)
            counted = held if timed else set(held).intersection(OF_FILES)
            state[name] = held | {table: len(held[table]) for table in counted}
        elif path.is_file() and not (timed and "attempts" in path.parts):
            state[name] = "" if timed else path.read_bytes()
    return state


@pytest.mark.parametrize("name", COMMANDS)
def test_the_same_again_is_as_if_nothing_had_happened(name, stages, tmp_path):
    stage = stages[BEFORE.get(name, ("run", "ingest", "judge"))]
    timed = name in {"run", "waive"}
    chance = random.Random(name)
    folder = tmp_path / "at"

    def start_over():
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(stage, folder, symlinks=True)

    start_over()
    begun = time.monotonic()
    whole = _finished(COMMANDS[name], folder)
    seconds = time.monotonic() - begun
    assert whole.returncode == 0, whole.stderr
    expected = _state(folder, timed)
    for _ in range(KILLS.get(name, 1)):
        moment = chance.uniform(0.1, 0.6) * seconds
        start_over()
        while not _kill(COMMANDS[name], folder, moment):  # it had ended: the first run was slow
            moment /= 2
            start_over()
        again = _finished(COMMANDS[name], folder)
        assert again.returncode == 0, again.stderr
        if name not in RESUMED:
            assert again.stdout == whole.stdout
        assert _state(folder, timed) == expected


CAMPAIGN = "ingest logs --study study --again --prune"
ROUNDS = 24
"""Kills of an ingest of logs that change before each."""


def test_after_any_kills_a_pruning_ingest_of_changing_logs_holds_what_a_fresh_one_holds(tmp_path):
    chance = random.Random(24)
    logs = ChangingLogs(tmp_path / "logs")
    for session in range(3):
        logs.grow_head(session, 3)
        logs.grow_agent(session, 0, 2)
        logs.write_trial(session)
    begun = time.monotonic()
    assert _finished(CAMPAIGN, tmp_path).returncode == 0
    seconds = time.monotonic() - begun
    killed = 0
    for number in range(ROUNDS):
        for _ in range(chance.randint(1, 4)):
            logs.change(chance)
        killed += _kill(CAMPAIGN, tmp_path, chance.uniform(0.3, 1) * seconds)
        if number % 4 == 3:
            whole = _finished(CAMPAIGN, tmp_path)
            shutil.rmtree(tmp_path / "fresh", ignore_errors=True)
            fresh = _finished("ingest logs --study fresh", tmp_path)
            assert (whole.returncode, b"Traceback" in whole.stderr) == (fresh.returncode, False)
            held, expected = tables(tmp_path / "study", ()), tables(tmp_path / "fresh", ())
            assert {name for name in expected if held[name] != expected[name]} == set()
    assert killed > ROUNDS / 4


TRIALS = 15
"""Trials of each of two arms."""
MOMENTS = 10
"""Kills of the one run that they are."""


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_a_run_of_thirty_trials_is_killed_ten_times(tmp_path, isolation):
    """No trial is lost, none is run twice, and all ran under one plan, substrate and variant."""
    study = make_study(
        tmp_path, script="sleep 0.4; echo done > out.txt", trials=TRIALS,
        variants={"a": None, "b": "baseline"}, harness={"options": {"isolation": isolation}},
    )  # fmt: skip
    out, seen, plans = tmp_path / "out", dict[str, int](), set[str]()
    moments = random.Random(30)
    for _ in range(MOMENTS):
        run = start(study, out)
        until(partial(_has_more_than, out, len(seen)))
        time.sleep(moments.uniform(0, 0.3))
        run.kill()
        run.communicate()
        assert run.returncode == -signal.SIGKILL
        now = _finished_trials(out)
        assert seen.items() <= now.items()
        seen = now
        plans.add(sha256((out / "plan.json").read_bytes()))
    said, errors = start(study, out).communicate(timeout=120)
    assert (said.split(), errors) == (["30", "False"], "")
    assert seen.items() <= _finished_trials(out).items()
    plan = read_record(StudyPlan, out / "plan.json")
    records = [
        read_record(TrialRecord, StudyFolder(out).trial_record(name))
        for name in _finished_trials(out)
    ]
    assert sorted(record.trial for record in records) == sorted(one.trial for one in plan.trials)
    assert plans == {sha256((out / "plan.json").read_bytes())}
    assert {record.config_digest for record in records} == {plan.config_digest}
    assert {record.substrate_digest for record in records} == {plan.tasks[0].substrate_digest}
    offered = {record.variant_digest for record in records if record.variant}
    assert offered == {digest_tree(StudyFolder(out).variant("tea", "baseline"))}


def _has_more_than(out: Path, count: int) -> bool:
    return len(_finished_trials(out)) > count


def _finished_trials(out: Path) -> dict[str, int]:
    """Trial -> inode of its record: a trial that ran again has another one."""
    folder = StudyFolder(out)
    return {name: folder.trial_record(name).stat().st_ino for name in folder.finished_trials()}
