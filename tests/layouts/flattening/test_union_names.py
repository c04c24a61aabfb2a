"""Several skills of a folder that is just called skills keep their names in that of the union."""

import pytest

from skilljuror.layouts.build.build import build_source
from skilljuror.layouts.flattening import union_name
from skilljuror.skill.bundles import load_bundle


@pytest.mark.parametrize(
    ("folder", "skills", "name"),
    [
        ("skills", ["docx", "pdf"], "docx-pdf"),
        ("office", ["docx", "pdf"], "office"),
        ("skills", ["a" * 30, "b" * 20, "c" * 20], f"{'a' * 30}-{'b' * 20}-and-1-more"),
        ("skills", ["a" * 64, "b"], "a" * 64),
    ],
)
def test_its_name(tmp_path, folder, skills, name):
    for skill in skills:
        place = tmp_path / folder / skill
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(f"---\nname: {skill}\ndescription: D.\n---\n\nText.\n")
    assert union_name(load_bundle(tmp_path / folder)) == name


def test_the_gates_know_it(tmp_path):
    for skill, text in (
        ("power-flow", "Set the limit to 5."),
        ("power-dispatch", "Never dispatch twice."),
    ):
        place = tmp_path / "skills" / skill
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(
            f"---\nname: {skill}\ndescription: D.\n---\n\n# Title\n\n{text}\n"
        )
    build = build_source(tmp_path / "skills", tmp_path / "out", variants=("baseline", "pd"))
    assert [one.verdict for one in build.variants] == ["pass", "pass"]
    assert build.variants[0].skills == ("power-dispatch-power-flow",)
