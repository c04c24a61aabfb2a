"""Token accounting of Codex, old and new."""

from skilljuror.logs.codex.token_usage import UsageMeter


def totals(**counts):
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
    return {name: counts.get(name.split("_")[0], 0) for name in names}


def test_differences_of_a_repeated_total():
    meter = UsageMeter()
    first = {"total_token_usage": totals(input=100, cached=20, output=5)}
    assert meter.token_count(first) is not None
    assert meter.token_count(first) is None
    meter.token_count({"total_token_usage": totals(input=150, cached=60, output=9)})
    assert meter.total is not None
    assert (meter.total.input, meter.total.cache_read, meter.total.output) == (90, 60, 9)
    assert meter.total.cache_write is None


def test_total_that_starts_again():
    meter = UsageMeter()
    meter.token_count({"total_token_usage": totals(input=100, output=5)})
    meter.token_count({
        "total_token_usage": totals(input=40, output=2),
        "last_token_usage": totals(input=40, output=2),
    })
    assert meter.total is not None
    assert (meter.total.input, meter.total.output) == (140, 7)


def test_records_win_over_counts():
    meter = UsageMeter()
    record = {"response_id": "r", "usage": {"input_tokens": 9, "output_tokens": 1}}
    assert meter.usage_record(record) is not None
    assert meter.usage_record(record) is None
    assert meter.token_count({"total_token_usage": totals(input=9, output=1)}) is None
