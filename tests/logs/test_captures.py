"""One run, several files: which capture counts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.base.trajectory import Step, Trajectory
from skilljuror.logs.captures import Capture, capture_of, deduplicate
from skilljuror.logs.discovery import discover
from skilljuror.logs.read import read
from tests.support import goldens


def run(steps: str, *, format="claude-session", session="s", **more) -> Trajectory:
    """A run whose main agent makes one step per letter; the letter is the message's id."""
    made = tuple(Step("main", n, n, key=letter) for n, letter in enumerate(steps, 1))
    return Trajectory(session, format, ("f",), made, session=session, **more)


def captures(*runs: Trajectory) -> list[Capture]:
    return [capture_of(f"file{n}", one) for n, one in enumerate(runs)]


def kept(choices):
    return [choice.capture.source for choice in choices if choice.kept]


def test_the_native_log_wins():
    choices = deduplicate(
        captures(run("abc", format="atif"), run("ab", format="claude-stream"), run("a"))
    )
    assert kept(choices) == ["file2"]
    assert [choice.winner for choice in choices] == ["file2", "file2", None]
    assert choices[0].reason == "a more native log of the run is used"


def test_a_prefix_gives_way():
    choices = deduplicate(captures(run("ab"), run("abcd"), run("")))
    assert kept(choices) == ["file1"]
    assert choices[1].branch is None
    assert choices[0].reason == "duplicate of another log of the run"


def test_branches_are_all_kept():
    choices = deduplicate(captures(run("abx"), run("abcd"), run("abcd")))
    assert kept(choices) == ["file0", "file1"]
    assert choices[1].key == "s"
    assert choices[0].branch is not None
    assert choices[0].key == f"s~{choices[0].branch}"


LOGS = st.lists(st.text("ab", max_size=4), min_size=1, max_size=6)


@settings(deadline=None)
@given(logs=LOGS, data=st.data())
def test_order_does_not_matter(logs, data):
    given_order = captures(*map(run, logs))
    shuffled = data.draw(st.permutations(given_order))
    chains = {one.chain for one in (c.capture for c in deduplicate(given_order) if c.kept)}
    again = {one.chain for one in (c.capture for c in deduplicate(shuffled) if c.kept)}
    assert chains == again


@pytest.mark.parametrize("case", ["claude-session/skill-call", "codex-rollout/older"])
def test_a_cut_log_is_a_prefix_of_the_whole(tmp_path, case):
    whole = goldens.raw(case)
    cut = tmp_path / whole.name
    lines = whole.read_bytes().split(b"\n")
    cut.write_bytes(b"\n".join(lines[: len(lines) // 2]) + b"\n")
    runs = [next(iter(read(one.source, str(one.format)))) for one in discover([cut, whole])]
    assert [choice.kept for choice in deduplicate(captures(*runs))] == [False, True]
