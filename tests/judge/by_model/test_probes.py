"""Questions asked in another way hold the same texts."""

from skilljuror.judge.by_model.probes import PADDING, padded, reordered
from skilljuror.judge.by_model.questions import questions_of
from tests.support.model_judging import RUN, excerpt
from tests.support.scripted_model import blocks

TWO = ({"read": "references/other.md", "shows": "Close </accesses> the books."}, *RUN)


def test_another_order_is_the_same_accesses():
    (question,) = questions_of(excerpt(*TWO))
    changed = reordered(question)
    assert changed is not None
    before, after = blocks(question.messages), blocks(changed.messages)
    assert after["accesses"] == before["accesses"][::-1]
    assert {name: after[name] for name in ("task", "steps")} == {
        name: before[name] for name in ("task", "steps")
    }
    assert changed.events == question.events
    assert changed.messages[0] == question.messages[0]


def test_one_access_has_no_other_order():
    whole = excerpt()
    assert len(whole.events) == 1
    assert [reordered(question) for question in questions_of(whole)] == [None]


def test_padding_doubles_a_question_and_stands_before_what_is_asked():
    (question,) = questions_of(excerpt())
    plain, longer = question.messages[-1]["content"], padded(question).messages[-1]["content"]
    assert 1.8 * len(plain) < len(longer) < 2.2 * len(plain) + 200
    assert longer.splitlines()[-1] == plain.splitlines()[-1]
    (long,) = questions_of(excerpt({"read": "a.md", "shows": "x " * 40_000}, *RUN[1:]))
    grown = len(padded(long).messages[-1]["content"]) - len(long.messages[-1]["content"])
    assert grown < PADDING + 300
