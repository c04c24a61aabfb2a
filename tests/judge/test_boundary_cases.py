"""Every boundary case of the rubric, judged by every judge that needs no model."""

import pytest

from skilljuror.judge.rubric import load_rubric
from skilljuror.judge.tracing import TracingJudge
from tests.support.judge_cases import CaseBuilder

CASES = {case["id"]: case for case in load_rubric().cases}


@pytest.mark.parametrize("name", CASES)
def test_boundary_case(name):
    built = CaseBuilder(CASES[name])
    verdicts = TracingJudge().judge("trial", built.trajectory, tuple(built.events), None)
    found = [(f"{one.label}/{one.category}", one.note) for one in verdicts]
    assert [label for label, _ in found] == CASES[name]["expect"], found


def test_cases_have_names_of_their_own():
    assert len(CASES) == len(load_rubric().cases) >= 30
