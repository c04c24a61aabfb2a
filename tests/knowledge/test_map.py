from skilljuror.knowledge.map import knowledge_map
from tests.knowledge.bundles import skill

SOURCE = skill(
    "# Guide\n\nKeep 3 copies.\n\n## Fonts\n\nUse serif. Use serif.\n",
    **{"scripts/run.py": "import sys\n\nprint(1)\n"},
)
FLAT = skill(
    "# Guide\n\nKeep\n3 copies.\n\n## Fonts\n\nUse serif.\n\n"
    "## Helper implementation for `scripts/run.py`\n\n```python\nimport sys\n\nprint(1)\n```\n"
)


def places(variant):
    rows = knowledge_map(SOURCE, {"v": variant})
    return {(row.unit.kind, row.unit.text, row.unit.start): row.places["v"] for row in rows}


def test_a_variant_equal_to_the_source_maps_onto_itself():
    for row in knowledge_map(SOURCE, {"v": SOURCE}):
        place = row.places["v"]
        assert place is not None
        assert (place.file, place.start, place.end) == (row.unit.file, row.unit.start, row.unit.end)


def test_line_ranges_are_those_of_the_variant():
    found = places(FLAT)
    kept = found["statement", "Keep 3 copies.", 7]
    assert (kept.file, kept.start, kept.end) == ("demo/SKILL.md", 7, 8)
    code = found["code", "print(1)", 3]
    assert (code.file, code.start) == ("demo/SKILL.md", 19)


def test_a_copy_that_was_dropped_stands_where_the_other_one_stands():
    found = [p for (_, text, _), p in places(FLAT).items() if text == "Use serif."]
    assert [place.start for place in found] == [12]
    rows = [r for r in knowledge_map(SOURCE, {"v": FLAT}) if r.unit.text == "Use serif."]
    assert [row.places["v"].start for row in rows] == [12, 12]


def test_a_reworded_unit_is_found_and_a_lost_one_is_none():
    variant = skill("# Guide\n\nPlease keep 3 copies.\n")
    found = places(variant)
    assert found["statement", "Keep 3 copies.", 7].start == 7
    assert found["heading", "Fonts", 9] is None


def test_rows_keep_reading_order_for_any_number_of_variants():
    rows = knowledge_map(SOURCE, {"b": FLAT, "a": SOURCE})
    assert [row.unit.start for row in rows if row.unit.file.endswith(".md")] == sorted(
        row.unit.start for row in rows if row.unit.file.endswith(".md")
    )
    assert all(set(row.places) == {"a", "b"} for row in rows)
