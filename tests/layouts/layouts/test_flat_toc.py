"""flat-toc: the page of flat-files, and the rows of pd below it."""

import re
from urllib.parse import unquote

import pytest

from skilljuror.audit.gates.hygiene import pointer_observations
from skilljuror.base.errors import TransformError
from skilljuror.base.skill import Blob
from skilljuror.layouts.base import plan_of
from skilljuror.layouts.build.assay import assay
from skilljuror.layouts.build.build import build_source
from skilljuror.layouts.verify import verify_build
from skilljuror.skill.bundles import make_bundle, write_bundle
from skilljuror.skill.generated import template_of_line
from skilljuror.skill.markdown import markdown_index
from skilljuror.skill.units import units_of
from tests.support.bundle_corpus import TRAPS
from tests.support.every import every
from tests.support.laid_out import built, laid_out, transform

ROOT = "kiln/SKILL.md"
FILES = {
    ROOT: "---\nname: kiln\ndescription: Fires a kiln. Use when pots must be fired.\n---\n# Kiln\n\n"
    "Always vent the kiln first.\n\n## Steps\n\n1. Load it.\n2. Run `python3 scripts/ramp.py 6`.\n"
    "3. Read [the glazes](references/glazes.md) when a pot is glazed.\n\n## Examples\n\n"
    + "A small pot needs a slow ramp and a long soak before it cools.\n\n" * 30
    + "## Troubleshooting\n\n"
    + "If a pot cracks, fire the next one slower and let it cool for a day.\n\n" * 30,
    "kiln/references/glazes.md": "# Glazes\n\nUse a matt glaze when the pot holds food.\n",
    "kiln/references/clay.md": "# Clay\n\nUse grog clay when a pot is large.\n",
    "kiln/scripts/vent.py": '"""Open the vent when it smokes."""\n\nprint(1)\n',
    "kiln/scripts/ramp.py": '"""Print the ramp of a firing in degrees an hour."""\n\nprint(60)\n',
}


def bundle(files):
    return make_bundle("kiln", {path: Blob(text.encode()) for path, text in files.items()})


def rows(text):
    return [line for line in text.split("\n") if (template_of_line(line) or "").startswith("row-")]


def page(name, variant):
    made = built(name, variant)[2]
    return made.files[made.skills[0].path].text or ""


@pytest.mark.slow
@every("name", sorted(TRAPS))
def test_it_is_flat_files_with_rows_below(name):
    _, flat, made = built(name, "flat-toc")
    root = flat.skills[0].path
    assert (made.files[root].text or "").startswith((flat.files[root].text or "").rstrip("\n"))
    assert {**made.files, root: flat.files[root]} == flat.files


@pytest.mark.slow
@every("name", sorted(TRAPS))
def test_every_row_leads_to_a_heading_or_a_file(name):
    made = built(name, "flat-toc")[2]
    root = made.skills[0]
    anchors = set(markdown_index(tuple(page(name, "flat-toc").split("\n"))).anchor_at.values())
    carried = {one.key for one in pointer_observations(made, units_of(made))}
    for row in rows(page(name, "flat-toc"))[-40:]:
        link = re.match(r"- \[[^\]]+\]\(([^)]+)\)", row)
        path = re.match(r"- `([^`]+)`", row)
        if link and link[1].startswith("#"):
            assert unquote(link[1][1:]) in anchors, row
        elif path:
            target = f"{root.directory}/{path[1].rstrip('/')}"
            known = any(one == target or one.startswith(f"{target}/") for one in made.files)
            assert known or path[1] not in carried, row


def test_the_words_are_those_of_pd():
    made = laid_out(bundle(FILES), "baseline", "flat-files", "pd", "flat-toc")
    told = [rows(made[one].files[ROOT].text or "") for one in ("pd", "flat-toc")]
    words = [
        {re.sub(r"\[[^\]]*\]\([^)]*\)|→|: read|–|\.$|-", "", row).strip() for row in found}
        for found in told
    ]
    assert words[0] == words[1]
    assert len(words[0]) == 3


def test_rows_name_sections_by_their_titles_and_files_by_their_paths():
    made = laid_out(bundle(FILES), "baseline", "flat-files", "pd", "flat-toc")["flat-toc"]
    found = "\n".join(rows(made.files[ROOT].text or ""))
    assert "- [Troubleshooting](#troubleshooting) – Troubleshooting" in found
    assert "- [references/clay.md](#reference-content-from-referencesclaymd) – Clay: " in found
    assert "- `scripts/vent.py` – a script: " in found
    assert "(references/" not in found


def test_it_needs_a_plan_of_pd():
    plan, _, flat = built("report", "flat-files")
    with pytest.raises(TransformError, match="repeats rows of 'pd'"):
        plan_of(transform("flat-toc"), flat, {}, {"flat-files": plan, "pd": None})


@pytest.mark.slow
def test_a_build_makes_what_it_needs_passes_and_is_proved_and_assayed(tmp_path):
    write_bundle(bundle(FILES).files, tmp_path)
    target = tmp_path / "out"
    record = build_source(tmp_path / "kiln", target, variants=["flat-toc", "pd"])
    assert {one.variant: one.verdict for one in record.variants} == {
        "flat-toc": "pass",
        "pd": "pass",
    }
    assert {one.variant: one.parent for one in record.variants}["flat-toc"] == "flat-files"
    assert verify_build(target).problems == ()
    found = {row.mutation: row for row in assay(target).rows}
    assert found["weaken-must"].flagged == found["weaken-must"].mutants > 0
    assert found["retarget-row"].flagged == found["retarget-row"].mutants > 0
    assert found["none"].mutants == 2
    assert found["none"].flagged == 0
