"""Files follow the outline: whole subtrees, and a subtree is cut only between its own children."""

from tests.support.kiln_skills import CURVE, FILLER, STEPS, TALK, pd_of, references_of, section

LEAD = section("Overview", "Never fire without a log.")


def titles_of(text: str) -> list[str]:
    return [line.lstrip("# ") for line in text.split("\n") if line.startswith("#")]


def test_each_part_of_a_large_chapter_has_its_own_file():
    parts = ("bisque", "glaze", "raku")
    tasks = ("load", "heat", "cool")
    chapter = "".join(
        section(
            f"{part} - in full", "".join(section(f"{part}: {task}", CURVE, 4) for task in tasks), 3
        )
        for part in parts
    )
    made = references_of(pd_of(LEAD + section("Kinds of firing", chapter) + FILLER))
    for part in parts:
        (holding,) = (text for text in made.values() if f" {part}: load\n" in text)
        own = [f"{part} - in full", *(f"{part}: {task}" for task in tasks)]
        assert [title for title in titles_of(holding) if title != "Kinds of firing"] == own
    assert "bisque-in-full.md" in made


def test_small_sections_side_by_side_share_a_file_that_names_them():
    notes = "".join(section(f"Note {name}", TALK * 3) for name in ("ash", "salt", "soda"))
    made = references_of(pd_of(LEAD + section("Workflow", STEPS) + FILLER + notes))
    (text,) = (text for text in made.values() if "## Note salt" in text)
    assert titles_of(text) == [
        "Note ash, Note salt, Note soda",
        "Note ash",
        "Note salt",
        "Note soda",
    ]


def test_a_large_section_does_not_take_the_first_part_of_the_next_along():
    first = section("Firing slowly", "".join(section(f"Slow {n}", CURVE, 3) for n in range(4)))
    second = section("Firing fast", "".join(section(f"Fast {n}", CURVE, 3) for n in range(4)))
    made = references_of(pd_of(LEAD + first + second + FILLER))
    assert not [text for text in made.values() if "Slow 3" in text and "Fast 0" in text]
    assert [text for text in made.values() if all(f"Fast {n}" in text for n in range(4))]
