"""Rows: which sentence of the source tells of a file, and which headings name it."""

import pytest

from skilljuror.bundles.reader import make_bundle
from skilljuror.gates.knowledge import KnowledgeGate
from skilljuror.knowledge.markdown.block_index import MarkdownIndex
from skilljuror.models.bundle import Blob
from skilljuror.transforms.disclosure.row_cues import Vocabulary, cues_in_file, whole_cue
from tests.support.laid_out import laid_out

FRONT = "---\nname: kiln\ndescription: How a kiln is fired.\n---\n\n# Kiln\n\n"
FILLER = "".join(
    f"## Glaze {number}\n\n{'Glazes are mixed and sieved the day before they are used. ' * 9}\n\n"
    for number in range(12)
)
LONG = (
    "Walk round the kiln and look for cones that lean, shelves that sag, wires that glow, bricks "
    "that crack, doors that gape, seals that smoke, fans that rattle, and write down all that you "
    "see, for the next firing starts from it and nobody remembers"
)
"""A sentence that no row has room for."""


def rows(files: dict[str, str]) -> dict[str, str]:
    """What the proved pd root of a kiln says of each file, by path."""
    blobs = {f"kiln/{path}": Blob(text.encode()) for path, text in files.items()}
    root = laid_out(make_bundle("kiln", blobs), "baseline", "pd")["pd"].files["kiln/SKILL.md"]
    lines = [line for line in (root.text or "").split("\n") if line.startswith(("- [", "- `"))]
    return {line[3:].split("]" if line[2] == "[" else "`")[0]: line for line in lines}


def cue(row: str) -> str:
    return row.partition(" Why: ")[2]


def told(text: str) -> str:
    """The best sentence of a file that stands alone."""
    lines = text.split("\n")
    said = cues_in_file(MarkdownIndex(lines), [(0, len(lines))], Vocabulary([text]), 240)
    return max(said, key=lambda one: one.rank).cue


def test_a_row_names_every_heading_of_the_first_two_levels_and_none_below():
    titles = [f"Cone {number} and its bend" for number in range(9)]
    page = "# Cones\n\n" + "".join(
        f"## {title}\n\nIt bends.\n\n### Deeper {title}\n\nIt does.\n\n" for title in titles
    )
    told = {"SKILL.md": f"{FRONT}See [cones](references/cones.md).\n\n{FILLER}"}
    row = rows(told | {"references/cones.md": page})["references/cones.md"]
    assert all(f", {title}" in row for title in titles)
    assert "Deeper" not in row


def test_a_row_of_few_words_names_the_deeper_headings_too():
    page = "# Tools\n\n## Tongs\n\n### Long tongs\n\n```\ntongs --long\n```\n\n### Short tongs\n\n```\ntongs\n```\n"
    root = f"{FRONT}See [tools](references/tools.md).\n\n{FILLER}"
    row = rows({"SKILL.md": root, "references/tools.md": page})["references/tools.md"]
    assert "Tools, Tongs, Long tongs, Short tongs." in row


def test_a_sentence_that_does_not_fit_is_left_out_and_never_cut():
    root = f"{FRONT}{LONG}, as `references/walk.md` tells.\n\n{FILLER}"
    page = "# Walk\n\nLook at the kiln before it is lit.\n\nMore.\n"
    row = rows({"SKILL.md": root, "references/walk.md": page})["references/walk.md"]
    assert cue(row) == "Look at the kiln before it is lit."


def test_a_long_sentence_loses_what_stands_in_parentheses():
    source = (
        f"When the cone leans, read `walk.md` for the full round ({LONG}) and what follows from it."
    )
    assert whole_cue(source, ["walk.md"]) == (
        "When the cone leans, read walk.md for the full round and what follows from it."
    )


def test_a_sentence_that_names_two_files_tells_neither_of_them():
    told = "Pick a page: cones in `references/cones.md`, glazes in `references/glazes.md`."
    pages = {
        "references/cones.md": "# Cones\n\nA cone bends when the ware has had its heat.\n",
        "references/glazes.md": "# Glazes\n\nA glaze is glass that was taught to stay.\n",
    }
    made = rows({"SKILL.md": f"{FRONT}{told}\n\n{FILLER}"} | pages)
    assert cue(made["references/cones.md"]) == "A cone bends when the ware has had its heat."
    assert cue(made["references/glazes.md"]) == "A glaze is glass that was taught to stay."


def test_files_that_open_alike_are_told_by_what_they_do_not_share():
    page = "# Case {0}\n\nThis file is a case from the bench.\n\n{1}\n"
    own = ["The door was opened at noon.", "The shelf had never been washed."]
    pages = {f"cases/{n}.md": page.format(n, text) for n, text in enumerate(own)}
    made = rows({"SKILL.md": f"{FRONT}Look into `cases/0.md` or `cases/1.md`.\n\n{FILLER}"} | pages)
    assert [cue(made[f"cases/{n}.md"]) for n in range(2)] == own


def test_helpers_of_one_docstring_do_not_share_it():
    scripts = {
        f"scripts/{name}.py": f'"""Tool of the kiln room."""\n\n\ndef {name}():\n    pass\n'
        for name in ("light", "vent")
    }
    text = "Run `python3 scripts/light.py` or `python3 scripts/vent.py`."
    made = rows({"SKILL.md": f"{FRONT}{text}\n\n{FILLER}"} | scripts)
    told = [row for path, row in made.items() if path.startswith("scripts/")]
    assert told
    assert not any("Tool of the kiln room" in row for row in told)


def test_sections_that_share_a_file_have_a_reason_too():
    section = "## Cone {0}\n\nCone {0} bends when shelf {0} is hot.\n\n" + "- heat\n" * 60 + "\n"
    made = rows({"SKILL.md": FRONT + FILLER + "".join(map(section.format, range(4)))})
    shared = [row for row in made.values() if row.count("Cone ") > 2]
    assert shared
    assert all("bends when shelf" in cue(row) for row in shared)


def test_a_heading_that_names_a_helper_is_told_by_its_first_sentence():
    tools = "## Tools\n\n### `scripts/vent.sh`\n\nOpens the flue a hand wide. Mind the heat.\n\n"
    files = {"SKILL.md": f"{FRONT}{tools}{FILLER}", "scripts/vent.sh": "echo open\n"}
    assert cue(rows(files)["scripts/vent.sh"]) == "Opens the flue a hand wide."
    kiln = make_bundle(
        "kiln", {f"kiln/{path}": Blob(text.encode()) for path, text in files.items()}
    )
    made = laid_out(kiln, "baseline", "pd")
    result = KnowledgeGate().check(made["baseline"], made["pd"], "pd", "strict")
    assert result.verdict == "pass", result.findings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n\nWhy is the kiln cold?\n\nThe plug had fallen out.\n", "The plug had fallen out."),
        ("# A\n\nThey stand near the wall there.\n\nThe shelves stand apart.\n", "The shelves stand apart."),
        ("# A\n\n**Cones (small ones):**\n\n- one\n\nCones are bought by the box.\n", "Cones are bought by the box."),
        ("# A\n\n(Add three more of these here.)\n\nCones are counted twice.\n", "Cones are counted twice."),
        ("# A\n\nVersion: 2 Updated: in May of last year.\n\nCones are counted twice.\n", "Cones are counted twice."),
        ("# A\n\n- Door, seal and plug\n\nEach firing begins with a look.\n", "Each firing begins with a look."),
        ("# Order\n\n- Warm the kiln until the pyrometer\n  reads 90. Then wait.\n- b\n", "Warm the kiln until the pyrometer reads 90."),
        ("# A\n\nStart with the cone – will it bend?\n", "Start with the cone – will it bend?"),
    ], ids=["question", "points back", "label", "aside", "labels", "fragment", "item", "statement"],
)  # fmt: skip
def test_a_file_is_told_by_a_sentence_that_says_something(text: str, expected: str):
    assert told(text) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Check the door for gaps: `python3 scripts/door.py --all`", "Check the door for gaps"),
        ("Run this script from its folder: `scripts/door.py`", ""),
        ("See the template at: `scripts/door.py`", ""),
        ("The order in which to light it is that of", ""),
    ],
    ids=["command", "command alone", "lead", "open end"],
)
def test_a_cue_is_a_whole_sentence_or_none(source: str, expected: str):
    assert whole_cue(source, ["scripts/door.py"]) == expected


def test_a_tag_opens_no_sentence():
    page = "# Cones\n\n<cone_patterns> Large cones bend at a heat above that of small ones.\n\nCones stand on clay.\n"
    assert told(page) == "Cones stand on clay."
