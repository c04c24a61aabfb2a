"""What is read of a trial's files: its reward and its verifier's output."""

import errno
import json
import math
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.harness.artifacts import (
    MAX_REWARD,
    OUTPUT,
    Reading,
    last_lines,
    listed_tools,
    read_reward,
    verifier_output,
)
from tests.support.harness_tasks import write_tree


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("reward.txt", "1\n", 1.0),
        ("reward.txt", " 0.25 ", 0.25),
        ("reward.txt", "2.5e-1", 0.25),
        ("reward.txt", ".5", 0.5),
        ("reward.json", '{"reward": 0.5, "speed": 9}', 0.5),
        ("reward.json", '{"tests": 1}', 1.0),
        ("reward.json", '{"reward": 0}', 0.0),
    ],
)
def test_rewards_that_count(tmp_path, name, text, value):
    answer = read_reward(write_tree(tmp_path, {name: text}))
    assert (answer.value, answer.problem) == (value, None)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("reward.txt", "", "not a number"),
        ("reward.txt", "pass", "not a number"),
        ("reward.txt", "nan", "outside"),
        ("reward.txt", "inf", "outside"),
        ("reward.txt", "0x1", "not a number"),
        ("reward.txt", "0 1", "not a number"),
        ("reward.txt", "1e999", "outside"),
        ("reward.txt", "-0.1", "outside"),
        ("reward.txt", "1.0000001", "outside"),
        ("reward.json", "{", "not JSON"),
        ("reward.json", "[" * 100_000, "not JSON"),
        ("reward.json", "{}", "not an object of numbers"),
        ("reward.json", "1", "not an object of numbers"),
        ("reward.json", '{"reward": NaN}', "not a finite number"),
        ("reward.json", '{"reward": true}', "not a finite number"),
        ("reward.json", '{"reward": "1"}', "not a finite number"),
        ("reward.json", '{"reward": 1' + "0" * 400 + "}", "not a finite number"),
        ("reward.json", '{"a": 1, "b": 1}', "no key 'reward' among: a, b"),
    ],
)
def test_rewards_that_leave_a_trial_unscored(tmp_path, name, text, said):
    answer = read_reward(write_tree(tmp_path, {name: text}))
    assert answer.value is None
    assert said in str(answer.problem)
    assert "\n" not in str(answer.problem)


def test_json_wins_over_text_even_when_it_is_wrong(tmp_path):
    answer = read_reward(write_tree(tmp_path, {"reward.json": "?", "reward.txt": "1"}))
    assert answer.value is None


def test_all_keys_are_kept_beside_the_one_that_counts(tmp_path):
    answer = read_reward(write_tree(tmp_path, {"reward.json": '{"reward": 1, "speed": 9}'}))
    assert answer.rewards == {"reward": 1.0, "speed": 9.0}


def test_a_link_or_a_huge_file_is_no_answer(tmp_path):
    (tmp_path / "reward.json").symlink_to("/etc/hostname")
    assert "not a regular file" in str(read_reward(tmp_path).problem)
    (tmp_path / "reward.json").unlink()
    (tmp_path / "reward.json").write_bytes(b" " * (MAX_REWARD + 1))
    assert "not a regular file" in str(read_reward(tmp_path).problem)


@given(st.dictionaries(st.text(max_size=8), st.floats() | st.integers() | st.none()))
def test_a_reward_is_in_range_or_has_a_reason(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("answer")
    (folder / "reward.json").write_text(json.dumps(values), encoding="utf-8")
    answer = read_reward(folder)
    assert (answer.value is None) == (answer.problem is not None)
    assert answer.value is None or 0.0 <= answer.value <= 1.0
    assert all(math.isfinite(value) for value in answer.rewards.values())


def printed(folder, data):
    (folder / OUTPUT).parent.mkdir()
    (folder / OUTPUT).write_bytes(data)
    return folder


def test_the_end_is_kept_from_the_beginning_of_a_line(tmp_path):
    raw = printed(tmp_path, b"first line\nsecond \xff line\nlast\n")
    assert verifier_output(raw, 1000) == "first line\nsecond � line\nlast\n"
    assert verifier_output(raw, 22) == "…\nsecond � line\nlast\n"


def test_what_is_no_file_is_nothing(tmp_path):
    assert verifier_output(tmp_path, 10) is None
    raw = printed(tmp_path, b"")
    (raw / OUTPUT).unlink()
    (raw / OUTPUT).symlink_to("/etc/hostname")
    assert verifier_output(raw, 10) is None
    (raw / OUTPUT).unlink()
    os.mkfifo(raw / OUTPUT)
    assert verifier_output(raw, 10) is None


def test_earlier_lines_are_left_out_with_a_mark():
    assert last_lines("a\nb\nc\n", 2) == "…\nb\nc"
    assert last_lines("a\nb\n", 2) == "a\nb"


def test_a_reader_that_fails_is_told_and_a_fault_of_the_machine_raised():
    def fail(error):
        raise error

    reading = Reading()
    assert reading.of("logs", lambda: fail(RecursionError("too deep")), []) == []
    assert reading.summary() == ("logs: RecursionError: too deep",)
    with pytest.raises(OSError, match="full"):
        reading.of("logs", lambda: fail(OSError(errno.ENOSPC, "full")), [])


@pytest.mark.parametrize(
    ("said", "tools"),
    [
        ('{"type": "system", "tools": ["Read", "Bash"]}', ("Read", "Bash")),
        ('not JSON\n[1]\n{"tools": 3}\n{"tools": ["Read"]}', ("Read",)),
        ('{"tools": [{"name": "Read"}]}', None),
        ("", None),
    ],
)
def test_tools_that_an_agent_tells_are_kept(tmp_path, said, tools):
    (tmp_path / "out").write_text(said)
    assert listed_tools(tmp_path / "out") == tools
