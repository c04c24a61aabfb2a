"""Cues: why to open a file, in the author's own words and in whole sentences."""

import pytest

from skilljuror.bundles.reader import make_bundle
from skilljuror.knowledge.render import render
from skilljuror.models.bundle import Blob
from skilljuror.registry import resolve
from skilljuror.transforms import TRANSFORMS

FRONT = "---\nname: kiln\ndescription: How a kiln is fired.\n---\n\n# Kiln\n\n"
FILLER = "".join(
    f"## Glaze {number}\n\n{'Glazes are mixed and sieved the day before they are used. ' * 9}\n\n"
    for number in range(12)
)
CURVES = "# Curves\n\nRise slowly to 573 degrees.\n"


def row(told: str) -> str:
    """The routing row of the one reference."""
    files = {
        "kiln/SKILL.md": Blob(f"{FRONT}{told}\n\n{FILLER}".encode()),
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
            "Why: stoneware and porcelain – references/firing-curves.md",
        ),
        ("They stand in `references/firing-curves.md`.", "Why: Rise slowly to 573 degrees."),
    ],
)  # fmt: skip
def test_a_cue_is_the_whole_sentence_that_names_the_file(told: str, cue: str) -> None:
    assert row(told).endswith(cue), row(told)
