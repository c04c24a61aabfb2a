"""Rows of a page: by the files that they name, whatever their form."""

from skilljuror.audit.gates.routing import routes, rows_of
from tests.support.knowledge_bundles import skill

BODY = """
# Kiln

Warm it first. For glazes see [the guide](references/glaze.md). If cones bend, read CONES.md.

- [references/firing.md](references/firing.md): read when firing
  - above 900 degrees
- nothing here

| task | read |
|---|---|
| repair | `references/repair.md` |

## `references/vent.md`

Opens the vent. Read before each firing.
"""
FILES = {
    "references/glaze.md": "# Glaze\n\nSee [more](more.md).\n",
    "references/more.md": "# More\n",
    "cones.md": "# Cones\n",
    "references/firing.md": "# Firing\n",
    "references/repair.md": "# Repair\n",
    "references/vent.md": "# Vent\n",
}


def _found(body: str) -> list[tuple[str, tuple[str, ...]]]:
    rows = rows_of(skill(body, **FILES), "demo/SKILL.md")
    return [(row.text, tuple(path.removeprefix("demo/") for path in row.files)) for row in rows]


def test_rows_are_sentences_items_table_lines_and_sections():
    assert _found(BODY) == [
        ("For glazes see the guide.", ("references/glaze.md",)),
        ("If cones bend, read CONES.md.", ("cones.md",)),
        ("references/firing.md: read when firing above 900 degrees", ("references/firing.md",)),
        ("repair | references/repair.md", ("references/repair.md",)),
        ("references/vent.md Opens the vent. Read before each firing.", ("references/vent.md",)),
    ]


def test_a_row_below_a_row_is_its_own():
    rows = _found("- references/glaze.md: glazes\n  - references/firing.md: firing\n")
    assert rows == [
        ("references/glaze.md: glazes", ("references/glaze.md",)),
        ("references/firing.md: firing", ("references/firing.md",)),
    ]


def test_a_label_that_names_another_file_than_its_link_is_told():
    bundle = skill("- [references/glaze.md](references/firing.md): glazes\n", **FILES)
    (row,) = rows_of(bundle, "demo/SKILL.md")
    assert row.crossed == (("demo/references/glaze.md", "demo/references/firing.md"),)
    (plain,) = rows_of(skill("- [firing](references/firing.md)\n", **FILES), "demo/SKILL.md")
    assert plain.crossed == ()


def test_files_are_reached_through_pages_that_a_root_leads_to():
    bundle = skill("See references/glaze.md.\n", **FILES)
    assert routes(bundle) == {
        "demo/references/glaze.md": "demo/SKILL.md",
        "demo/references/more.md": "demo/references/glaze.md",
    }
