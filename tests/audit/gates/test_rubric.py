"""What code answers to the items of the rubric."""

import pytest

from skilljuror.audit.gates.rubric import code_answers, load_rubric
from skilljuror.base.build import Finding, GateResult
from tests.support import fabricated_records as fake

ROOT, SUPPORT = "csv-report/SKILL.md", "csv-report/references/a.md"


def layout(*rules, waived=None):
    findings = tuple(
        Finding(rule=rule, severity="high", file=SUPPORT, waived=waived) for rule in rules
    )
    return [GateResult(
        gate="layout", variant="pd", parent="baseline", policy="strict", verdict="pass",
        findings=findings,
    )]  # fmt: skip


def test_layouts_are_asked_what_they_promise():
    rubric = load_rubric()
    sd, pd = ["SD-1", "SD-2", "SD-3", "SD-4"], ["PD-1", "PD-2", "PD-3"]
    asked = {
        name: [item.id for item in rubric.items_of(name)]
        for name in (
            "origin",
            "baseline",
            "origin-flat",
            "flat-files",
            "flat-toc",
            "pd",
            "placebo-unrouted",
        )
    }
    assert asked == {
        "origin": [], "baseline": sd, "origin-flat": sd, "flat-files": sd, "flat-toc": sd,
        "pd": [*pd, *sd], "placebo-unrouted": [],
    }  # fmt: skip


@pytest.mark.parametrize(("lines", "answer"), [(300, "yes"), (301, "no")])
def test_a_root_has_at_most_300_lines(lines, answer):
    entry = fake.manifest("pd", [ROOT, SUPPORT])
    root = entry.files[0].model_copy(update={"lines": lines})
    entry = entry.model_copy(update={"files": (root, *entry.files[1:])})
    assert code_answers(entry, layout())["PD-1"] == answer


def test_without_content_beside_the_root_there_is_nothing_to_lead_to():
    answers = code_answers(fake.manifest("pd", [ROOT]), layout())
    assert (answers["PD-2"], answers["PD-3"]) == ("no", "no")


@pytest.mark.parametrize("rule", ["layout.pd-unnamed", "layout.pd-cue"])
def test_a_file_that_no_row_leads_to_is_a_no_until_somebody_waives_it(rule):
    entry = fake.manifest("pd", [ROOT, SUPPORT])
    assert code_answers(entry, layout(rule))["PD-3"] == "no"
    assert code_answers(entry, layout(rule, waived="it is named in a table (Ann)"))["PD-3"] == "yes"
    assert code_answers(entry, layout("layout.pd-support"))["PD-3"] == "yes"


def test_where_no_gate_has_looked_code_does_not_know():
    assert code_answers(fake.manifest("pd", [ROOT, SUPPORT]), [])["PD-3"] is None
