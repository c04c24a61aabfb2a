"""Every layout leaves what a loader of SKILL.md replaces or runs where the source has it."""

import pytest

from skilljuror.audit.audit import audit
from skilljuror.audit.gates.loader import loaded_lines
from skilljuror.base.skill import Blob, Bundle, Copy
from skilljuror.skill.bundles import make_bundle
from tests.support.laid_out import laid_out, transform

LAYOUTS = ("origin", "origin-flat", "baseline", "flat-files", "pd", "flat-toc")
TABLE = "| form | sheets |\n|---|---|\n" + "".join(
    f"| form {n} of {{0}} | {n} |\n" for n in range(110)
)
ROOT = f"""---
name: forms
description: How to fill in a form. Use when a form must be filled in.
---

# Forms

Sign every form, then run `python scripts/check.py`.

## Forms of today reference

Forms of today: !`${{CLAUDE_SKILL_DIR}}/scripts/list.sh $0`

{TABLE.format("today")}
## If a form is old

When a form is old, use this list.

{TABLE.format("old")}
## Examples

### If a form is printed

Print form $1 of $ARGUMENTS as in ${{CLAUDE_SESSION_ID}}.

{TABLE.format("print")}"""
FILES = {
    "SKILL.md": ROOT,
    "scripts/list.sh": "#!/bin/sh\nls forms\n",
    "scripts/print.sh": '#!/bin/sh\n# Prints a form.\nlp "$1"\n',
    "scripts/check.py": "print(1)\n",
    "references/price.md": "# Price\n\nA form costs $5.\n",
    "references/paper.md": "# Paper\n\nUse thick paper.\n",
}


@pytest.fixture(scope="module")
def made() -> dict[str, Bundle]:
    blobs = {f"forms/{path}": Blob(text.encode()) for path, text in FILES.items()}
    return laid_out(make_bundle("forms", blobs), *LAYOUTS)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_neither_gains_nor_loses_what_the_loader_does(layout, made):
    tokens = [
        sorted(
            token for line in loaded_lines(made[name], "forms/SKILL.md") for token in line.tokens
        )
        for name in ("source", layout)
    ]
    assert tokens[0] == tokens[1]
    assert audit(made["source"], made[layout], layout, "strict").verdict == "pass"


def test_files_that_a_page_would_change_are_on_disk_in_a_flat_layout_too(made):
    assert sorted(made["baseline"].files) == [
        "forms/SKILL.md", "forms/references/price.md", "forms/scripts/list.sh", "forms/scripts/print.sh",
    ]  # fmt: skip


def test_pd_moves_what_the_loader_leaves_alone(made):
    root = made["pd"].files["forms/SKILL.md"].text or ""
    assert "form 9 of old" not in root
    assert "\n### If a form is printed\n" in root
    assert "- `scripts/print.sh` – a script: Prints a form." in root


def test_a_placebo_has_filler_in_place_of_a_page_on_disk(made):
    page = transform("placebo-irrelevant").plan(made["baseline"], {}).files[1]
    assert (page.path, len(page.pieces)) == ("forms/references/price.md", 3)
    assert not any(isinstance(piece, Copy) for piece in page.pieces)
