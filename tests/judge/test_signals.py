"""Fields together, outputs restated, and pointers to Skills."""

import pytest

from skilljuror.base.trajectory import Step, ToolCall
from skilljuror.judge.shown import AgentAction
from skilljuror.judge.signals import (
    LED_WITHIN,
    FieldPassages,
    RestatementDetector,
    SkillPointers,
    field_names,
    load_rubric,
    passages,
    stem,
    stems,
)


def came_back(detector, *lines):
    return [set(match.values) for match in detector.used(lines)]


def test_passages_are_lines_and_stretches_without_a_gap():
    lines = ["1. First `lot`", "then `reserve`", "", "| `a1` | 5 |", "| `b1` | 6 |"]
    found = [list(passage) for passage in passages(lines) if passage]
    assert found == [["lot"], ["reserve"], ["lot", "reserve"], ["a1"], ["b1"]]


def test_a_long_stretch_is_no_passage():
    assert max(len(each) for each in passages([f"`value{n}`" for n in range(100)])) == 1


RULE_OF_FIELDS = ["The catalogue has the columns `lot`, `consignor`, `estimate` and `reserve`."]


def fields(*lines):
    detector = FieldPassages(load_rubric().fields)
    list(detector.add(lines))
    detector.show(lines)
    return detector


@pytest.mark.parametrize(
    "text",
    ["lot,consignor,estimate,reserve", '{"lot": 1, "consignor": "H", "estimate": 3}',
     "sell --set lot=1 --set consignor=H --set reserve=250"],
)  # fmt: skip
def test_fields_of_a_rule_come_back(text):
    assert came_back(fields(*RULE_OF_FIELDS), text)


@pytest.mark.parametrize(
    "text",
    ["lot,seller,guess", "The consignor gave an estimate and a reserve for the lot.", "lot: 1"],
)
def test_two_names_or_mere_words_are_no_fields(text):
    assert came_back(fields(*RULE_OF_FIELDS), text) == []


def test_fields_that_everybody_uses_prove_nothing():
    detector = fields("Columns are `id`, `name`, `date`, `title` and `amount`.")
    assert came_back(detector, "id,name,date,title,amount") == []


def test_fields_that_the_data_had_prove_nothing():
    detector = fields(*RULE_OF_FIELDS)
    assert detector.said_elsewhere(["lot,consignor,estimate,reserve"])
    assert came_back(detector, "lot,consignor,estimate,reserve") == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("the columns `lot`, `consignor` and `reserve`", ["lot", "consignor", "reserve"]),
        ("- **`metadata.machine`** records the host", ["machine"]),
        ("- **Sighting**: what and where", ["sighting"]),
        ('{"lot": 1, "re-serve": 250}', ["lot", "re_serve"]),
        ("""--metadata '{"machine":"'"$(hostname)"'","worker":"w1"}'""", ["machine", "worker"]),
        ("tick update --set machine=$(hostname) --set worker=w1", ["machine", "worker"]),
        ("lot,consignor,reserve", ["lot", "consignor", "reserve"]),
        ("| Lot | Consignor | Reserve |", ["lot", "consignor", "reserve"]),
        ("sourced_from: survey 12", ["sourced_from"]),
        ("see https://example.org and C:/x", []),
        ("if lot == 3 or std::vector", []),
        ("plain words of a sentence", []),
    ],
)
def test_field_names(line, expected):
    assert field_names(line) == expected


STEP = Step(agent="main", index=2, line=9)
OUTPUT = ["Installed 6 hooks for the editor", "Shadow session open", "created: 5"]


def restated(words, output=OUTPUT, command="bash run.sh", failed=False, call=None):
    """What the words say again, or nothing."""
    detector = RestatementDetector(frozenset({"creat"}))
    detector.finish(0, output, [command], failed=failed)
    detector.act(AgentAction(STEP, call, words), clock=3)
    return detector.restatements[0][0].features if detector.restatements else ()


def test_words_meet_without_their_endings():
    assert {stem("hooks"), stem("installed"), stem("installing")} == {"hook", "install"}
    said = stems("It has 6000 hooks, and all are done", frozenset({"done"}))
    assert said == {"hook", "6000 hook"}


def test_a_sentence_that_says_a_line_again():
    assert restated("Fine. The hooks were installed.") == ("hook", "install")


@pytest.mark.parametrize(
    "words",
    [
        "The hooks are fine. I installed nothing.",
        "The hooks are in a session.",
        "It was created.",
        "",
    ],
)
def test_words_that_only_share_words(words):
    assert restated(words) == ()


def test_two_words_of_a_long_line_are_too_few():
    line = "hooks installed while seven other services started their workers behind proxies"
    assert restated("The hooks are installed.", [line]) == ()


def test_what_the_command_says_needs_the_whole_line():
    assert restated("Shadow session is open.", command="run.sh shadow-session") == (
        "open", "session", "shadow",
    )  # fmt: skip
    assert restated("Now the shadow session.", command="run.sh shadow-session") == ()


def test_a_failure_is_taken_up_in_a_word():
    output = ["line 4: No such directory"]
    assert restated("The directory is gone.", output, failed=True) == ("directory",)
    assert restated("The directory is gone.", output, failed=False) == ()


def test_a_call_restates_nothing_and_ends_the_chance():
    detector = RestatementDetector(frozenset())
    detector.finish(0, OUTPUT, [], failed=False)
    call = ToolCall(call_id=None, name="bash", action="shell", line=1, command="ls")
    detector.act(AgentAction(STEP, call, "hooks installed"), clock=3)
    detector.act(AgentAction(STEP, None, "The hooks are installed."), clock=4)
    assert detector.restatements == {}


NONE = ["Note: No shadow branch (expected for auto strategy)", "14 wrasses, 0 lionfish"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("There's no shadow branch here.", ("branch", "no shadow", "shadow")),
        ("I saw 14 wrasses.", ("14 wrass", "wrass")),
        ("There is a shadow branch.", ()),
        ("There is no branch.", ()),
        ("I look for 15 lionfish.", ()),
    ],
)
def test_a_count_or_a_negation_with_its_word_is_said_again(words, expected):
    assert restated(words, NONE, command="verify-shadow-branch of lionfish") == expected


LINE = "Then go on with `pack-provisions`."


def opening(step):
    return AgentAction(Step(agent="main", index=step, line=step), None, "cat pack-provisions")


def led(*, before=(), shown=LINE, own="plan-voyage", name="pack-provisions", step=4):
    pointers = SkillPointers([name, "plan-voyage"])
    pointers.said(before)
    pointers.shown((0,), {own}, [shown], 3)
    pointers.opened(name, opening(step), 9)
    return {i: source for i, (_, source) in pointers.led.items()}


def test_a_resource_leads_to_the_skill_that_it_names():
    assert led() == {0: LINE}


@pytest.mark.parametrize(
    "more",
    [
        {"before": ["pack-provisions comes next"]},
        {"shown": "Then go on."},
        {"shown": "Then go on with pack-provisions-fast."},
        {"own": "pack-provisions"},
        {"step": 4 + LED_WITHIN},
        {"name": "merge", "shown": "Then merge it."},
    ],
)
def test_what_does_not_lead_there(more):
    assert led(**more) == {}


def test_the_first_resource_that_names_it_leads_to_it():
    pointers = SkillPointers(["pack-provisions"])
    pointers.shown((0,), {"a"}, [LINE], 1)
    pointers.shown((1,), {"b"}, [LINE], 2)
    pointers.opened("pack-provisions", opening(3), 9)
    pointers.opened("pack-provisions", opening(4), 10)
    assert list(pointers.led) == [0]
