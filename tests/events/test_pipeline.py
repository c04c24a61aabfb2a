"""What programs in a row do to the files they are given.

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
    observed_events,
    ran_each,
)

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


def test_line_numbers_are_not_learned_as_text():
    shown = "".join(f"{n:4} {line}\n" for n, line in enumerate(TAXES.splitlines(), 1))
    calls = ran_each(
        (f"bat --style=numbers {REFERENCES}/taxes.md", shown), (f"cat {REFERENCES}/taxes.md", TAXES)
    )
    first, again = observed_events(*calls)
    assert (first.lines, again.lines, again.note) == (((1, 3),), ((1, 3),), "")


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
