"""`skilljuror rubric`: what stands offline, what a model is asked, and how the command ends."""

import json

import pytest
from typer.testing import CliRunner

from skilljuror.cli.app import app
from tests.support.loopback import model_server
from tests.support.rubric_answers import answers, build_at, verdict
from tests.support.scripted_model import WARNINGS

pytestmark = [WARNINGS, pytest.mark.slow]


@pytest.fixture
def build(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")
    return build_at(tmp_path)


def rubric(*words):
    """(exit status, what was printed) of the command."""
    done = CliRunner().invoke(app, ["rubric", *map(str, words)])
    return done.exit_code, done.output


def asked(build, script):
    with model_server(script) as (address, requests):
        ended = rubric(build, "--model", "openai/scripted", "--api-base", address, "--json")
    return ended[0], json.loads(ended[1]), requests


def test_without_a_model_it_tells_what_stands_and_asks_nobody(build):
    status, told = rubric(build)
    assert status == 3
    assert "11 rubric items: 11 unanswered" in told
    assert "--model" in told


def test_a_clean_audit_ends_with_0_and_logs_its_calls_beside_the_build(build):
    status, told, requests = asked(build, lambda body, n: answers(body))
    assert (status, told["judged"], len(requests)) == (0, 11, 2)
    assert told["spent_usd"] is None  # nobody knows what the scripted model costs
    assert {row["outcome"] for row in told["items"]} == {"accepted"}
    log = build.parent / "out.calls.jsonl"
    assert len(log.read_text(encoding="utf-8").splitlines()) == 2
    assert "dummy" not in log.read_text(encoding="utf-8")
    assert rubric(build)[0] == 0


def test_a_no_waits_for_a_person(build):
    changes = {"sd_4": verdict("SD-4", "no")}
    status, told, _ = asked(build, lambda body, n: answers(body, **changes))
    assert status == 3
    waiting = [row for row in told["items"] if row["outcome"] == "unresolved"]
    assert [(row["variant"], row["item"], row["answer"]) for row in waiting] == [
        ("baseline", "SD-4", "no"), ("pd", "SD-4", "no"),
    ]  # fmt: skip


def test_more_unparsed_answers_than_a_run_may_have_end_with_1(build):
    status, told, _ = asked(build, lambda body, n: "I would rather not.")
    assert (status, told["unparsed"]) == (1, 11)


@pytest.mark.parametrize("words", [["--budget-usd", "1"], ["--api-base", "http://127.0.0.1:1/v1"]])
def test_what_belongs_to_a_model_needs_one(build, words):
    done = CliRunner().invoke(app, ["rubric", str(build), *words])
    assert "require --model" in str(done.exception)


def test_a_place_without_a_build_is_refused(tmp_path):
    done = CliRunner().invoke(app, ["rubric", str(tmp_path)])
    assert "no build at" in str(done.exception)
