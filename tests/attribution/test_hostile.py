"""Shapes that real agents write and that fool a search for paths: with a bundle, and without one.

Without a manifest nothing is known but what the log shows, so the outputs are what the commands
print; the expectations are those of the events (kind, resource, exposure).
"""

import pytest

from tests.support.attribution_runs import (
    BUNDLE,
    FORMAT,
    REFERENCES,
    TAXES,
    observed,
)


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
    found = observed(command.replace("@", REFERENCES), output)
    assert {one[:3] for one in found} == {
        ("read", "references/format.md", exposed),
        ("read", "references/taxes.md", exposed),
    }


@pytest.mark.parametrize(
    "command",
    [f"test -f {BUNDLE}/SKILL.md && echo yes", f"[ -d {BUNDLE} ] || mkdir x", f"[[ -e {BUNDLE} ]]"],
)
def test_asking_whether_a_file_is_there_touches_nothing(command):
    assert observed(command, "yes\n") == []


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("awk '{print NR\": \"$0}' @", "1: # Taxes\n2: No\n3: Above\n", ("read", "full")),
        ("awk '{printf \"%s\\n\", $0}' @", TAXES, ("read", "full")),
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
