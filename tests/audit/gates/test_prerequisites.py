"""What a root uses is defined in it or in a page opened before, unless the parent had the same gap."""

import pytest

from skilljuror.audit.gates.layout import LayoutGate
from skilljuror.base.skill import Bundle
from tests.support.knowledge_bundles import skill

PARTS = {
    "variable": ("## Paper\n\n```sh\nexport TRAY=2\n```\n", "Run `lp -t $TRAY`.\n"),
    "file": ("## Plan\n\n```sh\nscan > plan.json\n```\n", "Print what `plan.json` holds.\n"),
    "step": ("## Step 0: Warm up\n\nWarm the press.\n", "After step 0, print it.\n"),
    "section": ("## Preamble\n\nWarm the press.\n", "Run the preamble above, then print it.\n"),
}


def found(parent: Bundle, variant: Bundle) -> list[str]:
    result = LayoutGate().check(parent, variant, "pd", "strict")
    return [one.message for one in result.findings if one.rule == "layout.prerequisite"]


@pytest.mark.parametrize("kind", PARTS)
def test_a_use_before_the_pointer_is_found_and_one_behind_it_is_not(kind: str) -> None:
    page, use = PARTS[kind]
    parent = skill(f"\n{page}\n## Print\n\n{use}")
    moved = {"references/paper.md": page.replace("## ", "# ")}
    (message,) = found(parent, skill(f"\n## Print\n\n{use}\nSee references/paper.md.\n", **moved))
    assert message.startswith(f"the root uses the {kind} ")
    assert "references/paper.md' defines" in message
    assert found(parent, skill(f"\nRead references/paper.md first.\n\n{use}", **moved)) == []
    assert found(parent, skill(f"\n{page}\n{use}", **moved)) == []


def test_what_the_parent_does_not_define_in_its_root_is_inherited() -> None:
    page, use = PARTS["step"]
    page = page.replace("## ", "# ")
    parent = skill(f"\n{use}", **{"references/paper.md": page})
    assert found(parent, skill(f"\n{use}", **{"references/other.md": page})) == []


def test_a_step_may_be_named_ahead_of_the_line_that_leads_to_it() -> None:
    page = {"references/paper.md": "# Step 9: Trim\n\nTrim it.\n"}
    parent = skill("\nSee step 9 for the edge.\n\n## Step 9: Trim\n\nTrim it.\n")
    root = "\nSee step 9 for the edge.\n\nFor Step 9: Trim, read references/paper.md.\n"
    assert found(parent, skill(root, **page)) == []


def test_names_of_the_machine_are_defined() -> None:
    page = "## Paper\n\nexport HOME=2\n"
    parent = skill(f"\n{page}\n\nRun `lp $HOME`.\n")
    assert found(parent, skill("\nRun `lp $HOME`.\n", **{"references/paper.md": page})) == []
