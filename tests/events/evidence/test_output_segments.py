"""Several reads in one output: which lines belong to which."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.events.evidence import output_segments as split
from tests.support.attribution_runs import (
    BUNDLE,
    FORMAT,
    REFERENCES,
    ROOT,
    SKILL,
    TAXES,
    events_of,
    observed,
    observed_events,
    ran,
    unknown_tool,
)
from tests.support.generated_texts import MANY, glued


def test_two_skill_files_in_one_output_part_at_their_front_matter():
    other = "---\nname: other\n---\n# Other\nThat is all.\n"
    command = f"sed -n '1,220p' {BUNDLE}/SKILL.md && sed -n '1,180p' {ROOT}/other/SKILL.md"
    first, second = observed_events(ran(command, SKILL + other))
    assert (first.lines, second.lines) == (((1, 10),), ((1, 5),))


def test_headers_part_the_output_of_one_command():
    output = f"==> {BUNDLE}/SKILL.md <==\n---\nname: ledger\n\n==> {BUNDLE}/references/taxes.md <==\n{TAXES}"
    first, second = observed_events(
        ran(f"head -n 2 {BUNDLE}/SKILL.md {BUNDLE}/references/taxes.md", output)
    )
    assert (first.lines, second.resource) == (((1, 2),), "references/taxes.md")


def test_a_rule_echoed_between_two_files_is_not_the_front_matter():
    head, front = FORMAT.split("\n")[:10], SKILL.split("\n")[:10]
    output = "\n".join([*front, "---", *head]) + "\n"
    command = f"bash -lc 'cd {BUNDLE} && sed -n 1,10p SKILL.md && echo --- && sed -n 1,10p references/format.md'"
    assert observed(command, output) == [
        ("read", "SKILL.md", "partial", ((1, 10),)),
        ("read", "references/format.md", "partial", ((1, 10),)),
    ]


def test_a_rule_that_the_files_hold_too_parts_nothing():
    notes = "# Notes\n***\nOne.\n"
    command = f"cat {REFERENCES}/notes.md; echo '***'; cat {REFERENCES}/taxes.md"
    assert [one[2:] for one in observed(command, f"{notes}***\n{TAXES}")] == [("full", None)] * 2


@pytest.mark.parametrize(
    "loop",
    [
        'for f in format taxes; do echo "== $f"; cat @/$f.md; done',
        "for f in @/format.md @/taxes.md; do echo \"== $(basename $f .md)\"; cat \"$f\"; done",
        "for f in format.md taxes.md\ndo\n  printf '== %s\\n' ${f%.md}\n  cat @/$f\ndone",
        'cd @; for f in format taxes; do echo -e "\\n== $f"; sed -n 1,200p $f.md; done',
    ],
)  # fmt: skip
def test_a_loop_prints_its_files_one_after_the_other(loop):
    output = f"== format\n{FORMAT}== taxes\n{TAXES}"
    if "-e" in loop:
        output = "\n" + output.replace("== taxes", "\n== taxes")
    found = observed(loop.replace("@", REFERENCES), output)
    assert [one[:3] for one in found] == [
        ("read", "references/format.md", "full"),
        ("read", "references/taxes.md", "full"),
    ]


def test_a_text_echoed_where_a_read_failed_may_be_missing():
    command = f"cat {BUNDLE}/SKILL.md || echo none; echo '== taxes'; cat {REFERENCES}/taxes.md"
    assert observed(command, f"{SKILL}== taxes\n{TAXES}") == [
        ("read", "SKILL.md", "full", ((1, 10),)),
        ("read", "references/taxes.md", "full", ((1, 3),)),
    ]


def test_an_exit_status_echoed_after_a_file_is_no_line_of_it():
    command = f'cat {REFERENCES}/taxes.md; echo "exit: $?"'
    assert observed(command, f"{TAXES}exit: 0\n") == [
        ("read", "references/taxes.md", "full", ((1, 3),))
    ]


def test_headings_of_head_name_files_as_the_command_does():
    output = f"==> references/taxes.md <==\n{TAXES}\n==> scripts/total.py <==\nimport sys\n"
    listed = ran(f"find {BUNDLE} -type f", f"{REFERENCES}/taxes.md\n{REFERENCES}/old.md\n")
    shown = ran(
        f"cd {BUNDLE} && head -50 references/*.md scripts/*.py", output, call_id="c2", line=9
    )
    found = [(one.resource, one.lines) for one in events_of(listed, shown, manifest=None)]
    assert found == [
        (".", None),
        ("references/taxes.md", ((1, 3),)),
        ("scripts/total.py", ((1, 1),)),
    ]


TIDES = "---\nname: tides\ndescription: Predict tides.\n---\n# Tides\nLook up the port first.\n"


def both(command, output):
    """(skill, resource, exposure, lines) of a command over two skills."""
    return [
        (one.skill, one.resource, one.content_exposed, one.lines)
        for one in events_of(ran(command, output), manifest=None)
    ]


def test_headings_tell_the_files_of_two_skills_apart():
    front, tides = SKILL.split("\n")[:4], TIDES.split("\n")[:4]
    output = "\n".join([
        f"==> {ROOT}/ledger/SKILL.md <==", *front, "", f"==> {ROOT}/tides/SKILL.md <==", *tides,
    ])  # fmt: skip
    assert both(f"head -n 4 {ROOT}/*/SKILL.md", output) == [
        ("ledger", "SKILL.md", "partial", ((1, 4),)),
        ("tides", "SKILL.md", "partial", ((1, 4),)),
    ]


def test_a_heading_of_a_file_elsewhere_is_nobody_s():
    output = (
        f"==> {BUNDLE}/SKILL.md <==\n---\nname: ledger\n\n==> notes/SKILL.md <==\n# Notes\nx\ny\n"
    )
    command = f"head -n 2 {BUNDLE}/SKILL.md /srv/notes/SKILL.md"
    assert observed(command, output.replace("notes/", "/srv/notes/")) == [
        ("read", "SKILL.md", "partial", ((1, 2),))
    ]


def test_a_tool_that_reads_many_files_heads_each():
    text = f"--- {BUNDLE}/SKILL.md ---\n\n{SKILL}\n\n--- {REFERENCES}/taxes.md ---\n\n{TAXES}\n\n--- End of content ---"
    paths = [f"{BUNDLE}/SKILL.md", f"{REFERENCES}/*.md"]
    assert unknown_tool("read_many_files", text, paths=paths) == [
        ("read", "SKILL.md", "full", ((1, 10),)),
        ("read", "references/taxes.md", "full", ((1, 3),)),
    ]


def test_many_files_without_headings_share_an_output_and_no_lines():
    text = f"{SKILL}\n{TAXES}"
    paths = [f"{BUNDLE}/SKILL.md", f"{REFERENCES}/taxes.md"]
    assert {one[2:] for one in unknown_tool("read_files", text, paths=paths)} == {("full", None)}


@MANY
@given(lines=st.lists(glued("==> ", "--- ", " <==", " ---", "a", " ", most=4), max_size=6))
def test_headings_are_told_by_their_beginning(lines):
    assert split.has_file_headers(lines) == any(split._HEADER.match(line) for line in lines)
