"""Builds with a model: the same folder as any build, paid once, whole or not at all."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skilljuror.bundles import load_bundle
from skilljuror.bundles.folder import write_bundle
from skilljuror.cli.app import app
from skilljuror.errors import ModelError, SkilljurorError, UsageError
from skilljuror.files import read_jsonl
from skilljuror.pipeline.construction.build import (
    build_many,
    build_source,
    load_build,
    verify_build,
)
from skilljuror.pipeline.construction.model_build import (
    ModelEngine,
    build_with_model,
    without_secrets,
)
from skilljuror.transforms.llm.prompts import load_prompt
from tests.support.loopback import model_server
from tests.support.scripted_model import (
    SIGNING,
    WARNINGS,
    assignment,
    choice,
    disclosed_answer,
    faithful_page,
    flat_answer,
    source,
)

pytestmark = WARNINGS


@dataclass
class Bench:
    """A source on disk, and places for a build and its log."""

    place: Path

    @property
    def source(self) -> Path:
        return self.place / "forms"

    @property
    def target(self) -> Path:
        return self.place / "out"

    @property
    def calls(self) -> Path:
        return self.place / "calls.jsonl"

    def build(self, script, mode="assign", **more):
        """(record, requests) of a build with a scripted model."""
        with model_server(script) as (address, requests):
            made = build_with_model(
                self.source,
                self.target,
                ModelEngine(mode, choice(address), self.calls),
                **more,
            )
        return made, requests


@pytest.fixture
def bench(tmp_path):
    write_bundle(source().files, tmp_path)
    return Bench(tmp_path)


def assigns(body, n):
    return json.dumps(assignment())


def rewrites(body, n):
    """Flattens or discloses, whichever Skill it was given."""
    flattens = load_prompt("flatten-to-baseline").text == body["messages"][0]["content"]
    return json.dumps(flat_answer() if flattens else disclosed_answer())


SCRIPTS = {"assign": assigns, "rewrite": rewrites}


@pytest.mark.parametrize("mode", SCRIPTS)
def test_the_build_is_laid_out_as_any_other_and_passes(bench, mode):
    record, _ = bench.build(SCRIPTS[mode], mode)
    build_source(bench.source, bench.place / "plan")
    names = {path.name for path in bench.target.iterdir()}
    assert names == {path.name for path in (bench.place / "plan").iterdir()} | {"calls.jsonl"}
    assert {entry.variant: entry.verdict for entry in record.variants} == dict.fromkeys(
        ("baseline", "origin", "origin-flat", "pd"), "pass"
    )
    assert load_build(bench.target) == record
    assert verify_build(bench.target) == ()


@pytest.mark.parametrize("mode", SCRIPTS)
def test_the_record_names_model_and_prompts_and_keeps_no_secret(bench, mode):
    record, requests = bench.build(SCRIPTS[mode], mode)
    assert (record.engine, record.options["model"]) == (mode, "openai/scripted")
    for prompt in record.options["prompts"].values():
        assert prompt["sha256"] == load_prompt(prompt["skill"]).sha256
    assert record.options["calls"]["count"] == len(requests)
    assert record.options["calls"]["cost_usd"] is None
    told = (bench.target / "build.json").read_text(encoding="utf-8")
    assert "dummy" not in told
    assert "127.0.0.1" not in told


@pytest.mark.parametrize("mode", SCRIPTS)
def test_a_build_that_is_made_again_pays_nothing_and_is_the_same(bench, mode):
    first, paid = bench.build(SCRIPTS[mode], mode)
    again, unpaid = bench.build(lambda body, n: 500, mode)
    assert (len(paid), unpaid) == ({"assign": 1, "rewrite": 2}[mode], [])
    assert again == first


def test_what_a_plan_can_make_is_not_asked_of_the_model(bench):
    record, requests = bench.build(assigns, variants=("origin", "baseline"))
    assert requests == []
    assert record.options["prompts"] == {}


def test_only_moved_text_has_a_plan(bench):
    assigned, _ = bench.build(assigns)
    assert set(assigned.plans) == {"baseline", "origin", "origin-flat", "pd"}
    written, _ = bench.build(rewrites, "rewrite")
    assert set(written.plans) == {"origin", "origin-flat"}


@pytest.mark.parametrize(("mode", "left"), [("assign", []), ("rewrite", ["baseline", "pd"])])
def test_what_a_model_wrote_is_never_called_proved(bench, mode, left):
    bench.build(SCRIPTS[mode], mode)
    told = json.loads(CliRunner().invoke(app, ["verify", str(bench.target), "--json"]).stdout)
    assert told == {"proved": not left, "problems": [], "unproved": left}


def test_gates_of_written_text_follow_the_policy_for_it(bench):
    bench.build(rewrites, "rewrite")
    rows = list(read_jsonl(bench.target / "gates.jsonl"))
    policies = {(row["variant"], row["policy"]) for row in rows}
    assert policies == {
        ("origin", "strict"), ("origin-flat", "strict"), ("baseline", "edited"), ("pd", "edited"),
    }  # fmt: skip


def test_a_failing_gate_is_a_verdict_and_the_build_goes_on(bench):
    drifted = faithful_page().replace("without losing", "losing")

    def drifts(body, n):
        return json.dumps(flat_answer(drifted)) if n == 0 else rewrites(body, n)

    record, _ = bench.build(drifts, "rewrite")
    verdicts = {entry.variant: entry.verdict for entry in record.variants}
    assert (verdicts["baseline"], verdicts["origin"]) == ("fail", "pass")
    assert load_build(bench.target) == record


def test_a_server_that_fails_leaves_no_build_and_what_was_paid_stays_paid(bench):
    with pytest.raises(ModelError, match="gave no answer"):
        bench.build(lambda body, n: rewrites(body, n) if n == 0 else 400, "rewrite")
    assert not bench.target.exists()
    assert len(list(read_jsonl(bench.calls))) == 1
    _, requests = bench.build(rewrites, "rewrite")
    assert len(requests) == 1


def test_an_old_build_survives_a_failing_one(bench):
    before, _ = bench.build(assigns)
    with pytest.raises(ModelError):
        bench.build(lambda body, n: 400, "rewrite")
    assert load_build(bench.target) == before


def test_refused_answers_are_kept_with_the_build(bench):
    answers = [assignment(root=["s1"]), assignment()]
    record, _ = bench.build(lambda body, n: json.dumps(answers[n]))
    kept = list(read_jsonl(bench.target / "calls.jsonl"))
    assert [json.loads(row["text"]) for row in kept] == answers
    assert record.options["calls"]["input_tokens"] == 2000


def test_scripts_are_the_sources_even_when_the_model_wrote_the_rest(bench):
    bench.build(rewrites, "rewrite")
    made = load_bundle(bench.target / "variants" / "pd")
    for path in ("forms/scripts/check.py", "forms/LICENSE.txt"):
        assert made.files[path] == source().files[path]
    assert made.files["forms/references/signing.md"].text == SIGNING


def test_a_log_inside_the_build_is_refused(bench):
    bench.calls.parent.mkdir(exist_ok=True)
    with pytest.raises(UsageError, match="put it beside"):
        build_with_model(
            bench.source, bench.target,
            ModelEngine("assign", choice("http://127.0.0.1:9"), bench.target / "calls.jsonl"),
        )  # fmt: skip


def test_an_unknown_mode_names_the_known_ones(bench):
    with pytest.raises(UsageError, match="assign, rewrite"):
        bench.build(assigns, "imagine")


def test_one_failing_source_does_not_stop_the_rest(bench):
    (bench.place / "empty").mkdir()
    with model_server(assigns) as (address, _):
        done = dict(
            build_many(
                [bench.place / "empty", bench.source], bench.target,
                partial(build_with_model, engine=ModelEngine("assign", choice(address), bench.calls)),
            )
        )  # fmt: skip
    assert isinstance(done["empty"], SkilljurorError)
    assert verify_build(bench.target / "forms") == ()


@pytest.mark.parametrize("name", ["api_key", "extra_headers", "azure_ad_token", "aws_secret_x"])
def test_parameters_that_may_hold_a_secret_are_not_recorded(name):
    assert without_secrets({name: "x", "temperature": 0, "max_tokens": 9}) == {
        "max_tokens": 9, "temperature": 0,
    }  # fmt: skip


def command(*words):
    return CliRunner().invoke(app, ["build", *map(str, words)])


def test_the_command_builds_with_a_model_and_keeps_the_calls_beside(bench, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")
    with model_server(assigns) as (address, _):
        done = command(
            bench.source, "--out", bench.target, "--engine", "assign", "--model", "openai/scripted",
            "--api-base", address, "--json",
        )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["record"]["engine"] == "assign"
    assert len(list(read_jsonl(bench.place / "out.calls.jsonl"))) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--engine", "assign"), "--model"),
        (("--engine", "dream"), "plan, assign, rewrite"),
        (("--model", "openai/x"), "--engine"),
    ],
)
def test_the_command_says_what_is_missing(bench, words, said):
    done = command(bench.source, "--out", bench.target, *words)
    assert isinstance(done.exception, UsageError)
    assert said in done.exception.message
