"""What holds for every registered format; a new one is picked up from the registry."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skilljuror.base.errors import TrajectoryError
from skilljuror.base.trajectory import Trajectory
from skilljuror.logs import FORMATS
from skilljuror.logs.base import Source
from skilljuror.logs.read import claims, read
from skilljuror.logs.records import HEAD_BYTES
from tests.support import goldens, places
from tests.support.every import every

CLASSES = ("input", "cache_write", "cache_read", "output", "reasoning", "cost_usd")


def raw_files():
    return [path for path in places.GOLDENS.glob("*/*/raw*") if path.is_file()]


def source_of(path: Path) -> Source:
    with path.open("rb") as log:
        return Source(path, log.read(HEAD_BYTES))


@every(
    "name",
    FORMATS,
    "Add trajectories/FORMAT/CASE with raw logs, SOURCE.md and expected.json; see docs/add-an-agent.md.",
)
def test_every_format_has_a_golden(name):
    assert [case for case in goldens.cases() if case.startswith(f"{name}/")]


@every(
    "case",
    goldens.cases,
    "`claims` of one format must match its own files only; compare the heads of the others.",
)
def test_one_format_claims_each_source(case):
    formats = {found.format for found in goldens.sources(case) if found.problem is None}
    assert formats == {case.split("/")[0]}


@every("case", goldens.cases)
def test_no_file_is_claimed_twice(case):
    for path in goldens.raw(case).parent.rglob("*.*"):
        if path.is_file():
            assert len(claims(source_of(path))) <= 1, path


@every(
    "case",
    goldens.cases,
    "Write expected.json: `python -m tests.support.goldens FORMAT/CASE`, and read the difference.",
)
def test_golden(case):
    assert goldens.observed(case) == goldens.expected(case)


@every(
    "case",
    goldens.cases,
    "Its SOURCE.md says that it was written by hand for this project, and what it models.",
)
def test_source_is_told(case):
    told = (places.GOLDENS / case / "SOURCE.md").read_text(encoding="utf-8")
    assert any(f"{how} for this project" in told for how in ("Written by hand", "Recorded"))


@every("case", goldens.cases)
def test_places_exist(case):
    """A place is a line, or the number of an object in a document."""
    for run in goldens.trajectories(case):
        texts = [Path(file).read_bytes() for file in run.files]
        sizes = [max(text.count(b"\n") + 1, text.count(b"{")) for text in texts]
        for step in run.steps:
            lines = [step.line, *(call.line for call in step.calls)]
            lines += [call.result.line for call in step.calls if call.result]
            assert all(1 <= line <= sizes[step.file] for line in lines)
        assert all(1 <= one.line <= sizes[one.file] for one in run.messages)


@every("case", goldens.cases)
def test_totals_hold_the_steps(case):
    """A total may hold more (a summary for a compaction), never less."""
    for run in goldens.trajectories(case):
        for name in CLASSES:
            known = [getattr(step.usage, name) for step in run.steps if step.usage]
            total = getattr(run.usage, name) if run.usage else None
            if total is not None:
                assert total >= sum(value for value in known if value is not None) - 1e-9
            else:
                assert not any(value is not None for value in known)


@every("case", goldens.cases)
def test_sub_agents_are_joined(case):
    """A call that names a sub-agent names one whose steps are here, where any are."""
    for run in goldens.trajectories(case):
        others = {step.agent for step in run.steps} - {"main"}
        started = {call.agent for step in run.steps for call in step.calls if call.agent}
        assert not (started and others) or started & others


def read_or_refuse(path: Path, format: str) -> list[Trajectory] | None:
    try:
        return list(read(source_of(path), format))
    except TrajectoryError:
        return None


@pytest.mark.slow
@every("original", raw_files)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(part=st.floats(0, 1))
def test_cut_anywhere(tmp_path, original, part):
    data = original.read_bytes()
    cut = tmp_path / original.name
    cut.write_bytes(data[: int(len(data) * part)])
    whole = read_or_refuse(original, original.parent.parent.name)
    runs = read_or_refuse(cut, original.parent.parent.name)
    assert whole is not None
    if runs:
        assert len(runs[0].steps) <= len(whole[0].steps)


@pytest.mark.slow
@every("original", raw_files)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(at=st.floats(0, 1), junk=st.binary(min_size=1, max_size=20))
def test_damaged_anywhere(tmp_path, original, at, junk):
    data = bytearray(original.read_bytes())
    start = int((len(data) - 1) * at)
    data[start : start + len(junk)] = junk
    damaged = tmp_path / original.name
    damaged.write_bytes(bytes(data))
    for run in read_or_refuse(damaged, original.parent.parent.name) or []:
        goldens.plain(run, tmp_path)
