import pytest

from skilljuror.audit.comparison.function_words import function_word_change


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("Ask the desk and the owner.", "Ask the desk or the owner.", "conjunction"),
        ("Check all rows of the table.", "Check some rows of the table.", "quantifier"),
        ("Each file must be read.", "Most files must be read.", "quantifier"),
        ("Let the user choose a name.", "Let the agent choose a name.", "agent"),
        ("Ask your human partner first.", "Ask the assistant first.", "agent"),
        ("If the tests fail, stop and report.", "Stop and report.", "condition"),
        ("For new projects, ask the owner.", "Ask the owner.", "condition"),
        ("Stop when the desk is closed.", "Stop.", "condition"),
        ("Read it when the desk is closed and dark.", "Read it at night.", "condition"),
        ("Read the log, the last report, the plan of it.", "Read the log, the plan of it.", "condition"),
    ],
)  # fmt: skip
def test_a_word_that_changes_who_when_or_how_many(before, after, change):
    assert function_word_change(before, after) == change
    assert function_word_change(after, before) == change


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Ask the desk and the owner.", "Ask the desk, then the owner."),
        ("Read the log and stop; wait here.", "Read the log; wait here or there."),
        ("Check all rows of all tables.", "Check all of the rows of tables."),
        ("The agents and users agree.", "The users and agents agree."),
        ("If the tests fail, stop.", "When the tests fail, stop."),
        ("You're done when it's signed.", "You are done when it's signed."),
        ("Use the `and` flag.", "Use the `or` flag."),
        ("Use it at once.", "Make use of it at once."),
    ],
)
def test_other_words_for_the_same(before, after):
    assert function_word_change(before, after) is None
    assert function_word_change(after, before) is None


def test_a_text_too_long_to_align_is_compared_as_a_whole():
    text = "word " * 600
    assert function_word_change(f"{text}and", f"{text}or") == "conjunction"
