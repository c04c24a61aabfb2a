"""Copies of bundled files, and links to them."""

import pytest

from tests.support.attribution_runs import (
    BUNDLE,
    REFERENCES,
    SKILL,
    TAXES,
    events_of,
    observed,
    ran,
)


@pytest.mark.parametrize(
    "command",
    [
        f"cp -r {BUNDLE} . && cat notes.md README.md",
        f"cp -r {BUNDLE} /tmp && cat /tmp/references.md",
        f"cp {REFERENCES}/taxes.md . && cat other.md",
        f"cp -r {BUNDLE} /tmp/mine && cat /tmp/mine/unheard-of.txt",
        "mkdir -p skills/ledger && cp notes.md skills/ledger/SKILL.md && cat skills/ledger/SKILL.md",
    ],
)
def test_what_lies_beside_a_copy_is_none(command):
    assert [one for one in observed(command, TAXES) if one[2] != "none"] == []


def test_a_copied_script_that_is_run_is_helper_code():
    found = observed(f"cp -r {BUNDLE}/scripts tools && python3 tools/total.py x.csv", "total 7\n")
    assert [one[:2] for one in found] == [("import", "scripts/total.py")]


def test_a_copied_script_stays_a_copy_when_files_beside_it_are_read():
    copied = ran(f"cp -r {BUNDLE} /tmp/mine")
    shown = ran("cat /tmp/mine/SKILL.md", SKILL, call_id="c2", line=9)
    run = ran("python3 /tmp/mine/scripts/total.py a", "total 7\n", call_id="c3", line=12)
    found = [(one.kind, one.resource) for one in events_of(copied, shown, run, manifest=None)]
    assert found == [("read", "SKILL.md"), ("import", "scripts/total.py")]
