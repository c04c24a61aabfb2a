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


def _parted(pointer: str = "", row: str = "") -> dict[str, object]:
    root = f"# Kiln\n\nYou must vent the kiln. Never open it hot.\n\n## Workflow\n\n### Warm\n\nHeat slowly until the cone bends.\n\n{pointer}\n\n## Supporting files\n\n{row}\n"
    fire = (
        "# Fire\n\nHold the temperature for an hour.\n\n# Glazes\n\nAlways sieve a glaze twice.\n"
    )
    return measure(skill(SOURCE), skill(root, **{"references/fire.md": fire}), None)


def test_duties_of_the_source_are_looked_for_in_the_root():
    found = _parted()
    assert (found["duties kept"], found["duties"]) == (2, 3)
    assert found["duties moved"] == ["Always sieve a glaze twice."]


def test_titles_are_looked_for_in_the_rows_that_lead_to_their_page():
    found = _parted(row="- references/fire.md: read when the task involves Glazes.")
    assert (found["titles named"], found["titles"]) == (1, 2)
    assert found["titles unnamed"] == ["Fire"]
    assert _parted()["titles named"] == 0


def test_a_process_may_go_on_elsewhere_where_a_pointer_says_so():
    row = "- references/fire.md: read when the task involves Fire."
    assert _parted(row=row)["splits"] == ["workflow: warm | fire"]
    assert _parted("references/fire.md: continue here for Fire.", row)["splits"] == []


def test_cues_end_where_the_source_ends_a_phrase():
    def faults(cue: str) -> object:
        return _parted(row=f"- references/fire.md: read when the task involves Fire. Why: {cue}")[
            "cues cut"
        ]

    assert faults("Hold the temperature for an hour.") == []
    assert faults("Hold the temperature for") == ["function word: Hold the temperature for"]
    assert faults("Heat slowly until the cone") == ["mid-phrase: Heat slowly until the cone"]


def test_rows_are_ranked_for_what_their_page_says():
    files = {
        "references/fire.md": "# Fire\n\nHold the temperature for an hour.\n",
        "references/glaze.md": "# Glaze\n\nSieve each glaze twice through a mesh.\n",
    }
    right = "- references/fire.md: temperature held\n- references/glaze.md: mesh, sieve\n"
    wrong = "- references/fire.md: mesh, sieve\n- references/glaze.md: temperature held\n"
    assert measure(skill(SOURCE), skill(right, **files), None)["units"] == (2, 2, 2)
    assert measure(skill(SOURCE), skill(wrong, **files), None)["units"][1] == 0
    task = measure(skill(SOURCE), skill(right, **files), "Sieve the glaze through a fine mesh.")
    assert task["task"] == 1


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
    assert ["task" in row for row in rows] == [False, True]
    assert total("both", rows)["made"] == 2
