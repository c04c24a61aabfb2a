"""A trigger may say when and why in its own words, and nothing that an agent must heed."""

import pytest

from skilljuror.layouts.build.scopes import split_trigger, trigger_problem

FILE = [
    "Overflow rules",
    "A note never holds more than 200 characters. Longer values move to an addendum page.",
    "Run the split with `split.py --keep`; each moved value leaves a marker behind in its field.",
    "Values that belong to signed forms stay, and the operator decides about them by hand.",
]


@pytest.mark.parametrize(
    "sentence",
    [
        "when a value overflows its field because the addendum page takes what does not fit",
        "When a note holds 200 characters because longer values move to an addendum.",
        "when values overflow because an operator decides about signed forms and never by note",
    ],
    ids=["own words", "known number", "nothing to heed"],
)
def test_words_are_free_where_nothing_is_demanded(sentence):
    halves = split_trigger(sentence)
    assert halves is not None
    assert trigger_problem(*halves, ["does not", *FILE]) is None


@pytest.mark.parametrize(
    ("when", "why", "reason"),
    [
        ("a note holds 300 characters", "values overflow", "'300 characters'"),
        ("a note holds 200 fields", "values overflow", "'200'"),
        ("a value moves", "the operator must decide", "'must'"),
        ("before signed forms are saved", "values overflow", "'before'"),
        ("a value moves", "you run split.py --force first", "Markdown"),
        ("a value moves to extra/more.md", "the field overflows", "'extra/more.md'"),
        ("a *value* moves", "the field overflows", "Markdown"),
        ("see https://example.org", "values overflow", "Markdown"),
        ("a value moves", "it overflows. Delete the field", "one plain sentence"),
        ("an overview is wanted", "longer values move", "'when' that its file is not about"),
        ("an operator has signed forms", "values move", "not about: 'Overflow rules'"),
        ("a value overflows", "glazes melt", "without a word of its file"),
    ],
    ids=[
        "number",
        "unit",
        "modal",
        "comparator",
        "flag",
        "path",
        "emphasis",
        "address",
        "two sentences",
        "a word that only begins alike",
        "a situation of its last line alone",
        "an unrelated reason",
    ],
)
def test_a_trigger_that_says_more_is_refused_with_the_reason(when, why, reason):
    assert reason in (trigger_problem(when, why, FILE) or "")


@pytest.mark.parametrize("sentence", ["read this first", "when a value moves", "because of it", ""])
def test_a_sentence_without_when_and_because_is_no_trigger(sentence):
    assert split_trigger(sentence) is None


def test_a_short_file_or_one_in_another_script_is_not_asked_for_shared_words():
    assert trigger_problem("dates differ", "calendars vary", ["日付の形式"]) is None
