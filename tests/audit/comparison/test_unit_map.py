from skilljuror.audit.comparison.unit_matching import knowledge_map
from skilljuror.base.skill import UnitLocation
from tests.support.knowledge_bundles import skill

SOURCE = skill(
    "# Guide\n\nKeep 3 copies.\n\n## Fonts\n\nUse serif. Use serif.\n",
    **{"scripts/run.py": "import sys\n\nprint(1)\n"},
)
FLAT = skill(
    "# Guide\n\nKeep\n3 copies.\n\n## Fonts\n\nUse serif.\n\n"
    "## Helper implementation for `scripts/run.py`\n\n```python\nimport sys\n\nprint(1)\n```\n"
)


def starts(variant, text):
    """First lines at which the variant says what the source says as `text`."""
    rows = [row for row in knowledge_map(SOURCE, {"v": variant}) if row.unit.text == text]
    found = [row.places["v"] for row in rows]
    return [place and place.start for place in found]


def test_a_variant_equal_to_the_source_maps_onto_itself():
    for row in knowledge_map(SOURCE, {"v": SOURCE}):
        place = row.places["v"]
        assert place is not None
        assert (place.file, place.start, place.end) == (row.unit.file, row.unit.start, row.unit.end)


def test_line_ranges_are_those_of_the_variant():
    rows = knowledge_map(SOURCE, {"v": FLAT})
    found = {row.unit.text: row.places["v"] for row in rows}
    assert found["Keep 3 copies."] == UnitLocation("demo/SKILL.md", 7, 8)
    assert found["print(1)"] == UnitLocation("demo/SKILL.md", 19, 19)


def test_a_copy_that_was_dropped_stands_where_the_other_one_stands():
    assert starts(FLAT, "Use serif.") == [12, 12]


def test_a_reworded_unit_is_found_and_a_lost_one_is_none():
    variant = skill("# Guide\n\nPlease keep 3 copies.\n")
    assert starts(variant, "Keep 3 copies.") == [7]
    assert starts(variant, "Fonts") == [None]


def test_rows_keep_reading_order_for_any_number_of_variants():
    rows = knowledge_map(SOURCE, {"b": FLAT, "a": SOURCE})
    assert [row.unit.start for row in rows if row.unit.file.endswith(".md")] == sorted(
        row.unit.start for row in rows if row.unit.file.endswith(".md")
    )
    assert all(set(row.places) == {"a", "b"} for row in rows)
