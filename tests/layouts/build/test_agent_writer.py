"""An agent follows the transformation Skill in a sandbox, and its files are taken as a model's answer."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skilljuror.base.errors import HarnessError, ModelError, UsageError
from skilljuror.base.files import read_jsonl, read_rows
from skilljuror.base.models.build import VariantRound
from skilljuror.cli.app import app
from skilljuror.harness.sandbox import bwrap_problem
from skilljuror.layouts.build.model_build import Rewriting, build_with_model, model_engine
from skilljuror.layouts.verify.verification import verify_build
from skilljuror.logs.base import Source
from skilljuror.logs.read import read
from skilljuror.measures.run_measures import usage_of
from skilljuror.skill.bundles.folder import write_bundle
from tests.support.cli_process import call
from tests.support.harness_tasks import needs_bwrap
from tests.support.ingested import READ
from tests.support.live_agents import AGENTS, why_not
from tests.support.model_server import Step, model_server, shell
from tests.support.programs import KEY
from tests.support.scripted_model import disclosed_answer, faithful_page, flat_answer, source
from tests.support.studies import PROGRAMS

pytestmark = pytest.mark.slow


def files(answer):
    """path -> text of an answer of a model."""
    return {file["path"]: file["text"] for file in answer["files"]}


FAITHFUL = {"baseline": [files(flat_answer())], "pd": [files(disclosed_answer())]}
TURNED = {"SKILL.md": faithful_page().replace("without losing", "losing")}
SECRET = "sk-live-0123456789/+abcdefghijklmnop"
WRITER = f"{PROGRAMS}:writer"


@dataclass
class Bench:
    """A source on disk, what the agent is going to write, and places for a build and its log."""

    place: Path

    def build(self, answers, **more):
        """The record of a build via the agent."""
        (self.place / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
        calls = self.place / "out.calls.jsonl"
        engine = model_engine("rewrite", "pen-1", calls, rewriting=Rewriting(via=WRITER))
        assert engine
        return build_with_model(self.place / "forms", self.place / "out", engine, **more)

    def runs(self):
        """What the agent said in each of its runs, and the folder of the run."""
        found = (self.place / "out.calls.agents").iterdir()
        return [(json.loads((run / "agent-stdout.txt").read_text()), run) for run in found]


@pytest.fixture
def bench(tmp_path, monkeypatch):
    write_bundle(source().files, tmp_path)
    monkeypatch.setenv("WRITER_ANSWERS", str(tmp_path / "answers.json"))
    return Bench(tmp_path)


def test_the_agent_finds_the_question_as_files_and_its_files_become_the_variant(bench):
    record = bench.build(FAITHFUL)
    assert {entry.verdict for entry in record.variants} == {"pass"}
    told = {run["skills"][0]: run for run, _ in bench.runs()}
    assert [*sorted(told)] == ["disclose-progressively", "flatten-to-baseline"]
    flat = told["flatten-to-baseline"]
    assert flat["skills"] == ["flatten-to-baseline"]
    assert "Follow the Skill `flatten-to-baseline`" in flat["instruction"]
    assert [*flat["bundle"]] == ["bundle/forms/SKILL.md", "bundle/forms/references/signing.md"]
    assert "Overflow is decided" in flat["bundle"]["bundle/forms/SKILL.md"]
    assert "Overflow" not in flat["instruction"]  # foreign text is no part of the prompt
    assert record.options["model"] == "pen-1"
    assert record.options["params"] == {"agent": "writer", "version": "1"}
    assert record.options["rounds"]["taken"] == {"baseline": 1, "pd": 1}
    proof = verify_build(bench.place / "out")
    assert proof.problems == ()
    assert any("baseline: a model wrote its text" in line for line in proof.unproved)


def tokens_of(bench, via, **more):
    """Tokens and reasons of a build's answers, from its record."""
    (bench.place / "answers.json").write_text(json.dumps(FAITHFUL), encoding="utf-8")
    calls = bench.place / "out.calls.jsonl"
    engine = model_engine("rewrite", "gpt-4o", calls, rewriting=Rewriting(via=via))
    assert engine
    record = build_with_model(bench.place / "forms", bench.place / "out", engine, **more)
    assert verify_build(bench.place / "out").problems == ()
    return record.options["calls"]


def test_its_tokens_are_those_of_its_own_log(bench, monkeypatch):
    monkeypatch.setenv("WRITER_LOG", str(READ))
    (run,) = read(Source(READ), "codex-rollout")
    usage = usage_of(run)
    assert usage is not None
    assert usage.input is not None
    assert usage.output is not None
    found = tokens_of(bench, f"{PROGRAMS}:logging_writer", variants=("baseline",))
    cached = (usage.cache_read or 0) + (usage.cache_write or 0)
    assert found["input_tokens"] == usage.input + cached > 0
    assert found["output_tokens"] == usage.output > 0
    assert found["cost_usd"] == pytest.approx(
        (2.5 * usage.input + 1.25 * (usage.cache_read or 0) + 10 * usage.output) / 1e6
    )
    assert "unknown" not in found


def test_without_a_log_its_tokens_are_unknown_with_the_reason(bench):
    found = tokens_of(bench, WRITER)
    assert (found["input_tokens"], found["cost_usd"]) == (None, None)
    assert found["unknown"] == {"no_log": 2}


def test_what_does_not_pass_goes_back_to_it_and_is_paid_once(bench):
    answers = FAITHFUL | {"baseline": [TURNED, *FAITHFUL["baseline"]]}
    record = bench.build(answers)
    rows = [*read_rows(VariantRound, bench.place / "out" / "rounds.jsonl")]
    assert [(row.variant, row.verdict) for row in rows] == [
        ("baseline", "fail"), ("baseline", "pass"), ("pd", "pass"),
    ]  # fmt: skip
    (second,) = [run for run, _ in bench.runs() if run["drafts"]]
    assert second["drafts"] == ["variant/SKILL.md"]
    assert [one["rule"] for one in second["findings"]] == [one.rule for one in rows[0].findings]
    assert "`findings.json`" in second["instruction"]
    assert "losing a value" not in second["instruction"]
    assert bench.build({"baseline": [9], "pd": [9]}) == record  # it would fail now
    assert verify_build(bench.place / "out").problems == ()


def test_files_that_are_no_answer_come_back_with_the_reason(bench):
    spare = {"baseline": [FAITHFUL["baseline"][0] | {"notes.md": "I moved it all."}]}
    with pytest.raises(ModelError, match=r"'notes\.md' is not a valid path in the layout baseline"):
        bench.build(spare, variants=("baseline",))
    second = next(run for run, _ in bench.runs() if run["drafts"])
    assert "That answer cannot be used: 'notes.md' is not a valid path" in second["instruction"]
    assert len([*read_jsonl(bench.place / "out.calls.jsonl")]) == 2
    assert not (bench.place / "out").exists()


@pytest.mark.parametrize(
    "answer", [{}, {"SKILL.md": "-> /etc/passwd"}, {"SKILL.md": "x" * 4_000_001}, {"a\nb": "?"}],
    ids=["nothing", "a link", "too much", "an odd name"],
)  # fmt: skip
def test_what_is_no_text_of_a_bundle_is_no_answer(bench, answer):
    with pytest.raises(ModelError, match=r"exactly one SKILL\.md"):
        bench.build({"baseline": [answer]}, variants=("baseline",))
    rows = [*read_jsonl(bench.place / "out.calls.jsonl")]
    assert {row["text"] for row in rows} == {'{"files": []}'}


def test_an_agent_that_fails_leaves_no_build_and_what_it_said(bench):
    with pytest.raises(ModelError, match="'writer' gave no answer: the agent ended with status 9"):
        bench.build({"baseline": [9]}, variants=("baseline",))
    ((_, run),) = bench.runs()
    assert (run / "agent-stderr.txt").is_file()
    assert not (bench.place / "out").exists()
    assert not (bench.place / "out.calls.jsonl").exists()  # it is asked again, next time
    assert bench.build(FAITHFUL).engine == "rewrite"


def command(bench, *words):
    base = ("build", bench.place / "forms", "--out", bench.place / "out", *words)
    return CliRunner().invoke(app, [str(word) for word in base])


def test_the_command_builds_via_an_agent(bench):
    (bench.place / "answers.json").write_text(json.dumps(FAITHFUL), encoding="utf-8")
    done = command(bench, "--engine", "rewrite", "--via", WRITER, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["record"]["options"]["model"] == WRITER
    again = command(bench, "--engine", "rewrite", "--via", WRITER)
    said = "2 answers, input tokens unknown, output tokens unknown, cost unknown (no_log 2)"
    assert said in again.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--via", "codex"), "requires the engine rewrite"),
        (("--engine", "assign", "--model", "x", "--via", "codex"), "requires the engine rewrite"),
        (("--engine", "rewrite", "--via", "dream"), "unknown agent 'dream'"),
        (("--engine", "rewrite", "--via", f"{PROGRAMS}:talkative"), "TEA_API_KEY"),
    ],
)
def test_the_command_says_what_cannot_be(bench, monkeypatch, words, said):
    monkeypatch.delenv(KEY, raising=False)
    done = command(bench, *words)
    assert isinstance(done.exception, UsageError)
    assert said in done.exception.message


def test_an_agent_with_a_model_writes_in_a_sandbox_or_not_at_all(bench, monkeypatch):
    monkeypatch.setenv(KEY, "of no worth")
    monkeypatch.setenv("PATH", str(bench.place))
    bwrap_problem.cache_clear()
    done = command(bench, "--engine", "rewrite", "--via", f"{PROGRAMS}:talkative")
    bwrap_problem.cache_clear()
    assert isinstance(done.exception, HarnessError)
    assert "'talkative' requires a sandbox" in done.exception.message
    assert "bwrap is not installed; install it" in done.exception.message


CODEX = AGENTS[0]


def wrote(answer):
    """A step in which Codex writes an answer."""
    parts = [
        f"cat > variant/{path} <<'END_OF_IT'\n{text}\nEND_OF_IT" for path, text in answer.items()
    ]
    return shell("codex", "mkdir -p variant/references\n" + "\n".join(parts))


@pytest.mark.live
@needs_bwrap
def test_codex_follows_the_skills(bench):
    if why := why_not(CODEX):
        pytest.skip(why)
    flat, disclosed = (FAITHFUL[layout][0] for layout in ("baseline", "pd"))
    reads = shell("codex", "cat ~/.agents/skills/*/SKILL.md; ls; cat request.json")
    done = Step("It is written.")
    scripts = {
        "and it came back": [shell("codex", "cat findings.json"), wrote(flat), done],
        "Follow the Skill `flatten-to-baseline`": [reads, wrote(TURNED), done],
        "Follow the Skill `disclose-progressively`": [reads, wrote(disclosed), done],
        "": [done],
    }
    path = f"{CODEX.place.parent}:{os.environ['PATH']}"
    with model_server(scripts) as (address, requests):
        words = ("--engine", "rewrite", "--via", "codex", "--model", CODEX.model, "--json")
        ends = call(
            "build", bench.place / "forms", "--out", bench.place / "out", *words,
            "--api-base", address + CODEX.api, env={**os.environ, "PATH": path, CODEX.key: SECRET},
        )  # fmt: skip
    assert ends.returncode == 0, ends.stderr
    record = json.loads(ends.stdout)["record"]
    assert record["options"]["rounds"]["taken"] == {"baseline": 2, "pd": 1}
    assert record["options"]["params"]["agent"] == "codex"
    assert record["options"]["calls"]["input_tokens"] > 0
    assert record["options"]["calls"]["output_tokens"] > 0
    said = json.dumps([request.body for request in requests])
    assert "# Flatten a Skill bundle into one page" in said  # it could read the Skill
    assert "losing a value" in said  # and what the gates found
    assert verify_build(bench.place / "out").problems == ()
    kept = [path for path in bench.place.rglob("*") if path.is_file()]
    assert [path for path in kept if SECRET.encode() in path.read_bytes()] == []
    assert any("rollout" in path.name for path in kept)
