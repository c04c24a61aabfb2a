"""What the first words say, and when they are not said."""

import pytest

from skilljuror.base.study import Condition
from skilljuror.report.computed import Answers
from skilljuror.report.figures import interval
from skilljuror.report.headline import Headline, headline
from skilljuror.store import open_read, open_write
from tests.support import fabricated_records as fake


def of(
    tmp_path, passes: dict[str, tuple[int, int]], trials: int = 4, chosen=None, **fields
) -> Headline:
    """Headline of a study: task -> (passes of baseline, passes of pd); `chosen` fields of its file."""
    plan = fake.plan(list(passes), ("baseline", "pd"), trials)
    plan = plan.model_copy(update={"config": plan.config.model_copy(update=chosen or {})})
    path = tmp_path / "study.duckdb"
    records = [
        fake.trial(task, condition, number, reward=float(number <= count), **fields)
        for task, counts in passes.items()
        for condition, count in zip(("baseline", "pd"), counts, strict=True)
        for number in range(1, trials + 1)
    ]
    with open_write(path) as store:
        store.put_plan(plan)
        store.put("trials", records)
    with open_read(path) as reader:
        return headline(Answers(reader))


def approx(*values: float):
    return [pytest.approx(value, abs=0.01) for value in values]


def test_a_clear_difference_is_named_with_its_side(tmp_path):
    found = of(tmp_path, {f"t{n}": (0, 3 + n % 2) for n in range(8)})
    assert found.title == "Better: pd solves more than baseline on tasks like these."
    assert found.number.startswith("pd minus baseline: +87.5 pp in strict pass rate (95 %")


def test_the_other_side_may_win(tmp_path):
    found = of(tmp_path, {f"t{n}": (3 + n % 2, 0) for n in range(8)})
    assert found.title == "Worse: pd solves less than baseline on tasks like these."


def test_students_interval_leads_in_title_picture_words_and_methods(tmp_path):
    """Deltas 25, 50 and 100: mean 58.33, sd 38.19, se 22.05. t(2) is 4.303 and holds 0, its upper end is cut at 100; the normal
    quantile is 1.960 and would leave it out."""
    found = of(tmp_path, {"a": (0, 1), "b": (0, 2), "c": (0, 4)})
    assert "(95 % interval −36.5 pp to +100.0 pp, 3 tasks)" in found.number
    assert found.meaning == (
        "mean over 3 tasks of the strict pass rate with pd minus that with baseline,"
        " with Student's interval over the 3 tasks"
    )
    assert found.title.startswith("Inconclusive: ")
    assert "The interval includes 0" in found.advice
    drawing = interval(found)
    assert drawing is not None
    assert drawing.alt == "+58.3 pp, 95 % interval from −36.5 pp to +100.0 pp"
    first, *others = found.methods
    assert first[:3] == ("paired task means, Student t(2) (headline)", *approx(-36.54, 100))
    normal = next(row for row in others if "normal" in row[0])
    assert normal[:3] == (
        "paired task means, normal (as papers print it)",
        *approx(15.12, 100),
    )


def test_one_task_has_no_interval(tmp_path):
    found = of(tmp_path, {"a": (0, 4)})
    assert found.title == "Undetermined: one task gives no interval."
    assert (
        found.number == "pd minus baseline: +100.0 pp in strict pass rate on one task, no interval"
    )
    assert "One task is not enough" in found.advice


def test_equal_differences_are_no_certainty(tmp_path):
    found = of(tmp_path, {"a": (0, 4), "b": (0, 4)})
    assert found.title == "Undetermined: no variation between tasks."
    assert found.number.endswith("+100.0 pp in strict pass rate on each of 2 tasks, no interval")
    assert not any(row[1] for row in found.methods)


def test_few_tasks_could_not_have_shown_anything(tmp_path):
    found = of(tmp_path, {"a": (0, 4), "b": (4, 0)})
    assert "can hardly show any" in found.advice
    assert "Smallest detectable difference" not in dict(found.facts)


@pytest.mark.parametrize("fields", [{"status": "unscored"}, {"status": "error"}])
def test_an_open_trial_silences_the_headline(tmp_path, fields):
    path = tmp_path / "study.duckdb"
    trials = [fake.trial(t, c) for t in "ab" for c in ("baseline", "pd")]
    trials[0] = fake.trial("a", "baseline", reward=None, **fields)
    with open_write(path) as store:
        store.put_plan(fake.plan(["a", "b"], ("baseline", "pd")))
        store.put("trials", trials)
    with open_read(path) as reader:
        found = headline(Answers(reader))
    assert not found.quotable
    assert found.title == ("Undetermined: 1 of 4 planned trials has no final outcome (baseline 1).")
    shown = (found.number, found.meaning, found.methods, found.facts, interval(found))
    assert not any(shown)


def test_a_timeout_without_reward_is_final(tmp_path):
    path = tmp_path / "study.duckdb"
    late = fake.trial("a", "baseline", reward=None, status="timeout")
    with open_write(path) as store:
        store.put_plan(fake.plan(["a"], ("baseline", "pd")))
        store.put("trials", [late, fake.trial("a", "pd")])
    with open_read(path) as reader:
        assert headline(Answers(reader)).quotable


def test_one_condition_has_nothing_to_compare(tmp_path):
    path = tmp_path / "study.duckdb"
    with open_write(path) as store:
        store.put_plan(fake.plan(["a"], ("baseline",)))
        store.put("trials", [fake.trial("a", "baseline")])
    with open_read(path) as reader:
        found = headline(Answers(reader))
    assert found.delta is None
    assert "no two arms" in found.advice


def test_zero_is_zero_and_not_minus_zero(tmp_path):
    """+0.8, -0.2 and -0.6 add up to nothing only up to rounding."""
    found = of(tmp_path, {"a": (0, 4), "b": (3, 2), "c": (4, 1)}, trials=5)
    assert ": 0.0 pp in strict pass rate" in found.number


def test_several_methods_stand_side_by_side(tmp_path):
    found = of(tmp_path, {f"t{n}": (1, n % 4) for n in range(8)})
    names = [row[0] for row in found.methods]
    assert [name.split()[0] for name in names] == [
        "paired",
        "paired",
        "exact",
        "exact",
    ]
    assert all(row[3] is None or 0 < row[3] <= 1 for row in found.methods)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("margin", "said"),
    [
        (
            10,
            "Inconclusive: it is not shown whether pd is better or worse than baseline, nor that they",
        ),
        (40, "Equivalent: pd and baseline"),
    ],
)
def test_a_declared_margin_is_answered(tmp_path, margin, said):
    passes = {"a": (2, 2), "b": (2, 3), "c": (3, 2), "d": (1, 1), "e": (4, 4)}
    found = of(tmp_path, passes, chosen={"margin": margin})
    assert found.title == f"{said} differ by less than the declared margin of {margin} points."
    assert "The 90 % interval, used to test the declared margin, is " in found.advice
    none = of(tmp_path / "none", passes)
    assert "margin" not in none.title + none.advice


def test_one_task_shows_no_equality(tmp_path):
    found = of(tmp_path, {"a": (2, 2)}, chosen={"margin": 50})
    assert found.title == "Undetermined: one task gives no interval."


def test_rewards_may_lead(tmp_path):
    """A partial reward is no pass: 0.5 more in every trial of two tasks of three."""
    path = tmp_path / "study.duckdb"
    plan = fake.plan(["a", "b", "c"], ("baseline", "pd"))
    config = plan.config.model_copy(update={"primary_outcome": "reward"})
    trials = [
        fake.trial(task, arm, reward=0.5 if arm == "pd" and task != "c" else 0.0)
        for task in "abc"
        for arm in ("baseline", "pd")
    ]
    with open_write(path) as store:
        store.put_plan(plan.model_copy(update={"config": config}))
        store.put("trials", trials)
    with open_read(path) as reader:
        found = headline(Answers(reader))
    assert found.number.startswith("pd minus baseline: +33.3 pp in mean reward (95 %")
    assert found.meaning.startswith("mean over 3 tasks of the mean reward with pd")


def test_what_a_model_said_of_a_sample_is_no_rate_among_the_first_facts(tmp_path):
    judges = ("cascade/1 (tracing/3, m)", "model/1 (m)", "tracing/3")
    events = [fake.event("run", number) for number in range(2)]
    with open_write(tmp_path / "study.duckdb") as store:
        fake.put(store, [fake.run("run", events=events)])
        for judge in judges:
            fake.put_verdicts(store, [fake.verdict(event, judge=judge) for event in events])
    with open_read(tmp_path / "study.duckdb") as reader:
        facts = [name for name, _ in headline(Answers(reader)).facts]
    told = [name for name in facts if name.startswith("Uptake")]
    assert told == [f"Uptake ({judge})" for judge in (judges[0], judges[2])]


def one_variant(tmp_path, passes):
    """Both arms offer pd."""
    arms = tuple(Condition(name=name, variant="pd") for name in ("baseline", "pd"))
    return of(tmp_path, passes, chosen={"conditions": arms}, variant="pd")


def test_arms_that_offer_the_same_are_told(tmp_path):
    found = one_variant(tmp_path, {"a": (0, 1), "b": (2, 1), "c": (1, 4)})
    assert found.title.startswith("A/A: Inconclusive: ")
    assert found.advice.startswith("A/A: both arms are the same; a difference here is noise")
    assert "caches" not in found.advice


def test_a_difference_between_the_same_is_suspicious(tmp_path):
    found = one_variant(tmp_path, {f"t{n}": (0, 3 + n % 2) for n in range(8)})
    assert found.title.startswith("A/A: Better: ")
    assert "such as the order of trials, caches or the machine" in found.advice


@pytest.mark.parametrize("fields", [{"variant_digest": None}, {}])
def test_arms_that_differ_or_may_differ_are_not_called_the_same(tmp_path, fields):
    """Digests that nobody measured, and two variants."""
    found = of(tmp_path, {"a": (0, 1), "b": (2, 1), "c": (1, 4)}, **fields)
    assert found.title.startswith("Inconclusive: ")
    assert "A/A" not in found.advice
