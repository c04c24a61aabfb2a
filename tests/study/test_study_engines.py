"""A study builds its variants with any engine, as `skilljuror build --engine` does."""

import json
from contextlib import contextmanager
from datetime import date

import pytest

from skilljuror.base.errors import ModelError
from skilljuror.base.files import StudyFolder, read_jsonl
from skilljuror.base.study import BuildChoice
from skilljuror.layouts.build.build import build_source, load_build
from skilljuror.layouts.build.model_build import build_with_model, model_engine
from skilljuror.layouts.llm.prompts import load_prompt
from skilljuror.skill.bundles import write_bundle
from skilljuror.store.questions import run
from skilljuror.store.trials import ingest_trials
from skilljuror.study.plan import made_as_asked
from skilljuror.study.run import run_study
from tests.support.harness_tasks import make_task
from tests.support.loopback import model_server
from tests.support.rubric_answers import answers as rubric_answers
from tests.support.scripted_model import WARNINGS, disclosed_answer, flat_answer, judgement, source
from tests.support.studies import edit_study, make_study

pytestmark = WARNINGS
MODEL, JUDGE = "openai/scripted", "openai/judge"
PRICE = {
    "model": "scripted", "input": 1, "cache_write": 1, "cache_read": 0, "output": 10,
    "as_of": date(2026, 11, 1),
}  # fmt: skip
ARMS = {"a": "baseline", "b": "pd"}


def answers(body, n):
    """What a good model says, whichever Skill it was given."""
    asked = body["messages"][0]["content"]
    if load_prompt("assign-sections").text == asked:
        return json.dumps(judgement(body["messages"]))
    flattens = load_prompt("flatten-to-baseline").text == asked
    return json.dumps(flat_answer() if flattens else disclosed_answer())


def answers_once(body, n):
    return answers(body, n) if n == 0 else 400


def study_of(place, engine):
    write_bundle(source().files, place)
    return make_study(
        place,
        variants=ARMS,
        trials=1,
        build={"engine": engine, "model": MODEL},
        prices=[PRICE],
        tasks=[{"path": "tea", "skills": "forms"}],
    )


@contextmanager
def served(script, monkeypatch):
    """The requests to a server that the environment names, as a person's would."""
    with model_server(script) as (address, requests):
        monkeypatch.setenv("OPENAI_API_BASE", address)
        monkeypatch.setenv("OPENAI_API_KEY", "dummy")
        yield requests


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["assign", "rewrite"])
def test_the_variants_are_those_of_the_build_command(tmp_path, monkeypatch, engine):
    study, out = study_of(tmp_path, engine), tmp_path / "out"
    with served(answers, monkeypatch) as requests:
        summary = run_study(study, out)
        asked = len(requests)
        again = run_study(study, out)
        chosen = model_engine(engine, MODEL, StudyFolder(out).calls)
        assert chosen
        alone = build_with_model(
            tmp_path / "forms", tmp_path / "alone", chosen, variants=[*ARMS.values()]
        )
        assert len(requests) == asked
    assert (summary.finished, again.ran) == (2, 0)
    record = load_build(StudyFolder(out).build("tea"))
    assert record.engine == engine
    if engine == "rewrite":
        assert record.options["model"] == MODEL
        assert record.options["calls"]["cost_usd"] == pytest.approx(0.002 * asked)
    assert record.variants == alone.variants
    assert len(list(read_jsonl(StudyFolder(out).calls))) == asked
    assert "dummy" not in (out / "plan.json").read_text()


def test_a_build_of_another_engine_gives_way_while_no_trial_rests_on_it(tmp_path, monkeypatch):
    study, out = study_of(tmp_path, "assign"), tmp_path / "out"
    build_source(tmp_path / "forms", StudyFolder(out).build("tea"))
    with served(answers, monkeypatch):
        run_study(study, out)
    assert load_build(StudyFolder(out).build("tea")).engine == "assign"


def test_a_model_that_cannot_be_reached_stops_the_run_before_any_trial(tmp_path, monkeypatch):
    study, out = study_of(tmp_path, "rewrite"), tmp_path / "out"
    with served(answers_once, monkeypatch), pytest.raises(ModelError, match="gave no answer"):
        run_study(study, out)
    assert StudyFolder(out).finished_trials() == []
    assert len(list(read_jsonl(StudyFolder(out).calls))) == 1


@pytest.mark.slow
def test_a_task_without_a_usable_answer_is_a_row_and_the_others_run(tmp_path, monkeypatch):
    study, out = study_of(tmp_path, "assign"), tmp_path / "out"
    write_bundle(source({"200 characters": "207 characters"}).files, tmp_path / "second")
    make_task(tmp_path / "pot")
    both = [{"path": "tea", "skills": "forms"}, {"path": "pot", "skills": "second/forms"}]
    edit_study(study, tasks=both)

    def no_answer_for_pot(body, n):
        return "no JSON" if "207 characters" in json.dumps(body) else answers(body, n)

    with served(no_answer_for_pot, monkeypatch):
        assert run_study(study, out).statuses == {"scored": 2}
        assert run_study(study, out).ran == 0
    ingest_trials(out)
    (row,) = run(StudyFolder(out).database, "excluded_tasks").records()
    assert (row["task"], row["category"], row["decided_by"]) == (
        "pot", "no usable answer of a model", "build",
    )  # fmt: skip
    assert "gave no usable" in row["reason"]


def test_the_rubric_is_a_field_of_the_study(tmp_path, monkeypatch):
    study, out = study_of(tmp_path, "rewrite"), tmp_path / "out"
    edit_study(study, build={"engine": "rewrite", "model": MODEL, "rubric": JUDGE})

    def written_or_judged(body, n):
        return rubric_answers(body) if body["model"] == "judge" else answers(body, n)

    with served(written_or_judged, monkeypatch) as requests:
        run_study(study, out)
        asked = len(requests)
        assert run_study(study, out).ran == 0
        assert len(requests) == asked
    record = load_build(StudyFolder(out).build("tea"))
    assert made_as_asked(record, BuildChoice(engine="rewrite", model=MODEL, rubric=JUDGE))
    assert not made_as_asked(record, BuildChoice(engine="rewrite", model=MODEL))
