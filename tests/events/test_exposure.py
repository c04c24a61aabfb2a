"""Knowledge units that reached the agent, in every variant by the lines at which they stand."""

import pytest
from msgspec import structs

from skilljuror.base.results import TrialContext
from skilljuror.base.skill import MappedUnit, Unit, UnitLocation
from skilljuror.events.exposure import expose
from skilljuror.measures import run_measures
from tests.support.attribution_runs import BUNDLE, FORMAT, SKILL, TAXES, events_of, ran, run_of


def unit(name, flat, spread):
    source = Unit(name, "statement", "ledger/SKILL.md", 1, 1, (), name)
    return MappedUnit(source, {"baseline": flat, "pd-only": spread})


def place(file, start, end):
    return UnitLocation(f"ledger/{file}", start, end)


UNITS = [
    unit("sale", place("SKILL.md", 6, 6), place("SKILL.md", 6, 6)),
    unit("column-2", place("SKILL.md", 40, 40), place("references/format.md", 3, 3)),
    unit("column-9", place("SKILL.md", 50, 51), place("references/format.md", 10, 11)),
    unit("no-tax", place("SKILL.md", 60, 60), place("references/taxes.md", 2, 2)),
    unit("lost", place("SKILL.md", 70, 70), None),
]


def exposed(*calls, variant="pd-only"):
    return expose(run_of(), events_of(*calls), UNITS, variant)


def names(exposure):
    return [one.unit for one in exposure.seen]


def test_a_full_read_shows_every_unit_of_the_file():
    found = exposed(ran(f"cat {BUNDLE}/references/format.md", FORMAT))
    assert names(found) == ["column-2", "column-9"]
    assert (found.units, found.shown_bytes) == (4, len(FORMAT))


def test_a_partial_read_shows_the_units_it_touches():
    part = "\n".join(FORMAT.split("\n")[10:14])
    assert names(exposed(ran(f"sed -n '11,14p' {BUNDLE}/references/format.md", part))) == [
        "column-9"
    ]


def test_a_unit_is_told_at_every_event_that_showed_it():
    calls = [
        ran(f"cat {BUNDLE}/references/taxes.md", TAXES, call_id=f"c{n}", line=n) for n in (2, 4)
    ]
    found = exposed(*calls)
    assert [(one.unit, one.step, one.ordinal, one.agent) for one in found.seen] == [
        ("no-tax", 1, 0, "main"),
        ("no-tax", 2, 1, "main"),
    ]
    values = {
        m.metric: m.value
        for m in run_measures.exposure(TrialContext("t", None, run_of(), (), found))
    }
    assert (values["units_exposed"], values["unit_repeats"]) == (1, 1)


@pytest.mark.parametrize(
    ("variant", "expected"), [("baseline", ["sale"]), ("pd-only", ["sale"]), ("none", [])]
)
def test_the_same_units_are_asked_about_in_every_variant(variant, expected):
    part = "\n".join(SKILL.split("\n")[4:9])
    found = exposed(ran(f"sed -n '5,9p' {BUNDLE}/SKILL.md", part), variant=variant)
    assert names(found) == expected


def test_a_part_that_nobody_can_place_is_counted_and_shows_nothing():
    found = exposed(ran(f"awk '/sale/' {BUNDLE}/SKILL.md", "Every SALE is\nwritten\n"))
    assert (names(found), found.extra) == ([], {"unplaced_events": 1.0})


def test_what_a_skill_of_the_agent_itself_shows_is_left_out():
    (own,) = events_of(ran(f"cat {BUNDLE}/references/taxes.md", TAXES))
    found = expose(run_of(), [structs.replace(own, bundled=True)], UNITS, "pd-only")
    assert (found.seen, found.shown_bytes) == ((), 0)


@pytest.mark.parametrize(("file", "seen"), [
    ("ledger/references/format.md", ("x",)),
    ("group/ledger/references/format.md", ("x",)),
    ("other/ledger/references/format.md", ()),
    ("other/references/format.md", ()),
    ("ledger/ledger/references/format.md", ()),
])  # fmt: skip
def test_the_outermost_folder_of_a_skill_s_name_is_the_skill(file, seen):
    units = [unit("x", None, UnitLocation(file, 1, 1))]
    events = events_of(ran(f"cat {BUNDLE}/references/format.md", FORMAT))
    found = expose(run_of(), events, units, "pd-only", ("ledger", "other", "references"))
    assert tuple(names(found)) == seen


def test_a_search_counts_the_bytes_of_the_lines_that_it_printed():
    lines = FORMAT.split("\n")
    number = next(n for n, line in enumerate(lines, 1) if "number 7." in line)
    path = f"{BUNDLE}/references/format.md"
    read, found = (
        exposed(ran(command, shown))
        for command, shown in (
            (f"sed -n {number}p {path}", lines[number - 1]),
            (f"grep -n 'number 7' {path}", f"{number}:{lines[number - 1]}"),
        )
    )
    assert names(read) == names(found)
    assert read.shown_bytes == found.shown_bytes == len(lines[number - 1].encode()) + 1
