"""Which sections are parts of a process, and which breaks of it need a line that leads on."""

import pytest

from skilljuror.audit.comparison.process_pointers import parted_without_pointer
from tests.support.knowledge_bundles import skill

REST = "references/rest.md"


def _section(title, level=3):
    return f"{'#' * level} {title}\n\nText of {title.lower()}.\n\n"


def _breaks(head, stay, leave):
    """(last section, following section) where the sections `leave` stand in another file."""
    page = {REST: "# Other things\n\n" + "".join(leave)}
    source, variant = skill("".join((head, *stay, *leave))), skill("".join((head, *stay)), **page)
    found = parted_without_pointer(source, variant)
    return [(one.last.title, one.following.title) for one in found]


@pytest.mark.parametrize(
    ("title", "names", "told"),
    [
        ("The winding cycle", ("Wind", "Rest"), True),
        ("Wind-Rest-Strike", ("Wind it", "Rest it", "Strike it"), True),
        ("Clocks", ("Stage 1: Wind", "Stage 2: Rest"), True),
        ("Clocks", ("1. Wind", "2. Rest"), True),
        ("Kinds of clocks", ("Mantel", "Tower"), False),
    ],
)
def test_a_process_is_known_by_numbers_or_by_its_title(title, names, told):
    first, *rest = map(_section, names)
    assert _breaks(_section(title, 2), [first], rest) == [names[:2]] * told


def test_sections_below_the_title_of_a_page_are_steps_where_they_are_numbered():
    title, names = _section("Workflow of a shop", 1), ("Buying", "Selling")
    plain = [_section(name, 2) for name in names]
    counted = [_section(f"Step {n}: {name}", 2) for n, name in enumerate(names, 1)]
    assert _breaks(title, plain[:1], plain[1:]) == []
    assert _breaks(title, counted[:1], counted[1:]) == [("Step 1: Buying", "Step 2: Selling")]


def test_the_title_of_a_skill_on_a_page_of_several_is_a_title():
    title = _section("clocks", 1) + _section("Workflow of a shop", 2)
    helper = (
        "## Helper implementation for `clocks/wind.py`\n\n```\nwind()\n```\n\n# lamps\n\nLamps.\n"
    )
    plain = [_section("Buying"), _section("Selling")]
    page = {REST: "# Other things\n\n" + plain[1]}
    source = skill(title + "".join(plain) + helper)
    variant = skill(title + plain[0] + helper, **page)
    assert list(parted_without_pointer(source, variant)) == []


def test_what_stands_below_or_between_steps_is_a_part_of_their_process():
    steps = [_section("Step 1: Wind"), _section("A stuck key", 4), _section("In winter")]
    steps += [_section("Step 2: Rest"), _section("What to oil")]
    names = ["Step 1: Wind", "A stuck key", "In winter", "Step 2: Rest"]
    for n in (1, 2, 3):
        found = _breaks(_section("Clocks", 2), steps[:n], steps[n:])
        assert found == [(names[n - 1], names[n])]
    assert _breaks(_section("Clocks", 2), steps[:4], steps[4:]) == []


def test_a_title_that_stands_twice_tells_no_place():
    twice = [_section("Step 1: Wind"), _section("Check"), _section("Step 2: Rest")]
    page = {REST: "# Other\n\n" + "".join(twice[1:])}
    head = _section("Clocks", 2)
    variant = skill(head + "".join(twice[:2]), **page)
    (found,) = parted_without_pointer(skill(head + "".join(twice)), variant)
    assert (found.last.title, found.following.title) == ("Step 1: Wind", "Step 2: Rest")


def test_from_a_file_opened_on_demand_an_agent_comes_back_by_itself():
    steps = [_section(f"Step {n}: Part {n}") for n in (1, 2, 3)]
    pages = {f"references/p{n}.md": f"# Page {n}\n\n{step}" for n, step in enumerate(steps)}
    assert not list(parted_without_pointer(skill("".join(steps)), skill("\nAsk.\n", **pages)))


def test_a_pointer_stands_where_its_process_breaks_off():
    stay = [_section(f"Step {n}: Part {n}") for n in (1, 2)]
    leave, pointer = (
        [_section("Step 3: Rest")],
        f"[{REST}]({REST}): continue here for Step 3: Rest.\n\n",
    )
    head = _section("Clocks", 2)
    assert _breaks(head, [*stay, pointer], leave) == []
