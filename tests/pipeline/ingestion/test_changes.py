"""Ingest reads what changed, and the database is as if everything had been read."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from skilljuror.pipeline.ingestion.changes import ReadPolicy
from skilljuror.pipeline.ingestion.ingest import ingest_logs
from tests.support.changing_logs import ChangingLogs
from tests.support.ingested import REMEMBERED, tables

NUMBERS = st.integers(0, 2)


class Series(RuleBasedStateMachine):
    """Logs that change in every way, ingested into one study as they change and into another whole."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.logs = ChangingLogs(self.folder / "logs")
        self.hidden = False

    def teardown(self):
        try:
            self.ingest("", verify=False)
            self.ingest("", verify=False, prune=True)
            ingest_logs(self.folder / "fresh", [self.logs.root])
            if not self.hidden:
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

    @rule(number=st.integers(0, 20))
    def file_is_replaced_with_size_and_time_kept(self, number):
        self.hidden |= self.logs.replace_unseen(number)

    @rule(number=NUMBERS)
    def foreign_file_comes(self, number):
        self.logs.write(self.logs.root / f"notes{number}.txt", [f"note {number}"])

    @rule(number=NUMBERS)
    def trial_comes_or_changes(self, number):
        self.logs.write_trial(number)

    @rule(number=NUMBERS)
    def trial_goes(self, number):
        self.logs.remove_trial(number)

    @rule(where=st.sampled_from(["", "", "", "projects", "copies"]), verify=st.booleans())
    def ingest(self, where, verify, prune=False):
        verify = verify or self.hidden
        path = self.logs.root / where
        if not path.is_dir():
            return
        for study, again in (("one", False), ("other", True)):
            policy = ReadPolicy(again=again, verify=verify, prune=prune)
            ingest_logs(self.folder / study, [path], policy=policy)
        self.compare("other")
        self.hidden &= where != ""

    def compare(self, other, without=()):
        found, expected = (tables(self.folder / name, without) for name in ("one", other))
        different = {name for name in expected if found[name] != expected[name]}
        assert different == set(), {name: (found[name], expected[name]) for name in different}


def test_what_changed_is_read_and_the_rest_is_as_if_it_were():
    run_state_machine_as_test(
        Series, settings=settings(max_examples=6, stateful_step_count=15, deadline=None)
    )


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_same_after_long_series():
    run_state_machine_as_test(
        Series, settings=settings(max_examples=120, stateful_step_count=40, deadline=None)
    )
