"""Whatever the Markdown, every transform moves text without losing or making up any."""

import pytest
from hypothesis import HealthCheck, given, settings

from skilljuror.audit.plans.render import render
from skilljuror.audit.plans.verify import verify, verify_control
from skilljuror.base.skill import Blob, Bundle, Plan
from skilljuror.layouts import TRANSFORMS
from skilljuror.layouts.base import plan_of
from skilljuror.layouts.build.build import declared_findings, transforms_by_name
from skilljuror.skill.bundles import make_bundle
from tests.support.hostile_bundles import bundles

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)


def chain(source: Bundle) -> dict[str, Bundle]:
    """Every registered variant, each proved against its parent."""
    made, plans = {"source": source}, dict[str, Plan]()
    for name, transform in transforms_by_name(tuple(TRANSFORMS)).items():
        parent = made[transform.parent]
        plan = plans[name] = plan_of(transform, parent, {}, plans)
        variant = make_bundle("fuzz", render(plan, parent))
        prove = verify_control if declared_findings(transform) else verify
        assert prove(plan, parent, variant) == (), name
        made[name] = variant
    return made


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(bundles())
def test_hostile_markdown_survives(source):
    chain(source)


def test_sections_pasted_with_other_line_ends_survive():
    told = "".join(
        f"## If glaze {part} runs\n\n{'Mix the glaze and sieve it twice. ' * 60}\n\n"
        for part in "AB"
    )
    text = "---\nname: fuzz\ndescription: How glazes are mixed.\n---\n\n# Glazes\n\n"
    root = Blob((text + told.replace("\n", "\r\n")).encode())
    made = chain(make_bundle("fuzz", {"fuzz/SKILL.md": root}))
    pages = [blob.data for path, blob in made["pd"].files.items() if path != "fuzz/SKILL.md"]
    assert pages
    assert all(page.count(b"\r\n") == page.count(b"\n") for page in pages)


def test_a_row_quotes_the_source_and_not_what_a_flat_page_says_of_a_file():
    """A stray fence hides where the page announces a file, whose row then found that sentence."""
    root = (
        b"---\nname: s0\n---- item\n\n  ```sh\n  open in a list\nread `ref/a.md`, references/h1.md and"
        b" /root/.claude/skills/s0/scripts/s.py first.\n"
    )
    text = Blob(b"para text with `code` and 5 mm.\n")
    files = {"s0/SKILL.md": Blob(root), "s0/inner/SKILL.md": text, "s0/references/h1.md": text,
             "s0/ref/a.md": Blob(b""), "s0/scripts/we ird.sh": Blob(b"")}  # fmt: skip
    page = chain(make_bundle("fuzz", files))["flat-toc"].files["s0/SKILL.md"].text
    assert "Why: Write this file" not in (page or "")


def test_a_file_inside_the_text_of_another_survives():
    page = (
        b"---\nname: fuzz\ndescription: d\n---\n# Reference content from `ref/a.md`\n\nText.\n"
        b"## Helper implementation for `scripts/s.py`\n\n```python\nprint(1)\n```\n"
    )
    made = chain(make_bundle("fuzz", {"fuzz/SKILL.md": Blob(page)}))
    assert "fuzz/scripts/s.py" not in made["pd"].files


@pytest.mark.slow
@settings(max_examples=2_500, deadline=None, suppress_health_check=SLOW)
@given(bundles())
def test_much_hostile_markdown_survives(source):
    chain(source)
