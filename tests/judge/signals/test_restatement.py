import pytest

from skilljuror.base.trajectory import Step, ToolCall
from skilljuror.judge.replay.timeline import AgentAction
from skilljuror.judge.signals.restatement import RestatementDetector, stem, stems

STEP = Step(agent="main", index=2, line=9)
OUTPUT = ["Installed 6 hooks for the editor", "Shadow session open", "created: 5"]


def restated(words, output=OUTPUT, command="bash run.sh", failed=False, call=None):
    """What the words say again, or nothing."""
    detector = RestatementDetector(frozenset({"creat"}))
    detector.finish(0, output, [command], failed=failed)
    detector.act(AgentAction(STEP, call, words), clock=3)
    return detector.restatements[0].shared if detector.restatements else ()


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
