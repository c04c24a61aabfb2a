"""Faithful pairs for the gates: one source, and its layouts made by hand."""

from skilljuror.base.skill import Blob, Bundle
from skilljuror.skill.generated import fill_template
from tests.support.knowledge_bundles import bundle

ROOT = """---
name: forms
description: Fill PDF forms. Use when a form must be filled.
---
# PDF forms

Always validate the form before saving. Keep the margin at least 3 mm.

## Steps

1. Run `python scripts/check.py --strict in.pdf` in the folder.
2. Fill every field of the form.
3. Save the result as a new file.

## Limits

Read [the limits](references/limits.md) when a field is long.

| field | max |
|---|---|
| name | 30 |
| note | 200 |

```bash
python scripts/check.py --strict in.pdf
```
"""
LIMITS = """# Limits

Do not fill more than 50 fields in one run. Text over 200 characters is cut.

## Fonts

Use Helvetica at 10 pt.
"""
CHECK = "import sys\n\nprint(sys.argv)\n"
EMBEDDED = """
## Reference content from `references/limits.md`

### Limits

Do not fill more than 50 fields in one run. Text over 200 characters is cut.

#### Fonts

Use Helvetica at 10 pt.

## Helper implementation for `scripts/check.py`

Write this file to `scripts/check.py` in the folder of this SKILL.md before you run anything that uses it.

```python
import sys

print(sys.argv)
```
"""
ANCHOR = ROOT.replace("(references/limits.md)", "(#reference-content-from-referenceslimitsmd)")


def _row(path: str, topics: str) -> str:
    return fill_template("row-guide", {"path": path, "link": path, "topics": topics})


ROWS = (
    fill_template("routing", {}),
    "",
    _row("references/limits.md", "Limits, Fonts"),
    _row("references/tables.md", "Limits"),
    fill_template("row-call", {"path": "scripts/check.py"}),
    "",
)
SOURCE = bundle(
    {
        "forms/SKILL.md": ROOT,
        "forms/references/limits.md": LIMITS,
        "forms/scripts/check.py": CHECK,
        "forms/LICENSE.txt": "Free for all.\n",
    },
    name="forms",
)
FLAT = bundle(
    {"forms/SKILL.md": ANCHOR + EMBEDDED, "forms/LICENSE.txt": "Free for all.\n"}, name="forms"
)
DISCLOSED = bundle(
    {
        "forms/SKILL.md": ROOT.partition("## Limits")[0] + "\n".join(ROWS),
        "forms/references/limits.md": LIMITS,
        "forms/references/tables.md": "# Limits"
        + ROOT.partition("## Limits")[2].replace("references/limits.md", "limits.md"),
        "forms/scripts/check.py": CHECK,
        "forms/LICENSE.txt": "Free for all.\n",
    },
    name="forms",
)
FLAT_FILES = bundle(
    {
        "forms/SKILL.md": ANCHOR + EMBEDDED.partition("\n## Helper")[0],
        "forms/scripts/check.py": CHECK,
        "forms/LICENSE.txt": "Free for all.\n",
    },
    name="forms",
)
FAITHFUL = {
    "origin": SOURCE, "origin-flat": FLAT, "baseline": FLAT, "flat-files": FLAT_FILES, "pd": DISCLOSED,
}  # fmt: skip
"""kind -> a layout of SOURCE that says the same."""


def edited(variant: Bundle, path: str, old: str, new: str) -> Bundle:
    """The variant with one text of one file replaced."""
    text = variant.files[path].text or ""
    assert old in text
    files = {**variant.files, path: Blob(text.replace(old, new, 1).encode())}
    return rebuilt(variant, files)


def rebuilt(variant: Bundle, files: dict[str, Blob]) -> Bundle:
    """The variant with other files and the skills it had."""
    ordered = {path: files[path] for path in sorted(files, key=str.encode)}
    skills = tuple(skill for skill in variant.skills if skill.path in ordered)
    return Bundle(variant.name, ordered, skills)
