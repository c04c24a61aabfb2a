"""Lines that lead to files: the author's own come first, and no line repeats them."""

import pytest

from skilljuror.audit.gates.knowledge import KnowledgeGate
from skilljuror.audit.gates.layout import LayoutGate
from skilljuror.base.skill import Blob
from skilljuror.skill.bundles import make_bundle
from tests.support.laid_out import laid_out

FRONT = "---\nname: kiln\ndescription: How a kiln is fired.\n---\n\n# Kiln\n\n"
PAGES = {
    f"notes/{name}.md": f"# {name.title()}\n\n## Care of {name}\n\nThe {name} were counted by hand.\n"
    for name in ("cones", "shelves", "doors")
}
TABLE = (
    "- `notes/cones.md` – how to tell which cone bends at which heat\n"
    "- `notes/shelves.md` – what to do when a shelf has warped\n"
    "- `notes/doors.md` – how to seal a door before the fire is lit\n"
)


def root(text: str, files: dict[str, str] = PAGES) -> str:
    """The proved pd root of a kiln, whose lines are all generated or the source's."""
    blobs = {f"kiln/{path}": Blob(page.encode()) for path, page in files.items()}
    bundle = make_bundle("kiln", {"kiln/SKILL.md": Blob((FRONT + text).encode()), **blobs})
    made = laid_out(bundle, "baseline", "pd")
    result = KnowledgeGate().check(made["baseline"], made["pd"], "pd", "strict")
    assert result.verdict == "pass", result.findings
    return made["pd"].files["kiln/SKILL.md"].text or ""


def rows(text: str) -> list[str]:
    return text.partition("## Supporting files")[2].split("\n\n")[-1].strip().split("\n")


def test_a_section_that_mostly_names_files_stays_and_its_files_have_no_other_row() -> None:
    assert root(f"## Reference\n\n{TABLE}") == f"{FRONT}## Reference\n\n{TABLE}"


def test_a_sentence_with_a_situation_is_the_row_of_every_file_that_it_names() -> None:
    made = root("Read `notes/doors.md` and `notes/cones.md` before the fire is lit.\n")
    assert "notes/cones.md" in made
    assert rows(made) == [
        "- [notes/shelves.md](notes/shelves.md): read when the task involves Shelves, Care of shelves."
    ]


@pytest.mark.parametrize(
    "text",
    [
        "1. Set up the kiln: follow `notes/cones.md`.\n2. Load `notes/shelves.md` and `notes/doors.md`, and seal the kiln.\n",
        TABLE.replace("how to tell which cone bends at which heat", "heats, cones, glazes"),
        "".join(f"- [`{path}`]({path}) — heats, cones, glazes\n" for path in PAGES),
        "".join(f"- `{path}`: Heats of all cones.\n" for path in PAGES),
        "".join(
            f"- Shared rules: `{path}` — heats, cones, glazes. They apply.\n" for path in PAGES
        ),
    ],
    ids=[
        "a step",
        "an item that says what a file holds",
        "as links",
        "as a sentence",
        "below a label",
    ],
)
def test_a_step_and_a_described_file_need_no_other_row(text: str) -> None:
    blobs = {f"kiln/{path}": Blob(page.encode()) for path, page in PAGES.items()}
    page = f"{FRONT}## Reference\n\n{text}"
    bundle = make_bundle("kiln", {"kiln/SKILL.md": Blob(page.encode()), **blobs})
    assert root(f"## Reference\n\n{text}") == page
    found = LayoutGate().check(bundle, bundle, "pd", "strict").findings
    assert [one.rule for one in found if one.rule.startswith("layout.pd")] == []


def test_a_mention_without_a_situation_is_no_row() -> None:
    assert "[notes/doors.md](notes/doors.md): read" in root("See `notes/doors.md`.\n")


def test_many_pages_of_one_folder_share_a_row() -> None:
    files = {f"glazes/{n}.md": f"# Glaze {n}\n\nIt is blue.\n" for n in range(6)}
    assert rows(root("Mix it.\n", files)) == [
        "- `glazes/` (6 files: 0.md, 1.md, 2.md, 3.md, 4.md, 5.md): read the one whose name fits the task."
    ]


def test_scripts_that_a_step_calls_or_another_script_imports_have_no_row() -> None:
    files = {
        "scripts/light.py": '"""Light the kiln."""\nimport flue_lib\n',
        "scripts/flue_lib.py": "def flue():\n    pass\n",
        "scripts/vent.py": '"""Vent the kiln when a cone has bent."""\n',
    }
    made = root("Run `python3 scripts/light.py`.\n", files)
    assert rows(made) == [
        "- `scripts/vent.py`: use when a step calls it. Why: Vent the kiln when a cone has bent."
    ]
    assert "Supporting files" not in root(
        "Run `python3 scripts/light.py`, then `scripts/vent.py`.\n", files
    )


def test_data_that_nothing_names_has_a_row_and_terms_of_use_have_none() -> None:
    files = {"curves.csv": "a,b\n", "named.csv": "a,b\n", "LICENSE": "Free.\n"}
    assert rows(root("Read the heat from `named.csv`.\n", files)) == [
        "- `curves.csv`: data; use when a step or a script names it."
    ]


LONG = (
    "walk round it and look for cones that lean, shelves that sag and wires that glow in the dark"
)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("See the bench. If a cone leans, look into `notes/x.md`.", "If a cone leans, look into notes/x.md."),
        ("It is said in `notes/x.md` that they lean.", ""),
        (f"If a cone leans, {LONG}, as `notes/x.md` has it.", ""),
        ("For example, if a cone leans, look into `notes/x.md`.", ""),
    ], ids=["condition", "none", "too long", "example"],
)  # fmt: skip
def test_the_reason_of_a_row_is_a_sentence_with_a_condition_that_fits(
    told: str, reason: str
) -> None:
    files = {"bench.md": f"# Bench\n\n{told}\n", "notes/x.md": "# Leaning\n\nThey lean.\n"}
    (row,) = [one for one in rows(root("Mix it.\n", files)) if "[notes/x.md]" in one]
    assert row.partition(" Why: ")[2] == reason
    assert len(row.split()) <= 25


def test_a_pointer_names_the_headings_of_its_file_in_few_words() -> None:
    code = "```python\n" + "heat(zone=1, degrees=40)\n" * 30 + "```\n\n"
    parts = "".join(f"### Cone {n} (the {n} bends)\n\n{code}" for n in range(4))
    made = root(f"Mix it.\n\n## Care\n\nLook.\n\n## Curves\n\nLook.\n\n{parts}", {})
    (line,) = [one for one in made.split("\n") if one.startswith("When the task involves")]
    assert line == (
        "When the task involves Cone 0, Cone 1, Cone 2, Cone 3,"
        " read [references/curves.md](references/curves.md)."
    )
