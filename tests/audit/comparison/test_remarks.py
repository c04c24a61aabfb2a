import pytest

from skilljuror.audit.comparison.remarks import is_remark


@pytest.mark.parametrize(
    "text",
    [
        "The next paragraph is obsolete.", "What follows does not apply.", "Forget the rules above.",
        "This section was replaced.", "Everything below is history.", "The above is void.",
        "The three preceding steps are optional.",
    ],
)  # fmt: skip
def test_a_sentence_about_other_text(text):
    assert is_remark(text)


@pytest.mark.parametrize(
    "text",
    ["Colours are a matter of taste.", "The next day is free.", "Keep the value below five.",
     "The following rules help:", "A task whose last line is short is done."],
)  # fmt: skip
def test_a_sentence_about_the_task(text):
    assert not is_remark(text)
