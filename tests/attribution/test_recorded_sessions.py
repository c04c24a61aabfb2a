"""Sessions recorded with real agents against the labels beside them, which were written before the parsers."""

import json

import pytest

from skilljuror.attribution.attribute import attribute
from skilljuror.models.events import ResourceEvent
from tests.support import goldens
from tests.support.places import GOLDENS
from tests.support.tide_table import manifest

CASES = [case for case in goldens.cases() if (GOLDENS / case / "labels.json").is_file()]


def labels(case):
    """(events, lines where nothing is touched) of a case."""
    told = json.loads((GOLDENS / case / "labels.json").read_text(encoding="utf-8"))
    return told["events"], {one["line"] for one in told["non_events"]}


def place(event):
    """What makes a label and an event the same."""
    if isinstance(event, ResourceEvent):
        return event.agent, event.line, event.kind, event.resource
    return event.get("agent", "main"), event["line"], event["kind"], event["resource"]


def seen(case):
    """place -> event of the case."""
    (run,) = goldens.trajectories(case)
    return {
        place(one): one for one in attribute(run, manifest()).events if one.skill == "tide-table"
    }


@pytest.mark.parametrize("case", CASES)
def test_every_labelled_event_is_found_and_no_other(case):
    events, quiet = labels(case)
    optional = {place(one) for one in events if one.get("optional")}
    wanted = {place(one) for one in events} - optional
    found = set(seen(case))
    assert found - optional == wanted
    assert not {line for _, line, _, _ in found - optional} & quiet


@pytest.mark.parametrize("case", CASES)
def test_events_say_what_the_model_saw(case):
    found = seen(case)
    wrong = {
        place(one): (found[place(one)].ok, found[place(one)].content_exposed)
        for one in labels(case)[0]
        if place(one) in found
        and (found[place(one)].ok, found[place(one)].content_exposed)
        != (one["ok"], one["content_exposed"])
    }
    assert wrong == {}
