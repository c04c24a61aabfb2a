"""The measures of layouts, on bundles whose faults are known."""

from pathlib import Path

from benchmarks.construction import sources_below
from benchmarks.layout import rows_of_sources, total
from benchmarks.layout_measures import measure
from tests.support.knowledge_bundles import skill
from tests.support.places import ROOT

SOURCE = """
# Kiln

You must vent the kiln. Never open it hot.

## Workflow

### Warm

Heat slowly until the cone bends.

### Fire

Hold the temperature for an hour.

## Glazes

Always sieve a glaze twice.
"""


PLACE = Path("somewhere/kiln")
LABELLED = Path(
    "x/anthropics/skills/skills/webapp-testing"
)  # labelled in benchmarks/scope_labels.json


def _parted(pointer: str = "", row: str = "", place: Path = PLACE) -> dict[str, object]:
    root = f"# Kiln\n\nYou must vent the kiln. Never open it hot.\n\n## Workflow\n\n### Warm\n\nHeat slowly until the cone bends.\n\n{pointer}\n\n## Supporting files\n\n{row}\n"
    fire = (
        "# Fire\n\nHold the temperature for an hour.\n\n# Glazes\n\nAlways sieve a glaze twice.\n"
    )
    return measure(skill(SOURCE), skill(root, **{"references/fire.md": fire}), place)


def test_duties_of_the_main_path_are_looked_for_in_the_root():
    law = "\n# Kiln\n\n## Rules\n\nNever open it hot. Always vent it.\n\n## Examples\n\nYou must wait.\n"
    root = "\n# Kiln\n\n## Rules\n\nNever open it hot.\n"
    page = {"references/vent.md": "# Rules\n\nAlways vent it.\n\n# Examples\n\nYou must wait.\n"}
    found = measure(skill(law), skill(root, **page), PLACE)
    assert (found["main kept"], found["main"]) == (1, 2)
    assert found["main lost"] == ["Always vent it."]
    assert (found["branch together"], found["branch"]) == (1, 1)


def test_what_people_labelled_comes_before_what_titles_say():
    text = "\n# Test\n\n## Best Practices\n\nAlways close it.\n\n## Rules\n\nNever open it.\n"
    found = measure(skill(text), skill("\n# Test\n"), LABELLED)
    assert found["labelled"]
    assert found["main lost"] == ["Always close it."]
    assert measure(skill(text), skill("\n# Test\n"), PLACE)["main lost"] == ["Never open it."]


def test_duties_of_a_branch_in_two_files_are_parted():
    text = "\n# Kiln\n\n## Examples\n\nNever open it. Always vent it.\n"
    pages = {"references/a.md": "# Examples\n\nNever open it.\n"}
    pages["references/b.md"] = "# More\n\nAlways vent it.\n"
    assert measure(skill(text), skill("\n# Kiln\n", **pages), PLACE)["branch parted"]


def test_a_process_may_go_on_elsewhere_where_a_pointer_says_so_but_need_not_if_it_fits():
    row = "- references/fire.md: read when the task involves Fire."
    assert _parted(row=row)["splits"] == ["workflow: warm | fire"]
    found = _parted("references/fire.md: continue here for Fire.", row)
    assert found["splits"] == []
    assert found["cut"] == ["workflow: demo/SKILL.md, demo/references/fire.md"]


def test_a_variable_that_a_root_uses_before_its_page_is_named():
    page = {"references/set.md": "# Set\n\nKILN=7\n"}
    late = "\n# Kiln\n\nHeat $KILN.\n\nSee references/set.md.\n"
    early = "\n# Kiln\n\nSee references/set.md.\n\nHeat $KILN.\n"
    found = [
        measure(skill(SOURCE), skill(one, **page), PLACE)["undefined"] for one in (late, early)
    ]
    assert list(map(len, found)) == [1, 0]


def test_rows_are_at_fault_that_are_long_or_circular_or_quote_an_example():
    def faults(row: str) -> list[str]:
        source = SOURCE + "\n## Example\n\nIf it is cold, light it at once.\n"
        page = {"references/fire.md": "# Fire\n\nHold it.\n"}
        found = measure(skill(source), skill(f"\n# Kiln\n\n{row}\n", **page), PLACE)
        assert found["rows"] == 1
        return [fault.partition(":")[0] for fault in found["faulty"]]

    lead = "When the task involves Fire, read [references/fire.md](references/fire.md)"
    assert faults(f"{lead}.") == []
    assert faults(f"{lead}: See Fire for Fire.") == ["circular"]
    assert faults(f"{lead}: If it is cold, light it at once.") == ["from an example"]
    assert faults(f"{lead}: {'The cone bends when it is hot. ' * 4}") == ["long"]


def test_sources_are_tasks_or_single_skills_and_another_checkout_may_make_them(tmp_path: Path):
    for place in ("task/environment/skills/kiln", "task/environment/skills/wheel", "lone"):
        (tmp_path / place).mkdir(parents=True)
        text = f"---\nname: x\ndescription: Do a thing.\n---\n{SOURCE}"
        (tmp_path / place / "SKILL.md").write_text(text, encoding="utf-8")
    (tmp_path / "task" / "instruction.md").write_text("Fire the kiln.", encoding="utf-8")
    sources = sources_below(tmp_path)
    assert sources == [tmp_path / "lone", tmp_path / "task/environment/skills"]
    rows = rows_of_sources(sources, ROOT, "pd", 1)
    assert [row["error"] for row in rows] == [None, None]
    assert total("both", rows)["made"] == 2
