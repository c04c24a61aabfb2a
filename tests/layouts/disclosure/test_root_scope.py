"""What stays in a root, what becomes a file, and where the pointer is."""

from skilljuror.base.skill import Blob
from skilljuror.base.texts import estimate
from skilljuror.layouts.disclosure.root_scope import ROOT_TOKENS
from skilljuror.skill.bundles import make_bundle
from tests.support.kiln_skills import (
    CURVE,
    FILLER,
    STEPS,
    TALK,
    pd_of,
    references_of,
    root_of,
    section,
)
from tests.support.laid_out import laid_out


def pointer(topics: str, name: str) -> str:
    return f"When the task involves {topics}, read [references/{name}](references/{name})."


def test_a_branch_leaves_and_its_pointer_is_where_it_was() -> None:
    law = section("The first law", "NO FIRING WITHOUT A SWEPT CHIMNEY.")
    made = pd_of(law + section("Example: a bowl", TALK * 9) + section("Final rule", "Sweep first."))
    assert root_of(made).endswith(
        "NO FIRING WITHOUT A SWEPT CHIMNEY.\n\n" + pointer("Example: a bowl", "a-bowl.md")
        + "\n\n## Final rule\n\nSweep first.\n"
    )  # fmt: skip
    assert references_of(made) == {"a-bowl.md": f"# Example: a bowl\n\n{(TALK * 9).rstrip()} \n"}


def test_laws_red_flags_decisions_and_set_up_stay_whatever_they_cost() -> None:
    titles = ("Red flags", "Which kiln to use", "Prerequisites", "Never do this")
    made = root_of(pd_of("".join(section(title, TALK * 12) for title in titles) + FILLER * 5))
    assert all(f"## {title}\n" in made for title in titles)
    assert estimate(made) <= ROOT_TOKENS + 100  # pointers come on top
    assert "## History 0" in made  # the last leave first


def test_a_skill_of_main_path_alone_has_nothing_to_disclose() -> None:
    assert references_of(pd_of(section("Workflow", STEPS) + section("Rules", TALK * 20))) == {}


def test_a_branch_as_short_as_its_pointer_stays() -> None:
    assert references_of(pd_of(section("Workflow", STEPS) + section("When stuck", TALK))) == {}


def test_a_process_that_fits_is_not_cut_and_one_that_does_not_is_cut_between_stages() -> None:
    def process(words: int) -> str:
        return "".join(section(f"Step {n}: part {n}", TALK * words) for n in range(1, 6))

    assert references_of(pd_of(process(12))) == {}
    made = pd_of(process(80))
    root = root_of(made)
    assert "## Step 1: part 1\n" in root
    assert list(references_of(made)) == ["part-4.md", "part-5.md"]
    link = "references/part-5.md"
    assert root.rstrip().endswith(f"[{link}]({link}): continue here for Step 5: part 5.")
    assert root.index("part-4.md") < root.index("part-5.md")


def test_examples_inside_a_process_leave_before_its_stages() -> None:
    steps = "".join(
        section(f"Step {n}: part {n}", TALK * 30 + "\n\n" + section(f"Examples {n}", TALK * 20, 3))
        for n in range(1, 7)
    )
    made = pd_of(steps)
    assert all(f"## Step {n}" in root_of(made) for n in range(1, 7))
    assert any("Examples 6" in text for text in references_of(made).values())


def test_a_stage_with_a_word_of_look_ups_in_its_title_is_cut_as_any_stage() -> None:
    titles = ["Phase 1: Sweep", "Phase 2: Group related kilns", "GATE: Confirm the exact commands"]
    titles += ["Phase 3: Light", "Phase 4: Report"]
    stages = "".join(section(title, TALK * 54, 3) for title in titles)
    made = pd_of(section("Workflow", STEPS) + stages + section("Rules", TALK))
    assert all(f"### {title}\n" in root_of(made) for title in titles[:3])
    assert "continue here for Phase 4: Report." in root_of(made)
    assert "When the task involves" not in root_of(made)


def test_a_second_process_leaves_whole_before_the_first_is_cut() -> None:
    first = "".join(section(f"{verb} it", TALK * 30, 3) for verb in ("Load", "Light", "Cool"))
    second = "".join(section(f"{verb} it", TALK * 80, 3) for verb in ("Mix", "Sieve", "Dip"))
    made = pd_of(section("Firing process", first) + section("Glazing process", second))
    assert list(references_of(made)) == ["glazing-process.md"]
    assert "### Cool it" in root_of(made)


def test_each_alternative_has_a_file_and_the_heading_above_stays_with_the_pointers() -> None:
    kinds = section("Python", TALK * 40, 3) + section("TypeScript", TALK * 40, 3)
    made = pd_of(section("Workflow", STEPS) + section("Guides", kinds))
    assert list(references_of(made)) == ["python.md", "typescript.md"]
    assert (
        "## Guides\n\n" + pointer("Python", "python.md") + "\n\n" + pointer("TypeScript", "typescript.md")
        in root_of(made)
    )  # fmt: skip


def test_sections_of_different_parents_share_no_file_nor_do_neighbours_of_the_page() -> None:
    curves = "".join(section(f"Curve {name}", CURVE, 3) for name in "ABC")
    more = "".join(section(f"Ramp {name}", CURVE, 3) for name in "ABC")
    text = section("Curves", curves + TALK) + section("Ramps", more + TALK)
    made = references_of(pd_of(text + section("Samples", CURVE) + section("Snippets", CURVE)))
    assert not [one for one in made.values() if "Curve A" in one and "Ramp A" in one]
    assert {"samples.md", "snippets.md"} <= made.keys()
    assert all(f"Curve {name}" in made["curves.md"] for name in "ABC")


def test_a_branch_too_large_for_one_file_is_cut_between_its_subsections() -> None:
    parts = "".join(section(f"Glaze {n}", TALK * 50, 3) for n in range(6))
    made = references_of(pd_of(section("Workflow", STEPS) + section("Recipes", parts)))
    assert len(made) > 1
    assert all(text.count("Glaze") for text in made.values())


def test_duties_leave_last_among_sections_that_nothing_decides() -> None:
    duty = section("Doors", "Never open the door. " + TALK * 20)
    made = root_of(pd_of(FILLER * 10 + duty))
    assert "Never open the door." in made
    assert made.count("\n## History") < 40


def test_skills_on_one_page_share_the_root_evenly() -> None:
    source = {
        f"{name}/SKILL.md": Blob(
            f"---\nname: {name}\ndescription: Works the {name}.\n---\n\n# {name}\n\n"
            f"{section('Rules', TALK * 5)}{section('Notes', TALK * size)}".encode()
        )
        for name, size in (("bellows", 250), ("damper", 5))
    }
    made = laid_out(make_bundle("works", source), "baseline", "pd")["pd"]
    assert [path for path in made.files if "/references/" in path] == [
        "works/references/bellows/notes.md"
    ]


def test_a_text_without_headings_is_cut_at_a_block_if_it_is_too_long() -> None:
    made = pd_of("\n\n".join(f"{n}. The shelf. {TALK}" if n % 2 else TALK for n in range(400)))
    assert len((made.files["kiln/SKILL.md"].text or "").split("\n")) <= 301
    assert references_of(made)
