"""Four times the input takes at most five times the work, whatever was multiplied.

Work is counted in lines of Python that ran.
"""

import json
import time

import pytest

from skilljuror.base.workers import work_budget
from skilljuror.events.attribute import attribute
from skilljuror.judge.signals import load_rubric
from skilljuror.judge.tracing import TracingJudge
from skilljuror.layouts.build.build import build_source
from skilljuror.logs.discovery import discover
from skilljuror.logs.read import read
from tests.support.atif_documents import agent_step, document, tool_call
from tests.support.claude_logs import assistant, tool_result, tool_use, user, write_lines
from tests.support.counted_work import lines_run
from tests.support.growing_inputs import FRONTMATTER, LOGS, PAGES

pytestmark = pytest.mark.slow

MANY_SECTIONS = 800
"""Sections from which more of them only add more of the same: up to some 200 a page is one file, and up
to some 600 one index is enough."""
LARGE = {"definitions": 320}
"""Sizes from which a page is disclosed: below, there is less to do."""
TIMES = 4
MOST = 5.0
"""How many times the work may be taken for TIMES the input."""


def grows_with_size(work, size):
    """Work of a size, its lines counted; done once before, so that what is loaded or kept counts
    for neither."""
    work(max(1, size // 10))
    small = lines_run(lambda: work(size))
    large = lines_run(lambda: work(size * TIMES), int(MOST * small) + 1)
    assert large <= MOST * small, (small, large)


def judged(given):
    run, manifest = given
    with work_budget(0):
        events = attribute(run, manifest).events
    return list(TracingJudge().judge("t", run, events, manifest))


@pytest.mark.parametrize("kind", LOGS)
def test_attribution_and_judge(kind):
    load_rubric()
    made = {size: LOGS[kind](size) for size in (27, 270, 270 * TIMES)}
    grows_with_size(lambda size: judged(made[size]), 270)


@pytest.mark.parametrize("kind", PAGES)
def test_build(kind, tmp_path):
    def build(size):
        source = tmp_path / f"source{size}"
        if not source.exists():
            (source / "demo").mkdir(parents=True)
            (source / "demo" / "SKILL.md").write_text(FRONTMATTER + PAGES[kind](size))
        build_source(source, tmp_path / f"built{time.monotonic_ns()}", variants=("pd",))

    grows_with_size(build, MANY_SECTIONS if kind.endswith("headings") else LARGE.get(kind, 80))


def claude_log(folder, size):
    rows = []
    for number in range(size):
        rows += [
            assistant(number % 60, tool_use(f"t{number}", command="cat a.md")),
            user(number % 60, [tool_result(f"t{number}")]),
        ]
    return write_lines(folder / "log.jsonl", *rows)


def atif_log(folder, size):
    steps = [
        agent_step("", tool_call(f"c{i}"), results=[{"source_call_id": f"c{i}", "content": "x"}])
        for i in range(size)
    ]
    folder.mkdir(parents=True)
    path = folder / "trajectory.json"
    path.write_text(json.dumps(document(*steps)), encoding="utf-8")
    return path


@pytest.mark.parametrize("write", [claude_log, atif_log])
def test_parsers(write, tmp_path):
    logs = {size: write(tmp_path / str(size), size) for size in (20, 200, 200 * TIMES)}

    def parse(size):
        (found,) = discover([logs[size]])
        return list(read(found.source, found.format or ""))

    grows_with_size(parse, 200)
