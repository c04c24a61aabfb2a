"""What a plan foretells, worked out by hand, and what it leaves unknown."""

import pytest

from skilljuror.base.errors import StudyError
from skilljuror.measures.power import detectable_effect
from skilljuror.report.forecast import Assumptions, forecast
from skilljuror.store import open_write
from tests.support import fabricated_records as fake
from tests.support.cli_process import call
from tests.support.fabricated_studies import ALPHA, BETA
from tests.support.harness_tasks import make_task
from tests.support.studies import edit_study, make_study


@pytest.fixture
def study(tmp_path):
    """Two tasks, three conditions, two trials: twelve trials."""
    arms = {"baseline": "baseline", "pd": "pd", "bare": None}
    path = make_study(tmp_path, variants=arms, trials=2, agent={"name": "scripted"})
    make_task(tmp_path / "ink")
    tasks = [{"path": name, "skills": "brew"} for name in ("tea", "ink")]
    edit_study(path, tasks=tasks, contrast={"treatment": "pd", "control": "baseline"})
    return path


@pytest.fixture
def pilot(tmp_path):
    """alpha: +100 points, beta: 0; baseline takes 2 minutes and 0.5 dollars, pd 4 and an unknown sum."""
    with open_write(tmp_path / "pilot" / "study.duckdb") as store:
        store.put_plan(fake.plan([ALPHA, BETA], ("baseline", "pd")))
        store.put(
            "trials",
            [
                fake.trial(ALPHA, "baseline", reward=0.0, agent_seconds=120.0),
                fake.trial(ALPHA, "pd", agent_seconds=240.0),
                fake.trial(BETA, "baseline", agent_seconds=120.0),
                fake.trial(BETA, "pd", agent_seconds=240.0),
            ],
        )
        costs: dict[str, float | str | None] = {"cost_usd": "no_price", "cost_usd_logged": 0.5}
        fake.put(
            store,
            [
                *(fake.unread(fake.name_of(task, "baseline"), costs) for task in (ALPHA, BETA)),
                *(
                    fake.unread(fake.name_of(task, "pd"), {"cost_usd": "no_price"})
                    for task in (ALPHA, BETA)
                ),
            ],
        )
    return tmp_path / "pilot"


def test_cells_order_and_differences(study):
    found = forecast(study)
    assert (found.tasks, found.conditions, found.trials) == (
        ("tea", "ink"),
        ("baseline", "pd", "bare"),
        12,
    )
    assert found.contrast == ("pd", "baseline")
    assert sorted(found.first_block) == sorted(
        f"{task}__{arm}__1" for task in ("tea", "ink") for arm in found.conditions
    )
    told = {one.conditions: (one.setting, one.values) for one in found.differences}
    assert told == {
        ("baseline", "pd"): ("skill", ("baseline", "pd")),
        ("baseline", "bare"): ("skill", ("baseline", None)),
        ("pd", "bare"): ("skill", ("pd", None)),
    }


def test_rules_that_will_leave_tasks_out_are_told(study):
    assert forecast(study).notes == ()
    edit_study(study, exclude_rules={"max_tokens": 10})
    (note,) = forecast(study).notes
    assert "exclude_rules apply after the variants are built" in note
    assert note in call("plan", study).stdout


def test_without_a_pilot_or_a_statement_nothing_is_known(study):
    effect, most, *used = forecast(study).figures
    assert most.value == pytest.approx(12 * (20 + 60) / 3600)  # all trials in their limits
    for figure in (effect, *used):
        assert figure.value is None
        assert figure.source.startswith("unknown: name a finished study with --from STUDY, or ")


def test_a_pilot_tells_that_roots_were_cut_off(study, pilot):
    assert forecast(study, pilot).notes == ()
    with open_write(pilot / "study.duckdb") as store:
        arms = {"pd": 1.0, "baseline": 0.3}
        fake.put(store, [
            fake.run(arm, trial=fake.name_of(ALPHA, arm), values={"root_shown": shown})
            for arm, shown in arms.items()
        ])  # fmt: skip
    (note,) = forecast(study, pilot).notes
    assert note == (
        f"{pilot}: SKILL.md was shown whole in 1 of 1 trials of pd and 0 of 1 trials of baseline that opened it;"
        " a layout that is not read whole is not that layout"
    )


def test_a_pilot_tells_spread_time_and_cost(study, pilot):
    """Differences of 100 and 0 points spread by 70.7; four trials a condition, bare at the mean of 3."""
    effect, _, time, cost = forecast(study, pilot).figures
    assert effect.value == pytest.approx(detectable_effect(70.71068, 2).effect)
    assert "over its 2 tasks" in effect.source
    assert time.value == pytest.approx(4 * 2 + 4 * 4 + 4 * 3)
    assert (
        time.source
        == f"{pilot}: means by condition over 4 of its 4 trials; bare: the mean of arms with another Skill"
    )
    assert cost.value == pytest.approx(12 * 0.5)
    assert "over 2 of its 4 trials; pd, bare: the mean of arms with another Skill" in cost.source


def test_a_pilot_speaks_for_arms_with_its_own_settings_alone(study, pilot):
    """Another model, effort, option or Skill in the contrast has another spread and another price."""
    edit_study(study, agent={"name": "scripted", "model": "other"})
    effect, _, time, cost = forecast(study, pilot).figures
    assert (effect.value, time.value, cost.value) == (None, None, None)
    assert (
        "lacks one arm with the Skill, agent, options, model, effort and disclosure of pd"
        in effect.source
    )
    assert "lacks a trial with this figure and the agent, options, model and effort" in cost.source
    edit_study(study, agent={"name": "scripted", "options": {"pace": 2}})
    assert [one.value for one in forecast(study, pilot).figures[2:]] == [None, None]
    edit_study(study, agent={"name": "scripted"}, contrast={"treatment": "pd", "control": "bare"})
    effect, _, time, _ = forecast(study, pilot).figures
    assert (effect.value, time.value) == (None, 36)
    assert "effort and disclosure of bare" in effect.source


def test_the_effect_is_that_of_the_tasks_of_both_arms(study):
    arms = [
        {"name": "baseline", "variant": "baseline"},
        {"name": "pd", "variant": "pd", "tasks": ["tea"]},
    ]
    edit_study(study, conditions=arms)
    assert "tasks in both arms" in forecast(study, None, Assumptions(sd=10)).figures[0].source


def test_a_contrast_of_two_settings_is_told(study):
    arms = [
        {"name": "baseline", "variant": "baseline"},
        {"name": "pd", "variant": "pd", "effort": "high"},
    ]
    edit_study(study, conditions=arms, vary=["skill", "effort"])
    assert forecast(study).notes == (
        "contrast: baseline and pd differ in skill and effort; their difference is of all of these together",
    )


def test_a_pilot_of_other_size_is_no_promise(study, pilot):
    """Two pilot trials a cell: the spread between trials of a task shrinks with the trials planned."""
    with open_write(pilot / "study.duckdb") as store:
        store.put_plan(fake.plan([ALPHA, BETA], ("baseline", "pd"), trials=2))
        store.put("trials", [
            fake.trial(ALPHA, "baseline", 1, reward=0.0), fake.trial(ALPHA, "baseline", 2, reward=0.0),
            fake.trial(ALPHA, "pd", 1), fake.trial(ALPHA, "pd", 2),
            fake.trial(BETA, "baseline", 1), fake.trial(BETA, "baseline", 2, reward=0.0),
            fake.trial(BETA, "pd", 1, reward=0.0), fake.trial(BETA, "pd", 2),
        ])  # fmt: skip
    same, trials, tasks, *_ = forecast(study, pilot).figures  # as in test_variance_parts_by_hand
    assert same.value == pytest.approx(detectable_effect(50 * 2**0.5, 2).effect)
    assert trials.value == pytest.approx(detectable_effect(100 * (0.25 + 0.5 / 4) ** 0.5, 2).effect)
    assert tasks.value == pytest.approx(detectable_effect(50 * 2**0.5, 4).effect)
    assert tasks.source == (
        "50 % of the variance is between tasks, the rest between trials of a task"
    )
    edit_study(study, trials_per_cell=8)
    (eight, *_) = forecast(study, pilot).figures
    assert eight.value == pytest.approx(detectable_effect(100 * (0.25 + 0.5 / 8) ** 0.5, 2).effect)
    assert ", for 8 trials of each" in eight.source


def test_a_study_of_rewards_rests_on_the_spread_of_rewards(study, pilot):
    with open_write(pilot / "study.duckdb") as store:
        store.put("trials", [fake.trial(ALPHA, "baseline", reward=0.5)])
    edit_study(study, primary_outcome="reward")
    effect, *_ = forecast(study, pilot).figures
    assert effect.value == pytest.approx(detectable_effect(35.35534, 2).effect)


def test_what_is_stated_goes_first_and_says_so(study, pilot):
    effect, _, time, cost = forecast(
        study, pilot, Assumptions(sd=10, minutes=5, dollars=0.25)
    ).figures
    assert effect.value == pytest.approx(detectable_effect(10, 2).effect)
    assert (time.value, cost.value) == (60, 3)
    assert all("stated: --" in figure.source for figure in (effect, time, cost))


def test_hosted_machines_are_priced_by_the_agents_time_or_else_by_the_limits(study):
    told = forecast(study, None, Assumptions(minutes=5, hourly=0.6)).figures[-1]
    assert (told.name, told.unit) == ("machines", "dollars")
    assert told.value == pytest.approx(0.6)
    figures = {one.name: one for one in forecast(study, None, Assumptions(hourly=0.6)).figures}
    limits = figures["time limits, all trials"].value or 0
    assert figures["machines"].value == pytest.approx(0.6 * limits)
    assert figures["machines"].source.startswith("at most")


def test_one_task_can_find_nothing(tmp_path):
    effect = forecast(make_study(tmp_path), None, Assumptions(sd=10)).figures[0]
    assert (effect.value, effect.source) == (
        None,
        "unknown: an interval requires two or more tasks in both arms",
    )


def test_a_pilot_without_a_database_is_told(study, tmp_path):
    with pytest.raises(StudyError, match="has no database"):
        forecast(study, tmp_path)


def test_the_command_prints_every_source(study, tmp_path):
    done = call("plan", "study.yaml", "--minutes", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "tea: 2 tasks × 3 conditions × 2 trials = 12 trials" in done.stdout
    assert "headline: pd minus baseline" in done.stdout
    assert "stated: --minutes 2 per trial" in done.stdout
    assert "state it with --dollars N" in done.stdout
