"""Accepted findings of a repository: the waivers of builds, in a file that a revision holds."""

import pytest

from skilljuror.audit.audit import audit
from skilljuror.base.errors import UsageError
from skilljuror.review.waivers import accept, accept_known, read_accepted
from tests.support.knowledge_bundles import skill

DUTY = "Never open the door."
TEXT = f"# Kiln\n\nLoad the pots.\n\n{DUTY}\n\nFire slowly. Count them. Let it cool.\n\n## Care\n\nSweep it.\n"
BEFORE = skill(TEXT)
AFTER = skill(TEXT.replace(DUTY, "").replace("Sweep it.", ""))
JUDGED = audit(BEFORE, AFTER, "unclaimed", "edited")
IDS = {one.rule: one.id for one in JUDGED.own}


def test_an_accepted_finding_is_a_waiver_with_reason_person_and_text(tmp_path):
    file = tmp_path / ".skilljuror" / "accepted.yaml"
    accept(JUDGED, [IDS["edit.duty-lost"]], "a lock was built in", "Ann", "skills/kiln", file)
    (row,) = read_accepted(file.read_bytes(), "accepted.yaml")
    assert (row.build, row.by, row.reason) == ("skills/kiln", "Ann", "a lock was built in")
    assert row.about.source_text == DUTY
    left = accept_known(JUDGED, [row], ["skills/kiln"])
    assert (JUDGED.verdict, left.verdict) == ("fail", "review")
    assert accept_known(JUDGED, [row], ["skills/oven"]).verdict == "fail"


def test_more_are_added_and_the_same_one_is_replaced(tmp_path):
    file = tmp_path / "accepted.yaml"
    one = IDS["edit.duty-lost"]
    accept(JUDGED, [one], "first", "Ann", "skills/kiln", file)
    accept(JUDGED, [one], "second", "Bob", "skills/kiln", file)
    accept(JUDGED, ["all"], "third", "Bob", "skills/oven", file)
    rows = read_accepted(file.read_bytes(), "accepted.yaml")
    assert [(row.build, row.reason) for row in rows] == [
        ("skills/kiln", "second"), ("skills/oven", "third"), ("skills/oven", "third"),
    ]  # fmt: skip
    assert accept_known(JUDGED, rows, ["skills/oven"]).verdict == "pass"


@pytest.mark.parametrize(
    ("ids", "reason", "message"),
    [(["edit.gone:0"], "why", "unknown finding"), (["all"], " ", "requires a reason")],
)
def test_an_unknown_id_and_a_missing_reason_are_refused(tmp_path, ids, reason, message):
    with pytest.raises(UsageError, match=message):
        accept(JUDGED, ids, reason, "Ann", "skills/kiln", tmp_path / "accepted.yaml")


@pytest.mark.parametrize("text", [b"- 1", b"a: b", b"[", b"- {finding: x}", b"text", b"\xff"])
def test_a_file_that_is_no_list_of_waivers_is_one_line(text):
    with pytest.raises(UsageError, match=r"accepted\.yaml is not a list of accepted findings"):
        read_accepted(text, "accepted.yaml")


def test_an_empty_file_accepts_nothing():
    assert read_accepted(b"", "accepted.yaml") == []
