"""The parts of the difference between layouts, worked out by hand on a fabricated study."""

from itertools import product
from typing import Any

import pytest

from skilljuror.base.study import Condition, Contrast
from skilljuror.report.computed import Answers, largest_p, primary_contrast
from skilljuror.report.headline import headline
from skilljuror.store import open_read, open_write
from skilljuror.store.questions import run
from tests.support import fabricated_records as fake

ARMS = ("baseline", "flat-files", "flat-toc", "pd")
PASSES = {  # task -> passes of two trials, in the order of ARMS
    "a": (0, 1, 1, 2),
    "b": (0, 2, 2, 2),
    "c": (1, 2, 1, 1),
}


def arm(variant, name=""):
    return Condition(name=name or f"arm-{variant}", variant=variant)


def study(path, arms=ARMS, *, open_trial="", conditions=()):
    """Two trials a cell; `open_trial` has no outcome."""
    conditions = conditions or tuple(map(arm, arms))
    plan = fake.plan(list(PASSES), tuple(one.name for one in conditions), trials=2)
    contrast = Contrast(treatment=conditions[-1].name, control=conditions[0].name)
    config = plan.config.model_copy(update={"conditions": conditions, "contrast": contrast})
    with open_write(path) as store:
        store.put_plan(plan.model_copy(update={"config": config}))
        store.put("trials", [
            trial(task, one, number, open_trial)
            for task, one, number in product(PASSES, conditions, (1, 2))
        ])  # fmt: skip
    return path


def trial(task, condition, number, open_trial):
    passes = PASSES[task][ARMS.index(condition.variant)]
    ended: dict[str, Any] = {"reward": float(number <= passes)}
    if fake.name_of(task, condition.name, number) == open_trial:
        ended = {"reward": None, "status": "error"}
    return fake.trial(task, condition.name, number, variant=condition.variant, **ended)


def effect(path):
    with open_read(path) as reader:
        return {row["part"]: row for row in Answers(reader)("effect").records()}


def test_the_parts_are_paired_means_and_add_up_to_the_whole(tmp_path):
    """executability: (0.5 + 1 + 0.5) / 3; cues: (0 + 0 - 0.5) / 3; disclosure: (0.5 + 0 + 0) / 3."""
    found = effect(study(tmp_path / "study.duckdb"))
    shown = {part: row["delta_rate"] for part, row in found.items()}
    assert shown["executability"] == pytest.approx(2 / 3)
    assert shown["cues"] == pytest.approx(-1 / 6)
    assert shown["disclosure"] == pytest.approx(1 / 6)
    assert shown["disclosure and cues"] == pytest.approx(0)
    assert shown["all"] == pytest.approx(sum(list(shown.values())[:3]))
    assert (found["cues"]["treatment"], found["cues"]["control"]) == (
        "arm-flat-toc",
        "arm-flat-files",
    )
    assert {row["tasks"] for row in found.values()} == {3}


@pytest.mark.slow
def test_interval_and_verdict_are_those_of_the_headline(tmp_path):
    path = study(tmp_path / "study.duckdb")
    found = effect(path)["all"]
    with open_read(path) as reader:
        first = headline(Answers(reader))
    assert first.delta is not None
    assert first.delta.t is not None
    assert 100 * found["delta_rate"] == pytest.approx(first.delta.delta)
    assert 100 * found["delta_low"] == pytest.approx(first.delta.t.low)
    assert 100 * found["delta_high"] == pytest.approx(first.delta.t.high)
    assert first.title.lower().startswith(found["verdict"])
    assert found["verdict"] == "inconclusive"
    assert effect(path)["executability"]["verdict"] == "inconclusive"


def test_the_question_gives_the_same_numbers(tmp_path):
    path = study(tmp_path / "study.duckdb")
    with open_read(path) as reader:
        asked = {row["part"]: row["delta_rate"] for row in run(reader, "effect_parts").records()}
    assert asked == pytest.approx({part: row["delta_rate"] for part, row in effect(path).items()})


def test_a_missing_arm_is_named_and_its_parts_are_null(tmp_path):
    found = effect(study(tmp_path / "study.duckdb", ("flat-files", "pd")))
    missing = {part: row["delta_rate_reason"] for part, row in found.items()}
    assert missing == {
        "executability": "no condition offers baseline",
        "cues": "no condition offers flat-toc",
        "disclosure": "no condition offers flat-toc",
        "disclosure and cues": None,
        "all": "no condition offers baseline",
    }
    assert found["cues"]["delta_rate"] is None
    assert found["cues"]["verdict"] is None
    assert found["disclosure and cues"]["delta_rate"] == pytest.approx(0)


def test_two_conditions_of_one_variant_leave_no_pair(tmp_path):
    arms = (arm("pd", "named"), *map(arm, ARMS))
    found = effect(study(tmp_path / "study.duckdb", conditions=arms))
    assert found["disclosure"]["delta_rate_reason"] == "several conditions offer pd"
    assert found["executability"]["delta_rate"] == pytest.approx(2 / 3)


def test_parts_compare_arms_that_differ_in_the_layout_alone(tmp_path):
    """flat-toc has another model, and so have a second baseline and a second pd."""
    other = [
        Condition(name=f"b-{one}", variant=one, model="b") for one in ("baseline", "pd", "flat-toc")
    ]
    arms = (*other, *map(arm, ("baseline", "flat-files", "pd")))
    found = effect(study(tmp_path / "study.duckdb", conditions=arms))
    assert (found["all"]["treatment"], found["all"]["control"]) == ("arm-pd", "arm-baseline")
    assert found["executability"]["delta_rate"] == pytest.approx(2 / 3)
    assert (found["cues"]["delta_rate"], found["cues"]["delta_rate_reason"]) == (
        None,
        "no condition offers flat-toc with the disclosure, agent, options, model and effort of arm-pd",
    )


def test_an_open_trial_keeps_its_parts_from_a_number(tmp_path):
    found = effect(study(tmp_path / "study.duckdb", open_trial="a__arm-pd__1"))
    assert found["disclosure"]["delta_rate"] is None
    assert "no final outcome" in found["disclosure"]["delta_rate_reason"]
    assert found["disclosure"]["verdict"] == "undetermined"
    assert "of arm-pd usable (1 error)" in found["disclosure"]["not_usable"]
    assert found["executability"]["verdict"] == "inconclusive"
    assert found["executability"]["not_usable"] is None


def test_a_study_of_other_layouts_has_no_parts(tmp_path):
    assert effect(study(tmp_path / "study.duckdb", ("baseline", "pd"))) == {}


def test_parts_are_adjusted_for_their_number_and_the_headline_is_not(tmp_path):
    """executability: 3 positive differences, 2 of 8 sign patterns; cues and disclosure: one difference
    each, p = 1; disclosure and cues: 0.5 against 0.5, p = 1; all: 3 positive differences."""
    found = {part: row["p_holm"] for part, row in effect(study(tmp_path / "study.duckdb")).items()}
    assert found == {
        "executability": 1.0, "cues": 1.0, "disclosure": 1.0, "disclosure and cues": 1.0, "all": 0.5,
    }  # fmt: skip


def test_p_holds_with_and_without_contaminated_trials(tmp_path):
    """pd wins six of seven tasks, p = 2/64; without the first two trials of pd, four, p = 2/16."""
    tasks = "abcdefg"
    plan = fake.plan({task: {} for task in tasks}, ("baseline", "pd"))
    arms = (arm("baseline"), arm("pd"))
    config = plan.config.model_copy(
        update={"contrast": Contrast(treatment="pd", control="baseline")}
    )
    trials = [
        fake.trial(
            task, one.variant, reward=float(one.variant == "pd" or task == "g"), variant=one.variant
        )
        for task, one in product(tasks, arms)
    ]
    changed = [
        one.model_copy(update={"substrate_digest": "other"})
        if one.condition == "pd" and one.task in "ab"
        else one
        for one in trials
    ]
    found = []
    for name, rows in (("clean", trials), ("changed", changed)):
        path = tmp_path / f"{name}.duckdb"
        with open_write(path) as store:
            store.put_plan(plan.model_copy(update={"config": config}))
            store.put("trials", rows)
        with open_read(path) as reader:
            delta = primary_contrast(Answers(reader))
        assert delta is not None
        found.append(largest_p(delta))
    assert found == [2 / 64, 2 / 16]


def test_a_part_is_better_only_if_its_adjusted_p_says_so(tmp_path, monkeypatch):
    """+100, +100, +50 and +100 points: the 95 % interval of this part excludes 0."""
    passes = {"a": (0, 2, 1, 2), "b": (0, 2, 2, 2), "c": (1, 2, 1, 1), "d": (0, 2, 2, 2)}
    for task, counts in passes.items():
        monkeypatch.setitem(PASSES, task, counts)
    found = effect(study(tmp_path / "study.duckdb"))["executability"]
    assert found["delta_low"] > 0
    assert found["p_holm"] == 0.5  # 4 positive differences, 2 of 16 sign patterns, 4 parts
    assert found["verdict"] == "inconclusive"
