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


@pytest.mark.parametrize(("named", "told"), [("references/ when torn", False), ("glue", True)])
def test_a_page_of_the_author_needs_its_name_or_its_folder_in_a_text(named, told):
    pages = {"references/mend.md": "# Mend\n", "scripts/mend.py": f"# see {named}\n"}
    both = skill("\nMend it.\n", **pages)
    found = LayoutGate().check(both, both, "pd", "strict").findings
    assert ("layout.pd-unnamed" in {one.rule for one in found}) is told


def test_a_page_that_the_flat_page_announces_may_stand_beside_it():
    flat = "\n## Reference content from `plan.md`\n\nWrite this file to `plan.md` in the folder of this SKILL.md before you run anything that uses it.\n\n```markdown\n# Plan\n```\n"
    beside = skill("\nMend it.\n", **{"plan.md": "# Plan\n"})
    for parent, rules in ((skill(flat), set()), (skill("\nMend it.\n"), {"layout.flat"})):
        found = LayoutGate().check(parent, beside, "flat-files", "strict").findings
        assert {one.rule for one in found} == rules
