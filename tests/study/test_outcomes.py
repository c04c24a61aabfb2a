"""What a run says at its end: enough to see a broken verifier, too little to see who is ahead."""

from skilljuror.study.outcomes import count_outcomes, uniform_rewards
from skilljuror.study.run import run_study
from tests.support import fabricated_records as fake
from tests.support.studies import make_study


def trials(**cells):
    """Trials of tasks: "task__condition" -> rewards."""
    found = []
    for cell, rewards in cells.items():
        task, _, condition = cell.partition("__")
        for number, reward in enumerate(rewards, 1):
            status = "unscored" if reward is None else "scored"
            found.append(fake.trial(task, condition, number, reward=reward, status=status))
    return found


MIXED = trials(tea__a=[0.0, 0.0], tea__b=[1.0, None], ink__a=[0.0, 0.0], ink__b=[0.0, 0.0])


def test_rewards_are_told_by_task_and_only_on_demand_by_condition():
    blind = count_outcomes(MIXED)
    assert [(one.task, one.condition, one.rewards) for one in blind] == [
        ("ink", None, {"0": 4}),
        ("tea", None, {"0": 2, "1": 1, "none": 1}),
    ]
    open_ = count_outcomes(MIXED, unblind=True)
    assert [(one.condition, one.rewards) for one in open_ if one.task == "tea"] == [
        ("a", {"0": 2}),
        ("b", {"1": 1, "none": 1}),
    ]


def test_exceptions_are_counted():
    ends = [fake.trial("tea", "a", 1, exception="AgentTimeoutError"), fake.trial("tea", "b")]
    assert count_outcomes(ends)[0].exceptions == {"AgentTimeoutError": 1}


def test_tasks_and_conditions_with_one_reward_are_told_without_naming_the_condition():
    blind = uniform_rewards(MIXED)
    assert blind[0].startswith("on 1 of 2 tasks all trials have the same reward")
    assert blind[0].endswith(": ink (0)")
    assert blind[1] == "in 1 conditions all trials have the same reward: --unblind shows which"
    assert uniform_rewards(MIXED, unblind=True)[1].endswith("same reward: a (0)")
    assert uniform_rewards(trials(tea__a=[0.0, 1.0], tea__b=[1.0, 0.0])) == []
    assert uniform_rewards(trials(tea__a=[1.0])) == []


def test_a_verifier_that_always_says_the_same_is_one_line(tmp_path):
    study = make_study(tmp_path, trials=1, script="exit 3")
    summary = run_study(study, tmp_path / "out")
    assert summary.warnings == ("all 2 trials with a reward have reward 0",)
    (counts,) = summary.outcomes
    assert counts.condition is None
    assert counts.exceptions == {"NonZeroAgentExitCodeError": 2}
