"""Totals of a run: what it states, and what its steps say."""

import pytest

from tests.support.atif_documents import agent_step, document, read_document


def tokens(prompt, output=1, cost=None):
    return {"prompt_tokens": prompt, "completion_tokens": output, "cost_usd": cost}


def totals(prompt, output=None, cost=None, **more):
    given = {"total_prompt_tokens": prompt, "total_completion_tokens": output}
    return {**given, "total_cost_usd": cost, **more}


def test_a_continuation_counts_on_from_where_it_goes_on(tmp_path):
    """Its totals hold the part before it, and the summaries whose files are not there."""
    first = document(
        agent_step("a", metrics=tokens(100)), final_metrics=totals(100, 1),
        continued_trajectory_ref="trajectory.cont-1.json",
    )  # fmt: skip
    second = document(agent_step("b", metrics=tokens(50)), final_metrics=totals(230, 9, 0.5))
    usage = read_document(tmp_path, first, cont_1=second).usage
    assert (usage.input, usage.output, usage.cost_usd) == (230, 9, 0.5)


@pytest.mark.parametrize(("stated", "expected"), [(100, 170), (170, 170), (200, 200)])
def test_totals_that_leave_the_sub_agents_out_are_not_those_of_the_run(tmp_path, stated, expected):
    child = document(agent_step("b", metrics=tokens(70)), trajectory_id="child")
    given = document(
        agent_step("a", metrics=tokens(100)), final_metrics=totals(stated, 5),
        subagent_trajectories=[child],
    )  # fmt: skip
    assert read_document(tmp_path, given).usage.input == expected


@pytest.mark.parametrize(
    ("stated", "expected"), [(0.1, 0.75), (0.75, 0.75), (0.9, 0.9), (None, 0.75), (0.7499999999, 0.7499999999)]
)  # fmt: skip
def test_a_cost_below_that_of_the_steps_is_not_all(tmp_path, stated, expected):
    steps = [
        agent_step("a", metrics=tokens(1, cost=0.25)),
        agent_step("b", metrics=tokens(1, cost=0.5)),
    ]
    run = read_document(tmp_path, document(*steps, final_metrics=totals(2, 2, stated)))
    assert run.usage.cost_usd == expected


def test_what_the_totals_leave_out_comes_from_the_steps(tmp_path):
    metrics = {**tokens(100, 4), "cached_tokens": 60}
    usage = read_document(
        tmp_path, document(agent_step("a", metrics=metrics), final_metrics=totals(100))
    ).usage
    assert (usage.input, usage.cache_read, usage.output) == (40, 60, 4)


def test_a_cost_without_any_tokens(tmp_path):
    usage = read_document(
        tmp_path, document(agent_step("a"), final_metrics={"total_cost_usd": 0.5})
    ).usage
    assert (usage.cost_usd, usage.input, usage.output) == (0.5, None, None)


def test_no_metrics_are_no_usage(tmp_path):
    assert read_document(tmp_path, document(agent_step("a"), final_metrics={})).usage is None
