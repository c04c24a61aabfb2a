from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.base.errors import StudyError
from skilljuror.base.study import Condition, StudyConfig, TaskEntry
from skilljuror.store.plans import headline
from skilljuror.study.plan import changed_fields, freeze
from skilljuror.study.study_file import load_study
from tests.support.harness_tasks import SKILL, make_task, write_tree
from tests.support.places import ROOT
from tests.support.studies import KETTLE, edit, plan_of


def test_a_study_file_becomes_a_plan(base):
    plan = plan_of(base)
    assert [task.name for task in plan.tasks] == ["kettle"]
    assert plan.tasks[0].skills == "brew"
    assert len(plan.trials) == 4
    assert plan.config.seed == 3


def test_changed_fields_are_named(base):
    before = plan_of(base)
    edit(base, "trials_per_cell: 2", "trials_per_cell: 3\nharness: {timeout_sec: 9}")
    after = plan_of(base)
    assert changed_fields(before, after) == ["harness.timeout_sec", "trials_per_cell"]
    assert changed_fields(before, before) == []


def test_the_plan_does_not_depend_on_the_place(base, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    make_task(other / "kettle")
    write_tree(other, {"study.yaml": KETTLE, "brew/SKILL.md": SKILL})
    assert plan_of(other).model_dump() == plan_of(base).model_dump()


def test_a_trial_name_that_is_too_long_is_refused(base):
    edit(base, "name: no_skill", "name: " + "a" * 220)
    edit(base, "contrast: {treatment: baseline, control: no_skill}\n", "")
    with pytest.raises(StudyError, match="more than 200"):
        plan_of(base)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    base = tmp_path_factory.mktemp("tasks")
    for name in ("a", "b", "c"):
        make_task(base / name)
    return base


def many(tasks, seed, arms, trials):
    entries = tuple(TaskEntry(path=name) for name in ("a", "b", "c"))
    conditions = tuple(Condition(name=f"arm{number}") for number in range(arms))
    config = StudyConfig(
        name="s", seed=seed, trials_per_cell=trials, tasks=entries, conditions=conditions
    )
    return freeze(config, tasks)


sizes = st.tuples(st.integers(), st.integers(1, 4), st.integers(1, 6))


@given(sizes)
def test_every_block_holds_every_cell_once(tasks, size):
    seed, arms, trials = size
    plan = many(tasks, seed, arms, trials)
    assert [trial.order for trial in plan.trials] == list(range(3 * arms * trials))
    assert [trial.block for trial in plan.trials] == sorted(trial.block for trial in plan.trials)
    cells = Counter((trial.block, trial.task, trial.condition) for trial in plan.trials)
    assert set(cells.values()) == {1}
    assert len(cells) == 3 * arms * trials
    assert all(trial.number == trial.block + 1 for trial in plan.trials)
    assert len({trial.trial for trial in plan.trials}) == len(plan.trials)


@given(sizes)
def test_seeds_are_shared_by_conditions_and_by_nothing_else(tasks, size):
    plan = many(tasks, *size)
    seeds = {(trial.task, trial.number): trial.seed for trial in plan.trials}
    assert all(trial.seed == seeds[trial.task, trial.number] for trial in plan.trials)
    assert len(set(seeds.values())) == len(seeds)
    assert all(0 <= seed < 2**31 for seed in seeds.values())


@given(sizes)
def test_a_plan_is_the_same_every_time(tasks, size):
    assert many(tasks, *size) == many(tasks, *size)


def test_order_and_seeds_stay_as_they_are_across_versions(tasks):
    plan = many(tasks, 7, 2, 1)
    order = [f"{trial.task}{trial.condition[-1]}" for trial in plan.trials]
    assert order == ["b0", "a1", "c1", "a0", "b1", "c0"]
    assert {trial.seed for trial in plan.trials if trial.task == "a"} == {1493542731}


def test_the_shuffle_is_fair(tasks):
    """Over 300 blocks each of 2 arms goes first about half the time: 150 +- 5 sd."""
    plan = many(tasks, 1, 2, 300)
    first: dict[tuple[int, str], str] = {}
    for trial in plan.trials:
        first.setdefault((trial.block, trial.task), trial.condition)
    for task in ("a", "b", "c"):
        wins = sum(first[block, task] == "arm0" for block in range(300))
        assert abs(wins - 150) < 44


def test_a_condition_may_have_some_of_the_tasks(tasks):
    entries = tuple(TaskEntry(path=name) for name in ("a", "b", "c"))

    def planned(*patterns):
        conditions = (Condition(name="all"), Condition(name="some", tasks=patterns))
        config = StudyConfig(name="s", tasks=entries, conditions=conditions, trials_per_cell=2)
        return Counter((one.task, one.condition) for one in freeze(config, tasks).trials)

    everywhere = {(name, "all"): 2 for name in "abc"}
    assert planned("a", "[cd]") == {**everywhere, ("a", "some"): 2, ("c", "some"): 2}
    with pytest.raises(
        StudyError, match="condition 'some': tasks: 'aa' matches no task; did you mean 'a'"
    ):
        planned("aa")


def test_the_default_contrast_is_left_open(base):
    edit(base, "contrast: {treatment: baseline, control: no_skill}\n", "")
    assert plan_of(base).config.contrast is None


def arms(*rows):
    return tuple(Condition(name=name, **fields) for name, fields in rows)


@pytest.mark.parametrize(
    ("conditions", "contrast"),
    [
        (arms(("a", {}), ("b", {"variant": "pd"})), ("b", "a")),
        (arms(("a", {"variant": "pd"}), ("b", {"variant": "pd"})), ("b", "a")),  # A/A
        (
            arms(("a", {"model": "x"}), ("b", {}), ("c", {"variant": "pd", "model": "x"})),
            ("c", "a"),
        ),
        (arms(("a", {}), ("b", {"variant": "pd", "model": "x"})), (None, None)),
        (
            arms(
                ("a", {}),
            ),
            (None, None),
        ),
    ],
)
def test_the_default_contrast_is_of_arms_that_differ_in_one_setting(base, conditions, contrast):
    config = plan_of(base).config.model_copy(update={"contrast": None, "conditions": conditions})
    assert headline(config) == contrast


def test_arms_whose_agents_have_other_options_differ(base):
    edit(base, "variant: baseline\n", "agent: {name: codex, options: {config: [a=1]}}\n")
    edit(base, "seed: 3", "seed: 3\nagent: {name: codex}")
    with pytest.raises(StudyError, match=r"differ in agent \(codex, codex .*a=1"):
        plan_of(base)


def test_packaged_study_can_be_frozen():
    examples = ROOT / "examples"
    plan = freeze(load_study(examples / "study.yaml"), examples)
    assert len(plan.trials) == len(plan.tasks) * 5 * 5


def test_what_the_study_lets_vary_may_differ(base):
    edit(base, "variant: baseline\n", "model: large\n    disclosure: named\n")
    edit(base, "seed: 3", "seed: 3\nvary: [model, disclosure]")
    config = plan_of(base).config
    assert [config.settings(arm)["model"] for arm in config.conditions] == [None, "large"]
