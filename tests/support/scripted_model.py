"""A skill, a scripted model that lays it out, and what the model was asked."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pytest

from skilljuror.audit.plans.render import render
from skilljuror.base.llm import ModelChoice, ModelClient
from skilljuror.base.skill import Blob, Bundle
from skilljuror.layouts.flattening import Baseline
from skilljuror.layouts.llm.rewrite import page_with_placeholders, placeholder_files
from skilljuror.skill.bundles import make_bundle
from skilljuror.skill.markdown import MarkdownIndex

WARNINGS = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning"
)
"""What litellm and its friends warn of on their own."""

ROOT = """---
name: forms
description: Fill PDF forms. Use when a form must be filled.
---
# PDF forms

Fill forms without losing a value.

## Steps

1. Read the field list of the form.
2. Run `python scripts/check.py --strict in.pdf`.
3. Fill every field; follow `references/signing.md` for signed forms.

## Overflow

Overflow is decided field by field.

### Notes

A note holds at most 200 characters. Longer values move to an addendum page of the form.

### Tables

Rows beyond the table of the page are printed on a second copy of that page.

## Fonts

Use Helvetica at 10 pt for printed forms and Courier for codes.
"""
SIGNING = """# Signing

Signed pages are saved incrementally. Never flatten a signed form.
"""
CHECK = "import sys\n\nprint(sys.argv)\n"
FILES = {
    "forms/SKILL.md": ROOT,
    "forms/references/signing.md": SIGNING,
    "forms/scripts/check.py": CHECK,
    "forms/LICENSE.txt": "Free for all.\n",
}
"""path -> text of the source."""


def source(changes: Mapping[str, str] | None = None) -> Bundle:
    """The source, with texts of its root replaced by others."""
    files = dict(FILES)
    for old, new in (changes or {}).items():
        assert old in files["forms/SKILL.md"]
        files["forms/SKILL.md"] = files["forms/SKILL.md"].replace(old, new)
    blobs = {path: Blob(text.encode(), path.endswith(".py")) for path, text in files.items()}
    return make_bundle("forms", blobs)


def flat(bundle: Bundle) -> Bundle:
    """The plan engine's baseline of a bundle."""
    return make_bundle(bundle.name, render(Baseline().plan(bundle, {}), bundle))


def client(address: str, retries: int = 1) -> ModelClient:
    """A client of the scripted model, without a log."""
    return ModelClient(choice(address, retries))


def choice(address: str, retries: int = 1) -> ModelChoice:
    """The scripted model."""
    return ModelChoice("openai/scripted", address, {"api_key": "dummy"}, 20, retries)


def blocks(messages: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """The delimited data of what was asked: name -> value."""
    found = re.findall(r"^<(\w+) json>\n(.*)\n</\1>$", messages[1]["content"], re.MULTILINE)
    return {name: json.loads(body) for name, body in found}


def outside(messages: Sequence[Mapping[str, str]]) -> str:
    """What was asked without the delimited data: all that speaks to the model."""
    told = re.sub(r"^<(\w+) json>\n.*\n</\1>$", "", messages[1]["content"], flags=re.MULTILINE)
    return messages[0]["content"] + told


BRANCHES = {"Overflow": "when a value overflows because notes move to an addendum page"}
"""Title of a section that the model calls a branch -> its reason."""


def judgement(messages: Sequence[Mapping[str, str]], **changes: Any) -> dict[str, Any]:
    """A good answer to what was asked: overflow is a branch, every other section is main path.

    `changes` are fields of all its entries."""
    return {
        "sections": [
            {
                "id": section["id"],
                "scope": "branch" if section["title"] in BRANCHES else "main",
                "reason": BRANCHES.get(section["title"], "Every form needs it."),
            }
            | changes
            for section in blocks(messages)["sections"]
        ]
    }


@cache
def faithful_page() -> str:
    """What a perfect model would write: the plan engine's own page, placeholders put in."""
    markdown = MarkdownIndex(
        (flat(source()).files["forms/SKILL.md"].text or "").rstrip("\n").split("\n")
    )
    return "\n".join(
        page_with_placeholders(markdown, placeholder_files(markdown))[markdown.frontmatter_lines :]
    )


def flat_answer(page: str | None = None) -> dict[str, Any]:
    """An answer with a flat page, the faithful one unless told."""
    return {"files": [{"path": "SKILL.md", "text": faithful_page() if page is None else page}]}


def disclosed_answer(changes: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A faithful layout of the flat page by hand, with texts of its root replaced by others."""
    root, _, rest = faithful_page().partition("## Fonts")
    fonts = f"# Fonts{rest.partition('## ')[0]}"
    rows = [
        "## Supporting files",
        "",
        "Open a file when its row fits the step at hand; paths start at this folder.",
        "",
        "- [references/fonts.md](references/fonts.md): open this file when text is printed,"
        " because the fonts for codes are named there.",
        "- [references/signing.md](references/signing.md): open this file when a form is signed,"
        " because it is saved incrementally.",
        "- `scripts/check.py`: use when a step calls it.",
        "- `LICENSE.txt`: terms of use.",
    ]
    text = root + "\n".join(rows)
    for old, new in (changes or {}).items():
        assert old in text
        text = text.replace(old, new)
    files = {"SKILL.md": text, "references/fonts.md": fonts, "references/signing.md": SIGNING}
    return {"files": [{"path": path, "text": files[path]} for path in files]}
