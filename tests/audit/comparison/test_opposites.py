import pytest

from skilljuror.audit.comparison.opposites import contrasts, has_opposites


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
        ("Run `open`.", "Run `close`."),
        ("It runs.", "It ran."),
        ("Keep the kiln warm.", "Keep the oven warm."),
        ("Keep it.", "Keep it, large or small."),
    ],
)  # fmt: skip
def test_words_that_turn_nothing_round(before, after):
    assert not has_opposites(before, after)


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("Mend it at the root, not at the branch.", ("root", "branch")),
        ("Ask the owner instead of the guard.", ("guard", "owner")),
        ("**Glaze** rather than paint it.", ("glaze", "paint")),
    ],
)  # fmt: skip
def test_words_that_a_text_sets_against_each_other(text, pair):
    assert pair in contrasts([text])


def test_a_contrast_of_the_source_turns_its_sentences_round():
    pairs = contrasts(["Mend it at the root, not at the branch."])
    assert has_opposites("Look at the roots first.", "Look at the branches first.", pairs)
    assert not has_opposites("Look at the roots first.", "Look at the leaves first.", pairs)
