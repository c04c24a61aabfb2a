"""Every boundary case of the rubric, judged by every judge that needs no model."""

import re

from skilljuror.base.files import data_dir
from skilljuror.judge.tracing import TracingJudge
from tests.support.every import every
from tests.support.judge_cases import CASES, CaseBuilder


@every("name", CASES)
def test_boundary_case(name):
    built = CaseBuilder(CASES[name])
    verdicts = TracingJudge().judge("trial", built.trajectory, tuple(built.events), None)
    found = [(f"{one.label}/{one.category}", one.note) for one in verdicts]
    assert [label for label, _ in found] == CASES[name]["expect"], found


def test_cases_have_names_of_their_own():
    text = (data_dir("rubrics") / "eru.yaml").read_text(encoding="utf-8")
    assert (
        len(CASES)
        == len(re.findall(r"^  - id: ", text.partition("boundary_cases:")[2], re.M))
        >= 30
    )
