"""Named policies: from findings to a verdict."""

import pytest

from skilljuror.audit.gates.findings import Observation, finding
from skilljuror.audit.gates.policies import policies, policy, worst
from skilljuror.audit.gates.rules import RULES
from skilljuror.base.errors import UsageError
from tests.support.every import every


def found(rule, count=1, *, inherited=False):
    return [finding(Observation(rule, n, "a.md", n + 1), inherited=inherited) for n in range(count)]


def test_the_packaged_policies_name_only_rules_that_exist():
    for name in policies():
        named = policy(name)
        assert named.name == name
        assert set(named.rules) | set(named.limits) <= set(RULES)


REVIEWED = {"layout.pd-support", "layout.pd-root-size"}


@every("rule", [r for r in RULES if not r.startswith("size.") and r not in REVIEWED])
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
        ("knowledge.polarity", "fail"),
        ("knowledge.comparator-flip", "fail"),
        ("knowledge.file-lost", "fail"),
        ("knowledge.duty-lost", "fail"),
        ("knowledge.file-changed", "review"),
        ("knowledge.number", "review"),
        ("knowledge.modal", "review"),
        ("knowledge.critical-added", "review"),
        ("knowledge.moved", "review"),
        ("knowledge.reworded", "pass"),
    ],
)
def test_llm_sends_most_alterations_to_a_person(rule, verdict):
    assert policy("rewritten").verdict(found(rule), 1000) == verdict


@pytest.mark.parametrize(
    ("rule", "count", "verdict"),
    [
        ("knowledge.missing", 10, "pass"),
        ("knowledge.missing", 11, "review"),
        ("knowledge.missing", 30, "review"),
        ("knowledge.missing", 31, "fail"),
        ("knowledge.added", 20, "pass"),
        ("knowledge.added", 21, "review"),
        ("knowledge.added", 51, "fail"),
    ],
)
def test_llm_allows_a_share_of_plain_statements(rule, count, verdict):
    assert policy("rewritten").verdict(found(rule, count), 1000) == verdict


def test_inherited_findings_decide_nothing():
    assert policy("strict").verdict(found("knowledge.polarity", inherited=True), 10) == "pass"


def test_worst_of_nothing_is_pass():
    assert worst([]) == "pass"
    assert worst(["review", "fail", "pass"]) == "fail"


def test_an_unknown_policy_names_the_known_ones():
    with pytest.raises(UsageError, match="'lax'; choose one of edited, rewritten, strict"):
        policy("lax")
