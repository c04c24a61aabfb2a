"""Reasons of rows: whole sentences of the source, with a condition or a purpose."""

import pytest

from skilljuror.base.skill import Blob
from skilljuror.layouts.disclosure.row_cues import (
    Candidate,
    chosen_cues,
    cues_in_file,
    states_situation,
    whole_cue,
)
from skilljuror.layouts.disclosure.trigger_cues import code_cue, short_title, topics
from skilljuror.skill.bundles import make_bundle
from skilljuror.skill.markdown import MarkdownIndex
from tests.support.laid_out import laid_out


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Check the door for gaps: `python3 scripts/door.py --all`", "Check the door for gaps"),
        ("Run this script from its folder: `scripts/door.py`", ""),
        ("See the template at: `scripts/door.py`", ""),
        ("The order in which to light it is that of", ""),
        ("scripts/door.py - how fast a kiln may be heated", "how fast a kiln may be heated"),
        ("The curves that suit clay: `scripts/door.py`", "The curves that suit clay"),
        ("Will it bend?", ""),
    ],
)  # fmt: skip
def test_a_cue_is_a_whole_sentence_or_none(source: str, expected: str) -> None:
    assert whole_cue(source, ["scripts/door.py"]) == expected


@pytest.mark.parametrize(
    ("sentence", "states"),
    [
        ("Use it when the cone leans.", True), ("Read it to seal a door.", True),
        ("Only for gas kilns.", True), ("How fast a kiln is heated.", False),
        ("See the guide for the guide.", False), ("Good: fire it when cold.", False),
        ("“Light it if it is cold.”", False), ("e.g. when it is cold", False),
    ],
)  # fmt: skip
def test_a_reason_states_a_condition_or_a_purpose(sentence: str, states: bool) -> None:
    assert states_situation(sentence) is states


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n\nUse this page when the kiln is cold. More.\n", ["Use this page when the kiln is cold."]),
        ("# A\n\nThe kiln is cold.\n\nUse this page when it is.\n", []),
        ("# A\n\n- Use it when the kiln is cold.\n", []),
        ("# A\n\nThey help when the kiln is cold.\n", []),
    ], ids=["opening", "not the first", "item", "points back"],
)  # fmt: skip
def test_a_file_gives_its_reason_in_its_first_sentence(text: str, expected: list[str]) -> None:
    lines = text.split("\n")
    assert [one.cue for one in cues_in_file(MarkdownIndex(lines), [(0, len(lines))])] == expected


def test_a_sentence_of_two_files_is_a_reason_of_neither_unless_it_names_one() -> None:
    same = Candidate("If cold, wait.", "If cold, wait.")
    named = Candidate("If hot, see a.md.", "If hot, see a.md.", named=True)
    plain = Candidate("If hot, see a.md.", "If hot, see a.md.")
    assert chosen_cues({"a.md": [named, same], "b.md": [same, plain]}) == {
        "a.md": ["If hot, see a.md."], "b.md": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "cue"),
    [
        (["Stop the kiln and vent it", "Usage: stop.sh <kiln>"], "Stop the kiln and vent it"),
        (["Kiln logger", "Writes one row a minute.", "Returns: rows"], "Writes one row a minute."),
        (["Usage: stop.sh <kiln>", "Example: stop.sh 3"], "Usage: stop.sh <kiln>"),
    ],
    ids=["usage below", "title above", "usage alone"],
)
def test_a_script_tells_what_it_is_for_before_how_it_is_called(lines: list[str], cue: str) -> None:
    text = "#!/bin/sh\n" + "".join(f"# {line}\n" for line in lines) + "true\n"
    assert code_cue("stop.sh", text) == cue


@pytest.mark.parametrize(
    ("title", "short"),
    [
        ("pypdf - Basic Operations", "pypdf"), ("Template 1: Pinecone Implementation", "Pinecone Implementation"),
        ("pdftotext (poppler-utils)", "pdftotext"), ("Example: Using with_server.py", "Using with_server.py"),
        ("Directory.Build.targets", "Directory.Build.targets"), ("Red-Green-Refactor", "Red-Green-Refactor"),
    ],
)  # fmt: skip
def test_a_short_title_keeps_what_is_specific(title: str, short: str) -> None:
    assert short_title(title) == short


def test_headings_of_a_change_log_tell_nothing() -> None:
    assert topics(["Kiln log", "Added", "Fixed", "Other"]) == "Kiln log"


def _pointers(*sections: str) -> list[str]:
    """The lines of `pd` that lead to sections, each with a long table."""
    table = "| pot | cone |\n|---|---|\n" + "".join(
        f"| pot {n} of the {{0}} shelf | cone {n} |\n" for n in range(60)
    )
    head = "---\nname: kiln\ndescription: How a kiln is fired.\n---\n# Kiln\n\nFire it slowly.\n\n"
    text = head + "\n".join(one + table.format(n) for n, one in enumerate(sections))
    source = make_bundle("kiln", {"kiln/SKILL.md": Blob(text.encode())})
    root = laid_out(source, "baseline", "pd")["pd"].files["kiln/SKILL.md"].text or ""
    return [line for line in root.split("\n") if line.startswith("When the task involves ")]


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("## Reference\n\nCones of {} kilns. More.\n\n", "Reference: Cones of gas kilns"),
        (
            "## Fire with {}\n\n1. Be slow.\n\n### Examples of cones\n\nIn order.\n\n",
            "Fire with gas: Examples of cones",
        ),
        ("## 参考\n\nCones of {} kilns.\n\n", "参考: Cones of gas kilns"),
    ],
    ids=["first sentence", "heading above", "no Latin letters"],
)
def test_rows_about_sections_of_one_title_are_told_apart(section: str, told: str) -> None:
    rows = _pointers(section.format("gas"), section.format("wood"))
    assert len(rows) == 2
    assert rows[0].startswith(f"When the task involves {told}, read ")
    assert told.replace("gas", "wood") in rows[1]


def test_a_file_of_a_section_without_latin_letters_is_named_for_its_first_sentence() -> None:
    assert (
        "](references/cones-of-gas-kilns.md)" in _pointers("## 参考\n\nCones of gas kilns.\n\n")[0]
    )
