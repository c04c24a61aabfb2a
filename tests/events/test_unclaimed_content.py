"""Outputs that show a resource although no command names it."""

import pytest

from skilljuror.base.trajectory import (
    Resource,
    SkillManifest,
    ToolCall,
    ToolResult,
)
from tests.support.attribution_runs import (
    BUNDLE,
    FORMAT,
    MANIFEST,
    SCRIPT,
    SKILL,
    TAXES,
    events_of,
    observed_events,
    ran,
    ran_each,
)


def test_a_sub_agents_answer_is_not_a_read():
    answer = ToolCall("c2", "Agent", "agent", 20, result=ToolResult(SKILL, 21, True))
    assert [
        one.line for one in observed_events(*ran_each((f"cat {BUNDLE}/SKILL.md", SKILL)), answer)
    ] == [10]


def test_an_output_that_shows_a_known_text_is_a_read_without_a_command():
    (event,) = events_of(ran("make show-ledger", f"building\n{SKILL}done\n"))
    assert (event.kind, event.resource, event.witness) == ("read", "SKILL.md", "content")
    assert (event.content_exposed, event.lines) == ("full", ((1, 10),))


@pytest.mark.parametrize(
    "output", ["Column 2 holds the value of rule number 2.\n", "---\n\nx\n", SCRIPT[:20]]
)
def test_a_line_or_two_are_no_proof(output):
    assert events_of(ran("make", output)) == []


@pytest.mark.parametrize(
    ("first", "last", "events"), [(5, 9, 0), (5, 13, 0), (5, 16, 1), (3, 20, 1), (1, 31, 1)]
)
def test_a_quoted_example_is_no_read_and_a_long_piece_is(first, last, events):
    text = "\n".join(["manual", *FORMAT.split("\n")[first - 1 : last], "end"])
    assert len(events_of(ran("cat docs/manual.md", text))) == events


TEMPLATE = (
    "# Report of the ledger\n\nPrepared for the board of the company.\n\n## Summary of sales\n\n"
    "## Open questions\n\nSigned by the keeper of the ledger.\n"
)


WITH_TEMPLATE = SkillManifest(
    resources=(*MANIFEST.resources, Resource("ledger", "assets/report.md", "support", TEMPLATE)),
    roots=MANIFEST.roots, skills=MANIFEST.skills,
)  # fmt: skip


REPORT = TEMPLATE.replace("\n\n## Open", "\n\nSales rose.\nCosts fell.\nNothing is due.\n\n## Open")


FOREIGN = "\n".join(TEMPLATE.split("\n")[:5]) + "\n\n" + "Another harbour, another year.\n" * 9


@pytest.mark.parametrize("text", [REPORT, FOREIGN], ids=["filled-in", "another-report"])
@pytest.mark.parametrize("tool", ["cat", "read"])
def test_a_file_with_lines_of_a_template_is_not_the_template(tool, text):
    read = ToolCall(
        "c1", "Read", "read", 2, path="/srv/app/out/report.md", result=ToolResult(text, 3, True)
    )
    call = ran("cat out/report.md", text) if tool == "cat" else read
    assert events_of(call, manifest=WITH_TEMPLATE) == []


@pytest.mark.parametrize(
    ("text", "resource"),
    [(TEMPLATE, "assets/report.md"), (TAXES, "references/taxes.md"), (FORMAT, "references/format.md")],
    ids=["template", "short", "long"],
)  # fmt: skip
@pytest.mark.parametrize("around", ["", "{}", "== old.md\n{}"], ids=["empty", "alone", "headed"])
def test_a_copy_that_no_command_names_is_found(text, resource, around):
    shown = around.format(text)
    events = events_of(ran("cat backup/old.md", shown), manifest=WITH_TEMPLATE)
    expected = [(resource, "full", "content")] if shown else []
    assert [(one.resource, one.content_exposed, one.witness) for one in events] == expected
