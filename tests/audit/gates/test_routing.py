"""Rows lead to what they say: by what stands in the files, not by their names."""

import pytest

from skilljuror.audit.audit import audit
from skilljuror.audit.gates.routing import RoutingGate
from tests.support.knowledge_bundles import skill

LOANS = "# Loans\n\n## Due dates\n\nA book is due after three weeks; a film after one.\n"
REPAIRS = "# Repairs\n\n## Torn pages\n\nMend a torn page with wheat paste and thin tissue.\n"
FILES = {"references/loans.md": LOANS, "references/repairs.md": REPAIRS}
SECTIONS = f"\n## Lending\n\n{LOANS[9:]}\n## Mending\n\n{REPAIRS[11:]}"
ROWS = """
- [references/loans.md](references/loans.md): read when a book is due.
- [references/repairs.md](references/repairs.md): read when a page is torn.
"""


def _rules(source, variant):
    found = RoutingGate().check(source, variant, "other", "strict").findings
    return [one.rule for one in found if not one.inherited]


def test_rows_that_lead_where_they_say_pass():
    assert _rules(skill(SECTIONS), skill(ROWS, **FILES)) == []


@pytest.mark.parametrize("policy", ["strict", "rewritten", "edited"])
def test_exchanged_files_are_told(policy):
    swapped = {"references/loans.md": REPAIRS, "references/repairs.md": LOANS}
    source, variant = skill("\nAsk the desk.\n", **FILES), skill("\nAsk the desk.\n", **swapped)
    result = audit(source, variant, "other", policy)
    assert [one.rule for one in result.own].count("edit.exchanged") == 2
    assert result.verdict != "pass"


def test_a_text_that_went_into_another_file_is_not_exchanged():
    joined = {"references/loans.md": LOANS + REPAIRS, "references/repairs.md": "# Repairs\n"}
    result = audit(skill("\nAsk.\n", **FILES), skill("\nAsk.\n", **joined), "other", "rewritten")
    assert "edit.exchanged" not in {one.rule for one in result.own}


def test_a_label_and_a_link_that_disagree_are_told():
    crossed = ROWS.replace("](references/loans.md)", "](references/repairs.md)")
    assert "routing.crossed" in _rules(skill(SECTIONS), skill(crossed, **FILES))
    assert "routing.crossed" not in _rules(skill(crossed, **FILES), skill(crossed, **FILES))
