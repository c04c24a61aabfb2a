"""Measures of one trial: what every family promises, and each by hand."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from skilljuror.base.errors import resolve
from skilljuror.base.results import Price, TrialContext
from skilljuror.base.texts import cost, price_of
from skilljuror.base.trajectory import (
    OfferedSkill,
    Resource,
    SkillManifest,
    Step,
    ToolCall,
    ToolResult,
    Usage,
)
from skilljuror.measures import run_measures
from skilljuror.measures.metrics import METRICS, definitions
from skilljuror.measures.run_measures import step_bytes, step_texts
from tests.support.metric_contexts import contexts, event, record, run, step, trajectory

EMPTY = TrialContext(trial="t")
FAMILIES = sorted(METRICS)
DEFINITIONS = definitions()


def measured(family, context):
    return list(resolve(METRICS, family, "metric")(context))


def names(measures):
    return [(measure.metric, measure.key) for measure in measures]


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=40, deadline=None)
@given(context=contexts)
def test_the_same_rows_come_out_for_every_trial(family, context):
    assert names(measured(family, context)) == names(measured(family, EMPTY))


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=40, deadline=None)
@given(context=contexts)
def test_a_value_is_finite_and_a_null_has_a_reason(family, context):
    for measure in measured(family, context):
        if measure.value is None:
            assert measure.reason, measure
        else:
            assert measure.reason is None
            assert math.isfinite(measure.value)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=40, deadline=None)
@given(context=contexts)
def test_a_metric_is_pure(family, context):
    assert measured(family, context) == measured(family, context)


@settings(max_examples=40, deadline=None)
@given(context=contexts)
def test_shares_and_flags_stay_in_the_unit_interval(context):
    for measure in (row for family in FAMILIES for row in measured(family, context)):
        if measure.value is not None and DEFINITIONS[measure.metric].unit in {"share", "flag"}:
            assert 0 <= measure.value <= 1, measure


def test_every_metric_is_in_the_catalog_and_no_other():
    emitted = [name for family in FAMILIES for name in names(measured(family, EMPTY))]
    assert len(emitted) == len(set(emitted))
    assert {metric for metric, _ in emitted} == set(DEFINITIONS)
    keyed = {metric for metric, key in emitted if key}
    assert keyed == {name for name, definition in DEFINITIONS.items() if definition.keys}


def outcome(**fields):
    return {
        row.metric: row for row in run_measures.outcome(TrialContext("t", record=record(**fields)))
    }


@pytest.mark.parametrize(
    ("reward", "strict", "broad"),
    [(1.0, 1, 1), (0.9999, 0, 1), (0.5, 0, 1), (0.0, 0, 0), (None, 0, 0)],
)
def test_strict_is_exactly_one_and_broad_is_above_zero(reward, strict, broad):
    rows = outcome(reward=reward)
    assert (rows["strict_pass"].value, rows["broad_pass"].value) == (strict, broad)


@pytest.mark.parametrize("status", ["timeout", "unscored", "error"])
def test_a_missing_reward_is_null_and_says_why(status):
    rows = outcome(reward=None, status=status)
    assert (rows["reward"].value, rows["reward"].reason) == (None, status)
    assert rows["scored"].value == 0


def test_a_verified_reward_after_a_timeout_keeps_both_facts():
    rows = outcome(reward=1.0, status="timeout", exception="AgentTimeoutError")
    assert rows["strict_pass"].value == 1
    assert rows["runtime_success"].value == 0
    assert rows["strict_pass_and_runtime"].value == 0


GPT = price_of("gpt-5.4", None)


def efficiency(usage=None, steps=(), prices=None, model="gpt-5.4", **fields):
    run = trajectory(steps, usage=usage, model=model)
    context = TrialContext("t", record=record(**fields), trajectory=run, prices=prices)
    return {(row.metric, row.key): row for row in run_measures.efficiency(context)}


# Inclusive input, writes, reads, output -> uncached input, display tokens, USD.
SPLITS = [
    (1_000_000, 0, 800_000, 10_000, 200_000, 210_000, 0.85),
    (1_000_000, 100_000, 800_000, 10_000, 100_000, 210_000, 0.85),
    (0, 0, 0, 0, 0, 0, 0.0),
]


@pytest.mark.parametrize(("total", "write", "read", "out", "fresh", "shown", "usd"), SPLITS)
def test_split_display_and_cost(total, write, read, out, fresh, shown, usd):
    usage = Usage(input=total - write - read, cache_write=write, cache_read=read, output=out)
    rows = efficiency(usage)
    assert rows["tokens", "input"].value == fresh
    assert rows["display_tokens", ""].value == shown
    assert rows["cost_usd", ""].value == pytest.approx(usd)


@pytest.mark.parametrize(
    ("usage", "steps"),
    [
        (Usage(3, 11_250, 73_808, 11, hour_write=11_250), ()),
        (None, (step(1, usage=Usage(3, 11_250, 73_808, 11, hour_write=11_250)),)),
        (Usage(3, 11_250, 73_808, 11), (step(1, usage=Usage(1, 7_810, 9, 9, hour_write=7_810)),)),
    ],
    ids=["stated", "summed", "stated without, divided as in the steps"],
)
def test_what_a_cache_keeps_for_an_hour_costs_twice_the_input(usage, steps):
    rows = efficiency(usage, steps, model="claude-opus-4-6")
    assert rows["cost_usd", ""].value == pytest.approx(0.149694)  # 5, 10, 0.5 and 25 dollars


def test_more_cached_tokens_than_input_leave_the_input_unknown():
    part, whole = (
        Usage(input=-300, cache_read=800, output=10),
        Usage(input=900, cache_read=0, output=1),
    )
    summed = efficiency(steps=(step(1, usage=part), step(2, usage=whole)))
    for rows in (efficiency(part), summed):
        for key in [
            ("tokens", "input"),
            ("display_tokens", ""),
            ("total_tokens", ""),
            ("cost_usd", ""),
        ]:
            assert (rows[key].value, rows[key].reason) == (None, "cache_above_input")
    assert summed["tokens", "cache_read"].value == 800


def test_steps_of_another_model_have_its_price():
    main = step(1, usage=Usage(input=100_000, cache_write=0, cache_read=0, output=0))
    other = replace(main, agent="advisor", model="claude-haiku-4-5")
    twice = Usage(input=200_000, cache_write=0, cache_read=0, output=0)
    for usage in (None, twice):
        assert efficiency(usage, (main, other))["cost_usd", ""].value == pytest.approx(0.25 + 0.1)
    unknown = efficiency(twice, (main, replace(other, model="of nobody")))
    assert (unknown["cost_usd", ""].value, unknown["cost_usd", ""].reason) == (None, "no_price")
    stated = efficiency(Usage(input=9, cache_write=0, cache_read=0, output=0), (main, other))
    assert stated["cost_usd", ""].value == pytest.approx(2.5 * 9e-6)


def test_a_long_prompt_and_its_answer_cost_more():
    """gpt-5.4 above 272,000: 5, 0.5 and 22.5 dollars; below 2.5, 0.25 and 15."""
    long = Usage(input=2_001, cache_write=0, cache_read=270_000, output=1_000)
    short = Usage(input=2_000, cache_write=0, cache_read=270_000, output=1_000)
    steps = (step(1, usage=long), step(2, usage=short))
    dear = (2_001 * 5 + 270_000 * 0.5 + 1_000 * 22.5) / 1e6
    cheap = (2_000 * 2.5 + 270_000 * 0.25 + 1_000 * 15) / 1e6
    assert efficiency(None, steps)["cost_usd", ""].value == pytest.approx(dear + cheap)
    assert GPT is not None
    mine = replace(GPT, long_above=None)
    both = efficiency(None, steps, prices=(mine,))["cost_usd", ""].value
    assert both == pytest.approx(2 * cheap + 2.5e-6)


@pytest.mark.parametrize(
    ("usage", "reason"),
    [
        (Usage(input=None, cache_read=0, output=3), "no_input_or_output"),
        (Usage(input=3, cache_read=None, output=3), "no_cache_read"),
        (None, "no_usage"),
    ],
)
def test_missing_tokens_are_null_not_zero(usage, reason):
    rows = efficiency(usage)
    for metric in ("display_tokens", "cost_usd"):
        assert (rows[metric, ""].value, rows[metric, ""].reason) == (None, reason)


def test_unseparated_writes_have_a_price_only_where_they_cost_plain_input():
    haiku = price_of("claude-haiku-4-5", None)
    assert GPT is not None
    assert haiku is not None
    usage = Usage(input=1_000_000, cache_read=0, output=0)
    assert (cost(usage, GPT), cost(usage, haiku)) == (2.5, "no_cache_write")


def test_the_stated_reason_wins_over_logged_zeros():
    rows = efficiency(Usage(input=0, cache_read=0, output=0), usage_reason="no_model")
    assert {row.reason for (metric, _), row in rows.items() if "token" in metric} == {"no_model"}


def test_usage_is_summed_over_steps_only_when_every_step_has_it():
    counted = step(1, usage=Usage(input=2, cache_read=0, output=1))
    rows = efficiency(steps=(counted, counted))
    assert rows["display_tokens", ""].value == 6
    assert efficiency(steps=(counted, step(2)))["display_tokens", ""].reason == "no_usage"


@pytest.mark.parametrize(
    "name",
    ["gpt-5.4", "openai/gpt-5.4", "gpt-5.4-2026-03-05", "GPT-5-4", "azure/gpt-5.4@2026-03-05"],
)
def test_names_of_one_model_find_one_price(name):
    assert price_of(name, None) == GPT


def test_a_price_is_never_borrowed_from_another_model():
    assert price_of("gpt-5.4-huge", None) is None
    assert (
        efficiency(Usage(input=1, cache_read=0, output=1), model="x")["cost_usd", ""].reason
        == "no_price"
    )


def test_a_given_price_list_replaces_the_packaged_one():
    mine = Price("own", 1.0, 1.0, 1.0, 1.0, "2026-01-01")
    usage = Usage(input=1_000_000, cache_write=0, cache_read=0, output=0)
    assert efficiency(usage, prices=(mine,), model="own")["cost_usd", ""].value == 1
    assert efficiency(usage, prices=(mine,), model="own")["price_date", ""].value == 20260101
    for name in ("cost_usd", "price_date"):
        assert efficiency(usage, prices=(mine,))[name, ""].reason == "no_price"


def test_minutes_are_the_agents_execution_and_missing_when_it_never_started():
    assert efficiency(agent_seconds=90.0)["agent_minutes", ""].value == 1.5
    assert efficiency(agent_seconds=None)["agent_minutes", ""].reason == "never_started"


@pytest.mark.parametrize(
    ("model", "usage", "stated"),
    [
        ("claude-sonnet-4-5", (12, 11_988, 30_000, 406), 0.060081),
        ("claude-sonnet-4-5", (18, 13_482, 235_500, 615), 0.1304865),
        ("gpt-5.5", (14_000, 0, 55_000, 615), 0.11595),
    ],
)
def test_list_prices_agree_with_what_the_harness_states(model, usage, stated):
    classes = dict(zip(("input", "cache_write", "cache_read", "output"), usage, strict=True))
    rows = efficiency(Usage(**classes, cost_usd=stated), model=model)
    assert rows["cost_usd", ""].value == pytest.approx(rows["cost_usd_logged", ""].value)


def process(context):
    return {(row.metric, row.key): row for row in run_measures.process(context)}


def of_events(*events, steps=3):
    run_ = trajectory([step(i + 1) for i in range(steps)])
    return process(TrialContext("t", trajectory=run_, events=events))


SUPPORT = {"resource": "references/x.md", "resource_class": "support"}
CODE = {"resource": "scripts/run.py", "resource_class": "code"}


@pytest.mark.parametrize(
    ("kind", "fields", "flags"),
    [
        ("read", SUPPORT, (1, 0, 0)),
        ("search", SUPPORT | {"content_exposed": "partial"}, (1, 0, 0)),
        ("read", SUPPORT | {"content_exposed": "none"}, (0, 0, 0)),
        ("read", {}, (0, 0, 0)),
        ("exec", CODE | {"content_exposed": "none", "ok": False}, (0, 1, 0)),
        ("import", CODE | {"content_exposed": "none"}, (0, 0, 1)),
        ("read", CODE, (0, 0, 1)),
        ("list", CODE, (0, 0, 0)),
        ("exec", CODE | {"phantom": True}, (0, 0, 0)),
    ],
)
def test_support_script_and_helper_are_independent_flags(kind, fields, flags):
    rows = of_events(event(1, kind, **fields))
    assert tuple(rows[n, ""].value for n in ("support_read", "script_exec", "helper_use")) == flags


def test_token_share_needs_every_step_counted():
    partial = TrialContext("t", trajectory=run(2).trajectory, step_tokens={("main", 1): 5})
    full = TrialContext(
        "t", trajectory=run(2).trajectory, events=(event(1),),
        step_tokens={("main", 1): 5, ("main", 2): 15},
    )  # fmt: skip
    assert process(partial)["skill_token_share", ""].reason == "not_counted"
    assert process(full)["skill_token_share", ""].value == 0.25


SUMS = ("step_tokens", "skill_step_tokens", "skill_token_share")


def test_the_token_share_is_made_of_two_sums_of_one_scope():
    steps = [step(1), step(2), step(1, agent="sub-1"), step(1, agent="sub-2")]
    counts = {("main", 1): 30, ("main", 2): 10, ("sub-1", 1): 7, ("sub-2", 1): 13}
    events = (event(2), event(0, "activate", via="injected"), event(1, agent="sub-2"))
    rows = process(
        TrialContext("t", trajectory=trajectory(steps), events=events, step_tokens=counts)
    )
    assert [rows[name, ""].value for name in SUMS] == [40, 10, 0.25]
    assert [rows[name, "sub"].value for name in SUMS] == [20, 13, 0.65]


@pytest.mark.parametrize(
    ("steps", "counts", "reason"),
    [
        (0, {}, "no_steps"),
        (2, {("main", 1): 5}, "not_counted"),
        (2, {("main", 1): 0, ("main", 2): 0}, "no_text"),
    ],
)
def test_the_sums_are_null_where_the_share_is(steps, counts, reason):
    rows = process(TrialContext("t", trajectory=run(steps).trajectory, step_tokens=counts))
    assert {(rows[name, ""].value, rows[name, ""].reason) for name in SUMS} == {(None, reason)}


TEXT = st.text(st.characters(), max_size=20)
PLAIN = st.none() | st.booleans() | st.integers() | TEXT
VALUES = (
    PLAIN | st.floats() | st.lists(PLAIN, max_size=3) | st.dictionaries(TEXT, PLAIN, max_size=2)
)


@given(
    said=TEXT,
    calls=st.lists(
        st.tuples(st.dictionaries(TEXT, PLAIN) | st.dictionaries(TEXT, VALUES), TEXT, TEXT),
        max_size=3,
    ),
)
def test_bytes_are_those_of_the_texts(said, calls):
    step = Step(
        agent="main",
        index=1,
        line=1,
        text=said,
        calls=tuple(
            ToolCall(
                None,
                "Bash",
                "shell",
                1,
                command=asked,
                arguments=given,
                result=ToolResult(shown, 2),
            )
            for given, asked, shown in calls
        ),
    )
    whole = "\n".join(part for part in step_texts(step) if part)
    assert step_bytes(step) == len(whole.encode("utf-8", "surrogatepass"))


# Steps, Skill positions, their thirds, their bins, distributed.


def timing(context):
    return {(row.metric, row.key): row for row in run_measures.timing(context)}


def test_never_is_censored_and_step_zero_is_told_apart():
    assert timing(run(5))["first_skill_step", ""].reason == "never"
    assert timing(run(0))["first_skill_step", ""].reason == "no_steps"
    before = TrialContext("t", trajectory=run(5).trajectory, events=(event(0, "activate"),))
    assert timing(before)["first_skill_step", ""].reason == "before_first_step"
    assert timing(before)["distributed", ""].reason == "not_exposed"


def invocation(*events, steps=9, **fields):
    context = TrialContext("t", trajectory=run(steps).trajectory, events=events, **fields)
    return {(row.metric, row.key): row for row in run_measures.invocation(context)}


@pytest.mark.parametrize(
    ("kind", "fields", "invoked"),
    [
        ("activate", {}, 1),
        ("activate", {"ok": False, "content_exposed": "none"}, 0),
        ("read", {}, 1),
        ("read", {"content_exposed": "none"}, 0),
        ("read", {"resource": "x.md", "resource_class": "support"}, 0),
        ("read", {"bundled": True}, 0),
        ("list", {"resource": ".", "resource_class": "data"}, 0),
    ],
)
def test_invoked_is_an_activation_or_a_read_of_the_root_with_content(kind, fields, invoked):
    assert invocation(event(2, kind, **fields))["skill_invoked", ""].value == invoked


def test_the_log_tells_what_was_offered_where_no_manifest_does():
    offered = (OfferedSkill("p:csv"), OfferedSkill("own", bundled=True))
    run = trajectory([step(1)], offered=(*offered, OfferedSkill("q:csv")))
    context = TrialContext("t", trajectory=run, events=(event(1, skill="q:csv"),))
    rows = {row.metric: row for row in run_measures.invocation(context)}
    assert (rows["offered_skills"].value, rows["offered_never_opened"].value) == (2, 1)
    assert invocation()["offered_skills", ""].reason == "offer_not_logged"


def resource(skill, lines):
    return Resource(skill, "SKILL.md", "root", "rule\n" * lines)


ROOTS = SkillManifest((resource("csv", 10), resource("pdf", 30)), skills=("csv", "pdf"))


@pytest.mark.parametrize(
    ("events", "manifest", "shown"),
    [
        ((), ROOTS, "never"),
        ((event(1),), None, 1),  # shown whole: its length does not matter
        ((event(1, content_exposed="partial", lines=((1, 4),)),), None, "unknown_lines"),
        ((event(1, content_exposed="partial", lines=((1, 4),)),), ROOTS, 0.4),
        ((event(1, content_exposed="partial", lines=((1, 4),)),
          event(2, content_exposed="partial", lines=((3, 5), (9, 99)))), ROOTS, 0.7),
        ((event(1, content_exposed="partial", lines=((1, 4),)), event(2)), ROOTS, 1),
        ((event(1), event(2, skill="pdf", content_exposed="partial", lines=((1, 10),))), ROOTS, 0.5),
        ((event(1, content_exposed="partial", lines=None),), ROOTS, "unknown_lines"),
        ((event(1, "list", content_exposed="none"),), ROOTS, "never"),
        ((event(1, agent="helper"),), ROOTS, "never"),
        ((event(1, phantom=True),), ROOTS, "never"),
        ((event(1, resource="references/x.md", resource_class="support"),), ROOTS, "never"),
    ],
)  # fmt: skip
def test_how_much_of_the_roots_was_shown(events, manifest, shown):
    row = invocation(*events, manifest=manifest)["root_shown", ""]
    assert (row.value, row.reason) == ((None, shown) if isinstance(shown, str) else (shown, None))
