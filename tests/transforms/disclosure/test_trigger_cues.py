"""Cues: why to open a file, in the author's own words and in whole sentences."""

import pytest

from skilljuror.bundles.reader import make_bundle
from skilljuror.knowledge.plans.render import render
from skilljuror.models.bundle import Blob
from skilljuror.registry import resolve
from skilljuror.transforms import TRANSFORMS
from skilljuror.transforms.disclosure.trigger_cues import code_cue, topics

FRONT = "---\nname: kiln\ndescription: How a kiln is fired.\n---\n\n# Kiln\n\n"
FILLER = "".join(
    f"## Glaze {number}\n\n{'Glazes are mixed and sieved the day before they are used. ' * 9}\n\n"
    for number in range(12)
)
CURVES = "# Curves\n\nRise slowly to 573 degrees.\n"


def row(told: str) -> str:
    """The routing row of the one reference, of which another page tells."""
    files = {
        "kiln/SKILL.md": Blob(f"{FRONT}Look into `guide.md`.\n\n{FILLER}".encode()),
        "kiln/guide.md": Blob(f"# Guide\n\n{told}\n".encode()),
        "kiln/references/firing-curves.md": Blob(CURVES.encode()),
    }
    bundle = make_bundle("kiln", files)
    for kind in ("baseline", "pd"):
        plan = resolve(TRANSFORMS, kind, "variant")().plan(bundle, {})
        bundle = make_bundle("kiln", render(plan, bundle))
    lines = bundle.files["kiln/SKILL.md"].data.decode().split("\n")
    return next(line for line in lines if line.startswith("- [references/firing-curves.md]"))


@pytest.mark.parametrize(
    ("told", "cue"),
    [
        (
            "Never open the door early. How fast a kiln may be heated is listed in\n"
            "[firing curves](references/firing-curves.md). Keep the plug\nin.",
            "Why: How fast a kiln may be heated is listed in firing curves.",
        ),
        (
            "- Look up the speed, e.g. for stoneware, in `references/firing-curves.md` before\n"
            "  the kiln is lit. Then light it.",
            "Why: Look up the speed, e.g. for stoneware, in references/firing-curves.md before the "
            "kiln is lit.",
        ),
        (
            "| Clay | Speed |\n|---|---|\n| stoneware and porcelain | `references/firing-curves.md` |",
            "Why: stoneware and porcelain",
        ),
        ("They stand in `references/firing-curves.md`.", "Why: Rise slowly to 573 degrees."),
    ], ids=["over two lines", "list item", "table cell", "points back"],
)  # fmt: skip
def test_a_cue_is_the_whole_sentence_that_names_the_file(told: str, cue: str) -> None:
    assert row(told).endswith(cue), row(told)


def root_of(files: dict[str, str]) -> list[str]:
    """The lines of the pd root of a bundle."""
    bundle = make_bundle("kiln", {path: Blob(text.encode()) for path, text in files.items()})
    for kind in ("baseline", "pd"):
        plan = resolve(TRANSFORMS, kind, "variant")().plan(bundle, {})
        bundle = make_bundle("kiln", render(plan, bundle))
    return bundle.files[bundle.skills[0].path].data.decode().split("\n")


def test_sections_that_left_a_chapter_say_which_one():
    chapter = "## Mistakes to avoid\n\n" + "".join(
        f"### Case {n}\n\n{'The shelf was loaded before the wash had dried on it. ' * 20}\n\n"
        for n in range(6)
    )
    lines = root_of({"kiln/SKILL.md": FRONT + chapter})
    rows = [line for line in lines if line.startswith("- [references/case-")]
    assert rows
    assert all("involves Mistakes to avoid: Case " in line for line in rows)


def test_a_lead_that_tells_something_is_a_reason_and_one_that_points_on_is_none():
    section = "## Cones {0}\n\n{1}\n\n- {2}\n\n"
    filler = "Cones bend at a known heat and show what the shelf has seen. " * 25
    text = section.format("one", "Trust the cone, not the dial:", filler)
    text += section.format("two", "The following applies here:", filler)
    text += section.format("three", "Cones are bought by the box.", filler)
    lines = root_of({"kiln/SKILL.md": FRONT + text})
    told = " ".join(line for line in lines if line.startswith("- ["))
    assert "Trust the cone, not the dial" in " ".join(lines)
    assert "Why: The following applies" not in told


def test_a_name_before_a_dash_is_not_said_again():
    told = "- `references/firing-curves.md` - how fast a kiln may be heated"
    assert row(told).endswith("Why: how fast a kiln may be heated"), row(told)


def test_a_general_heading_is_told_with_its_skill():
    skill = "---\nname: {0}\ndescription: Uses {0}.\n---\n# {0}\n\n## Rules\n\n{1}\n\n## Examples\n\n{1}\n"
    text = "Fill the kiln from the back and leave a finger of room around each pot. " * 40
    lines = root_of({f"{one}/SKILL.md": skill.format(one, text) for one in ("bisque", "raku")})
    rows = [line for line in lines if line.startswith("- [references/") and "Examples" in line]
    assert all("bisque: " in line or "raku: " in line or "Rules" in line for line in rows), rows
    assert rows


def test_a_name_after_a_colon_at_the_end_is_not_said_again():
    assert row("The curves that suit clay: `references/firing-curves.md`").endswith(
        "Why: The curves that suit clay"
    )


@pytest.mark.parametrize(
    ("lines", "cue"),
    [
        (["Stop the kiln and vent it", "Usage: stop.sh <kiln>"], "Stop the kiln and vent it"),
        (["Kiln logger", "Writes one row a minute.", "Returns: rows"], "Writes one row a minute."),
        (["Usage: stop.sh <kiln>", "Example: stop.sh 3"], "Usage: stop.sh <kiln>"),
    ],
    ids=["usage below", "title above", "usage alone"],
)
def test_a_script_tells_what_it_is_for_before_how_it_is_called(lines: list[str], cue: str):
    text = "#!/bin/sh\n" + "".join(f"# {line}\n" for line in lines) + "true\n"
    assert code_cue("stop.sh", text) == cue


def test_headings_of_a_change_log_tell_nothing():
    assert topics(["Kiln log", "Added", "Fixed", "Other"]) == "Kiln log"
