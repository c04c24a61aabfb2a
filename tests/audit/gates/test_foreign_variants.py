"""A layout that a model wrote: other headings, written cues, a sentence said in other words."""

import pytest

from skilljuror.audit.audit import audit
from skilljuror.audit.comparison.unit_matching import knowledge_map
from tests.support.gate_pairs import CHECK, SOURCE, edited
from tests.support.knowledge_bundles import bundle

ROOT = """---
name: forms
description: Fill PDF forms. Use when a form must be filled.
---
# Filling PDF forms

Always validate a form before saving. Keep the margin at least 3 mm.

## Steps to take

1. Run `python scripts/check.py --strict in.pdf` in the folder.
2. Fill every field of the form.
3. Save the result as a new file.

## Where to look

- `references/limits.md` - open it before filling long fields; it lists limits and fonts.
- `scripts/check.py` checks a form.
"""
LIMITS = """# Limits

Do not fill more than 50 fields in one run. Text over 200 characters is cut.

| field | max |
|---|---|
| name | 30 |
| note | 200 |

Read [the limits](limits.md) when a field is long.

```bash
python scripts/check.py --strict in.pdf
```

## Fonts

Use Helvetica at 10 pt.
"""
WRITTEN = bundle(
    {
        "forms/SKILL.md": ROOT,
        "forms/references/limits.md": LIMITS,
        "forms/scripts/check.py": CHECK,
        "forms/LICENSE.txt": "Free for all.\n",
    },
    name="forms",
)


def test_a_good_rewrite_passes_the_policy_for_written_layouts_but_not_strict():
    kept = edited(WRITTEN, "forms/SKILL.md", "## Steps to take", "## Steps")
    assert audit(SOURCE, kept, "pd", "strict").verdict == "fail"
    result = audit(SOURCE, kept, "pd", "rewritten")
    assert result.verdict == "pass", result.own
    assert {"edit.routing", "edit.reworded"} <= {finding.rule for finding in result.own}


def test_a_plain_heading_that_is_gone_from_a_small_bundle_waits_for_a_person():
    gone = edited(WRITTEN, "forms/SKILL.md", "## Steps to take\n\n", "")
    result = audit(SOURCE, gone, "pd", "rewritten")
    assert result.verdict == "review"
    assert "Steps" in {f.source_text for f in result.own if f.rule == "edit.lost"}


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("before filling long fields", "before filling more than 9 fields", "review"),
        ("it lists limits", "never skip it; it lists limits", "review"),
        ("Keep the margin at least 3 mm.", "Keep the margin at most 3 mm.", "fail"),
        ("Keep the margin at least 3 mm.", "", "review"),
        ("## Steps to take", "## Steps to take\n\nAlways work alone.", "review"),
    ],
    ids=[
        "number in a cue",
        "negation in a cue",
        "comparator turned",
        "statement gone",
        "requirement added",
    ],
)
def test_what_a_cue_may_not_demand_and_a_rewrite_may_not_change(old, new, verdict):
    variant = edited(WRITTEN, "forms/SKILL.md", old, new)
    assert audit(SOURCE, variant, "pd", "rewritten").verdict == verdict


def test_every_unit_but_the_dropped_heading_has_a_place():
    rows = knowledge_map(SOURCE, {"pd": WRITTEN})
    lost = {row.unit.text for row in rows if row.places["pd"] is None and row.unit.kind != "link"}
    assert lost <= {"Steps"}
    places = {row.unit.text: row.places["pd"] for row in rows}
    row = places["field: note | max: 200"]
    assert row is not None
    assert (row.file, row.start) == ("forms/references/limits.md", 8)
