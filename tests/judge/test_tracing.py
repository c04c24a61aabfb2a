"""Quotes, order and robustness of tracing, and every boundary case of the rubric."""

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from skilljuror.base.errors import resolve
from skilljuror.base.trajectory import Message, Step, Trajectory
from skilljuror.judge import JUDGES
from skilljuror.judge.shown import RUN_KINDS, call_text
from skilljuror.judge.tracing import TracingJudge
from tests.support.every import every
from tests.support.judge_cases import CASES, CaseBuilder
from tests.support.metric_contexts import contexts
from tests.support.places import ROOT


def judged(built, manifest=None):
    return list(TracingJudge().judge("t", built.trajectory, tuple(built.events), manifest))


def everything_shown(run: Trajectory) -> str:
    results = [c.result.text for s in run.steps for c in s.calls if c.result]
    return "\n".join(results + [message.text for message in run.messages])


def everything_written(run: Trajectory) -> str:
    calls = [call_text(call) for step in run.steps for call in step.calls]
    return "\n".join(calls + [step.text + step.reasoning for step in run.steps])


@every("name", CASES)
def test_a_yes_quotes_both_sides_literally_and_points_at_a_later_step(name):
    built = CaseBuilder(CASES[name])
    both = everything_shown(built.trajectory) + everything_written(built.trajectory)
    for event, verdict in zip(built.events, judged(built), strict=True):
        if verdict.label != "yes":
            assert verdict.action_step is verdict.source_quote is None
            continue
        assert verdict.source_quote
        assert verdict.action_quote
        assert verdict.source_quote in both
        assert verdict.action_quote in both
        assert verdict.action_step is not None
        assert verdict.action_step > event.step or event.kind == "exec"


@every("judge", sorted(JUDGES))
@settings(max_examples=60, deadline=None)
@given(context=contexts)
def test_one_verdict_per_counted_event_in_order_whatever_the_log(judge, context):
    if context.trajectory is None:
        return
    made = resolve(JUDGES, judge, "judge")()
    verdicts = list(made.judge("t", context.trajectory, context.events, context.manifest))
    assert [one.event for one in verdicts] == [one.event for one in context.events if one.counts]
    assert verdicts == list(made.judge("t", context.trajectory, context.events, context.manifest))


@every("name", CASES)
def test_without_later_actions_nothing_is_taken_up(name):
    """Every case again, with the agent falling silent after its last access."""
    built = CaseBuilder(CASES[name])
    last = max(event.step for event in built.events)
    steps = tuple(
        step if step.index <= last else Step("main", step.index, step.line, text="Fine.")
        for step in built.trajectory.steps
    )
    built.trajectory = replace(built.trajectory, steps=steps)
    labels = [
        verdict.label
        for event, verdict in zip(built.events, judged(built), strict=True)
        if event.step == last and event.kind not in RUN_KINDS
    ]
    assert "yes" not in labels


@every("name", CASES)
def test_what_the_prompt_says_is_never_taken_up(name):
    """Every case again, with everything that its resources show in the prompt as well."""
    built = CaseBuilder(CASES[name])
    prompt = Message("main", "prompt", everything_shown(built.trajectory), line=0, step=0)
    run = replace(built.trajectory, messages=(prompt, *built.trajectory.messages))
    built.trajectory = run
    labels = [
        verdict.label
        for event, verdict in zip(built.events, judged(built), strict=True)
        if event.kind not in {*RUN_KINDS, "list"}
    ]
    assert "yes" not in labels


def test_sub_agents_are_judged_in_their_own_run():
    built = CaseBuilder(CASES["instruction-followed"])
    moved = [replace(step, agent="sub-1") for step in built.trajectory.steps]
    own = [replace(event, agent="sub-1") for event in built.events]
    run = replace(built.trajectory, steps=tuple(moved))
    (verdict,) = TracingJudge().judge("t", run, tuple(own), None)
    assert verdict.label == "yes"
    apart = replace(run, steps=(moved[0], *built.trajectory.steps[1:]))
    (verdict,) = TracingJudge().judge("t", apart, tuple(own), None)
    assert verdict.label == "unknown"


def test_edits_and_mentions_get_no_verdict():
    built = CaseBuilder(CASES["instruction-followed"])
    built.events = [replace(built.events[0], kind="edit")]
    assert judged(built) == []


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece",
    [
        "`", "a/", "a.", "-", "open(", "1,", "> ", "é", "##", "ab_", "\x00",
        " ", "\t", "0", "1 ", "- ", "|", "|-", "| 1", '"', "a is ", "a: 1 ", "a-", "test_", ". ",
    ],
)  # fmt: skip
def test_hostile_text_costs_no_more_than_its_length(piece):
    text = piece * (300_000 // len(piece)) + "x"
    case = {"run": [{"read": "SKILL.md", "shows": text}, {"run": text, "prints": text}]}
    (verdict,) = judged(CaseBuilder(case))
    assert verdict.label in {"yes", "no", "unknown"}


ALL_VERDICTS = """
from skilljuror.judge.tracing import TracingJudge
from tests.support.every import every
from tests.support.judge_cases import CASES, CaseBuilder
for case in CASES.values():
    built = CaseBuilder(case)
    for one in TracingJudge().judge("t", built.trajectory, tuple(built.events), None):
        print(case["id"], one)
"""


@pytest.mark.slow
def test_verdicts_do_not_depend_on_the_hash_seed():
    printed = {
        subprocess.run(
            [sys.executable, "-c", ALL_VERDICTS], capture_output=True, check=True,
            cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "2")
    }  # fmt: skip
    assert len(printed) == 1
    assert b"yes" in printed.pop()


@every("name", CASES)
def test_boundary_case(name):
    built = CaseBuilder(CASES[name])
    verdicts = TracingJudge().judge("trial", built.trajectory, tuple(built.events), None)
    found = [(f"{one.label}/{one.category}", one.note) for one in verdicts]
    assert [label for label, _ in found] == CASES[name]["expect"], found
