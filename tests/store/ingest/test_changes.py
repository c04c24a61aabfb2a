"""Ingest reads what changed, and the database is as if everything had been read."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from skilljuror.base.workers import Progress
from skilljuror.store.logs import ReadPolicy, ingest_logs
from skilljuror.store.questions import run
from tests.support.changing_logs import ChangingLogs
from tests.support.ingested import READ, REMEMBERED, tables
from tests.support.places import GOLDENS

NUMBERS = st.integers(0, 2)


class Series(RuleBasedStateMachine):
    """Logs that change in every way, ingested into one study as they change and into another whole."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.logs = ChangingLogs(self.folder / "logs")

    def teardown(self):
        try:
            self.ingest("", prune=True)
            ingest_logs(self.folder / "fresh", [self.logs.root])
            self.compare("fresh", without=REMEMBERED)
        finally:
            shutil.rmtree(self.folder)

    @initialize()
    def begin(self):
        self.logs.grow_head(0, 3)
        self.logs.grow_head(1, 2)
        self.logs.grow_agent(0, 0, 2)
        self.logs.write_trial(0)

    @rule(session=NUMBERS, steps=st.integers(1, 3))
    def head_grows(self, session, steps):
        self.logs.grow_head(session, steps)

    @rule(session=NUMBERS, agent=NUMBERS, steps=st.integers(1, 3))
    def agent_begins_or_grows(self, session, agent, steps):
        self.logs.grow_agent(session, agent, steps)

    @rule(session=NUMBERS, agent=NUMBERS)
    def agent_goes(self, session, agent):
        self.logs.remove(self.logs.agent(session, agent))

    @rule(session=NUMBERS)
    def session_goes(self, session):
        self.logs.remove(self.logs.head(session))

    @rule(session=NUMBERS, name=NUMBERS, more=st.integers(-2, 2))
    def session_is_captured_again(self, session, name, more):
        self.logs.capture(session, name, more)

    @rule(name=NUMBERS)
    def capture_goes(self, name):
        self.logs.remove(self.logs.captured(name))

    @rule(session=NUMBERS)
    def head_moves(self, session):
        self.logs.move(session)

    @rule(number=st.integers(0, 20))
    def file_is_touched(self, number):
        self.logs.touch(number)

    @rule(number=st.integers(0, 20), kept=st.floats(0, 1))
    def file_is_cut_off(self, number, kept):
        self.logs.cut(number, kept)

    @rule(number=NUMBERS)
    def foreign_file_comes(self, number):
        self.logs.write(self.logs.root / f"notes{number}.txt", [f"note {number}"])

    @rule(number=NUMBERS)
    def trial_comes_or_changes(self, number):
        self.logs.write_trial(number)

    @rule(number=NUMBERS)
    def trial_goes(self, number):
        self.logs.remove_trial(number)

    @rule(where=st.sampled_from(["", "", "", "projects", "copies"]))
    def ingest(self, where, prune=False):
        path = self.logs.root / where
        if not path.is_dir():
            return
        for study, again in (("one", False), ("other", True)):
            policy = ReadPolicy(again=again, prune=prune)
            ingest_logs(self.folder / study, [path], policy=policy)
        self.compare("other")

    def compare(self, other, without=()):
        found, expected = (tables(self.folder / name, without) for name in ("one", other))
        different = {name for name in expected if found[name] != expected[name]}
        assert different == set(), {name: (found[name], expected[name]) for name in different}


@pytest.mark.slow
def test_what_changed_is_read_and_the_rest_is_as_if_it_were():
    run_state_machine_as_test(
        Series, settings=settings(max_examples=2, stateful_step_count=12, deadline=None)
    )


OPENED = """
import sys
from pathlib import Path
opened = []
sys.addaudithook(lambda event, given: event == "open" and opened.append(str(given[0])))
study, root = map(Path, sys.argv[1:])
{}
print(*{{path for path in opened if path.startswith(str(root)) and Path(path).is_file()}}, sep="\\n")
"""
INGEST = """
from skilljuror.store.logs import ingest_logs
ingest_logs(study, [root])
"""
READ_AGAIN = """
from skilljuror.store.logs import logged_runs, read_logged
from skilljuror.store.questions import run
database = study / "study.duckdb"
names = [row[0] for row in run(database, "trajectory_names").rows]
read_logged(logged_runs(database, names)[max(names)])
"""


def opened_by(code, study, root):
    """Files below a folder that some code opened."""
    done = subprocess.run(
        [sys.executable, "-c", OPENED.format(code), study, root],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.split("\n")) - {""}


def opened_by_ingest(study, root):
    """Files below a folder that an ingest of it opened."""
    return opened_by(INGEST, study, root)


@pytest.fixture
def goldens(tmp_path):
    """All golden logs, settled."""
    root = tmp_path / "logs"
    shutil.copytree(GOLDENS, root)
    for path in root.rglob("*"):
        os.utime(path, (1e9, 1e9))
    return root


def test_a_file_of_this_moment_is_read_again_though_size_and_time_are_the_same(tmp_path):
    """A second writer within one tick of the clock leaves no other trace."""
    log = tmp_path / "log.jsonl"
    text = READ.read_text(encoding="utf-8")
    for ours in (text, text.replace("tide-table", "tide-tabel")):
        before = log.stat() if log.exists() else None
        with log.open("r+" if before else "w", encoding="utf-8") as opened:
            opened.write(ours)
        if before:
            os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))
        else:
            now = time.time_ns() + 60_000_000_000
            os.utime(log, ns=(now, now))
        ingest_logs(tmp_path / "s", [log])
    skills = run(tmp_path / "s" / "study.duckdb", "SELECT DISTINCT skill FROM events").rows
    assert skills == [("tide-tabel",)]


@pytest.mark.slow
def test_what_is_opened_lies_in_the_digest_and_is_not_opened_again(goldens, tmp_path):
    first = opened_by_ingest(tmp_path / "s", goldens)
    rows = run(tmp_path / "s" / "study.duckdb", "SELECT path, content FROM files").rows
    files = {path for path, content in rows if content is None}
    folders = tuple(f"{path}/" for path, content in rows if content is not None)
    assert {path for path in first if path not in files and not path.startswith(folders)} == set()
    again = opened_by_ingest(tmp_path / "s", goldens)
    assert {path for path in again if Path(path).name != "result.json"} == set()


@pytest.mark.slow
def test_a_file_that_became_shorter_keeps_what_it_gave_until_it_is_pruned(tmp_path):
    logs = ChangingLogs(tmp_path / "logs")
    logs.grow_head(0, 5)
    logs.grow_head(1, 4)
    study = tmp_path / "s"
    ingest_logs(study, [logs.root])
    before = tables(study, {*REMEMBERED, "kept_runs", "sources"})
    path = logs.head(0)
    for kept in (200, 1500):
        path.write_bytes(path.read_bytes()[:kept] if kept < path.stat().st_size else b"")
        for again in (False, True):
            summary = ingest_logs(study, [logs.root], policy=ReadPolicy(again=again))
            assert tables(study, {*REMEMBERED, "kept_runs", "sources"}) == before
            assert summary.kept == 1
    summary = ingest_logs(study, [logs.root], policy=ReadPolicy(prune=True))
    assert (summary.kept, summary.trajectories) == (0, 1)


@pytest.mark.parametrize(
    "change",
    [
        "cut",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("spoilt", "removed", "unmarked")),
    ],
)
def test_pruning_takes_at_once_what_the_files_hold(tmp_path, change):
    logs = ChangingLogs(tmp_path / "logs")
    logs.grow_head(0, 5)
    logs.grow_head(1, 2)
    logs.write_trial(0)
    ingest_logs(tmp_path / "s", [logs.root])
    first = logs.head(0)
    if change == "cut":
        logs.write(first, first.read_text().splitlines()[:3])
    elif change == "spoilt":
        logs.write(first, ["{ no log"] * 999)
    elif change == "removed":
        first.unlink()
    else:
        (logs.root / "trials" / "trial0" / "result.json").unlink()
    ingest_logs(tmp_path / "fresh", [logs.root])
    summary = ingest_logs(tmp_path / "s", [logs.root], policy=ReadPolicy(prune=True))
    assert summary.kept == 0
    assert tables(tmp_path / "s", ()) == tables(tmp_path / "fresh", ())


def test_a_run_is_read_again_without_its_neighbours(tmp_path):
    """The judge reads every run again; opening all sessions of a day for each would be quadratic."""
    text = (GOLDENS / "codex-rollout" / "skill-read" / "raw.jsonl").read_text(encoding="utf-8")
    session = json.loads(text.partition("\n")[0])["payload"]["id"]
    for number in range(3):
        other = f"{number}{session[1:]}"
        path = tmp_path / "logs" / f"rollout-2026-03-01T09-00-00-{other}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace(session, other), encoding="utf-8")
    ingest_logs(tmp_path / "s", [tmp_path / "logs"])
    done = opened_by(READ_AGAIN, tmp_path / "s", tmp_path / "logs")
    assert done == {str(path)}


def test_only_the_groups_that_changed_are_read(tmp_path):
    logs = ChangingLogs(tmp_path / "logs")
    for session in range(3):
        logs.grow_head(session, 2)
    ingest_logs(tmp_path / "s", [logs.root])
    logs.grow_head(1, 1)
    logs.grow_agent(2, 0, 1)
    told: list[Progress] = []
    summary = ingest_logs(tmp_path / "s", [logs.root], progress=told.append)
    assert told[-1].total == 2
    assert (summary.new, summary.changed, summary.unchanged, summary.gone) == (1, 1, 2, 0)
