"""What stays in the context: shares, losses and returns, worked out by hand from invented runs."""

import pytest

from tests.support import fabricated_records as fake
from tests.support.compacted_runs import A, B, asked, logged
from tests.support.fabricated_studies import rows

SHARES = ("third_share", "two_thirds_share", "resident_share")
LOSSES = ("lost", "came_back", "median_steps_back")


def test_a_file_that_is_lost_and_shown_again(tmp_path):
    """Six steps: a at 1, b at 2, a compaction after 2, a again at 5. After 2 steps none of two is
    there, after 4 none, at the end one; a came back after three steps."""
    run = logged("one", [(1, A), (2, B), (5, A)], [(2, (0, 1), ())], steps=6)
    found = asked(tmp_path, [run], "residency", "item", *SHARES, *LOSSES)
    assert found == [("file", 0.0, 0.0, 0.5, 2, 1, 3.0)]


def test_text_that_a_compaction_keeps_or_shows_again_is_not_lost(tmp_path):
    again = (2, B, {"via": "reinjected"})
    run = logged("one", [(1, A), (2, B), again], [(2, (0, 1), (0,))], steps=6)
    found = asked(tmp_path, [run], "residency", *SHARES, *LOSSES)
    assert found == [(1.0, 1.0, 1.0, 0, 0, None)]
    columns = ("resource", "held", "stayed", "lost", "unknown", "came_back")
    assert rows(tmp_path / "study.duckdb", "compacted_files", *columns) == [
        (A, 1, 1, 0, 0, 0),
        (B, 1, 1, 0, 0, 0),
    ]


def test_what_a_second_compaction_takes_counts_again(tmp_path):
    """a is lost, comes back after one step, and is lost again for good."""
    run = logged("one", [(1, A), (3, A)], [(2, (0,), ()), (4, (1,), ())], steps=6)
    found = asked(tmp_path, [run], "residency", "compactions", *SHARES, *LOSSES)
    assert found == [(2, 0.0, 0.0, 0.0, 2, 1, 1.0)]
    columns = ("resource", "runs", "held", "lost", "came_back", "median_steps_back")
    assert rows(tmp_path / "study.duckdb", "compacted_files", *columns) == [(A, 1, 2, 2, 1, 1.0)]


def test_a_log_that_does_not_say_what_stayed_is_left_out_and_counted(tmp_path):
    runs = [
        logged("unknown", [(1, A)], [(2, (0,), None)]),
        logged("known", [(1, A)]),
        logged("nothing", []),
    ]
    columns = ("readable", "compacted", "showed", "unknown", "resident_share", "lost")
    assert asked(tmp_path, runs, "residency", *columns) == [(3, 1, 2, 1, 1.0, 0)]
    assert rows(tmp_path / "study.duckdb", "compacted_files", "lost", "unknown") == [(0, 1)]


@pytest.mark.parametrize(
    ("shown", "reason"), [([], "nothing_shown"), ([(1, A)], "kept_unknown")]
)  # fmt: skip
def test_a_share_that_nobody_knows_has_a_reason(tmp_path, shown, reason):
    had = tuple(range(len(shown)))
    columns = ("resident_share", "resident_share_reason", *LOSSES)
    found = asked(tmp_path, [logged("one", shown, [(2, had, None)])], "residency", *columns)
    assert found == [(None, reason, None, None, None)]


def test_a_certain_loss_after_an_unknown_one(tmp_path):
    """The second compaction keeps nothing: at the end the file is gone for sure, but when it went is
    unknown, so the run stays out."""
    run = logged("one", [(1, A)], [(1, (0,), None), (3, (0,), ())])
    columns = ("unknown", "resident_share", "lost")
    assert asked(tmp_path, [run], "residency", *columns) == [(1, None, None)]


def test_the_items_are_units_where_there_is_a_map(tmp_path):
    """Two units of a, one of b; the compaction keeps b's event."""
    units = {A: [("u1", 10), ("u2", 20)], B: [("u3", 30)]}
    plan = fake.plan(["alpha"], ("no-skill", "pd"))
    key = fake.name_of("alpha", "pd")
    runs = [
        logged(key, [(1, A), (1, B)], [(2, (0, 1), (1,))], units, trial=key),
        fake.replaced(logged("none", [], trial=fake.name_of("alpha", "no-skill")), offered=()),
    ]
    columns = ("condition", "item", "compacted", "showed", "resident_share", "lost")
    assert asked(tmp_path, runs, "residency", *columns, plan=plan) == [
        ("no-skill", "file", 0, 0, None, None),
        ("pd", "unit", 1, 1, pytest.approx(1 / 3), 2),
    ]
