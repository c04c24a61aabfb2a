"""Answers of a model: read strictly, their quotes looked up, parts put together."""

import pytest

from skilljuror.base.results import UptakeCategory
from skilljuror.judge.by_model.answers import (
    LONGEST_QUOTE,
    Answer,
    Answers,
    Outcome,
    merged,
    outcome_of,
    read_answers,
)
from tests.support.model_judging import FOLLOWED, RULE, RUN, excerpt, verdict

YES = Outcome("yes", UptakeCategory.IMPLEMENTATION)
NO = Outcome("no", UptakeCategory.BACKGROUND)
UNPARSED = Outcome("unknown", UptakeCategory.UNPARSED)
FABRICATED = Outcome("unknown", UptakeCategory.UNVERIFIED_QUOTE)
OPEN = Outcome("unknown", UptakeCategory.INSUFFICIENT_CONTEXT)


def come_to(run=None, **changes):
    run = run or excerpt()
    return outcome_of(Answer(**verdict(**changes)), run.events[0], run)


def test_a_yes_whose_quotes_stand_in_the_log_is_one():
    one = come_to()
    assert (one.label, one.category) == ("yes", "implementation")
    assert (one.source, one.quote, one.step) == (RULE, FOLLOWED, 2)
    assert one.evidence == "The script keeps the last entry only."


@pytest.mark.parametrize(
    "quote",
    [
        "ledger = ledger[-2:]",  # nobody wrote it
        "read skills/csv/references/rules.md",  # the access itself
        "before the access",  # an earlier step
        "done",  # what came back, not what the agent did
        "e",  # too short to prove anything
        "", None,
    ],
    ids=["fabricated", "the access", "before it", "a result", "a letter", "empty", "none"],
)  # fmt: skip
def test_a_yes_without_a_later_action_that_holds_its_quote_is_unknown(quote):
    run = excerpt({"run": "echo before the access", "prints": ""}, *RUN)
    one = come_to(run, quote=quote, step=3)
    assert (one.label, one.category, one.quote, one.step) == (
        "unknown", "unverified_quote", None, None,
    )  # fmt: skip
    assert "of the action not found" in one.evidence


@pytest.mark.parametrize("source", ["Keep the oldest entry.", "", None])
def test_a_yes_whose_quote_of_the_resource_was_not_shown_is_unknown(source):
    one = come_to(source=source)
    assert (one.label, one.category) == ("unknown", "unverified_quote")
    assert "of the resource not found" in one.evidence


def test_blanks_and_line_ends_make_no_difference_to_a_quote():
    assert come_to(quote="ledger.sort();\n   ledger  = ledger[-1:]").label == "yes"


def test_a_quote_may_be_spelled_as_the_json_in_which_it_was_shown():
    run = excerpt(RUN[0], {"write": "a.py", "text": 'say("<hello>")\nledger.close()'})
    assert come_to(run, quote='say(\\"\\u003chello>\\")\\nledger.close()').label == "yes"


def test_a_short_quote_has_to_be_a_whole_line():
    run = excerpt(RUN[0], {"run": "make\nmake all", "prints": ""})
    assert come_to(run, quote="make").label == "yes"
    assert come_to(run, quote="all").label == "unknown"


@pytest.mark.parametrize("blank", [r"\n", r" \t\u0020 "])
def test_blanks_spelled_as_json_are_no_quote(blank):
    run = excerpt(
        {"read": "a.md", "shows": f"{RULE}\n\nMore."}, {"write": "b", "text": "x = 1\n\ny = 2"}
    )
    assert come_to(run, source=blank, quote="x = 1").category == "unverified_quote"
    assert come_to(run, quote=blank).category == "unverified_quote"


def test_the_step_that_holds_the_quote_is_told_whatever_step_the_model_named():
    assert come_to(step=3).step == 2
    twice = excerpt(*RUN[:2], RUN[1])
    assert come_to(twice, step=3).step == 3
    assert come_to(twice, step=None).step == 2


def test_a_silent_helper_is_quoted_by_its_command():
    run = excerpt(
        {"exec": "scripts/sum.py", "command": "python sum.py --out a.json", "shows": ""}, RUN[1]
    )
    assert come_to(run, source="python sum.py --out a.json").label == "yes"


@pytest.mark.parametrize(
    ("task", "ok", "label"),
    [
        ("Write out/summary.json.", True, "yes"),
        ("Write out/summary.json.", False, "unknown"),
        ("Run scripts/sum.py.", True, "unknown"),
        ("Sum it up.", True, "unknown"),
    ],
    ids=["asked for", "it failed", "its own name", "not asked for"],
)
def test_a_helper_that_wrote_what_the_task_asks_for_is_taken_up_by_its_own_call(task, ok, label):
    command = "python scripts/sum.py --out out/summary.json"
    helper = {"exec": "scripts/sum.py", "command": command, "shows": "done", "ok": ok}
    run = excerpt(helper, {"say": "All is as it should be."}, prompt=task)
    one = come_to(run, source=command, quote=command, step=1)
    assert (one.label, one.step) == (label, 1 if label == "yes" else None)


def test_calls_beside_the_access_are_not_later():
    run = excerpt(RUN[0] | {"also": [RUN[1]]}, RUN[2])
    assert come_to(run).category == "unverified_quote"


def test_no_and_unknown_need_no_quote_and_keep_none():
    one = come_to(label="no", category="background", quote="ledger = ledger[-2:]")
    assert (one.label, one.category, one.quote) == ("no", "background", None)
    one = come_to(label="unknown", category="insufficient_context", quote="")
    assert (one.label, one.category) == ("unknown", "insufficient_context")


def test_a_long_quote_is_looked_up_whole_and_kept_in_part():
    long = "x = 1; " * 200
    run = excerpt(RUN[0], {"write": "a.py", "text": long})
    assert len(come_to(run, quote=long).quote) == LONGEST_QUOTE
    assert come_to(run, quote=f"{long} y = 2").label == "unknown"


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (verdict(label="maybe"), "verdicts.0.label: "),
        (verdict(category="background"), "the category of a yes is one of implementation, "),
        (verdict(category="vibes"), "not 'vibes'"),
        (verdict("e7"), "there is no access 'e7'"),
        ("yes", "verdicts.0: "),
        ({"event": "e0"}, "verdicts.0.label: Field required"),
        (verdict(step="two"), "verdicts.0.step: "),
    ],
    ids=["label", "other label's", "category", "event", "no object", "nothing", "step"],
)
def test_what_cannot_be_read_is_told_and_the_rest_is(bad, said):
    run = excerpt(RUN[0], *RUN)
    events = run.events
    read, wrong = read_answers(Answers(verdicts=[bad, verdict("e1")]), events)
    assert [*read] == [events[1].event]
    assert wrong is not None
    assert said in wrong


def test_a_missing_and_a_second_verdict_are_told():
    run = excerpt(RUN[0], *RUN)
    _, wrong = read_answers(Answers(verdicts=[verdict("e0")]), run.events)
    assert wrong == "no verdict on e1"
    _, wrong = read_answers(
        Answers(verdicts=[verdict("e0"), verdict("e0"), verdict("e1")]), run.events
    )
    assert wrong == "verdicts.1: a second verdict on 'e0'"


@pytest.mark.parametrize(
    ("parts", "cut", "expected"),
    [
        ([NO, YES], False, YES),
        ([UNPARSED, FABRICATED, YES], True, YES),
        ([NO, NO], False, NO),
        ([NO, OPEN], False, OPEN),
        ([OPEN, UNPARSED, FABRICATED], False, UNPARSED),
        ([NO, FABRICATED], False, FABRICATED),
        ([NO], False, NO),
    ],
)
def test_a_yes_anywhere_wins_and_a_no_needs_all_parts(parts, cut, expected):
    assert merged(parts, cut) == expected


def test_a_no_about_a_run_that_goes_on_is_unknown():
    one = merged([NO, NO], True)
    assert (one.label, one.category) == ("unknown", "insufficient_context")
