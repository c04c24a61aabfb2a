import pytest

from skilljuror.audit.changes import has_opposites


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Make the SMALLEST change.", "Make the LARGEST change."),
        ("Can it be seen reliably?", "Can it be seen rarely?"),
        ("Removes the row.", "Adds the row."),
        ("A bigger batch is faster.", "A smaller batch is faster."),
        ("Enabling it is safe.", "Disabling it is safe."),
        ("Use a safe name.", "Use an unsafe name."),
        ("Ask the upstream team.", "Ask the downstream team."),
        ("Read the output of it.", "Read the input of it."),
        ("Sort them ascending.", "Sort them descending."),
        ("Simply ask.", "Ask in a complicated way."),
    ],
)  # fmt: skip
def test_a_word_and_its_opposite(before, after):
    assert has_opposites(before, after)
    assert has_opposites(after, before)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Make a large change.", "Make a big change."),
        ("Show the smallest one.", "Display the smallest one."),
        ("Start it.", "Begin it."),
        ("Use the common data.", "Employ the frequent information."),
        ("Large and small ones.", "Small and large ones."),
        ("It runs.", "It ran."),
        ("Keep the kiln warm.", "Keep the oven warm."),
        ("Keep it.", "Keep it, large or small."),
    ],
)  # fmt: skip
def test_words_that_turn_nothing_round(before, after):
    assert not has_opposites(before, after)
