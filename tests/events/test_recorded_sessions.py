"""Sessions recorded with real agents against the labels beside them, which were written before the parsers."""

import json

import pytest

from skilljuror.events.attribute import attribute
from tests.support import goldens
from tests.support.places import GOLDENS
from tests.support.tide_table import manifest

CASES = [case for case in goldens.cases() if (GOLDENS / case / "labels.json").is_file()]


def labels(case):
    """(events, places where nothing is touched) of a case."""
    told = json.loads((GOLDENS / case / "labels.json").read_text(encoding="utf-8"))
    return told["events"], {at(one) for one in told["non_events"]}


def at(label):
    """Where a label is: a call, where each event has a file of its own, else a line."""
    return label.get("call_id") or label["line"]


def place(label):
    """What makes a label and an event the same."""
    return label.get("agent", "main"), at(label), label["kind"], label["resource"]


def seen(case):
    """place -> event of the case."""
    (run,) = goldens.trajectories(case)
    by_call = any("call_id" in one for one in labels(case)[0])
    return {
        (one.agent, one.call_id if by_call else one.line, one.kind, one.resource): one
        for one in attribute(run, manifest()).events
        if one.skill == "tide-table"
    }


@pytest.mark.parametrize("case", CASES)
def test_every_labelled_event_is_found_and_no_other(case):
    events, quiet = labels(case)
    optional = {place(one) for one in events if one.get("optional")}
    wanted = {place(one) for one in events} - optional
    found = set(seen(case))
    assert found - optional == wanted
    assert not {where for _, where, _, _ in found - optional} & quiet


@pytest.mark.parametrize("case", CASES)
def test_events_say_what_the_model_saw(case):
    found = seen(case)
    wrong = {}
    for one in labels(case)[0]:
        event = found.get(place(one))
        exposed = {one["content_exposed"], *one.get("exposed_alt", ())}
        if event and (event.ok != one["ok"] or event.content_exposed not in exposed):
            wrong[place(one)] = (event.ok, event.content_exposed)
    assert wrong == {}
