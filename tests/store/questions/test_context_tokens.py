"""Tokens that Skill text costs, worked out by hand from invented runs; 400 bytes count as 100 tokens."""

import pytest

from tests.support import fabricated_records as fake
from tests.support.compacted_runs import A, B, asked, logged
from tests.support.fabricated_studies import rows

COLUMNS = ("source", "basis", "tokens", "share", "uncached", "cached")
USAGE = [(1000, 0), (500, 500), (100, 900), (100, 900)]
"""Four requests of 1,000 tokens."""


def test_text_costs_its_tokens_in_every_later_request(tmp_path):
    """a arrives at step 1: 100 tokens in the requests of steps 2, 3 and 4. In the first of them it is
    new, of the other two 90 % are cached: 100 + 10 + 10 of 300 tokens."""
    found = asked(tmp_path, [logged("one", [(1, A)], usage=USAGE)], "context_tokens", *COLUMNS)
    assert found == [
        ("all input", "measured", 4000, 1, 1700, 2300),
        ("all but Skill text", "difference", 3700, pytest.approx(0.925), 1580, 2120),
        (A, "estimated", 300, pytest.approx(0.075), pytest.approx(120), pytest.approx(180)),
    ]


def test_a_compaction_ends_the_cost_and_a_second_showing_adds_to_it(tmp_path):
    """a: one request before the compaction after step 2, one after it returned at step 3. b: shown
    before the first step and kept, in all four. A second showing is in the context twice."""
    shown = [(1, A), (0, B), (3, A), (3, B)]
    run = logged("one", shown, [(2, (0, 1), (1,))], usage=USAGE)
    found = asked(tmp_path, [run], "context_tokens", "source", "tokens")
    assert found == [("all input", 4000), ("all but Skill text", 3300), (B, 500), (A, 200)]


def test_the_shares_of_all_parts_are_one(tmp_path):
    runs = [logged("one", [(1, A), (1, B)], usage=USAGE), logged("two", [(2, B)], usage=USAGE)]
    found = asked(tmp_path, runs, "context_tokens", "share", "measured", "tokens")
    assert sum(share for share, *_ in found[1:]) == pytest.approx(1)
    assert {measured for _, measured, _ in found} == {2}
    assert [tokens for *_, tokens in found] == [4000, 3600, 250, 150]  # means of two runs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (logged("odd", [(1, A)]), "no_usage in 1"),
        (logged("odd", [(1, A)], values={"tokens input": "no_model"}), "no_model in 1"),
        (logged("odd", [(1, A)], [(2, (0,), None)], usage=USAGE), "kept_unknown in 1"),
        (logged("odd", [(1, A, {"shown_bytes": None})], usage=USAGE), "not_counted in 1"),
        (logged("odd", [(1, A, {"shown_bytes": 8000})], usage=USAGE), "above_total in 1"),
    ],
    ids=["no usage", "a reason of the log", "unknown", "uncounted", "more than all"],
)
def test_a_run_that_is_not_measured_is_left_out_and_named(tmp_path, run, reason):
    """8,000 bytes are 2,000 tokens, in three requests 6,000 of 4,000: not clipped, but refused."""
    columns = ("source", "readable", "measured", "reason", "tokens", "share", "cached")
    found = asked(tmp_path / "1", [run], "context_tokens", *columns)
    names = ("all input", "all but Skill text", A)
    assert found == [(name, 1, 0, reason, None, None, None) for name in names]
    both = asked(
        tmp_path / "2", [run, logged("good", [(1, A)], usage=USAGE)], "context_tokens", *columns
    )
    assert [one[1:5] for one in both] == [(2, 1, reason, n) for n in (4000, 3700, 300)]


def test_a_step_without_usage_in_a_log_with_it_is_no_request_of_its_own(tmp_path):
    usage = [*USAGE[:2], None, USAGE[3]]
    run = logged("one", [(1, A)], usage=usage)
    found = asked(tmp_path, [run], "context_tokens", "source", "tokens", "cached")
    assert found == [
        ("all input", 3000, 1400), ("all but Skill text", 2800, 1310), (A, 200, pytest.approx(90)),
    ]  # fmt: skip


def test_a_log_with_totals_alone_has_no_split(tmp_path):
    values = {"tokens input": 1700, "tokens cache_read": 2300, "tokens cache_write": "not_reported"}
    run = logged("one", [(1, A)], values=values)
    found = asked(tmp_path, [run], "context_tokens", "source", "tokens", "uncached", "cached")
    assert found == [
        ("all input", 4000, 1700, 2300), ("all but Skill text", 3700, None, None), (A, 300, None, None),
    ]  # fmt: skip


UNITS = {A: [("u1", 10), ("u2", 20)], B: [("u3", 30)]}
UNIT_ROWS = (
    [
        {"build": "alpha", "unit": unit, "kind": kind, "text": unit, "tokens": tokens}
        for unit, kind, tokens in (("u1", "statement", 10), ("u2", "code", 20), ("u3", "code", 30))
    ],
    [
        {"build": "alpha", "unit": unit, "variant": "pd", "file": f"csv-report/{file}"}
        | {"first_line": line, "last_line": line}
        for unit, file, line in (("u1", A, 1), ("u2", A, 2), ("u3", B, 1))
    ],
)


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    """Two trials of an arm with a knowledge map, one of which was shown b."""
    folder = tmp_path_factory.mktemp("mapped")
    plan = fake.plan(["alpha"], ("no-skill", "pd"), trials=2)
    runs = [
        logged("a", [(1, A)], units=UNITS, trial=fake.name_of("alpha", "pd", 1), usage=USAGE),
        logged(
            "b", [(2, A), (2, B)], units=UNITS, trial=fake.name_of("alpha", "pd", 2), usage=USAGE
        ),
        fake.replaced(
            logged("c", [], trial=fake.name_of("alpha", "no-skill", 1), usage=USAGE), offered=()
        ),
    ]
    asked(folder, runs, "context_tokens", plan=plan, units=UNIT_ROWS)
    return folder / "study.duckdb"


@pytest.mark.parametrize(
    ("by", "parts"),
    [("file", [("references/a.md", 75), ("references/b.md", 30)]), ("kind", [("code", 80), ("statement", 25)])],
)  # fmt: skip
def test_units_are_summed_by_file_or_kind(mapped, by, parts):
    """a (30 tokens) in 3 and 2 requests, b (30) in 2: 75 and 30 a trial."""
    found = rows(mapped, "context_tokens", "condition", "source", "tokens", by=by)
    assert found[:2] == [("no-skill", "all input", 4000), ("no-skill", "all but Skill text", 4000)]
    assert found[2:4] == [("pd", "all input", 4000), ("pd", "all but Skill text", 3895)]
    assert found[4:] == [("pd", *part) for part in parts]


def test_text_without_a_known_unit_costs_its_bytes(tmp_path):
    """The lines of the second event are unknown: no unit, but 400 bytes in three requests."""
    plan = fake.plan(["alpha"], ("no-skill", "pd"))
    shown = [(1, A), (1, "references/c.md", {"content_exposed": "partial", "lines": None})]
    run = logged("a", shown, units=UNITS, trial=fake.name_of("alpha", "pd"), usage=USAGE)
    found = asked(tmp_path, [run], "context_tokens", "source", "tokens", plan=plan, units=UNIT_ROWS)
    assert found[-2:] == [("references/c.md", 300), (A, 90)]
