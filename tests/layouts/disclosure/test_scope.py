"""The scope of a section: main path or branch, and why."""

import pytest

from skilljuror.base.skill import Blob
from skilljuror.layouts.disclosure.scope import scopes_of, title_reason
from skilljuror.layouts.disclosure.sections import FlatSkill
from skilljuror.skill.bundles import make_bundle
from tests.support.kiln_skills import CURVE, HEAD, STEPS, TALK, section


def reasons(text: str) -> dict[str, str]:
    """Title of each section of a kiln's page -> "scope reason"."""
    bundle = make_bundle("kiln", {"kiln/SKILL.md": Blob((HEAD + text).encode())})
    return {one.title: f"{one.scope} {one.reason}" for one in scopes_of(FlatSkill(bundle))}


@pytest.mark.parametrize(
    ("title", "reason"),
    [
        ("The Iron Law", "law"), ("Final Rule", "law"), ("Rules for glazes", "law"),
        ("Red Flags - STOP and Start Over", "red flags"), ("Common Rationalizations", "red flags"),
        ("When NOT to Use", "decision"), ("Decision Tree: Choosing Your Approach", "decision"),
        ("Which kiln should I use?", "decision"), ("Core Documentation (Load First)", "prerequisite"),
        ("Before you light it", "prerequisite"), ("Setup", "prerequisite"), ("Firing workflow", "process"),
        ("Example: Bug Fix", "example"), ("Examples of good rules", "example"),
        ("Case Study: a cracked kiln", "example"),
        ("API Reference", "look-up"), ("Templates", "look-up"), ("Troubleshooting", "troubleshooting"),
        ("When Stuck", "troubleshooting"), ("Claude.ai-specific instructions", "alternative"),
        ("Packaging (only if a packer is at hand)", "alternative"), ("Quick Reference", "undecided"),
        ("Good Tests", None), ("Glaze (see the table of errors)", None),
    ],
)  # fmt: skip
def test_a_title_says_what_its_section_is(title: str, reason: str | None) -> None:
    assert title_reason(title) == reason


def test_alternatives_are_siblings_that_name_languages_platforms_or_options() -> None:
    found = reasons(section("Python", TALK) + section("TypeScript", TALK) + section("Care", TALK))
    assert found["Python"] == found["TypeScript"] == "branch alternative"
    assert found["Care"] == "main undecided"
    options = section("Option A: gas", TALK) + section("Option B: wood", TALK)
    assert reasons(options + section("Care", TALK) * 3)["Option B: wood"] == "branch alternative"
    assert reasons(section("Python", TALK) + section("Care", TALK))["Python"] == "main undecided"


def test_a_process_is_main_with_all_its_steps_whatever_they_are_called() -> None:
    titles = ("Look at the reference", "Troubleshooting the clay", "Examples to try")
    steps = "".join(section(title, TALK, 3) for title in titles)
    found = reasons(
        section("Workflow", steps) + section("Step 1: Load", TALK) + section("Step 2: Fire", TALK)
    )
    assert {found[title] for title in titles} == {"main process"}
    assert found["Step 2: Fire"] == "main process"


def test_alternatives_inside_a_step_are_branches() -> None:
    kinds = section("Linux", TALK, 3) + section("Windows", TALK, 3)
    found = reasons(
        section("Workflow", STEPS) + section("Step 1: Install", kinds) + section("Step 2: Go", TALK)
    )
    assert found["Linux"] == found["Windows"] == "branch alternative"
    assert found["Step 1: Install"] == "main process"


def test_code_and_long_tables_are_looked_up_and_steps_with_code_are_not() -> None:
    rows = "| Cone | Degrees |\n|---|---|\n" + "".join(
        f"| cone {n} | {n * 20} degrees |\n" for n in range(40)
    )
    found = reasons(
        section("Curves", CURVE) + section("Cones", rows) + section("Firing", f"{STEPS}\n{CURVE}")
    )
    assert found["Curves"] == found["Cones"] == "branch look-up"
    assert found["Firing"] == "main undecided"


def test_a_law_binds_with_what_is_below_it_but_for_code() -> None:
    below = section("Doors", TALK, 3) + section("Curve", CURVE, 3)
    found = reasons(section("Best practices", below) + section("Care", TALK))
    assert found["Doors"] == "main law"
    assert found["Curve"] == "branch look-up"


def test_numbered_entries_of_a_catalogue_are_looked_up() -> None:
    found = reasons("".join(section(f"KL-0{n}: A crack of kind {n}", TALK) for n in range(1, 5)))
    assert found["KL-03: A crack of kind 3"] == "branch look-up"


def test_what_sets_a_name_that_the_main_path_uses_is_main() -> None:
    setting = section("Example of a shell", "```bash\nexport KILN=7\n```")
    assert reasons(setting + section("Care", "Run `heat $KILN`."))["Example of a shell"] == (
        "main prerequisite"
    )
    assert (
        reasons(setting + section("Care", "Run `heat`."))["Example of a shell"] == "branch example"
    )
    own = section("Care", "```bash\nKILN=3\nheat $KILN\n```")
    assert reasons(setting + own)["Example of a shell"] == "branch example"
