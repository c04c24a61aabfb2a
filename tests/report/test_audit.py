"""What an audit prints for people and for tools."""

import json

import pytest

from skilljuror.audit.audit import audit, moves, reasons, waive_findings
from skilljuror.audit.audit_sections import section_changes
from skilljuror.base.skill import Blob
from skilljuror.report.audit import (
    AuditReport,
    as_github,
    as_markdown,
    as_sarif,
    as_text,
    folded,
)
from skilljuror.skill.bundles import make_bundle

HEAD = "---\nname: kiln\ndescription: Fires pots. Use when a kiln is lit.\n---\n# Kiln\n\n"
FIRING = "## Firing\n\n- Heat to 1200 degrees.\n- Never open the door above 300 degrees.\n"
COOLING = "## Cooling\n\nWait until the needle stands below 90.\n"
SCRIPT = "".join(f"print({n} * {n})\n" for n in range(40))
OTHER = "".join(f"value_{n} = load('{n}')\n" for n in range(40))


def bundle(**files):
    return make_bundle(
        "kiln",
        {
            f"kiln/{name.replace('__', '/').replace('_', '.')}": Blob(text.encode(), False)
            for name, text in files.items()
        },
    )


def report(parent, variant, policy="edited", *, details=True, accepted=()):
    judged = audit(parent, variant, "unclaimed", policy)
    judged = waive_findings(judged, lambda one: "wanted (Ann)" if one.rule in accepted else None)
    return AuditReport(
        "v1", "v2", judged, reasons(judged), section_changes(parent, variant, judged),
        moves(parent, variant), lambda side, file: f"{side}/{file or 'kiln/SKILL.md'}", details,
    )  # fmt: skip


def lines_of(parent, variant, **options):
    """What a terminal shows, without the verdict and the way to the details."""
    lines = as_text(report(parent, variant, details=False, **options)).splitlines()
    return [line for line in lines if not line.startswith(("verdict", "every finding"))]


V1 = bundle(SKILL_md=HEAD + FIRING + COOLING, scripts__fire_py=SCRIPT)
HOTTER = bundle(SKILL_md=HEAD + FIRING.replace("1200", "1300") + COOLING, scripts__fire_py=SCRIPT)
REPLACED = bundle(SKILL_md=HEAD + FIRING + COOLING, scripts__fire_py=OTHER)
SPLIT = bundle(
    SKILL_md=HEAD + FIRING + "Read `references/cooling.md` when the kiln cools.\n",
    references__cooling_md="# Kiln\n\n" + COOLING,
    scripts__fire_py=SCRIPT,
)


def test_a_bundle_against_itself_finds_nothing():
    told = report(V1, V1)
    assert told.judged.verdict == "pass"
    assert as_text(told).startswith("verdict: pass (policy edited; 0 findings")
    assert as_github(told) == told.verdict_line
    assert "No text was lost" in as_markdown(told)


GONE = bundle(SKILL_md=HEAD + FIRING, scripts__fire_py=SCRIPT)


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        (HOTTER, (
            "knowledge.number  variant: variant/kiln/SKILL.md:9", "− Heat to 1200 degrees.",
            "+ Heat to 1300 degrees.", "verdict: review: knowledge.number (1)",
        )),
        (GONE, ("source: source/kiln/SKILL.md:13",)),  # what is missing stands in the source
    ],
)  # fmt: skip
def test_a_finding_shows_its_texts_where_it_stands(variant, words):
    told = as_text(report(V1, variant))
    assert [word for word in words if word not in told] == []


def test_a_changed_script_is_one_finding_with_its_diff():
    (found,) = report(V1, REPLACED).judged.own
    assert found.rule == "knowledge.file-changed"
    assert found.source_text == SCRIPT.strip()
    assert found.variant_text == OTHER.strip()


def test_lines_in_a_row_are_one_finding_that_shows_the_first_of_them():
    added = "".join(f"- Never fire batch {n} above {n}00 degrees.\n" for n in range(1, 31))
    more = bundle(SKILL_md=HEAD + FIRING + added + COOLING, scripts__fire_py=SCRIPT)
    told = report(V1, more)
    (one,) = folded(told.judged.own)
    assert len(one.findings) == 30
    assert as_text(told).count("\n        + Never fire batch") == 12
    assert "(with 29 more findings of its lines)" in as_text(told)


def test_a_comment_tells_what_moved_where():
    told = as_markdown(report(V1, SPLIT))
    assert "| `kiln/SKILL.md` | Kiln › Cooling | `kiln/references/cooling.md` |" in told


def test_a_text_cannot_leave_its_block_nor_call_a_person():
    hostile = "- Never write ```\n\n# Approved by @maintainer\n"
    changed = bundle(SKILL_md=HEAD + FIRING + hostile + COOLING, scripts__fire_py=SCRIPT)
    told = as_markdown(report(V1, changed))
    for block in told.split("````diff")[1:]:
        assert "````" in block
    outside = told.split("\n")
    assert "# Approved by @maintainer" not in outside


def test_the_name_of_a_folder_is_shown_and_not_obeyed():
    name = "skills/`@maintainer` [all](http://a.example)"
    told = as_markdown(report(V1, HOTTER)._replace(source=f"main:{name}", variant=name))
    assert "`@maintainer`" not in told
    assert "[all](" not in told


def test_annotations_are_one_line_each_at_a_file_of_the_change():
    lines = as_github(report(V1, HOTTER)).splitlines()
    assert lines[0].startswith("::warning file=variant/kiln/SKILL.md,line=9,title=Firing::")
    assert "1200" in lines[0]
    assert len(lines) == 2


@pytest.mark.parametrize("text", ["100 %\n::error::forged", "a\r\n::set-output name=x::y"])
def test_a_text_cannot_forge_a_command(text):
    changed = bundle(
        SKILL_md=HEAD + FIRING + f"- Never {text}\n" + COOLING, scripts__fire_py=SCRIPT
    )
    for line in as_github(report(V1, changed)).splitlines():
        assert line.startswith(("::error file=", "::warning file=", "::notice file=", "verdict"))


def test_sarif_names_rule_place_and_a_lasting_id():
    told = json.loads(as_sarif(report(V1, HOTTER)))
    (result,) = told["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("knowledge.number", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "variant/kiln/SKILL.md"
    assert place["region"]["startLine"] == 9
    again = json.loads(as_sarif(report(V1, HOTTER)))["runs"][0]["results"][0]
    assert again["partialFingerprints"] == result["partialFingerprints"]


def test_reasons_name_the_rules_that_decided_and_no_others():
    told = report(V1, bundle(SKILL_md=HEAD + FIRING.replace("Never open", "Open") + COOLING))
    assert told.judged.verdict == "fail"
    assert any(reason.startswith("knowledge.file-lost") for reason in told.reasons)
    assert not any(reason.startswith("knowledge.reworded") for reason in told.reasons)


def test_a_section_is_one_line_with_what_changed_in_it():
    (line,) = lines_of(V1, HOTTER)
    assert line.startswith("review variant/kiln/SKILL.md:9 Firing: a number changed: ")
    assert line.endswith("“to 1200 degrees.” → “to 1300 degrees.”")


def test_a_section_that_moved_whole_is_one_line_for_its_file():
    assert lines_of(V1, SPLIT) == ["moved  Cooling → variant/kiln/references/cooling.md"]


def test_a_removed_section_says_where_its_duties_are_and_which_is_gone():
    duties = ["Always wear gloves.", "Never run near it.", "Verify the lid.", "Do not eat there."]
    before = bundle(SKILL_md=HEAD + "## Remember\n\n" + "\n\n".join(duties) + "\n\n" + COOLING)
    after = bundle(
        SKILL_md=HEAD + "Read `references/duties.md` near a hot kiln.\n\n" + COOLING,
        references__duties_md="# Near a hot kiln\n\n" + "\n\n".join(duties[:3]) + "\n",
    )
    (line, *_) = lines_of(before, after)
    assert line.startswith("fail   source/kiln/SKILL.md:")
    assert "Remember: removed; 3 of 4 duties now in variant/kiln/references/duties.md" in line
    assert line.endswith("a duty is missing: “Do not eat there.”")


def test_sections_removed_with_nothing_kept_share_a_line():
    parts = [f"## Part {n}\n\nUse `tool-{n}` at {n} degrees.\n\n" for n in range(2, 9)]
    before = bundle(SKILL_md=HEAD + FIRING + "".join(parts))
    shown = [line for line in lines_of(before, bundle(SKILL_md=HEAD + FIRING)) if "Part" in line]
    assert shown == ["review removed entirely: Part 2, Part 3, Part 4, Part 5 and 3 more"]


def test_a_script_shows_its_changed_lines():
    after = bundle(
        SKILL_md=HEAD + FIRING + COOLING, scripts__fire_py=SCRIPT.replace("7 * 7", "7 + 7")
    )
    lines = lines_of(V1, after)
    assert lines[0].startswith(
        "review variant/kiln/scripts/fire.py:1: the content of a file changed"
    )
    assert lines[-2:] == ["  − print(7 * 7)", "  + print(7 + 7)"]


def test_an_accepted_finding_stays_with_its_reason_and_decides_nothing():
    told = report(V1, HOTTER, accepted={"knowledge.number"})
    assert told.judged.verdict == "pass"
    assert "1 accepted" in told.verdict_line
    (line,) = lines_of(V1, HOTTER, accepted={"knowledge.number"})
    assert line.startswith("info ")
    assert line.endswith("[accepted: wanted (Ann)]")


def test_the_findings_of_a_comment_are_folded():
    text = as_markdown(report(V1, HOTTER))
    above, _, below = text.partition("<details><summary>1 finding</summary>")
    assert "Firing: a number changed" in above
    assert "+ Heat to 1300 degrees." in below
    assert "knowledge.number:" in below
