"""Rows that a source has of its own stay, and are not said twice."""

from skilljuror.bundles.reader import make_bundle
from skilljuror.models.bundle import Blob
from skilljuror.tokens import estimate
from tests.support.laid_out import laid_out

FRONT = "---\nname: kiln\ndescription: How a kiln is fired.\n---\n\n# Kiln\n\n"
GLAZES = "".join(
    f"## Glaze {number}\n\n{'Glazes are mixed and sieved the day before they are used. ' * 9}\n\n"
    for number in range(12)
)
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
    """The proved pd root of a kiln."""
    blobs = {f"kiln/{path}": Blob(page.encode()) for path, page in files.items()}
    bundle = make_bundle("kiln", {"kiln/SKILL.md": Blob(text.encode()), **blobs})
    return laid_out(bundle, "baseline", "pd")["pd"].files["kiln/SKILL.md"].text or ""


def test_a_section_that_mostly_names_files_stays_and_gets_no_file_of_its_own():
    made = root(f"{FRONT}{GLAZES}## Notes from the bench\n\n{TABLE}")
    assert f"## Notes from the bench\n\n{TABLE}" in made
    assert "notes-from-the-bench.md" not in made


def test_a_section_of_one_sentence_that_names_a_file_stays_with_the_heading_above_it():
    section = (
        "## When fired\n\n### Doors\n\nIf the door leaks, see `notes/doors.md` for the seal.\n"
    )
    made = root(f"{FRONT}{GLAZES}{section}")
    assert section in made


def test_a_section_that_names_a_file_among_much_else_is_no_routing():
    told = (
        "## Story\n\n"
        + "The shelf sank in spring. It was mended.\n\n" * 9
        + "See `notes/doors.md`.\n"
    )
    made = root(f"{FRONT}{GLAZES}{told}")
    assert "It was mended." not in made


def test_what_a_page_says_of_a_file_is_not_said_again_in_its_row():
    made = root(f"{FRONT}If the door leaks, see `notes/doors.md` for the seal.\n\n{GLAZES}")
    assert made.count("If the door leaks") == 1
    assert (
        "[notes/doors.md](notes/doors.md): read when the task involves Doors, Care of doors."
        in made
    )


def test_a_root_that_would_grow_keeps_the_rows_of_the_source_alone():
    text = f"{FRONT}## Notes from the bench\n\n{TABLE}\n## Order\n\nLight it. Then wait for the cone.\n"
    made = root(text)
    assert TABLE in made
    assert "](notes/" not in made
    assert estimate(made) <= 1.1 * estimate(text)


def test_a_sentence_that_names_two_files_is_no_row_of_either():
    text = f"{FRONT}Read `notes/doors.md` and `notes/cones.md` before the fire is lit.\n\n{GLAZES}"
    made = root(text)
    assert all(f"[notes/{name}.md]" in made for name in ("doors", "cones", "shelves"))
