"""What duplicates, tables, faults of the source and typographic quotes must not be taken for."""

from pathlib import Path

import pytest

from skilljuror.audit.audit import audit
from skilljuror.base.skill import Bundle
from skilljuror.layouts.build.build import build_source
from tests.support.knowledge_bundles import skill

STEPS = ("Measure the load", "Cut the beam", "Plane the edge", "Oil the wood", "Hang the beam")


def _told(source: Bundle, variant: Bundle, policy: str = "rewritten") -> list[str]:
    return [one.rule for one in audit(source, variant, "other", policy).own]


def _list(*names: str) -> str:
    return "".join(f"{n}. {name}\n" for n, name in enumerate(names, 1))


def _built(root: str, folder: Path, **files: str) -> set[object]:
    source = folder / "beams"
    for path, blob in skill(root, **files).files.items():
        target = source / path.partition("/")[2]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(blob.data)
    record = build_source(source, folder / "build")
    return {one.verdict for one in record.variants}


def test_a_list_that_stands_in_two_files_keeps_its_order_on_one_page():
    first, second = f"\n# Beams\n\n## Guide\n\n{_list(*STEPS)}", STEPS[:2] + STEPS[3:]
    other = f"# Beams\n\n## Guide\n\n{_list(*second)}"
    source = skill(first, **{"README.md": other})
    carried = other.replace("# Beams", "### Beams").replace("## Guide", "#### Guide")
    page = "{}\n## Reference content from `README.md`\n\n{}"
    assert "edit.order" not in _told(source, skill(page.format(first, carried)))


def test_two_lists_below_headings_of_one_text_are_two_lists(tmp_path):
    lists = "# Beams\n\nHang them high.\n\n## Care\n\n- Then oil it.\n- Wait a day.\n- Wipe it{}.\n"
    root, other = f"\n{lists.format(' with a cloth')}", lists.format("")
    assert _built(root, tmp_path, **{"AGENTS.md": other}) == {"pass"}


CHOOSE = """
# Wood

## Step 1: Look at the wood

Soft or hard?

## Step 2: Open the page

| wood | page |
|---|---|
| soft | `references/soft.md` |
| hard | `references/hard.md` |

## Step 3: Do it

Follow that page to its end.
"""
PAGES = {
    "references/soft.md": "# Pine and spruce\n\nUse a sharp plane and little force.\n",
    "references/hard.md": "# Oak and beech\n\nCut slowly, and cool the blade.\n",
}


def test_a_table_in_a_process_leads_to_its_files(tmp_path):
    assert _built(CHOOSE, tmp_path, **PAGES) == {"pass"}


def test_a_link_that_leads_nowhere_in_the_source_is_inherited():
    root = "\n# Wood\n\nSee [all](references/a.md).\n"
    files = {
        "references/a.md": "# A\n\nSee [more](references/b.md) of it.\n",
        "references/b.md": "# B\n\nMore of it stands here.\n",
    }
    flat = root.replace("references/a.md", "#a") + "".join(
        f"\n## Reference content from `{path}`\n\n##{text}" for path, text in files.items()
    )
    source = skill(root, **files)
    assert "hygiene.broken-link" not in _told(source, skill(flat))
    lost = flat.replace("(#a)", "(references/b.md)")
    assert "hygiene.broken-link" in _told(source, skill(lost))


KEEP = "\n# Ship\n\nKeep the branch until a person has looked at it.\n\n{}\n"


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ("Don’t deploy on Fridays.", "Do deploy on Fridays.", "fail"),
        ("Don´t deploy on Fridays.", "Do deploy on Fridays.", "fail"),
        ("Don’t deploy.", "Do deploy.", "fail"),
        ("Don’t deploy.", "Do not deploy.", "pass"),
        ("It wasn’t built here.", "It was built here.", "fail"),
        ("Don’t deploy on “red” days.", 'Don\'t deploy on "red" days.', "pass"),
        ("| Don’t | “do” |\n|---|---|\n| a | b |", '| Don\'t | "do" |\n|---|---|\n| a | b |', "pass"),
        ("## Don’t deploy\n\nAsk.", "## Don't deploy\n\nAsk.", "pass"),
        ("Don’t deploy on Fridays.", "Do not deploy on Fridays.", "pass"),
        ("You can't deploy here.", "You cannot deploy here.", "pass"),
        ("DON’T deploy on Fridays.", "Do not deploy on Fridays.", "pass"),
        ("Run `echo “a”` first.", 'Run `echo "a"` first.', "review"),
        ("```\necho “a”\n```", '```\necho "a"\n```', "review"),
    ],
)  # fmt: skip
def test_an_apostrophe_is_no_negation_and_a_typographic_negation_is_one(before, after, verdict):
    source, variant = skill(KEEP.format(before)), skill(KEEP.format(after))
    assert audit(source, variant, "other", "rewritten").verdict == verdict


def test_straight_quotes_are_no_finding_also_where_text_only_moves():
    typographic = "Don’t say “yes” to the [user’s plan](#ship).\n\nPlain:\n\n- Don’t wait."
    straight = "Don't say \"yes\" to the [user's plan](#ship).\n\nPlain:\n\n- Don't wait."
    for one, other in ((typographic, straight), (straight, typographic)):
        assert _told(skill(KEEP.format(one)), skill(KEEP.format(other)), "strict") == []
