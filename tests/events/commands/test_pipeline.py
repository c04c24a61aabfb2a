"""What programs in a row do to the files they are given.

Without a manifest nothing is known but what the log shows, so the outputs are what the commands
print; the expectations are those of the events (kind, resource, exposure).
"""

import pytest

from skilljuror.events.commands.pipeline import command_accesses
from tests.support.attribution_runs import (
    BUNDLE,
    FORMAT,
    FRONT,
    REFERENCES,
    SKILL,
    TAXES,
    observed,
    observed_events,
    ran,
    ran_each,
)
from tests.support.shell_texts import read_shell

READ_TAXES = ("read", "references/taxes.md", "full")
EXEC = ("exec", "scripts/total.py", "none")


def short(command, output="", **more):
    """(kind, resource, exposure) of one command."""
    return [one[:3] for one in observed(command, output, **more)]


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
        ("while true; do cat @/format.md @/taxes.md; done > /dev/null", "none"),
    ],
)
def test_what_a_group_prints_goes_through_what_follows_it(command, exposed):
    lines = (FORMAT + TAXES).splitlines()[: 20 if exposed == "partial" else 50]
    output = "" if exposed == "none" else "\n".join(lines) + "\n"
    found = observed(command.replace("@", REFERENCES), output)
    assert {one[:3] for one in found} == {
        ("read", "references/format.md", exposed),
        ("read", "references/taxes.md", exposed),
    }


@pytest.mark.parametrize(
    ("command", "output", "files"),
    [
        ("[ -f @/no.md ] && cat @/no.md; cat @/taxes.md", TAXES, ["taxes"]),
        ("test -f @/no.md && cat @/no.md && echo; cat @/taxes.md", TAXES, ["taxes"]),
        ("if [ -f @/no.md ]; then cat @/no.md; fi; cat @/taxes.md", TAXES, ["taxes"]),
        ("[ -f @/taxes.md ] && cat @/taxes.md", TAXES, ["taxes"]),
        ("cat @/taxes.md || cat @/no.md", TAXES, ["taxes"]),
        ("cat ./notes.md || cat @/taxes.md", TAXES, []),
        ("cat @/no.md || cat @/taxes.md", f"cat: @/no.md: No such file or directory\n{TAXES}", ["no", "taxes"]),
        ("cat /root/.codex/skills/ledger/references/taxes.md 2>/dev/null || cat @/taxes.md", TAXES, ["taxes"]),
        ("grep -q x a || { cat @/taxes.md; echo; }", "", []),
    ],
)  # fmt: skip
def test_a_command_that_may_not_run_needs_a_witness(command, output, files):
    found = short(command.replace("@", REFERENCES), output.replace("@", REFERENCES))
    assert [path for _, path, _ in found] == [f"references/{name}.md" for name in files]


def test_a_loop_over_a_glob_finds_no_root_in_an_inner_folder():
    loop = 'for f in references/*.md SKILL.md; do echo "== $f"; cat "$f"; done'
    output = f"== references/taxes.md\n{TAXES}== SKILL.md\n{FRONT}# Ledger\n"
    found = short(f"cd {BUNDLE} && {loop}", output)
    assert found == [READ_TAXES, ("read", "SKILL.md", "full")]


def test_a_glob_that_may_match_other_files_gives_none_their_lines():
    find = f"find {BUNDLE} -name '*.md' -exec cat {{}} +"
    (root,) = observed_events(ran(find, f"{SKILL}{TAXES}"))
    assert (root.resource, root.content_exposed) == ("SKILL.md", "full")
    assert (root.lines, root.text_digest) == (None, None)


def test_line_numbers_are_not_learned_as_text():
    shown = "".join(f"{n:4} {line}\n" for n, line in enumerate(TAXES.splitlines(), 1))
    calls = ran_each(
        (f"bat --style=numbers {REFERENCES}/taxes.md", shown), (f"cat {REFERENCES}/taxes.md", TAXES)
    )
    first, again = observed_events(*calls)
    assert (first.lines, again.lines, again.note) == (((1, 3),), ((1, 3),), "")


@pytest.mark.parametrize(
    "command",
    [f"test -f {BUNDLE}/SKILL.md && echo yes", f"[ -d {BUNDLE} ] || mkdir x", f"[[ -e {BUNDLE} ]]"],
)
def test_asking_whether_a_file_is_there_touches_nothing(command):
    assert observed(command, "yes\n") == []


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("awk '{print $1}' @", "#\nNo\nAbove\n", ("read", "partial")),
        ("column -t @", TAXES, ("read", "partial")),
        ("tr a-z A-Z < @", TAXES.upper(), ("read", "partial")),
        ("printf '%s\\n' @ | xargs cat", TAXES, ("read", "full")),
        ("echo @ | xargs -I{} cat {}", TAXES, ("read", "full")),
        ("cat @ | grep tax | wc -l", "1\n", ("read", "none")),
        ("grep -o '12-tax' @", "12-tax\n", ("search", "partial")),
        ("sed -n -e 1,2p -e 3p @", TAXES, ("read", "partial")),
        ("git show HEAD:.claude/skills/ledger/references/taxes.md", TAXES, ("read", "full")),
    ],
)
def test_programs_that_print_a_file_in_their_own_way(command, output, expected):
    (found,) = observed(command.replace("@", f"{REFERENCES}/taxes.md"), output)
    assert (found[0], found[2]) == expected
    assert found[1] == "references/taxes.md"
    if found[0] == "search":
        assert found[3] is None


def test_awk_that_goes_on_to_the_next_line_prints_a_part():
    command = f"awk 'NR>2{{next}} {{print}}' {REFERENCES}/taxes.md"
    assert short(command, "# Taxes\n") == [("read", "references/taxes.md", "partial")]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("jq . @/assets/a.json 2>/dev/null || python3 -m json.tool @/assets/a.json", ("read", "assets/a.json", "partial")),
        ("cat @/references/taxes.md || sed -n '1,200p' @/references/taxes.md", READ_TAXES),
        ("python @/scripts/total.py || python3 @/scripts/total.py", EXEC),
        ("cp @/assets/a.json out/ 2>/dev/null || cp @/assets/a.json .", ("read", "assets/a.json", "none")),
    ],
)  # fmt: skip
def test_a_second_try_at_the_same_file_is_one_access(command, expected):
    output = TAXES if expected[2] != "none" else ""
    assert short(command.replace("@", BUNDLE), output) == [expected]


def test_a_second_try_in_other_letters_is_one_access():
    command = f"cat {BUNDLE}/SKILL.md 2>/dev/null || cat {BUNDLE}/skill.md"
    assert short(command, SKILL) == [("read", "SKILL.md", "full")]


def test_what_several_files_take_goes_into_the_first():
    commands = read_shell("cat SKILL.md > a.md > /dev/stderr 2> c.md > b.md", "/w")
    found = command_accesses(commands, "/h")
    assert [(one.path, one.kind, one.source, one.shown) for one in found[:3]] == [
        ("/w/SKILL.md", "read", None, False),
        ("/w/a.md", "write", "/w/SKILL.md", True),
        ("/w/b.md", "write", None, True),
    ]
