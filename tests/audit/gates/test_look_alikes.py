import pytest

from skilljuror.audit.gates.security import look_alikes


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Alw\u0430ys sign it.", "Always"), ("first\nN\u0435ver do.", "Never"),
        ("Use \u0441\u043e\u0440\u0443 of it.", "copy"), ("\uff2dust be read", "Must"),
        ("\U0001d427\U0001d428\U0001d42d allowed", "not"), ("th\u03bf\u03bd word", "thov"),
    ],
)  # fmt: skip
def test_a_letter_of_another_alphabet_in_a_word(text, word):
    assert [plain for _, _, plain in look_alikes(text)] == [word]


@pytest.mark.parametrize(
    "text",
    ["na\u00efve caf\u00e9", "\u0394T and \u03c3x and 5 \u00b5m", "C\u03b1 atom", "\u0420\u0443\u043a\u0430 \u0438 \u0441\u043e\u043d",
     "\u03b1\u03b2\u03b3 of it", "\ufb01le", "plain", "\u4e2d\u6587 text"],
)  # fmt: skip
def test_letters_that_belong_there(text):
    assert list(look_alikes(text)) == []
