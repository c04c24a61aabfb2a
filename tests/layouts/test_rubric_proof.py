"""verify and what a model said of a build: about which texts, quoting what, under which signature."""

import json
import shutil

import pytest

from skilljuror.base.files import read_jsonl, write_jsonl
from skilljuror.layouts.build.rubric_audit import judge_builds
from skilljuror.layouts.verify import verify_build
from tests.support.loopback import model_server
from tests.support.rubric_answers import answers, build_at, client
from tests.support.scripted_model import WARNINGS

pytestmark = WARNINGS


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    build = build_at(tmp_path_factory.mktemp("proof"))
    with model_server(lambda body, n: answers(body)) as (address, _):
        judge_builds(build, client(address))
    return build


@pytest.fixture
def build(judged, tmp_path):
    return shutil.copytree(judged, tmp_path / "out")


def change(build, **fields):
    """Give the verdict on SD-1 of pd other fields."""
    rows = list(read_jsonl(build / "rubric.jsonl"))
    for row in rows:
        if (row["variant"], row["item"]) == ("pd", "SD-1"):
            row.update(fields)
    write_jsonl(build / "rubric.jsonl", rows)
    return verify_build(build)


@pytest.mark.slow
def test_verdicts_are_judged_and_not_proved(build):
    proof = verify_build(build)
    assert proof.problems == ()
    assert set(proof.unproved) == {
        "judged, not proved: rubric.jsonl: baseline: 4 items by openai/scripted",
        "judged, not proved: rubric.jsonl: pd: 7 items by openai/scripted",
    }


@pytest.mark.slow
def test_a_verdict_on_other_texts_is_stale(build):
    proof = change(build, variant_digest="0" * 64)
    assert proof.problems == ()
    assert any(line.startswith("stale: rubric.jsonl: pd: the texts") for line in proof.unproved)


def test_an_answer_to_another_question_is_a_problem(build):
    proof = change(build, prompt_sha256="0" * 64)
    assert proof.problems == ("rubric.jsonl: pd/SD-1: answers a different question",)


def test_a_quote_that_somebody_wrote_in_is_a_problem(build):
    quote = {"side": "source", "file": "forms/SKILL.md", "line": 3, "text": "Fill no form at all."}
    proof = change(build, quotes=[quote])
    assert proof.problems == ("rubric.jsonl: pd/SD-1: its quote is not at forms/SKILL.md:3",)


def test_verdicts_are_no_part_of_what_is_built(build):
    record = json.loads((build / "build.json").read_text())
    assert "rubric.jsonl" not in record["parts"]
