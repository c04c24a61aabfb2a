import pytest
from msgspec.structs import replace

from skilljuror.base.results import Price, TrialContext
from skilljuror.base.texts import PRICES, cost, price_of
from skilljuror.base.trajectory import Usage
from skilljuror.measures.metrics.efficiency import measure
from tests.support.metric_contexts import record, step, trajectory

GPT = price_of("gpt-5.4", None)


def efficiency(usage=None, steps=(), prices=None, model="gpt-5.4", **fields):
    run = trajectory(steps, usage=usage, model=model)
    context = TrialContext("t", record=record(**fields), trajectory=run, prices=prices)
    return {(row.metric, row.key): row for row in measure(context)}


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
    main = step(1, usage=Usage(input=1_000_000, cache_write=0, cache_read=0, output=0))
    other = replace(main, agent="advisor", model="claude-haiku-4-5")
    twice = Usage(input=2_000_000, cache_write=0, cache_read=0, output=0)
    for usage in (None, twice):
        assert efficiency(usage, (main, other))["cost_usd", ""].value == 2.5 + 1
    unknown = efficiency(twice, (main, replace(other, model="of nobody")))
    assert (unknown["cost_usd", ""].value, unknown["cost_usd", ""].reason) == (None, "no_price")
    stated = efficiency(Usage(input=9, cache_write=0, cache_read=0, output=0), (main, other))
    assert stated["cost_usd", ""].value == pytest.approx(2.5 * 9e-6)


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


def test_a_cloud_name_finds_the_vendors_price():
    cloud = price_of("us.anthropic.claude-haiku-4-5-20251001-v1:0", None)
    assert cloud is not None
    assert cloud == price_of("claude-haiku-4-5", None)


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


def test_packaged_prices_are_dated_and_plausible():
    assert len({price.model for price in PRICES}) == len(PRICES)
    for price in PRICES:
        assert price.cache_read < price.input <= price.cache_write < price.output
        assert price.as_of


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
