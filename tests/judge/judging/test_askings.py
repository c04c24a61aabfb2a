"""What several askings of a model come to, and which questions a probe asks."""

import pytest

from skilljuror.base.llm import ModelChoice, ModelClient, Reply
from skilljuror.base.results import UptakeCategory
from skilljuror.base.trajectory import Usage
from skilljuror.judge.by_model.answers import Outcome
from skilljuror.judge.by_model.asking import ModelJudgement
from skilljuror.judge.by_model.questions import questions_of
from skilljuror.judge.judging.repeats import Asking, askings_of, modal_judgement
from tests.support.model_judging import MODEL, RUN, excerpt, reader

YES, NO, SORRY, OPEN = (
    Outcome("yes", UptakeCategory.IMPLEMENTATION), Outcome("no", UptakeCategory.BACKGROUND), Outcome("unknown", UptakeCategory.UNPARSED),
    Outcome("unknown", UptakeCategory.INSUFFICIENT_CONTEXT),
)  # fmt: skip


class Reader(ModelClient):
    """A model that reads, in this process; counts what it was asked."""

    asked = 0

    def complete(self, messages, response_format):
        self.asked += 1
        return Reply(reader({"messages": messages}, 0), Usage(), "stop")


def mode(*answers):
    """What the answers to one event come to."""
    askings = [Asking("repeat", n, ModelJudgement({"e": one}, ())) for n, one in enumerate(answers)]
    return modal_judgement(askings).outcomes["e"]


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


def test_a_probe_rests_on_all_parts_of_a_long_run_and_pays_for_the_changed_ones():
    """The first part, with one access, has no other order; its no is counted with what the others say."""
    others = [{"run": f"other {n} {'word ' * 300}", "prints": ""} for n in range(8)]
    worked = {"run": "python work.py", "prints": ""}
    later = {"read": "references/b.md", "shows": "B."}
    run = excerpt(RUN[0], *others, later, *others, worked)
    questions = list(questions_of(run, budget=1_500, overlap=100))
    sizes = [len(question.events) for question in questions]
    assert sizes[0] == 1 < max(sizes)
    client = Reader(ModelChoice(MODEL))
    plain, order = askings_of(client, run, questions, probes=("order",))
    assert [one.label for one in plain.said.outcomes.values()] == ["yes", "yes"]
    labels = {event: one.label for event, one in order.said.outcomes.items()}
    assert labels == {event: one.label for event, one in plain.said.outcomes.items()}
    assert client.asked == len(questions) + sum(size > 1 for size in sizes)
    assert len(modal_judgement([plain, order]).answers) == client.asked


def test_no_probe_counts_where_only_one_use_is_left_to_ask_about():
    """The first use is proved in the first part; asked alone, the second has no other order."""
    others = [{"run": f"other {n} {'word ' * 300}", "prints": ""} for n in range(8)]
    worked = {"run": "python work.py", "prints": ""}
    run = excerpt(RUN[0], worked, *others, {"read": "references/b.md", "shows": "B."}, *others)
    questions = list(questions_of(run, budget=1_500, overlap=100))
    client = Reader(ModelChoice(MODEL))
    (plain,) = askings_of(client, run, questions, probes=("order",))
    assert [one.label for one in plain.said.outcomes.values()] == ["yes", "no"]
    assert client.asked == len(plain.said.questions)
