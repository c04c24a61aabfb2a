"""Items of the rubric on the desk: asked once, with their quotes marked, settled by one decision."""

import pytest

from skilljuror.base.review import blind_id
from skilljuror.layouts.build.reviews import reviewed
from skilljuror.layouts.build.rubric_audit import judge_builds
from skilljuror.review.desk import StudyDesk
from tests.support.loopback import model_server
from tests.support.rubric_answers import ROOT_LINE, answers, build_at, client, verdict
from tests.support.scripted_model import WARNINGS

pytestmark = WARNINGS


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
