"""Answers about process worked out by hand on the small fabricated study: what was opened, when, and
whether it was taken up (tests/support/fabricated_studies.py)."""

from typing import Any

import duckdb
import pytest

from skilljuror.base.results import UptakeCategory
from skilljuror.report.computed import Answers
from skilljuror.report.headline import headline
from skilljuror.store import open_read, open_write
from skilljuror.store.questions import query, run
from tests.support import fabricated_records as fake
from tests.support.cli_process import call
from tests.support.fabricated_studies import rows, small_study


def test_the_pooled_token_share_weighs_tokens_and_the_mean_weighs_trials(tmp_path):
    """10 of 100 and 450 of 900 tokens: 460 of 1000, where the mean of 0.1 and 0.5 is 0.3."""
    path = tmp_path / "study.duckdb"
    counted = {"t1": (100, 10, 0.1), "t2": (900, 450, 0.5), "t3": ("not_counted",) * 3}
    names = ("step_tokens", "skill_step_tokens", "skill_token_share")
    values: dict[str, dict[str, Any]] = {
        key: dict(zip(names, found, strict=True)) for key, found in counted.items()
    }
    values["t1"] |= {"step_tokens sub": 5000.0, "skill_step_tokens sub": 5000.0}
    with open_write(path) as store:
        fake.put(store, [fake.run(key, values=found) for key, found in values.items()])
    columns = ("skill_token_share", "skill_token_share_pooled", "token_share_trials")
    assert rows(path, "process", *columns) == [(pytest.approx(0.3), pytest.approx(0.46), 2)]


def test_unknown_stays_outside_the_rate_and_inside_the_events(whole):
    """pd: three SKILL.md yes, support yes/no/no, three listings unknown."""
    columns = (
        "events",
        "yes",
        "no",
        "unknown",
        "eru_rate",
        "mean_events",
        "mean_yes_low",
        "ge2_yes_low",
    )
    assert rows(whole, "uptake", *columns)[2] == (9, 4, 2, 3, 4 / 6, 3.0, 4 / 3, 1)


def test_an_unjudged_event_makes_the_mean_of_yes_null(tmp_path):
    path = small_study(tmp_path, whole=True)
    with open_write(path) as store:
        extra = [fake.event("new", n) for n in range(2)]
        fake.put(store, [fake.run("new", trial="beta__pd__2", events=extra)])
        fake.put_verdicts(store, [fake.verdict(extra[0])])
    columns = ("condition", "trajectories", "events", "judged", "mean_yes_low", "eru_rate")
    assert rows(path, "uptake", *columns)[2] == ("pd", 4, 11, 10, None, 5 / 7)


def test_the_rate_of_a_judge_without_a_model_has_two_ends(tmp_path):
    """3 yes, 1 no, 2 not seen again, 1 not shown: 3/6 to 5/6, and no single number."""
    path = tmp_path / "study.duckdb"
    events = [fake.event("t1", n) for n in range(7)]
    labels = ["yes", "yes", "yes", "no", "unknown", "unknown", "unknown"]
    category = {4: "not_seen_again", 5: "not_seen_again"}
    with open_write(path) as store:
        fake.put(store, [fake.run("t1", events=events)])
        said = [
            fake.verdict(event, label, **({"category": category[n]} if n in category else {}))
            for n, (event, label) in enumerate(zip(events, labels, strict=True))
        ]
        fake.put_verdicts(store, said)
    columns = ("unknown", "open", "eru_low", "eru_high", "eru_rate", "eru_rate_reason")
    assert rows(path, "uptake", *columns) == [(3, 2, 3 / 6, 5 / 6, None, "between_two_ends")]
    with open_read(path) as reader:
        facts = dict(headline(Answers(reader)).facts)
    assert facts["Uptake (tracing-1)"].startswith("50 to 83 % of 6 uses; 2 shown but undecided")


def test_every_reason_but_one_leaves_a_use_open_in_the_database_as_in_the_package(tmp_path):
    path = tmp_path / "study.duckdb"
    events = [fake.event("t1", n) for n in range(len(UptakeCategory))]
    with open_write(path) as store:
        fake.put(store, [fake.run("t1", events=events)])
        said = [
            fake.verdict(event, one.label, category=one)
            for event, one in zip(events, UptakeCategory, strict=True)
        ]
        fake.put_verdicts(store, said)
    found = dict(rows(path, "SELECT category, open FROM uptake_verdicts", "category", "open"))
    assert found == {one.value: one.open for one in UptakeCategory}
    not_open = [one for one in UptakeCategory if one.label == "unknown" and not one.open]
    assert not_open == [UptakeCategory.NOT_SHOWN]


def test_the_rate_without_navigation_stands_beside_the_rate(tmp_path):
    """2 yes, 2 navigation, 1 no, 1 open: 4/6 to 5/6, and 2/4 to 3/4 without navigation."""
    path = tmp_path / "study.duckdb"
    events = [fake.event("t1", n) for n in range(6)]
    reasons = ["implementation", "validation", "navigation", "navigation", "background", "unparsed"]
    labels = ["yes"] * 4 + ["no", "unknown"]
    with open_write(path) as store:
        fake.put(store, [fake.run("t1", events=events)])
        said = [
            fake.verdict(event, label, category=why)
            for event, label, why in zip(events, labels, reasons, strict=True)
        ]
        fake.put_verdicts(store, said)
    columns = ("eru_low", "eru_high", "without_navigation_low", "without_navigation_high")
    assert rows(path, "uptake", *columns) == [(4 / 6, 5 / 6, 0.5, 0.75)]


def test_open_uses_leave_the_change_of_uptake_two_ends(tmp_path):
    """In alpha, one of pd's three yes and both of baseline's become open."""
    path = small_study(tmp_path)
    before = {
        row[0]: row[1:] for row in rows(path, "strata", "value", "delta_yes_low", "delta_yes_high")
    }
    with duckdb.connect(str(path)) as database:
        of_alpha = "SELECT v.event FROM verdicts AS v JOIN uses AS u USING (event) JOIN runs AS r USING (run)"
        opened = [
            one
            for condition, most in (("pd", 1), ("baseline", 2))
            for (one,) in database.execute(
                f"{of_alpha} WHERE r.task = 'alpha' AND r.condition = $1 AND v.label = 'yes'"
                " ORDER BY ALL LIMIT $2", [condition, most],
            ).fetchall()
        ]  # fmt: skip
        database.execute(
            "UPDATE verdicts SET label = 'unknown', category = 'insufficient_context'"
            " WHERE event IN (SELECT unnest($1))", [opened],
        )  # fmt: skip
    fake.count_verdicts(path)
    after = {
        row[0]: row[1:] for row in rows(path, "strata", "value", "delta_yes_low", "delta_yes_high")
    }
    assert before["tests"] == (0.5, 0.5)
    assert len(opened) == 3
    assert after["tests"] == (1.0 - 1.0, 1.5 - 0.0)


def test_a_run_that_never_invoked_is_later_than_all_others(tmp_path):
    """Steps 1, 3 and never: the median is 3. With a second never it is in their half: none."""
    path = tmp_path / "study.duckdb"

    def measured(name, step):
        return fake.run(name, values={"invocation_step": step or "never"})

    with open_write(path) as store:
        fake.put(store, [measured("a", 1.0), measured("b", 3.0), measured("c", None)])
    assert rows(path, "invocation", "readable", "never", "median_step") == [(3, 1, 3.0)]
    with open_read(path) as reader:
        facts = dict(headline(Answers(reader)).facts)
    assert facts["First invocation of a skill"] == "median step 3; 1 of 3 runs never invoked one"
    with open_write(path) as store:
        fake.put(store, [measured("d", None)])
    assert rows(path, "invocation", "readable", "never", "median_step") == [(4, 2, None)]


def test_a_trial_of_which_nothing_was_decided_is_judged_and_not_decided(tmp_path):
    path = small_study(tmp_path)
    columns = ("condition", "readable", "judged", "decided")
    before = rows(path, "coverage", *columns)
    with open_write(path) as store:
        extra = fake.event("new", 0)
        fake.put(store, [fake.run("new", trial="beta__pd__2", events=[extra])])
        fake.put_verdicts(store, [fake.verdict(extra, "unknown", category="not_seen_again")])
    (name, readable, judged, decided), after = before[2], rows(path, "coverage", *columns)[2]
    assert after == (name, readable + 1, judged + 1, decided)


def test_strata_pool_trajectories_and_average_tasks(whole):
    """Yes events per trajectory: pd 3 of 2 in alpha and 1 of 1 in beta, baseline 1 everywhere."""
    columns = (
        "value",
        "tasks",
        "delta_pass",
        "delta_yes_low",
        "delta_events",
        "control_minutes_per_pass",
    )
    found = {row[0]: row[1:] for row in rows(whole, "strata", *columns)}
    assert found["tests"] == (1, 0.5, 0.5, 2.0, 3.0)
    assert found["tolerance"] == (1, 0.0, 0.0, 2.0, 3.0)
    assert found["repair"] == (2, 0.25, pytest.approx(1 / 3), 2.0, 3.0)


def test_while_a_trial_is_open_no_kind_of_task_has_passes(study):
    """One trial of pd is missing and one of baseline unscored."""
    mark = "3 of 4 trials of pd usable (1 missing); 3 of 4 trials of baseline usable (1 unscored)"
    for row in run(study, "strata").records():
        assert row["delta_pass_reason"] == row["not_usable"] == mark
        assert {row[name] for name in query("strata").whole} == {None}
        assert row["delta_events"] == 2.0


def test_the_exposure_curve_counts_arrivals_by_midpoint(tmp_path):
    """One of four units at step 1 of 10: its midpoint is at 0.05."""
    path = tmp_path / "study.duckdb"
    with open_write(path) as store:
        fake.put(store, [fake.run("t1", steps=10)])
    found = dict(rows(path, "exposure_curve", "position", "units_share"))
    assert (found[0.0], found[0.05], found[1.0]) == (0.0, 0.25, 0.25)


@pytest.mark.parametrize(
    ("step", "steps", "place"), [(1, 1, 10), (1, 20, 0), (20, 20, 19), (1, 3, 3), (2, 3, 10)]
)
def test_bins_of_skills_use_midpoints(tmp_path, step, steps, place):
    """floor(20 (2s - 1) / 2m)."""
    path = tmp_path / "study.duckdb"
    with open_write(path) as store:
        fake.put(store, [fake.run("t1", steps=steps, events=[fake.event("t1", step=step)])])
    assert rows(path, "skill_timing", "bin", "steps") == [(place, 1)]


def test_skills_opened_tells_offer_from_opening(study):
    columns = ("skill", "offered", "activated", "read", "opened", "resources", "uses")
    assert rows(study, "skills_opened", *columns) == [
        ("csv-report", 10, 0, 7, 7, 2, 13),
        ("unused", 10, 0, 0, 0, 0, 0),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "activated"),
    [({"ok": True}, 1), ({"ok": None}, 0), ({"ok": False}, 0), ({"ok": True, "phantom": True}, 0)],
    ids=["it worked", "nothing says so", "it failed", "of another variant"],
)
def test_an_activation_counts_where_the_log_says_that_it_worked(tmp_path, fields, activated):
    """Two questions, one rule."""
    path = tmp_path / "study.duckdb"
    event = fake.event("t1", kind="activate", via="skill-tool", **fields)
    with open_write(path) as store:
        fake.put(store, [fake.run("t1", events=[event])])
    assert rows(path, "skills_opened", "skill", "activated")[0] == ("csv-report", activated)
    assert rows(path, "invocation_by_skill", "skill", "invoked")[0] == ("csv-report", activated)


def test_a_plugin_prefix_is_no_other_skill(tmp_path):
    path = tmp_path / "study.duckdb"
    event = fake.event("t1", skill="plugin:csv-report")
    with open_write(path) as store:
        fake.put(store, [fake.run("t1", events=[event])])
    assert rows(path, "skills_opened", "skill", "offered", "opened")[0] == ("csv-report", 1, 1)


def test_what_belongs_to_the_agent_itself_is_no_use(tmp_path):
    path = tmp_path / "study.duckdb"
    with open_write(path) as store:
        fake.put(store, [fake.run("t1", events=[fake.event("t1", bundled=True)])])
    assert rows(path, "overview", "uses") == [(0,)]
    assert rows(path, "events_by_kind", "kind") == []


def test_never_opened_lists_files_that_no_run_touched(tmp_path):
    path = tmp_path / "study.duckdb"
    trial = fake.trial("alpha", "pd")
    with open_write(path) as store:
        store.put_plan(fake.plan(["alpha"]))
        store.put_builds([fake.build("alpha")])
        store.put("trials", [trial])
        event = fake.event("t1")
        fake.put(store, [fake.run("t1", trial=trial.trial, events=[event])])
    columns = ("condition", "skill", "resource", "runs")
    assert rows(path, "never_opened", *columns) == [("pd", "csv-report", "references/a.md", 1)]


def test_resources_carry_uptake_and_first_step(study):
    columns = ("condition", "task", "resource", "events", "first_step", "yes", "no", "eru_rate")
    found = {row[:3]: row[3:] for row in rows(study, "resources", *columns)}
    assert found["pd", "alpha", "references/a.md"] == (2, 4.0, 1, 1, 0.5)


def test_fanout_by_resource_divides_by_readable_trials(study):
    columns = ("condition", "task", "resource", "opened", "trials", "share")
    found = {row[:3]: row[3:] for row in rows(study, "fanout_by_resource", *columns)}
    assert found["pd", "beta", "references/a.md"] == (1, 1, 1.0)
    assert ("pd", "alpha", ".") not in found


def test_first_use_says_when_and_how(study):
    columns = ("run", "first_step", "first_share", "kind", "uses", "resources", "yes", "returned")
    found = {row[0]: row[1:] for row in rows(study, "first_use", *columns)}
    assert found["alpha__pd__1"] == (1, 0.05, "read", 3, 2, 2, 2)


def test_a_use_that_two_judges_call_yes_is_one_and_none_without_a_judge(tmp_path):
    path = tmp_path / "study.duckdb"
    events = [fake.event("t1", n) for n in range(3)]
    with open_write(path) as store:
        fake.put(store, [fake.run("t1", events=events)])
    assert rows(path, "first_use", "yes") == [(None,)]
    for judge in ("one", "other"):
        with open_write(path) as store:
            fake.put_verdicts(store, [fake.verdict(one, judge=judge) for one in events[:2]])
        assert rows(path, "first_use", "yes") == [(2,)]


def test_the_first_uses_end_with_their_run(study):
    whole = rows(study, "evidence", "run", "line")
    sizes = set()
    for count in range(1, len(whole)):
        some = rows(study, "evidence", "run", "line", first_uses=count)
        assert some == whole[: len(some)]
        assert len(some) >= count
        assert some == whole or whole[len(some)][0] != some[-1][0]
        sizes.add(len(some))
    assert 1 < len(sizes) < len(whole) - 1  # runs with one use, and runs with several


def test_how_many_uses_are_listed_can_be_asked_of_the_command(study):
    asked = call("query", study.parent, "evidence", "--param", "first_uses=1", "--json")
    assert asked.returncode == 0, asked.stderr


@pytest.mark.parametrize(
    ("uses", "returned"),
    [
        ([("main", 0), ("main", 3), ("main", 3), ("main", 7)], 2),
        ([("main", 0)], 0),
        ([("main", 2), ("main", 2), ("main", 7)], 1),
        ([("main", 2)], 0),
        ([("helper", 1), ("main", 3)], 1),
        ([("main", 2), ("helper", 1)], 0),
    ],
    ids=[
        "injected, then twice",
        "injected alone",
        "read, then once",
        "read alone",
        "first by a sub-agent",
        "then by a sub-agent",
    ],
)
def test_a_return_is_a_step_of_the_main_agent_after_the_first_use(tmp_path, uses, returned):
    path = tmp_path / "study.duckdb"
    events = [fake.event("t1", n, agent=agent, step=step) for n, (agent, step) in enumerate(uses)]
    with open_write(path) as store:
        fake.put(store, [fake.run("t1", steps=9, events=events)])
    assert rows(path, "first_use", "returned") == [(returned,)]


def test_nulls_tell_why(study):
    columns = ("metric", "condition", "reason", "nulls", "trials")
    assert ("cost_usd", "baseline", "no_price", 4, 4) in rows(study, "nulls", *columns)


def test_one_measure_by_task(study):
    columns = ("task", "treatment_mean", "control_mean", "difference")
    found = rows(study, "measure_by_task", *columns, metric="fanout")
    assert found == [("alpha", 2.0, 1.0, 1.0), ("beta", 2.0, 1.0, 1.0)]
