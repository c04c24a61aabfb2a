"""pd: what leaves the root states when it is needed, the rest stays as its author wrote it."""

import pytest

from skilljuror.audit.audit import audit
from skilljuror.base.skill import Blob, Bundle
from skilljuror.layouts.build.build import build_source
from skilljuror.layouts.conditions import leaving_sections, open_sections
from skilljuror.layouts.sections import FlatSkill
from skilljuror.layouts.verify import verify_build
from skilljuror.skill.bundles import make_bundle, write_bundle
from tests.support.laid_out import laid_out

HEAD = "---\nname: kiln\ndescription: How a kiln is fired.\n---\n\n# Firing a kiln\n\n"
TALK = "The shop by the river has sold the same three whites since the old kiln was built. "
LONG = f"{TALK * 40}\n\n"


def section(title: str, text: str = LONG, level: int = 2) -> str:
    return f"{'#' * level} {title}\n\n{text}\n\n"


def kiln(text: str, files: dict[str, str] | None = None) -> Bundle:
    blobs = {f"kiln/{path}": Blob(page.encode()) for path, page in (files or {}).items()}
    return make_bundle("kiln", {"kiln/SKILL.md": Blob((HEAD + text).encode()), **blobs})


def made_of(text: str, files: dict[str, str] | None = None) -> Bundle:
    """The proved pd of a kiln, which passes the gates."""
    made = laid_out(kiln(text, files), "baseline", "pd")
    judged = audit(made["baseline"], made["pd"], "pd", "strict")
    assert {one.rule for one in judged.own if one.severity != "info"} <= {"layout.pd-support"}
    return made["pd"]


def pointers(text: str, files: dict[str, str] | None = None) -> list[str]:
    root = made_of(text, files).files["kiln/SKILL.md"].text or ""
    return [line for line in root.split("\n") if line.startswith("→ ")]


@pytest.mark.parametrize(
    "title",
    [
        "If a cone leans", "When the gas fails", "Unless it rains", "Only for gas kilns",
        "For electric kilns", "Merging glazes (salt mode only)", "Cooling (when the shed is cold)",
    ],
)  # fmt: skip
def test_a_title_that_is_a_condition_stands_in_the_row(title: str) -> None:
    (row,) = pointers(section("Care") + section(title))
    assert row.startswith(f"→ {title}: read [references/")


@pytest.mark.parametrize(
    "title",
    [
        "When to use", "When not to fire", "When it applies", "For each kiln", "For you", "Reference",
        "Examples", "History", "Step 3: If a cone leans", "Setup (macOS only)", "Rules (when cold)",
        "Parameters", "Output format", "Definition of done", "Approval gate", "Workflow",
    ],
)  # fmt: skip
def test_what_every_run_needs_and_what_states_no_condition_stays(title: str) -> None:
    assert pointers(section("Care") + section(title)) == []


def test_the_first_sentence_is_the_condition_if_it_speaks_of_the_whole_section() -> None:
    for said in (
        "Use this section when the shed is cold.",
        "This applies only to salt kilns.",
        "When a glaze has crawled, look at the shelf first:",
    ):
        (row,) = pointers(section("Care") + section("Crawled glazes", f"{said}\n\n{LONG}"))
        assert row.endswith(f" – {said}")
    for said in (
        "When a glaze has crawled, stop and tell the potter.",  # governs itself alone
        "If it rains, shut the door.",  # says nothing of what the title is about
        f"When a glaze has crawled, look.\n\nIf it has not, go on. {TALK}",  # one of two cases
    ):
        assert pointers(section("Care") + section("Crawled glazes", f"{said}\n\n{LONG}")) == []


def test_a_sentence_elsewhere_gives_the_condition_if_none_leads_there_without_one() -> None:
    told = "If the kiln is a salt kiln, follow [the salt](#salt)."
    (row,) = pointers(section("Care", f"{told}\n") + section("Salt"))
    assert row.endswith(f" – {told.replace('(#salt)', '').replace('[', '').replace(']', '')}")
    always = "Then follow [the salt](#salt) to the end."
    assert pointers(section("Care", f"{told}\n\n{always}\n") + section("Salt")) == []


def test_alternatives_leave_together_or_not_at_all() -> None:
    kinds = section("Linux", level=3) + section("macOS", level=3)
    assert [row.partition(":")[0] for row in pointers(section("Burners", kinds))] == [
        "→ Linux",
        "→ macOS",
    ]
    assert (
        pointers(section("Burners", section("Linux", level=3) + section("macOS", "Ask.", 3))) == []
    )
    assert pointers(section("Linux") + section("Care")) == []
    assert (
        pointers(section("npm release") + section("Docker image")) == []
    )  # two kinds: both are met
    assert pointers(section("A — Look") + section("B — Light")) == []  # steps


def test_trouble_is_led_to_by_its_symptoms_unless_it_is_the_subject() -> None:
    trouble = section("It smokes", level=3) + section("It will not light", level=3)
    (row,) = pointers(section("Care") + section("Troubleshooting", trouble))
    assert row.startswith("→ Troubleshooting – It smokes; It will not light: read ")
    subject = make_bundle("mending", {
        "mending/SKILL.md": Blob(f"---\nname: kiln-troubleshooting\n---\n{section('Troubleshooting')}".encode()),
    })  # fmt: skip
    flat = laid_out(subject, "baseline")["baseline"]
    assert leaving_sections(FlatSkill(flat)) == []


@pytest.mark.parametrize(
    "text",
    [
        "Stop and ask the potter before you light it.",
        "Do not proceed until the potter has said yes.",
        "```bash\nexport KILN=7\n```",
        "Cones are in [cones](notes/cones.md).",
        "The kiln is $ARGUMENTS.",
    ],
    ids=[
        "gate",
        "gate of all",
        "a name used elsewhere",
        "the author's own row",
        "text for the loader",
    ],
)
def test_a_condition_does_not_move_what_has_to_stay(text: str) -> None:
    page = section("Care", "Run `heat $KILN`.") + section("If a cone leans", f"{text}\n\n{LONG}")
    assert pointers(page, {"notes/cones.md": "# Cones\n\nThey bend.\n"}) == []


def test_two_sections_with_one_condition_both_stay() -> None:
    twice = section("Gas", section("If it smokes", level=3)) + section(
        "Wood", section("If it smokes", level=3)
    )
    assert pointers(twice) == []


def test_a_process_stays_whole_with_the_conditions_inside() -> None:
    steps = section("Step 1: Load", section("If a shelf is bent", level=3)) + section(
        "Step 2: Fire"
    )
    assert pointers(steps) == []


def test_little_is_not_worth_a_file() -> None:
    assert pointers(section("Care") + section("If a cone leans", "Look at it.")) == []
    assert pointers(section("Care", LONG * 3) + section("If a cone leans", TALK * 18)) == []


def test_the_files_of_the_author_and_the_lines_that_lead_to_them_come_back_as_they_were() -> None:
    pages = {
        "notes/cones.md": "## Cones\n\n### Small → [doors](./doors.md)\n\nThey bend. See [doors](./doors.md#no-such-heading).\n",
        "notes/doors.md": "# Doors\n\nThey shut.\n\n",
        "scripts/light.py": "print(1)\n",
    }
    source = kiln(
        "- [cones](./notes/cones.md)\n- [`notes/*`](./notes)\n\nRun `python scripts/light.py`.\n",
        pages,
    )
    made = laid_out(source, "baseline", "pd")["pd"]
    same = {path for path, blob in source.files.items() if made.files[path] == blob}
    assert same == {*source.files} - {"kiln/notes/doors.md"}  # the blank line at its end is gone


def test_files_that_no_text_names_are_listed_and_papers_of_the_project_are_not() -> None:
    files = {
        "notes/cones.md": "# Cones\n\nRead this when a cone leans.\n",
        "notes/doors.md": "# Doors\n\nThey shut.\n",
        "notes/named.md": "# Named\n\nBy its folder's neighbour doors.md.\n",
        "light.py": '"""Light the kiln at dusk."""\n',
        "CHANGELOG.md": "# Changes\n", "tests/test_kiln.py": "assert 1\n", ".gitignore": "*.log\n",
        "package.json": "{}\n", "LICENSE": "Free.\n",
    }  # fmt: skip
    root = made_of("Look at named.md.\n", files).files["kiln/SKILL.md"].text or ""
    assert root.partition("## Further files")[2].strip().split("\n") == [
        "- `light.py` – a script: Light the kiln at dusk.",
        "- [notes/cones.md](notes/cones.md) – Cones: Read this when a cone leans.",
    ]


def test_a_link_to_a_section_that_left_leads_to_its_file() -> None:
    text = section("Care", "Leaning is told [below](#if-a-cone-leans).") + section(
        "If a cone leans"
    )
    root = made_of(text).files["kiln/SKILL.md"].text or ""
    assert "[below](references/if-a-cone-leans.md#if-a-cone-leans)" in root


def test_what_a_model_or_a_person_judged_counts() -> None:
    flat = FlatSkill(laid_out(kiln(section("Care") + section("Salt")), "baseline")["baseline"])
    care, salt = open_sections(flat)
    assert [one.node.title for one in leaving_sections(flat, {salt.key: "branch"})] == ["Salt"]
    assert leaving_sections(flat, {care.key: "main", salt.key: "main"}) == []


def test_a_source_without_anything_to_disclose_has_no_pd_and_says_so(tmp_path) -> None:
    write_bundle(kiln("## Care\n\nMix it.\n").files, tmp_path / "source")
    record = build_source(tmp_path / "source" / "kiln", tmp_path / "out")
    assert [(one.variant, one.same_as) for one in record.variants] == [
        ("flat-files", "origin"),
        ("origin", None),
    ]
    assert record.not_built == {
        "pd": "nothing to disclose: no section that can move says when it is needed"
    }
    assert verify_build(tmp_path / "out").proved
