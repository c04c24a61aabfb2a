"""Questions about findings, rubric items and failed trials."""

import json
from typing import get_args

import pytest

from skilljuror.audit.edited import edit_finding
from skilljuror.base.build import GateResult
from skilljuror.base.review import Answer, blind_id
from skilljuror.base.skill import Unit
from skilljuror.layouts.build.reviews import reviewed
from skilljuror.layouts.build.rubric_audit import judge_builds
from skilljuror.review.desk import StudyDesk
from skilljuror.review.questions import SUSPICION, BuildTexts, harm_codes
from skilljuror.store.questions import run
from skilljuror.store.trials import ingest_trials
from skilljuror.study.run import run_study
from tests.support import claude_logs as logs
from tests.support.loopback import model_server
from tests.support.reviewed_builds import SKILL, doubtful_build
from tests.support.rubric_answers import ROOT_LINE, answers, build_at, client, verdict
from tests.support.scripted_model import WARNINGS
from tests.support.studies import make_study

PAGE = "brew/SKILL.md"
LONG = "Boil 500 ml of water " + "and wait for a while " * 20 + "at last."
TEXT = SKILL.replace("Boil 500 ml of water.", LONG).replace(
    "Serve.", "Serve.\n\nServe hot.\n\nServe."
)

RESULT = GateResult(
    gate="knowledge", variant="baseline", parent="source", policy="strict", verdict="review"
)

pytestmark = WARNINGS


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    place = tmp_path_factory.mktemp("beside")
    doubtful_build(place, TEXT)
    return BuildTexts(place / "out")


def marked(texts, found):
    """(side, marked text) of what is laid out."""
    return [
        (text.heading.partition(" ")[0], text.text[begin:end])
        for text in texts.both_sides(RESULT, found)
        for begin, end in text.marks
    ]


def unit(line, text):
    return Unit("statement:1", "statement", PAGE, line, line, (), text)


@pytest.mark.parametrize(("line", "text"), [(9, "Serve."), (13, "Serve."), (11, "Serve hot.")])
def test_what_is_missing_is_marked_in_the_source_alone(texts, line, text):
    missing = edit_finding("edit.lost", unit(line, text), None)
    assert marked(texts, missing) == [("source", text)]
    (shown,) = texts.both_sides(RESULT, missing)
    assert shown.text[: shown.marks[0][0]].count("\n") == line - 1


def test_a_long_unit_is_found_by_what_the_gate_tells_of_it(texts):
    changed = edit_finding("edit.number", unit(7, LONG), unit(7, LONG.replace("500", "600")))
    assert len(changed.source_text or "") < len(LONG)
    assert marked(texts, changed) == [("source", LONG), ("baseline", LONG)]


ARMS = {"no_skill": None, "baseline": "baseline"}
HEAVY = "pattern:tea__baseline__1"


@pytest.fixture
def study(tmp_path):
    """Two trials of each arm: those with the Skill fail."""
    rows = [
        logs.user(1, "Write done to out.txt."),
        logs.assistant(2, {"type": "text", "text": "I build a pipeline."}),
    ]
    log, out = logs.write_lines(tmp_path / "log.jsonl", *rows), tmp_path / "out"
    skilled = 'if [ -e "$3/brew" ]; then echo almost; else echo done; fi > out.txt'
    script = f'{skilled}; mkdir -p "$2"; cp {log} "$2"/{logs.SESSION}.jsonl'
    run_study(make_study(tmp_path, variants=ARMS, script=script), out)
    ingest_trials(out)
    return out


def codes(study):
    found = run(study / "study.duckdb", "harm_codes").records()
    return [(row["list"], row["code"], row["trials"], row["coded"], row["failed"]) for row in found]


def test_every_code_of_the_lists_is_an_answer():
    lists = harm_codes()
    assert {*lists} == {"pattern", "failure"}
    assert {code for one in lists.values() for code in one["codes"]} <= {*get_args(Answer)}


@pytest.mark.slow
def test_only_failed_trials_of_the_treatment_are_asked_about(study):
    items = StudyDesk(study).queue("Ann", False)
    assert sorted(item.id for item in items) == [
        f"{kind}:tea__baseline__{n}" for kind in ("failure", "pattern") for n in (1, 2)
    ]
    heavy = next(item for item in items if item.id == HEAVY)
    assert heavy.answers[:3] == ("heavy_pipeline", "displaced_strategy", "undebuggable_solver")
    assert heavy.suspicion == 2 * SUSPICION["failed trial"]  # the control solves the task
    headings = {text.heading: text.text for text in heavy.texts}
    assert "I build a pipeline." in headings["what the agent did"]
    assert headings["the task"] == "Write done to out.txt."
    assert "- heavy_pipeline: " in headings["the codes"]
    blind = StudyDesk(study).queue("Ann", True)
    assert "baseline" not in json.dumps([(one.id, one.title, one.machine) for one in blind])


@pytest.mark.slow
def test_codes_are_counted_until_the_trial_is_another_one(study):
    desk = StudyDesk(study)
    desk.decide("Ann", HEAVY, "heavy_pipeline", "", blind=False)
    desk.decide("Ann", HEAVY.replace("__1", "__2"), "none", "", blind=False)
    desk.decide("Bob", HEAVY.replace("__1", "__2"), "unknown", "", blind=False)
    desk.decide("Ann", HEAVY.replace("pattern", "failure"), "rule", "", blind=False)
    assert codes(study) == [
        ("pattern", "disputed", 1, 2, 2),
        ("pattern", "heavy_pipeline", 1, 2, 2),
        ("failure", "rule", 1, 1, 2),
    ]
    (study / "study.duckdb").unlink()
    record = study / "trials/tea__baseline__1/trial.json"
    record.write_text(record.read_text().replace('"seed"', ' "seed"', 1))
    ingest_trials(study)
    assert codes(study) == [("pattern", "disputed", 1, 1, 2)]


@pytest.fixture
def build(tmp_path):
    """The model says no to SD-4; baseline and origin-flat are the same files. It denies PD-1, too."""
    build = build_at(tmp_path, variants="origin-flat,baseline,pd")
    said = {"sd_4": verdict("SD-4", "no"), "pd_1": verdict("PD-1", "no", None)}
    with model_server(lambda body, n: answers(body, **said)) as (address, _):
        judge_builds(build, client(address))
    return build


def items(build, blind=False):
    return {one.id: one for one in StudyDesk(build).queue("Ann", blind)}


def test_an_item_about_the_same_texts_is_one_question(build):
    asked = items(build)
    assert list(asked) == [
        "rubric:out/baseline/SD-4", "rubric:out/pd/SD-4", "rubric:out/pd/PD-1",
    ]  # fmt: skip
    assert asked["rubric:out/baseline/SD-4"].repeats == ("rubric:out/origin-flat/SD-4",)


def test_the_quote_is_marked_and_what_the_machine_said_is_withheld_from_the_blind(build):
    item = items(build)["rubric:out/pd/SD-4"]
    marked = [text.text[begin:end] for text in item.texts for begin, end in text.marks]
    assert marked == [ROOT_LINE]
    assert [text.heading.partition(" · ")[0] for text in item.texts] == ["source", "pd"]
    assert item.machine == "openai/scripted: no: SD-4 stands."
    assert items(build, blind=True)[blind_id("rubric:out/pd/SD-4")].machine is None
    disagreement = items(build)["rubric:out/pd/PD-1"]
    assert disagreement.machine == "code: yes; openai/scripted: no: PD-1 stands."


def test_one_decision_settles_all_that_say_the_same_and_undo_takes_it_back(build):
    desk = StudyDesk(build)
    desk.decide(
        "Ann", "rubric:out/baseline/SD-4", "packaging_artifact", "only the layout", blind=False
    )
    verdicts = {one.variant: one.verdict for one in reviewed(build).record.variants}
    assert verdicts == {"baseline": "pass", "origin-flat": "pass", "pd": "review"}
    assert items(build)["rubric:out/baseline/SD-4"].decided == "packaging_artifact"
    desk.undo("Ann")
    verdicts = {one.variant: one.verdict for one in reviewed(build).record.variants}
    assert set(verdicts.values()) == {"review"}
