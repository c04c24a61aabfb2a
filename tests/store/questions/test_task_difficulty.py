"""Difficulty of tasks in a pilot study: rates, limits and verdicts, counted by hand."""

import pytest

from skilljuror.layouts.build.given_skills import GivenSkillRow
from skilljuror.store import open_write
from skilljuror.store.questions import NOT_USABLE, query, remarks_on, run
from tests.support import fabricated_records as fake

ARMS = ("no-skill", "origin", "pd")
UNSCORED: dict[str, object] = {"reward": None, "status": "unscored", "reason": "no_answer"}
TASKS = {  # passes of 5 trials in each arm; None: no model answered any
    "hard": (0, 2, 5),
    "a-fifth": (1, 0, 0),
    "given-away": (0, 5, 5),
    "known": (5, 5, 5),
    "silent": (None, 0, 0),
    "silent-source": (0, None, 0),
    "silent-easy": (None, 5, 5),
    "unplanned": (0, -1, 0),
    "unjudged": (0, 0, 0),
}


def study(folder, arms=ARMS, odd=()):
    """A study of five trials a cell; `odd` trials passed under another substrate, so they are contaminated."""
    path = folder / "study.duckdb"
    plan = fake.plan(list(TASKS), arms, trials=5)
    dropped = {task for task, passes in TASKS.items() if -1 in passes}
    tasks = [
        task.model_copy(update={"judged_by": "trigger"}) if task.name == "unjudged" else task
        for task in plan.tasks
    ]
    planned = [
        trial for trial in plan.trials if trial.task not in dropped or trial.condition != "origin"
    ]
    with open_write(path) as store:
        store.put_plan(plan.model_copy(update={"trials": tuple(planned), "tasks": tuple(tasks)}))
        for trial in planned:
            passes = TASKS[trial.task][ARMS.index(trial.condition)]
            ending = UNSCORED if passes is None else {"reward": float(trial.number <= passes)}
            ending = {"reward": 1.0, "substrate_digest": "other"} if trial.trial in odd else ending
            store.put("trials", [fake.trial(trial.task, trial.condition, trial.number, **ending)])
    return path


def verdicts(path, **params):
    return {row["task"]: row["verdict"] for row in run(path, "task_difficulty", **params).records()}


@pytest.mark.slow
def test_a_rate_at_its_limit_is_too_easy_and_no_trials_are_no_rate(tmp_path):
    path = study(tmp_path)
    silent = "0 of 5 trials of no-skill usable (5 no_answer)"
    assert verdicts(path) == {
        "hard": "hard enough",
        "a-fifth": "too easy without the Skill",
        "given-away": "too easy with the source",
        "known": "too easy without the Skill",
        "silent": f"unknown: {silent}",
        "silent-source": "unknown: 0 of 5 trials of origin usable (5 no_answer)",
        "silent-easy": "too easy with the source",
        "unplanned": "unknown: not planned in origin",
        "unjudged": "unknown: no verifier in no-skill; no verifier in origin",
    }
    rows = {row["task"]: row for row in run(path, "task_difficulty").records()}
    columns = ("trials", "passes", "rate")
    shown = {task: [rows[task][f"{arm}_{one}"] for arm in ("without", "with") for one in columns] for task in rows}  # fmt: skip
    assert shown["hard"] == [5, 0, 0.0, 5, 2, 0.4]
    assert shown["a-fifth"] == [5, 1, 0.2, 5, 0, 0.0]
    assert shown["silent-easy"] == [0, None, None, 5, 5, 1.0]
    assert rows["silent-easy"]["reason"] == rows["silent-easy"][NOT_USABLE] == silent


@pytest.mark.slow
def test_the_arm_and_the_limits_are_parameters(tmp_path):
    path = study(tmp_path)
    assert verdicts(path, **{"with": "pd"})["hard"] == "too easy with the source"
    assert verdicts(path, without_below="0.21")["a-fifth"] == "hard enough"
    assert verdicts(path, with_below=0.4)["hard"] == "too easy with the source"
    percent = "unknown: without_below and with_below must be between 0 and 1"
    assert {*verdicts(path, without_below="20").values()} == {percent}


@pytest.mark.slow
def test_a_contaminated_pass_is_not_counted(tmp_path):
    odd = {fake.name_of("hard", "no-skill", number) for number in (1, 2)}
    hard = run(study(tmp_path, odd=odd), "task_difficulty").records()[0]
    assert (hard["verdict"], hard["without_trials"], hard["without_passes"]) == (
        "hard enough",
        3,
        0,
    )
    assert hard[NOT_USABLE] == "3 of 5 trials of no-skill usable (2 contaminated)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arms", "params", "reason"),
    [
        (("no-skill", "pd"), {}, "no arm with the source as given to pair with no-skill"),
        (("origin", "pd"), {}, "no arm without a Skill to pair with origin"),
        (ARMS, {"with": "no-skill"}, "no-skill is no arm with a Skill to pair with no-skill"),
    ],
)
def test_without_one_of_the_arms_a_task_is_unknown(tmp_path, arms, params, reason):
    hard = run(study(tmp_path, arms), "task_difficulty", **params).records()[0]
    assert (hard["verdict"], hard["reason"]) == (f"unknown: {reason}", reason)
    assert None in (hard["without_trials"], hard["with_trials"])


@pytest.mark.slow
def test_a_condition_may_offer_the_source_by_its_path(tmp_path):
    """As it is on disk: a revision may be another text."""
    path = study(tmp_path, ("no-skill", "pd"))
    with open_write(path) as store:
        store.put(
            "given_skills",
            [
                GivenSkillRow(task, "pd", f"skills/{task}", commit, fake.DIGEST, None)
                for task, commit in {"hard": None, "given-away": "c" * 40}.items()
            ],
        )
    found = run(path, "task_difficulty").records()
    assert [(row["verdict"][:8], row["with_arm"]) for row in found[::2][:2]] == [
        ("too easy", "pd"),
        ("unknown:", None),
    ]


def test_a_study_with_neither_arm_has_no_row_and_says_what_to_name(tmp_path):
    found = run(study(tmp_path, ("pd",)), "task_difficulty")
    assert found.rows == []
    assert remarks_on("task_difficulty", found) == [query("task_difficulty").empty]
