"""What a root keeps: what binds everybody, what a process builds on, and processes in one piece."""

from skilljuror.bundles.reader import make_bundle
from skilljuror.models.bundle import Blob
from tests.support.kiln_skills import CURVE, FILLER, STEPS, TALK, pd_of, root_of, section
from tests.support.laid_out import laid_out


def test_a_law_in_an_untagged_fence_stays():
    law = (
        "```\nNO FIRING WITHOUT A SWEPT CHIMNEY FIRST\n```\n\nA kiln that smokes has no second try."
    )
    tree = "```\nkiln/\n  door/\n  chimney/\n  shelf/\n```"
    made = root_of(
        pd_of(FILLER + section("The first law", law) + section("Shelves", TALK * 9 + "\n\n" + tree))
    )
    assert "NO FIRING WITHOUT" in made
    assert "chimney/" not in made


def test_plain_duties_count_as_those_in_capitals():
    duties = "".join(
        f"- Never open the {part} before the cone is down.\n" for part in ("door", "vent", "peep")
    )
    made = root_of(pd_of(FILLER + section("Examples of common patterns", duties) + FILLER))
    assert "Never open the peep" in made


def test_a_short_duty_stays_wherever_it_stands():
    last = section("Last words", "You must not leave a lit kiln alone.")
    assert "leave a lit kiln" in root_of(pd_of(section("Steps", STEPS) + FILLER + CURVE + last))


def test_a_prerequisite_stands_with_the_process_that_needs_it():
    before = section(
        "Overview", TALK * 5 + "See to it that the gas is on: sign in with `gas login`."
    )
    before += section("Inputs", "- `kiln`: its number\n- `cone`: the heat to reach")
    made = root_of(
        pd_of(before + section("Workflow", STEPS * 5) + section("Bundled curves", TALK * 6))
    )
    assert "gas login" in made
    assert "the heat to reach" in made
    assert "6. Cool the kiln" in made


def test_a_table_of_tasks_and_tools_stays():
    rows = "".join(
        f"| {task} the kiln | a dial | `kiln {task.lower()}` |\n"
        for task in ("Heat", "Cool", "Hold", "Vent", "Stop")
    )
    table = "| Task | Tool | Command |\n|---|---|---|\n" + rows
    text = "".join(section(f"Curve {name}", CURVE) for name in "ABCDEF") + FILLER
    made = root_of(pd_of(text + section("Quick reference", table)))
    assert "`kiln hold`" in made


def test_a_process_without_numbers_is_parted_at_most_once_and_says_where_it_goes_on():
    names = ("Soak", "Verify the soak", "Ramp", "Verify the ramp", "Rest")
    stages = "".join(
        section(f"{name.upper()}: what to do", f"{TALK * 40}\n\nNever skip {name.lower()}.", 3)
        for name in names
    )
    made = pd_of(
        section("Soak-Ramp-Rest", "Go round until the cone is down.\n\n" + stages) + FILLER
    )
    kept = [f"### {name.upper()}: what to do" in root_of(made) for name in names]
    assert kept == sorted(kept, reverse=True)
    assert not all(kept)
    (rest,) = (path for path, blob in made.files.items() if "Never skip rest" in (blob.text or ""))
    moved = [name for name, stays in zip(names, kept, strict=True) if not stays]
    assert all(f"Never skip {name.lower()}" in (made.files[rest].text or "") for name in moved)
    shown = rest.removeprefix("kiln/")
    assert f"[{shown}]({shown}): continue here for" in root_of(made)


def test_a_word_of_reference_matter_in_a_step_does_not_tear_it_out():
    titles = ("Look at the clay", "Testing the cone", "Implementation of the curve", "Report")
    steps = [section(title, f"You must finish this first. {TALK * 12}", 3) for title in titles]
    made = root_of(pd_of(section("Workflow", "In this order:\n\n" + "".join(steps)) + FILLER))
    assert [f"### {title}" in made for title in titles] == [True] * 4


def test_rules_deep_in_a_chapter_stay_without_the_chapter():
    parts = "".join(section(f"Curve {name}", CURVE * 3, 3) for name in "ABC")
    rules = "".join(f"- Always close valve {n} first; never the one above.\n" for n in range(8))
    chapter = section("Making curves", parts + section("Curves in common", rules, 3))
    made = root_of(pd_of(chapter + section("Other curves", CURVE * 3 + TALK * 9) + FILLER))
    assert "close valve 7" in made
    assert "## Making curves" in made
    assert "Curve B" not in made


def test_a_root_that_discloses_already_keeps_its_text():
    text = section("Workflow", "".join(
        section(f"{n}) {verb} it", f"{TALK * 2}See `{verb.lower()}.md`.", 3)
        for n, verb in enumerate(("Load", "Fire", "Cool", "Empty"), 1)
    ))  # fmt: skip
    files = {name: f"# {name}\n\n{TALK * 40}" for name in ("load", "fire", "cool", "empty")}
    made = root_of(pd_of(text, **files))
    assert "### 4) Empty it" in made


def test_topics_with_a_number_each_take_no_room_from_what_binds():
    topics = "".join(section(f"{n}. {name}", TALK * 22, 3) for n, name in enumerate(
        ("Shelves", "Cones", "Doors", "Glazes"), 1
    ))  # fmt: skip
    duties = section(
        "Care", "".join(f"- Never leave zone {n} open. {TALK * 3}\n" for n in range(30))
    )
    root = root_of(pd_of(section("Round the kiln", topics) + FILLER + duties))
    assert "Never leave zone 9 open" in root
    assert "### 1. Shelves" not in root


def test_of_small_skills_on_one_page_something_can_be_opened():
    source = {
        f"{name}/SKILL.md": Blob(
            f"---\nname: {name}\ndescription: Works the {name}.\n---\n\n# The {name}\n\n{TALK}\n".encode()
        )
        for name in ("bellows", "damper")
    }
    made = laid_out(make_bundle("works", source), "baseline", "pd")["pd"]
    assert [path for path in made.files if "/references/" in path]
