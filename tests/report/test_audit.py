"""What an audit prints for people and for tools."""

import json

import pytest

from skilljuror.audit.audit import audit, waive_findings
from skilljuror.report.audit import (
    MAX_RED,
    MAX_YELLOW,
    AuditReport,
    as_github,
    as_markdown,
    as_sarif,
    as_text,
    counted,
    told_line,
)
from tests.support.knowledge_bundles import bundle

ROOT = "kiln/SKILL.md"
HEAD = "---\nname: kiln\ndescription: Fires pots. Use when a kiln is lit.\n---\n# Kiln\n\n"
FIRING = "## Firing: by day\n\n- Heat to 1200 degrees.\n- Never open the door above 300 degrees.\n- Sweep the floor.\n- Count the whole pots.\n\n"
CARE = "## Care\n\n| part | how |\n|---|---|\n| shelf | with a soft brush |\n\nAsk the user for wax. Check every shelf.\n\n"
COOLING = "## Cooling\n\nWait until the needle is below 90.\n"
TEXT = HEAD + FIRING + CARE + COOLING


def report(after, *, before=TEXT, details=False, accepted=(), policy="edited"):
    """The report on two versions, each the text of its root or all its files."""
    parent, variant = (
        bundle({ROOT: one} if isinstance(one, str) else one) for one in (before, after)
    )
    judged = audit(parent, variant, "unclaimed", policy)
    judged = waive_findings(judged, lambda one: "wanted (Ann)" if one.rule in accepted else None)
    return AuditReport("v1", "v2", judged, lambda side, file: f"{side}/{file or ROOT}", details)


def change(*pairs, text=TEXT):
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


HOTTER = change(("1200", "1300"))
OPENED = change(("- Never open the door above 300 degrees.\n", ""))
SWEPT = change(("- Sweep the floor.\n", ""))
MANY = change(
    ("1200", "1300"), ("soft brush", "wet cloth"), ("the user", "the agent"), ("every", "some"),
    ("- Sweep the floor.\n", ""), ("## Cooling", "Shut it.\n\n## Cooling"),
)  # fmt: skip
SPLIT = {
    ROOT: HEAD + FIRING + CARE + "When the fire is out, read `references/cooling.md`.\n",
    "kiln/references/cooling.md": "# Cooling\n\nWait until the needle is below 90.\n",
}
NOTHING = "pass: nothing lost, nothing changed in meaning (policy edited)"


def test_equal_skills_are_one_line():
    shown = report(TEXT)
    assert as_text(shown) == NOTHING
    assert as_github(shown) == NOTHING
    assert NOTHING in as_markdown(shown)
    assert json.loads(as_sarif(shown))["runs"][0]["results"] == []


def test_the_verdict_is_first_and_says_how_much_was_found():
    assert as_text(report(MANY)).startswith("fail: 1 red, 4 yellow (policy edited)\n")
    assert as_text(report(SWEPT)).startswith("review: 1 yellow (policy edited)\n")
    assert as_text(report(SPLIT)).startswith(f"{NOTHING}\n")


LINES = {
    "both values": (HOTTER, "red    variant/kiln/SKILL.md:9: a number changed: 1200 → 1300"),
    "what is gone, where it was": (
        OPENED, "red    source/kiln/SKILL.md:10 (before): a duty is gone: “Never open the door above 300 degrees.”",
    ),
    "the text of a count": (
        SWEPT, "yellow source/kiln/SKILL.md:11 (before): 1 text gone below “Firing: by day”: “Sweep the floor.”",
    ),
    "the words that differ": (
        change(("soft brush", "wet cloth")),
        "yellow variant/kiln/SKILL.md:18: a table row was reworded: “a soft brush” → “a wet cloth”",
    ),
    "a text that only moved, once": (
        change(("- Sweep the floor.\n- Count the whole pots.\n", "- Count the whole pots.\n- Sweep the floor.\n")),
        "yellow variant/kiln/SKILL.md:11: text changed places with its neighbours: “Count the whole pots.”",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", LINES)
def test_a_line_has_the_place_the_kind_and_the_text(what):
    after, line = LINES[what]
    assert as_text(report(after)).splitlines()[1] == line


def test_red_is_shown_yellow_cut_and_the_rest_counted():
    lines = as_text(report(MANY)).splitlines()
    assert [line.split()[0] for line in lines] == ["fail:", "red", *["yellow"] * 3, "told", "to"]
    assert lines[4] == "yellow 2 more: a table row was reworded, text is gone (--details)"
    assert lines[5] == "told   1 text added (1 file)"


def test_so_many_red_lines_are_shown_at_most():
    items = [f"- Never sell batch {n} to the people of town {n}.\n" for n in range(30)]
    rest = "".join(f"- Wash pot {n}.\n\n" for n in range(3))
    before = "".join(f"## Day {n}\n\n{item}{rest}" for n, item in enumerate(items))
    after = "".join(f"## Day {n}\n\n{rest}" for n in range(30))
    lines = as_text(report(HEAD + after, before=HEAD + before)).splitlines()
    red = [line for line in lines if line.startswith("red")]
    assert len(red) == MAX_RED + 1
    assert red[-1] == f"red    {30 - MAX_RED} more: a duty is gone (10) (--details)"


def test_details_list_every_finding_with_its_rule_and_id():
    shown = report(MANY, details=True)
    lines = as_text(shown).splitlines()
    own = shown.judged.own
    assert len(own) > 1 + MAX_YELLOW
    assert lines[2::2] == [f"       {one.rule}, id {one.id}" for one in own]
    assert any("“Sweep the floor.”" in line for line in lines)


def test_the_way_to_accept_is_said_only_for_red():
    assert "--accept ID --reason TEXT" in as_text(report(HOTTER))
    assert "--accept" not in as_text(report(SWEPT))


def test_what_moved_was_added_and_renamed_is_one_line():
    assert told_line(report(SPLIT)) == "2 texts moved (1 file), 1 text added (1 file)"
    assert told_line(report(change(("shelf", "plate")))) == "1 renamed throughout"
    assert told_line(report(HOTTER)) == ""


def test_findings_are_counted_in_the_words_of_their_rules():
    """Also where the text of a finding has a colon."""
    found = report(MANY).of("high", "medium")
    twice = [*found, found[0]]
    assert counted(twice).startswith("a number changed (2), ")
    assert "Firing" not in counted(twice)


def test_an_accepted_finding_stays_with_its_reason_and_decides_nothing():
    shown = report(HOTTER, accepted={"edit.number"}, details=True)
    assert shown.judged.verdict == "pass"
    assert shown.verdict_line == "pass: 1 accepted (policy edited)"
    assert "accepted: wanted (Ann)" in as_text(shown)
    assert "1300" not in as_text(shown._replace(details=False))
    assert as_github(shown) == shown.verdict_line


def test_the_red_findings_of_a_comment_are_open_and_the_others_folded():
    text = as_markdown(report(MANY))
    above, *folded = text.split("<details>")
    assert text.startswith("### v2: fail\n")
    assert "a number changed: 1200 → 1300" in above
    assert [one.partition("</summary>")[0] for one in folded] == [
        "<summary>4 yellow", "<summary>1 told",
    ]  # fmt: skip
    assert "`edit.agent:" in folded[0]


HOSTILE = "- Never write ```\n\n# Approved by @maintainer <b>now</b> [all](http://a.example)\n\n"


def test_a_text_is_shown_and_not_obeyed():
    shown = as_markdown(report(TEXT, before=change(("## Care", f"{HOSTILE}## Care"))))
    assert "gone" in shown
    assert not [
        line for line in shown.splitlines() if line.startswith(("#", "`")) and "v2" not in line
    ]
    assert "@maintainer" not in shown
    assert "<b>" not in shown
    assert "[all](" not in shown


def test_the_name_of_a_folder_is_shown_and_not_obeyed():
    name = "skills/`@maintainer` [all](http://a.example)"
    shown = as_markdown(report(HOTTER)._replace(source=f"main:{name}", variant=name))
    assert "`@maintainer`" not in shown
    assert "[all](" not in shown


def test_annotations_are_one_line_each_at_a_file_of_the_change():
    lines = as_github(report(MANY)).splitlines()
    assert lines[0] == (
        "::error file=variant/kiln/SKILL.md,line=9,title=edit.number::a number changed: 1200 → 1300"
    )
    assert [line.partition(" ")[0] for line in lines] == ["::error", *["::warning"] * 4, "fail:"]
    (lost,) = (line for line in lines if "title=edit.lost" in line)
    assert lost.startswith("::warning file=variant/kiln/SKILL.md,title=")  # the line is another now


@pytest.mark.parametrize("text", ["100 %\n::error::forged", "a\r\n::set-output name=x::y"])
def test_a_text_cannot_forge_a_command(text):
    before = change(("## Care", f"- Never {text}\n\n## Care"))
    lines = as_github(report(TEXT, before=before)).splitlines()
    assert len(lines) > 1
    assert all(line.startswith(("::error file=", "::warning file=", "fail:")) for line in lines)


def test_sarif_names_rule_place_and_a_lasting_id():
    (result,) = json.loads(as_sarif(report(HOTTER)))["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("edit.number", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "variant/kiln/SKILL.md"
    assert place["region"]["startLine"] == 9
    (again,) = json.loads(as_sarif(report(HOTTER)))["runs"][0]["results"]
    assert again["partialFingerprints"] == result["partialFingerprints"]


def test_a_verdict_of_small_findings_alone_names_them():
    """Policy strict fails for new text."""
    lines = as_text(report(change(("Sweep", "Please sweep")), policy="strict")).splitlines()
    assert lines == [
        "fail: 1 told (policy strict)", "told   text was reworded (--details)",
    ]  # fmt: skip


@pytest.mark.parametrize("policy", ["strict", "rewritten", "edited"])
def test_new_text_is_told_under_every_policy(policy):
    added = change(("- Sweep the floor.", "- Sweep the floor.\n- Colours are a matter of taste."))
    assert "1 text added (1 file)" in as_text(report(added, policy=policy))


def test_the_findings_of_the_gates_have_the_same_form():
    text = as_text(report(HOTTER, policy="strict"))
    assert text.startswith("fail: 1 red (policy strict)\nred    variant/kiln/SKILL.md:9: ")
    assert "a number changed: 1200 → 1300" in text
