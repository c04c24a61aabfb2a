"""Claude Code's sessions in odd order and odd shape: what they say is told once, and of the right agent."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from skilljuror.logs.raw_logs.jsonl import JsonLines
from tests.support import goldens
from tests.support.claude_logs import (
    SESSION,
    SNAPSHOT,
    Row,
    assistant,
    parsed,
    results_by_call,
    row,
    runs,
    tool_result,
    tool_use,
    user,
    write_lines,
)


def test_a_record_behind_bookkeeping_on_one_line_is_read(tmp_path):
    rows = [assistant(2, tool_use("c1")), user(3, [tool_result("c1")])]
    path = write_lines(tmp_path / "projects" / "-w" / f"{SESSION}.jsonl", SNAPSHOT, user(1, "hi"))
    snapshot = json.dumps(SNAPSHOT, separators=(",", ":"))
    with path.open("a", encoding="utf-8") as log:
        log.writelines(f"{snapshot}{json.dumps(one)}\n" for one in rows)
    (run,) = runs(path)
    assert results_by_call(run) == {"c1": "done"}
    assert run.skipped == {"file-history-snapshot": 3}
    assert run.warnings == ()


@pytest.mark.parametrize(
    "arguments",
    [{"attachment": {"type": "pdf"}}, {"type": "progress", "data": {"type": "bar"}}],
    ids=["attachment", "progress"],
)
def test_an_argument_that_looks_like_bookkeeping_is_an_argument(tmp_path, arguments):
    sent = assistant(2, tool_use("c1", "mcp__mail__send", **arguments))
    run = parsed(tmp_path, user(1, "Send it"), sent, user(3, [tool_result("c1")]))
    assert [one.arguments for step in run.steps for one in step.calls] == [arguments]


def turned(value: Any, order: random.Random) -> Any:
    """The same value with the members of its objects in another order."""
    if isinstance(value, list):
        return [turned(one, order) for one in value]
    if not isinstance(value, dict):
        return value
    names = list(value)
    order.shuffle(names)
    return {name: turned(value[name], order) for name in names}


def progress(number: int, kind: str, **data: Any) -> Row:
    """A record of progress, its members in the order of the real ones."""
    one = row(number, "progress", data={"type": kind, **data})
    return {name: one[name] for name in (*(name for name in one if name not in LAST), *LAST)}


LAST = ("type", "data", "uuid", "timestamp")


@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_members_says_nothing(tmp_path, seed):
    hook = row(9, "attachment", attachment={"type": "hook_success", "content": "x"})
    listing = row(2, "attachment", attachment={"type": "skill_listing", "content": "- tides: T", "names": ["tides"]})  # fmt: skip
    rows = [
        progress(0, "hook_progress"),
        user(1, "hi"),
        listing,
        assistant(3, {"type": "text", "text": "ok"}),
        hook,
    ]
    plain = parsed(tmp_path, *rows)
    assert plain.skipped == {"progress/hook_progress": 1, "attachment/hook_success": 1}
    order = random.Random(seed)
    assert parsed(tmp_path, *(turned(one, order) for one in rows)) == plain


def test_a_session_that_only_started_is_no_run(tmp_path):
    rows = SNAPSHOT, progress(1, "hook_progress", hookEvent="SessionStart")
    assert runs(write_lines(tmp_path / f"{SESSION}.jsonl", *rows)) == []


@pytest.mark.parametrize("count", [3, 64, 900])
@pytest.mark.parametrize(
    "one",
    [SNAPSHOT, {"type": "summary", "summary": "Tides", "leafUuid": "l"}],
    ids=["snapshot", "summary"],
)
def test_a_session_behind_bookkeeping_is_found(tmp_path, one, count):
    run = parsed(
        tmp_path, *[one] * count, user(1, "hi"), assistant(2, {"type": "text", "text": "ok"})
    )
    assert (run.trajectory, len(run.steps), run.skipped) == (SESSION, 1, {one["type"]: count})


def moved(tmp_path: Path) -> Path:
    """A session that began in the folder whose name sorts last, left it and came back."""
    here, there = (
        tmp_path / "projects" / name / f"{SESSION}.jsonl" for name in ("-w-zoo", "-w-ant")
    )
    write_lines(here, user(1, "hi", cwd="/w/zoo"), assistant(2, tool_use("c1")), user(5, [tool_result("c1", "one")]),
          assistant(6, tool_use("c3")), SNAPSHOT, user(7, [tool_result("c3", "three")]))  # fmt: skip
    write_lines(there, assistant(3, tool_use("c2"), cwd="/w/ant"), user(4, [tool_result("c2", "two")], cwd="/w/ant"),
          assistant(8, {"type": "text", "text": "bye"}, cwd="/w/ant"))  # fmt: skip
    return here


@pytest.mark.parametrize("named", [False, True])
def test_a_session_in_two_folders_is_read_in_order_of_time(tmp_path, named):
    path = moved(tmp_path)
    (run,) = runs(path if named else tmp_path)
    assert [step.key for step in run.steps] == ["msg_2", "msg_3", "msg_6", "msg_8"]
    assert results_by_call(run) == {"c1": "one", "c2": "two", "c3": "three"}
    assert run.cwd == "/w/zoo"
    assert "user/tool_result without call" not in run.skipped
    at = {(Path(run.files[step.file]).parent.name, step.line) for step in run.steps}
    assert at == {("-w-zoo", 2), ("-w-ant", 1), ("-w-zoo", 4), ("-w-ant", 3)}


def test_the_main_model_is_that_of_the_main_agent(tmp_path):
    warm = assistant(2, {"type": "text", "text": "ready"}, isSidechain=True)
    warm["message"]["model"] = "claude-small"
    run = parsed(tmp_path, user(1, "hi"), warm, assistant(3, {"type": "text", "text": "ok"}))
    assert [(step.agent, step.model) for step in run.steps] == [("sidechain", "claude-small"), ("main", "claude-x")]  # fmt: skip
    assert run.model == "claude-x"


def attached(number: int, path: str) -> Row:
    file = {"filePath": path, "content": "text", "startLine": 1, "totalLines": 1}
    held = {"type": "file", "filename": path, "content": {"type": "text", "file": file}}
    return row(number, "attachment", attachment=held)


def test_a_file_named_in_a_later_prompt_is_not_put_back_by_the_compaction(tmp_path):
    run = parsed(
        tmp_path, user(1, "@a"), attached(2, "/w/a"), assistant(3, {"type": "text", "text": "ok"}),
        row(4, "system", subtype="compact_boundary"), user(5, "Summary", isCompactSummary=True),
        user(6, "<command-name>/compact</command-name>"), attached(7, "/w/b"),
        user(8, "@c"), attached(9, "/w/c"),
    )  # fmt: skip
    files = {one.path: one.kind for one in run.messages if one.path}
    assert files == {"/w/a": "other", "/w/b": "reinjected", "/w/c": "other"}


def failed(number: int) -> Row:
    one = assistant(number, {"type": "text", "text": "API Error: 500"}, isApiErrorMessage=True)
    one["message"]["model"] = "<synthetic>"
    return one


def test_a_prompt_after_an_error_of_the_api_waits_for_an_answer(tmp_path):
    assert parsed(tmp_path, user(1, "hi"), failed(2)).complete
    assert not parsed(tmp_path, user(1, "hi"), failed(2), user(3, "Again")).complete


def test_a_nested_record_that_comes_again_counts_as_repeated(tmp_path):
    nested = {"type": "user", "uuid": "n1", "timestamp": "2026-03-02T10:02:00Z",
              "message": {"role": "user", "content": "go"}}  # fmt: skip
    rows = [progress(n, "agent_progress", agentId="a1", message=nested) for n in (2, 3)]
    run = parsed(tmp_path, user(1, "hi"), *rows, assistant(4, {"type": "text", "text": "ok"}))
    assert run.skipped == {"repeated record": 1}
    assert [(one.agent, one.text) for one in run.messages] == [("main", "hi"), ("a1", "go")]


ODD: list[Any] = [
    None,
    "",
    7,
    -1,
    2**70,
    1e300,
    True,
    "x",
    [],
    {},
    [None],
    [[]],
    ["x"],
    {"type": 7},
    "\u0000",
]


@pytest.mark.parametrize(
    "case", ["skill-call", "slash-and-compaction", "twice-loaded", "background"]
)
def test_an_odd_member_costs_no_other_record(tmp_path, case):
    rows = [one for _, one in JsonLines(goldens.raw(f"claude-session/{case}"))]
    (whole,) = goldens.trajectories(f"claude-session/{case}")
    order = random.Random(case)
    for number, one in enumerate(rows):
        for name in one:
            if name in {"type", "sessionId", "isSidechain", "agentId"}:
                continue
            odd = [*rows]
            odd[number] = {**one, name: order.choice(ODD)}
            run = parsed(tmp_path, *odd)
            lost = len(whole.steps) - len(run.steps)
            assert lost <= (name == "data" or (name == "message" and one["type"] == "assistant"))
