"""Shapes that real agents write and that fool a search for paths: with a bundle, and without one.

Without a manifest nothing is known but what the log shows, so the outputs are what the commands
print; the expectations are those of the events (kind, resource, exposure).
"""

import pytest

from tests.attribution.runs import (
    BUNDLE,
    FORMAT,
    ROOT,
    SKILL,
    TAXES,
    events_of,
    ran,
)

REFERENCES = f"{BUNDLE}/references"


def seen(command, output="", *, manifest=None, **more):
    """(kind, resource, exposure, lines) of one command in a log of its own."""
    return [
        (one.kind, one.resource, one.content_exposed, one.lines)
        for one in events_of(ran(command, output, **more), manifest=manifest)
    ]


def test_a_rule_echoed_between_two_files_is_not_the_front_matter():
    head, front = FORMAT.split("\n")[:10], SKILL.split("\n")[:10]
    output = "\n".join([*front, "---", *head]) + "\n"
    command = f"bash -lc 'cd {BUNDLE} && sed -n 1,10p SKILL.md && echo --- && sed -n 1,10p references/format.md'"
    assert seen(command, output) == [
        ("read", "SKILL.md", "partial", ((1, 10),)),
        ("read", "references/format.md", "partial", ((1, 10),)),
    ]


def test_a_rule_that_the_files_hold_too_parts_nothing():
    notes = "# Notes\n***\nOne.\n"
    command = f"cat {REFERENCES}/notes.md; echo '***'; cat {REFERENCES}/taxes.md"
    assert [one[2:] for one in seen(command, f"{notes}***\n{TAXES}")] == [("full", None)] * 2


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
    found = seen(loop.replace("@", REFERENCES), output)
    assert [one[:3] for one in found] == [
        ("read", "references/format.md", "full"),
        ("read", "references/taxes.md", "full"),
    ]


@pytest.mark.parametrize(
    ("command", "exposed"),
    [
        ("{ cat @/format.md; cat @/taxes.md; } | head -n 50", "full"),
        ("{ cat @/format.md; cat @/taxes.md; } | head -n 20", "partial"),
        ("(cat @/format.md; cat @/taxes.md) 2>&1 | sed -n '1,20p'", "partial"),
        ("for f in format taxes; do cat @/$f.md; done | head -20", "partial"),
        ("bash -lc 'cat @/format.md @/taxes.md' | head -20", "partial"),
        ("{ cat @/format.md; cat @/taxes.md; } > both.md", "none"),
        ("for f in format taxes; do cat @/$f.md; done > both.md", "none"),
        ("(cat @/format.md; cat @/taxes.md) | wc -l", "none"),
        ("if true; then cat @/format.md @/taxes.md; fi > /dev/null", "none"),
    ],
)
def test_what_a_group_prints_goes_through_what_follows_it(command, exposed):
    lines = (FORMAT + TAXES).splitlines()[: 20 if exposed == "partial" else 50]
    output = "" if exposed == "none" else "\n".join(lines) + "\n"
    found = seen(command.replace("@", REFERENCES), output)
    assert {one[:3] for one in found} == {
        ("read", "references/format.md", exposed),
        ("read", "references/taxes.md", exposed),
    }


def test_a_text_echoed_where_a_read_failed_may_be_missing():
    command = f"cat {BUNDLE}/SKILL.md || echo none; echo '== taxes'; cat {REFERENCES}/taxes.md"
    assert seen(command, f"{SKILL}== taxes\n{TAXES}") == [
        ("read", "SKILL.md", "full", ((1, 10),)),
        ("read", "references/taxes.md", "full", ((1, 3),)),
    ]


def test_an_exit_status_echoed_after_a_file_is_no_line_of_it():
    command = f'cat {REFERENCES}/taxes.md; echo "exit: $?"'
    assert seen(command, f"{TAXES}exit: 0\n") == [
        ("read", "references/taxes.md", "full", ((1, 3),))
    ]


def test_the_home_folder_need_not_be_known():
    for place in ("$HOME", "${HOME}", "~"):
        command = f"cat {place}/.agents/skills/ledger/SKILL.md"
        (event,) = events_of(ran(command, SKILL), manifest=None, home=None, format="codex-exec")
        assert (event.skill, event.resource, event.ok) == ("ledger", "SKILL.md", True)


@pytest.mark.parametrize(
    "command", [f"ls -R {ROOT}", f"find {ROOT} -type f", f"tree {ROOT}", f"ls -la {ROOT}/"]
)
def test_a_listing_of_all_skills_is_aimed_at_none(command):
    output = f"{ROOT}:\nledger\n\n{BUNDLE}:\nSKILL.md\nreferences\n"
    assert seen(command, output) == []
