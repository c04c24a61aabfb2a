"""What a model or a person judged of a source: kept beside it, asked once, replayed by `verify`."""

import json

import pytest
from typer.testing import CliRunner

from skilljuror.base.errors import StudyError
from skilljuror.cli.app import app
from skilljuror.layouts.build.build import build_source, load_build
from skilljuror.layouts.build.model_build import ModelEngine, build_with_model
from skilljuror.layouts.build.scopes import judged_scopes, scope_file
from skilljuror.layouts.verify import verify_build
from skilljuror.skill.bundles import load_bundle
from tests.support.loopback import model_server
from tests.support.retold_builds import read, seal, write
from tests.support.scripted_model import WARNINGS, choice, judgement

pytestmark = WARNINGS
LONG = "Rows beyond the table of the page are printed on a second copy of that page. " * 8
PAGE = f"""---
name: forms
description: Fill PDF forms. Use when a form must be filled.
---
# PDF forms

Fill forms without losing a value.

## Workflow

1. Read the field list of the form.
2. Fill every field.

## Overflow

A value that overflows its field moves to an addendum page, with its notes. {LONG}

## Fonts

Use Helvetica at 10 pt for printed forms and Courier for codes. {LONG}
"""


@pytest.fixture
def forms(tmp_path):
    folder = tmp_path / "skills" / "forms"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(PAGE)
    return folder


def answers(body, n):
    return json.dumps(judgement(body["messages"]))


def assigned(forms, target):
    """The number of requests of a build with the engine `assign`."""
    with model_server(answers) as (address, requests):
        engine = ModelEngine("assign", choice(address), forms.parent.parent / "calls.jsonl")
        build_with_model(forms, target, engine)
    return len(requests)


def files_of(build):
    pages = (build / "variants" / "pd").rglob("*.md")
    return sorted(page.relative_to(build / "variants" / "pd").as_posix() for page in pages)


def run(*words, status=0):
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == status, done.output
    return done.stdout


def test_a_model_is_asked_once_per_source_and_the_text_moves(forms, tmp_path):
    build_source(forms, tmp_path / "rules")
    assert files_of(tmp_path / "rules") == []  # nothing to disclose
    assert assigned(forms, tmp_path / "one") == 1
    assert assigned(forms, tmp_path / "two") == 0
    build_source(forms, tmp_path / "plan")
    for name in ("one", "two", "plan"):
        assert files_of(tmp_path / name) == ["forms/SKILL.md", "forms/references/overflow.md"]
    engines = [load_build(tmp_path / name).engine for name in ("one", "two", "plan")]
    assert engines == ["assign", "assign", "plan"]
    assert sorted(path.name for path in forms.parent.iterdir()) == ["forms", "forms.scope.jsonl"]


def test_a_changed_section_is_asked_about_again_and_the_others_are_not(forms, tmp_path):
    assigned(forms, tmp_path / "one")
    page = forms / "SKILL.md"
    page.write_text(page.read_text().replace("10 pt", "11 pt"))
    known = judged_scopes(forms, load_bundle(forms))
    assert [one["title"] for one in known.values()] == ["Overflow"]
    assert assigned(forms, tmp_path / "one") == 1
    assert len(scope_file(forms).read_text().splitlines()) == 3


def test_verify_replays_it_and_sees_a_changed_placement(forms, tmp_path):
    assigned(forms, tmp_path / "build")
    scope_file(forms).unlink()
    proof = verify_build(tmp_path / "build")
    assert (proof.problems, proof.made_again) == ((), True)
    record = read(tmp_path / "build")
    for one in record["options"]["scopes"].values():
        one["scope"] = "main"
    write(tmp_path / "build", record)
    seal(tmp_path / "build")
    problems = verify_build(tmp_path / "build").problems
    assert any("references/overflow.md" in line for line in problems)


def test_a_person_reviews_it_once(forms, tmp_path):
    assigned(forms, tmp_path / "one")
    found = json.loads(run("review", forms, "--list", "--json"))["items"]
    assert [one["title"] for one in found] == [
        "forms · PDF forms · Overflow",
        "forms · PDF forms · Fonts",
    ]
    assert found[0]["machine"].startswith("branch (model openai/scripted): when a value overflows")
    shown = run("review", forms, found[0]["id"])
    assert "answers: main, branch" in shown
    run(
        "review",
        forms,
        "--decide",
        f"{found[0]['id']}=main",
        "--why",
        "all overflow",
        "--reviewer",
        "Ann",
    )
    build_source(forms, tmp_path / "two")
    assert files_of(tmp_path / "two") == []
    assert assigned(forms, tmp_path / "three") == 0
    assert files_of(tmp_path / "three") == []
    said = verify_build(tmp_path / "two").unproved
    assert said == (
        "judged, not proved: pd: the scope of 1 section, by Ann",
        "judged, not proved: pd: the scope of 1 section, by model openai/scripted",
    )
    run("review", forms, "--undo", "--reviewer", "Ann")
    build_source(forms, tmp_path / "four")
    assert files_of(tmp_path / "four") == ["forms/SKILL.md", "forms/references/overflow.md"]


def test_a_person_needs_no_model(forms, tmp_path):
    items = json.loads(run("review", forms, "--list", "--json"))["items"]
    assert [one["machine"] for one in items] == [None, None]
    run("review", forms, "--decide", f"{items[1]['id']}=branch", "--reviewer", "Ann")
    build_source(forms, tmp_path / "build")
    assert files_of(tmp_path / "build") == ["forms/SKILL.md", "forms/references/fonts.md"]
    assert "by Ann" in run("build", forms, "--out", tmp_path / "again")


def test_of_a_task_it_is_beside_the_task_where_no_agent_finds_it(tmp_path):
    skills = tmp_path / "tasks" / "tea" / "environment" / "skills"
    skills.mkdir(parents=True)
    (tmp_path / "tasks" / "tea" / "instruction.md").write_text("Make tea.\n")
    assert scope_file(skills) == tmp_path / "tasks" / "tea.scope.jsonl"


def test_a_damaged_file_is_named_with_its_row(forms, tmp_path):
    scope_file(forms).write_text('{"kind": "decision"}\n')
    with pytest.raises(StudyError, match=r"forms\.scope\.jsonl.*row 1"):
        build_source(forms, tmp_path / "build")


def test_a_folder_of_skills_does_not_take_it_for_knowledge(forms, tmp_path):
    assigned(forms, tmp_path / "one")
    build_source(forms.parent, tmp_path / "all")
    manifest = load_build(tmp_path / "all").source
    assert [file.path for file in manifest.files] == ["forms/SKILL.md"]
