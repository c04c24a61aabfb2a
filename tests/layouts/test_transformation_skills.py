"""The packaged transformation Skills: Agent Skills themselves, held to what they teach."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from skilljuror.audit.audit import audit
from skilljuror.base.errors import UsageError
from skilljuror.base.files import data_dir
from skilljuror.base.skill import Blob
from skilljuror.layouts.build.build import build_source
from skilljuror.layouts.build.model_build import SKILLS
from skilljuror.layouts.build.scopes import PROMPT, ScopeAnswer, split_trigger, trigger_problem
from skilljuror.layouts.llm.prompts import load_prompt
from skilljuror.layouts.llm.rewrite import PlaceholderFile, RewriteAnswer
from skilljuror.skill.bundles import load_bundle
from skilljuror.skill.critical_tokens import critical_tokens
from skilljuror.skill.generated import MARKER_PHRASES, TEMPLATES, recognise_template
from skilljuror.skill.units import units_of

FOLDER = data_dir("transforms")
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/SKILL.md"))
ANSWERS: dict[str, type[BaseModel]] = {
    "assign-sections": ScopeAnswer,
    "flatten-to-baseline": RewriteAnswer,
    "disclose-progressively": RewriteAnswer,
}
FENCE = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text(name: str, path: str) -> str:
    return (FOLDER / name / path).read_text(encoding="utf-8")


def test_every_mode_has_its_skills_and_no_skill_is_idle():
    assert {PROMPT, *SKILLS.values()} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_skill_is_valid_and_small(name):
    bundle = load_bundle(FOLDER / name)
    assert bundle.issues == ()
    assert bundle.skills[0].name == name
    assert text(name, "SKILL.md").count("\n") <= 60


@pytest.mark.parametrize("kind", ["origin", "pd"])
@pytest.mark.parametrize("name", NAMES)
def test_a_skill_passes_the_gates_with_nothing_to_inherit_but_its_examples(name, kind):
    """Examples in a Skill about Skills name files of other skills."""
    bundle = load_bundle(FOLDER / name)
    result = audit(bundle, bundle, kind)
    assert (result.verdict, result.own) == ("pass", ())
    assert {finding.rule for finding in result.findings} <= {"hygiene.unresolved-mention"}


@pytest.mark.parametrize("name", NAMES)
def test_a_skill_can_be_laid_out_in_every_way(name, tmp_path):
    record = build_source(FOLDER / name, tmp_path / "build")
    assert {entry.verdict for entry in record.variants} == {"pass"}


@pytest.mark.parametrize("name", NAMES)
def test_every_reference_has_a_trigger_that_says_no_more_than_it(name):
    bundle = load_bundle(FOLDER / name)
    rows = dict(re.findall(r"^- \[(.+?)\](.*)$", text(name, "SKILL.md"), re.MULTILINE))
    assert set(rows) == {
        path.relative_to(FOLDER / name).as_posix() for path in (FOLDER / name).glob("references/*")
    }
    for path, row in rows.items():
        halves = split_trigger(row.removeprefix(f"({path}): open this file "))
        assert halves is not None
        texts = [unit.text for unit in units_of(bundle) if unit.file == f"{name}/{path}"]
        assert trigger_problem(*halves, texts) is None, path


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_an_answer_has_the_form_of_an_answer(name):
    examples = FENCE.findall(text(name, "references/answer-form.md"))
    assert examples
    for example in examples:
        ANSWERS[name].model_validate_json(example)


GOOD_TRIGGERS = [
    *re.findall(r'"reason": "(when .+)"', text("assign-sections", "references/answer-form.md")),
    *re.findall(
        r"^\| (when .+?) \| good",
        text("disclose-progressively", "references/routing-rows.md"),
        re.M,
    ),
]


@pytest.mark.parametrize("sentence", GOOD_TRIGGERS)
def test_triggers_that_are_taught_as_good_demand_nothing(sentence):
    halves = split_trigger(sentence.replace(", because", " because"))
    assert halves is not None
    assert critical_tokens(f"when {halves[0]}, because {halves[1]}.") == ()


def test_the_routing_rows_that_are_taught_are_those_that_are_recognised():
    page = text("disclose-progressively", "references/routing-rows.md")
    taught = page.split("```")[1].split("\n")[1:-1]
    assert taught[0] == TEMPLATES["routing"]
    assert taught[2] == TEMPLATES["routing-lead"]
    assert [recognise_template(line) for line in taught[4:]] == [
        "row-trigger", "row-call", "row-data", "row-data-folder", "row-terms",
    ]  # fmt: skip


def test_the_page_form_teaches_the_lines_that_are_read_again():
    page = text("flatten-to-baseline", "references/page-form.md")
    file = PlaceholderFile("scripts/check.py", "", (), Blob(b""))
    assert f"\n{file.placeholder}\n" in page
    assert f"## {MARKER_PHRASES[0]} `{file.path}`" in page
    for name in ("configuration", "directory"):
        assert f"``{TEMPLATES[name].replace('{path}', '<folder>')}``" in page
    assert f"`{TEMPLATES['shared']}`" in page


def test_both_ways_of_rewriting_keep_the_same_things():
    one, other = (text(name, "references/verbatim.md") for name in NAMES[1:])
    assert one == other


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_is_the_whole_skill_and_is_named_by_its_digest(name):
    prompt = load_prompt(name)
    for path in (FOLDER / name).rglob("*.md"):
        assert path.read_text(encoding="utf-8") in prompt.text
    assert re.fullmatch(r"[0-9a-f]{64}", prompt.sha256)


@pytest.mark.parametrize("name", ["nothing", "../rubrics", str(Path("/etc"))])
def test_an_unknown_prompt_names_the_known_ones(name):
    with pytest.raises(UsageError, match=", ".join(NAMES)):
        load_prompt(name)
