"""Named policies: from findings to a verdict."""

import pytest

from skilljuror.audit.edited import edit_rules
from skilljuror.audit.gates.policies import policies, policy, worst
from skilljuror.audit.gates.rules import RULES
from skilljuror.base.build import Finding
from skilljuror.base.errors import UsageError
from tests.support.every import every


def found(rule, count=1, *, inherited=False):
    severity = {**RULES, **edit_rules()}[rule].severity
    fields = {
        "rule": rule,
        "severity": severity,
        "file": "a.md",
        "message": "",
        "inherited": inherited,
    }
    return [Finding(line=n + 1, **fields) for n in range(count)]


def test_the_packaged_policies_name_only_rules_that_exist():
    for name in policies():
        named = policy(name)
        assert named.name == name
        assert set(named.rules) | set(named.limits) <= {*RULES, *edit_rules()}


REVIEWED = {"layout.pd-support", "layout.pd-root-size", "edit.routing"}


@every(
    "rule",
    [r for r in {**RULES, **edit_rules()} if not r.startswith("size.") and r not in REVIEWED],
)
def test_strict_fails_on_everything(rule):
    assert policy("strict").verdict(found(rule), 1000) == "fail"


def test_nothing_to_disclose_is_reviewed_if_an_engine_moved_text_and_fails_if_a_person_did():
    verdicts = [
        policy(one).verdict(found("layout.pd-support"), 10) for one in ("strict", "rewritten")
    ]
    assert verdicts == ["review", "fail"]


@pytest.mark.parametrize("named", ["strict", "rewritten"])
def test_a_long_file_is_only_told(named):
    assert policy(named).verdict(found("size.one-read"), 1000) == "pass"


@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        ("edit.negation", "fail"),
        ("edit.comparator", "fail"),
        ("edit.file-lost", "fail"),
        ("edit.duty-lost", "fail"),
        ("edit.file", "review"),
        ("edit.number", "review"),
        ("edit.modal", "review"),
        ("edit.fact-added", "review"),
        ("edit.context", "review"),
        ("edit.reworded", "pass"),
    ],
)
def test_llm_sends_most_alterations_to_a_person(rule, verdict):
    assert policy("rewritten").verdict(found(rule), 1000) == verdict


@pytest.mark.parametrize(
    ("rule", "count", "verdict"),
    [
        ("edit.lost", 10, "pass"),
        ("edit.lost", 11, "review"),
        ("edit.lost", 30, "review"),
        ("edit.lost", 31, "fail"),
        ("edit.added", 20, "pass"),
        ("edit.added", 21, "review"),
        ("edit.added", 51, "fail"),
    ],
)
def test_llm_allows_a_share_of_plain_statements(rule, count, verdict):
    assert policy("rewritten").verdict(found(rule, count), 1000) == verdict


def test_inherited_findings_decide_nothing():
    assert policy("strict").verdict(found("edit.negation", inherited=True), 10) == "pass"


def test_worst_of_nothing_is_pass():
    assert worst([]) == "pass"
    assert worst(["review", "fail", "pass"]) == "fail"


def test_an_unknown_policy_names_the_known_ones():
    with pytest.raises(UsageError, match="'lax'; choose one of edited, rewritten, strict"):
        policy("lax")
