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
        f"cp -r {BUNDLE} /tmp/mine && cat /tmp/mine/references/taxes.md",
        f"cp -r {BUNDLE} . && cat ledger/references/taxes.md",
        f"cp -r {BUNDLE}/references docs && cat docs/taxes.md",
        f"cp {REFERENCES}/taxes.md notes.md; cat notes.md",
        f"cp {REFERENCES}/taxes.md /tmp; cat /tmp/taxes.md",
        f"rsync -a {BUNDLE}/ /tmp/mine/ && cat /tmp/mine/references/taxes.md",
        f"ln -s {BUNDLE} kit && cat kit/references/taxes.md",
        f"ln -sfn {REFERENCES}/taxes.md t.md; cat t.md",
        f"cat {REFERENCES}/taxes.md > t.md && cat t.md",
        f"cp -r {BUNDLE} a && cp -r a b && cat b/references/taxes.md",
    ],
)
def test_a_copy_shows_what_the_original_says(command):
    found = [one for one in observed(command, TAXES) if one[2] != "none"]
    assert found == [("read", "references/taxes.md", "full", ((1, 3),))]


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


def test_a_link_is_taken_for_a_copy():
    linked = ran(f"ln -s {BUNDLE} kit")
    shown = ran("cat kit/references/taxes.md", TAXES, call_id="c2", line=9)
    run = ran("python3 kit/scripts/total.py a", "total 7\n", call_id="c3", line=12)
    found = [(one.kind, one.resource) for one in events_of(linked, shown, run, manifest=None)]
    assert found == [("read", "references/taxes.md"), ("import", "scripts/total.py")]


def test_a_copied_script_stays_a_copy_when_files_beside_it_are_read():
    copied = ran(f"cp -r {BUNDLE} /tmp/mine")
    shown = ran("cat /tmp/mine/SKILL.md", SKILL, call_id="c2", line=9)
    run = ran("python3 /tmp/mine/scripts/total.py a", "total 7\n", call_id="c3", line=12)
    found = [(one.kind, one.resource) for one in events_of(copied, shown, run, manifest=None)]
    assert found == [("read", "SKILL.md"), ("import", "scripts/total.py")]


def test_a_copy_into_a_folder_whose_name_the_log_does_not_tell():
    call = ran(f"cp {REFERENCES}/taxes.md . && cat taxes.md", TAXES)
    found = [(one.kind, one.content_exposed) for one in events_of(call, manifest=None, cwd=None)]
    assert found == [("read", "none"), ("read", "full")]
