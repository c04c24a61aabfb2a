"""What a root of Progressive Disclosure must say of its files."""

import pytest

from skilljuror.audit.gates.layout import LayoutGate
from tests.support.knowledge_bundles import skill


@pytest.mark.parametrize(
    ("name", "link"), [("torn pages.md", "torn%20pages.md"), ("規則.md", "%E8%A6%8F%E5%89%87.md")]
)
def test_a_link_as_markdown_writes_it_names_its_file(name, link):
    page = {f"references/{name}": "# Repairs\n\nMend it with thin tissue.\n"}
    variant = skill(f"\nSee [repairs](references/{link}) when a page is torn.\n", **page)
    found = LayoutGate().check(skill("\nMend it.\n"), variant, "pd", "strict").findings
    assert "layout.pd-unnamed" not in {one.rule for one in found}
