"""What several askings of a model come to, and which questions a probe asks."""

import pytest

from skilljuror.judge.by_model.answers import Settled
from skilljuror.judge.by_model.asking import ModelJudgement
from skilljuror.pipeline.judging_repeats import Asking, modal_judgement

YES, NO, SORRY, OPEN = (
    Settled("yes", "implementation"), Settled("no", "background"), Settled("unknown", "unparsed"),
    Settled("unknown", "insufficient_context"),
)  # fmt: skip


def mode(*answers):
    """What the answers to one event come to."""
    askings = [Asking("repeat", n, ModelJudgement({"e": one}, ())) for n, one in enumerate(answers)]
    return modal_judgement(askings).settled["e"]


@pytest.mark.parametrize(
    ("answers", "category"),
    [
        ((SORRY, YES), "implementation"), ((SORRY, SORRY, NO), "background"),
        ((SORRY, SORRY), "unparsed"), ((OPEN, SORRY, SORRY), "insufficient_context"),
    ],
)  # fmt: skip
def test_an_answer_that_cannot_be_used_has_no_say_beside_one_that_can(answers, category):
    assert mode(*answers).category == category


def test_a_tie_tells_all_answers():
    made = mode(YES, NO, SORRY)
    assert (made.label, made.category) == ("unknown", "insufficient_context")
    assert made.evidence == "no majority among its answers: yes, no, unparsed"
