"""What a line is worth in a root: duties, steps and ways to files; not examples."""

import pytest

from skilljuror.knowledge.markdown.block_index import markdown_index
from skilljuror.transforms.disclosure.section_worth import (
    DUTY,
    PLAIN,
    ROUTE,
    STEP,
    SectionWorth,
    is_duty,
    is_prose,
)


def worth_of(text: str, *names: str) -> float:
    lines = tuple(text.split("\n"))
    fences = [block for block in markdown_index(lines).blocks if block.kind == "fence"]
    return SectionWorth(lines, fences, names).worth([(0, len(lines))])


@pytest.mark.parametrize(
    ("text", "binds"),
    [
        ("Never open the door.", True),
        ("Only the potter lights it.", True),
        ("Do NOT hurry.", True),
        ("No firing without a log.", True),
        ("The door is not green.", False),
        ("All shelves are old.", False),
    ],
)
def test_words_that_bind_count_in_capitals_or_plain(text: str, binds: bool):
    assert is_duty(text) is binds


@pytest.mark.parametrize(
    ("lines", "prose"),
    [
        (["NO FIRING WITHOUT A SWEPT CHIMNEY FIRST"], True),
        (["Sweep the chimney; you must not light it before."], True),
        (["kiln/", "  door/", "  chimney/"], False),
        (["heat --zone 3 --hold 20", "log --all > day.txt", "cool --slow"], False),
        (["x = f(y)  # no"] + ["total = total + heat(zone) * factor(zone, day)"] * 9, False),
    ],
)
def test_a_fence_is_prose_by_the_share_of_its_modal_words(lines: list[str], prose: bool):
    assert is_prose(lines) is prose


def test_duties_steps_and_ways_to_files_are_worth_something_and_code_nothing():
    assert worth_of("Never open it.") == DUTY
    assert worth_of("It is green.") == PLAIN
    assert worth_of("See `curves.md` for it.", "curves.md") == ROUTE
    assert worth_of("- [ ] The door is shut") == STEP
    assert worth_of("1. Load it.\n2. Light it.") == STEP + 2 * PLAIN
    assert worth_of("```python\nmust = never(always)\n```") == 0


def test_a_row_leads_to_a_tool_where_its_first_cell_is_a_task_in_words():
    head = "| A | B |\n|---|---|\n"
    assert worth_of(f"{head}| Cool it | `kiln cool` |") == ROUTE + PLAIN
    assert worth_of(f"{head}| `--slow` | how fast it cools |") == 2 * PLAIN
