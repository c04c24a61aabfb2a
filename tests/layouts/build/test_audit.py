import pytest

from skilljuror.audit.audit import audit, reasons
from skilljuror.audit.gates import GATES
from skilljuror.base.errors import UsageError
from tests.support.gate_pairs import FAITHFUL, FLAT, SOURCE, edited

WRONG = edited(FLAT, "forms/SKILL.md", "50 fields", "60 fields")


@pytest.mark.parametrize("policy", ["strict", "rewritten"])
@pytest.mark.parametrize("kind", FAITHFUL)
def test_faithful_layouts_pass_without_a_finding_of_their_own(kind, policy):
    result = audit(SOURCE, FAITHFUL[kind], kind, policy)
    assert result.own == ()
    assert result.verdict == "pass"


@pytest.mark.parametrize(("policy", "verdict"), [("strict", "fail"), ("rewritten", "review")])
def test_the_policy_decides_what_a_finding_weighs(policy, verdict):
    result = audit(SOURCE, WRONG, "baseline", policy)
    assert [finding.rule for finding in result.own] == ["edit.number"]
    assert result.verdict == verdict


def test_every_gate_of_the_registry_answers():
    result = audit(SOURCE, FLAT, "baseline")
    assert [answer.gate for answer in result.results] == list(GATES)
    assert all(answer.checked for answer in result.results)


def test_a_waiver_takes_a_finding_out_of_the_verdict_and_is_told():
    (finding,) = audit(SOURCE, WRONG, "baseline").own
    result = audit(SOURCE, WRONG, "baseline", waivers={finding.id: "Sixty is right (Ann)"})
    assert result.verdict == "pass"
    assert result.waived == (finding.id,)
    assert [one.waived for one in result.own] == ["Sixty is right (Ann)"]
    assert reasons(result) == ()


def test_an_unknown_policy_names_the_known_ones():
    with pytest.raises(UsageError, match=r"'lax'; choose one of edited, rewritten, strict"):
        audit(SOURCE, FLAT, "baseline", "lax")


def test_a_finding_tells_both_texts_and_the_line():
    (finding,) = audit(SOURCE, WRONG, "baseline").own
    assert (finding.file, finding.line) == ("forms/SKILL.md", 32)
    assert "50 fields" in (finding.source_text or "")
    assert "60 fields" in (finding.variant_text or "")
