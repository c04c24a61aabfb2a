"""Several reads in one output: which lines belong to which."""

import pytest

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
)


def test_two_skill_files_in_one_output_part_at_their_front_matter():
    other = "---\nname: other\n---\n# Other\nThat is all.\n"
    command = f"sed -n '1,220p' {BUNDLE}/SKILL.md && sed -n '1,180p' {ROOT}/other/SKILL.md"
    first, second = observed_events(ran(command, SKILL + other))
    assert (first.lines, second.lines) == (((1, 10),), ((1, 5),))


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


TIDES = "---\nname: tides\ndescription: Predict tides.\n---\n# Tides\nLook up the port first.\n"


def both(command, output):
    """(skill, resource, exposure, lines) of a command over two skills."""
    return [
        (one.skill, one.resource, one.content_exposed, one.lines)
        for one in events_of(ran(command, output), manifest=None)
    ]
