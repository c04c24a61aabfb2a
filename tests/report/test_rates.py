"""Rates, gains and times with intervals over tasks, on fabricated studies."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

from skilljuror.measures.rates import share
from skilljuror.report.computed import Answers
from skilljuror.store import open_read, open_write
from skilljuror.store.questions import run
from tests.support import fabricated_records as fake
from tests.support.fabricated_studies import small_study

Cell = tuple[str, str, int]
ARMS = ("baseline", "pd")


def made(folder, tasks, ended, *, trials=2, values=None):
    """A study whose trials end as `ended` says of (task, condition, number): a reward, or fields."""
    names = [f"t{n}" for n in range(tasks)]
    plan = fake.plan(names, ARMS, trials=trials)
    cells = list(product(names, ARMS, range(1, trials + 1)))
    with open_write(folder / "study.duckdb") as store:
        store.put_plan(plan)
        store.put(
            "trials", [_trial(cell, ended(*cell)) for cell in cells if ended(*cell) is not None]
        )
        fake.put(store, [
            fake.run(fake.name_of(*cell), trial=fake.name_of(*cell), values=values(*cell))
            for cell in cells if values is not None and values(*cell) is not None
        ])  # fmt: skip
    return folder / "study.duckdb"


def _trial(cell: Cell, how: float | Mapping[str, Any]):
    fields: dict[str, Any] = dict(how) if isinstance(how, Mapping) else {"reward": how}
    return fake.trial(*cell, **fields)


def records(path, name):
    with open_read(path) as reader:
        return Answers(reader)(name).records()


def some(task: str, condition: str, number: int) -> float:
    """Passes that differ between tasks; pd has one more in every fourth."""
    place = int(task[1:])
    return float(number <= place % 3 + (condition == "pd" and place % 4 == 0))


@pytest.mark.slow
def test_the_numbers_are_those_of_the_questions(tmp_path):
    tokens = {"baseline": 100.0, "pd": 150.0}
    path = made(
        tmp_path, 30, some, trials=3,
        values=lambda task, arm, _: {"total_tokens": tokens[arm] + int(task[1:])},
    )  # fmt: skip
    asked = run(path, "gain").records()[0]
    found = {row["measure"]: row for row in records(path, "gains")}
    for name, column in {
        "normalised gain in strict pass rate": "rate_gain",
        "normalised gain in mean reward": "reward_gain",
        "token overhead": "token_overhead",
        "cost efficiency": "cost_efficiency",
    }.items():
        assert found[name]["value"] == pytest.approx(asked[column])
        if name != "cost efficiency":
            assert found[name]["low"] < found[name]["value"] < found[name]["high"]
    assert found["cost efficiency"]["low_reason"].startswith("no method holds")
    passes = {row["condition"]: row["pass_at_k"] for row in run(path, "pass_at_k").records()}
    for row in records(path, "yields"):
        if row["measure"] == "pass@3":
            assert row["value"] == pytest.approx(100 * passes[row["condition"]])
            assert 0 < row["low"] < row["value"] < row["high"] < 100


def test_few_tasks_have_no_interval(tmp_path):
    path = made(tmp_path, 8, some, trials=3)
    rows = {row["measure"]: row for row in records(path, "yields") if row["condition"] == "pd"}
    assert rows["pass@3"]["low_reason"] == "fewer than 30 tasks"
    assert rows["strict pass rate"]["low"] is not None
    path.unlink()
    few = {row["measure"]: row for row in records(made(tmp_path, 7, some), "yields")}
    assert few["strict pass rate"]["low_reason"] == "fewer than 8 tasks"
    assert "pass@3" not in few  # two trials a task


def test_an_open_trial_or_a_contaminated_one_leaves_no_gain(tmp_path):
    def one_open(task, condition, number):
        if (task, condition, number) == ("t3", "pd", 1):
            return {"reward": None, "status": "error"}
        return some(task, condition, number)

    def one_changed(task, condition, number):
        odd = {"substrate_digest": "other"} if (task, condition, number) == ("t3", "pd", 1) else {}
        return {"reward": some(task, condition, number), **odd}

    for name, ended, words in (("a", one_open, "1 error"), ("b", one_changed, "1 contaminated")):
        (tmp_path / name).mkdir()
        for row in records(made(tmp_path / name, 9, ended), "gains"):
            assert (row["value"], row["low"], row["high"]) == (None, None, None)
            assert (
                row["value_reason"]
                == row["not_usable"]
                == f"17 of 18 trials of pd usable ({words})"
            )


def test_where_the_control_always_passes_nothing_was_left_to_gain(tmp_path):
    rows = records(made(tmp_path, 9, lambda *_: 1.0), "gains")
    assert rows[0]["value_reason"] == "nothing was left to gain"


def test_rates_of_process_are_those_of_the_questions(tmp_path):
    path = small_study(tmp_path)
    found = {(row["condition"], row["measure"]): row for row in records(path, "process_rates")}
    process = {row["condition"]: row for row in run(path, "process").records()}
    timing = {row["condition"]: row for row in run(path, "timing").records()}
    uptake = {row["condition"]: row for row in run(path, "uptake").records()}
    pd = process["pd"]
    share_read = 100 * pd["support_read_trials"] / pd["readable"]
    assert found["pd", "support read"]["value"] == pytest.approx(share_read)
    step_share = 100 * pd["skill_step_share"]
    assert found["pd", "skill step share"]["value"] == pytest.approx(step_share)
    assert found["pd", "yes uses (low)"]["value"] == pytest.approx(uptake["pd"]["mean_yes_low"])
    for row in found.values():
        assert row["low"] is None
        assert row["low_reason"] == "fewer than 8 tasks"
    for name in ("early", "middle", "late"):
        known = timing["pd"][f"{name}_share"]
        if known is not None:
            assert found["pd", name]["value"] == pytest.approx(100 * known)


def test_a_judge_that_has_not_judged_all_has_no_yes_uses(tmp_path):
    def uses(path, judged):
        with open_write(path) as store:
            events = [fake.event(f"r{n}", 0) for n in range(2)]
            fake.put(store, [fake.run(f"r{n}", events=[event]) for n, event in enumerate(events)])
            fake.put_verdicts(store, [fake.verdict(event) for event in events[:judged]])
        return {row["measure"] for row in run(path, "task_rates").records() if row["judge"]}

    assert uses(tmp_path / "a.duckdb", 1) == set()
    assert uses(tmp_path / "b.duckdb", 2) == {"yes uses (low)", "yes uses (high)"}


def test_the_interval_of_a_rate_is_over_tasks(tmp_path):
    def read(task, condition, number):
        return {"support_read": float(condition == "pd" and (int(task[1:]) + number) % 3 > 0)}

    path = made(tmp_path, 9, some, values=read)
    row = next(
        row for row in records(path, "process_rates")
        if (row["condition"], row["measure"]) == ("pd", "support read")
    )  # fmt: skip
    sums = {
        f"t{n}": (sum(read(f"t{n}", "pd", k)["support_read"] for k in (1, 2)), 2.0)
        for n in range(9)
    }
    expected = share(sums)
    assert expected.interval is not None
    assert (row["value"], row["low"], row["high"]) == pytest.approx((
        100 * sum(part for part, _ in sums.values()) / 18,
        100 * expected.interval.low,
        100 * expected.interval.high,
    ))  # fmt: skip


def test_logs_without_a_plan_have_none_of_it(tmp_path):
    with open_write(tmp_path / "study.duckdb") as store:
        fake.put(store, [fake.run("a", values={"agent_minutes": 2.0})])
    for name in ("yields", "gains"):
        assert records(tmp_path / "study.duckdb", name) == []
