import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.harness.rewards import MAX_BYTES, read_reward
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
        ("reward.txt", "nan", "not a number"),
        ("reward.txt", "inf", "not a number"),
        ("reward.txt", "0_1", "not a number"),
        ("reward.txt", "0x1", "not a number"),
        ("reward.txt", "0 1", "not a number"),
        ("reward.txt", "1e999", "outside"),
        ("reward.txt", "-0.1", "outside"),
        ("reward.txt", "1.0000001", "outside"),
        ("reward.json", "{", "not JSON"),
        ("reward.json", "[" * 100_000, "not JSON"),
        ("reward.json", '{"reward": 0, "reward": 1}', "not JSON, or repeats a key"),
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
    (tmp_path / "reward.json").write_bytes(b" " * (MAX_BYTES + 1))
    assert "not a regular file" in str(read_reward(tmp_path).problem)


@given(st.dictionaries(st.text(max_size=8), st.floats() | st.integers() | st.none()))
def test_a_reward_is_in_range_or_has_a_reason(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("answer")
    (folder / "reward.json").write_text(json.dumps(values), encoding="utf-8")
    answer = read_reward(folder)
    assert (answer.value is None) == (answer.problem is not None)
    assert answer.value is None or 0.0 <= answer.value <= 1.0
    assert all(math.isfinite(value) for value in answer.rewards.values())
