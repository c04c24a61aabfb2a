"""Codex: facts in several spellings or orders, frames of outputs, programs."""

import json

import pytest

from skilljuror.events.attribute import attribute
from skilljuror.logs.assembly import TrajectoryBuilder
from skilljuror.logs.codex import SKILL_LIST_CUT, UsageMeter, read_output
from skilljuror.logs.codex_programs import read_program
from skilljuror.store.rows import trajectory_row
from tests.support.codex_rollouts import (
    CONES,
    ROOT,
    SKILL,
    command,
    function,
    program,
    rollout,
)
from tests.support.parsed_logs import calls_of, read_one


def codex(tmp_path, *payloads):
    records = [("session_meta", {"id": "t1", "cwd": "/w"}), *payloads]
    stamp = "2026-03-01T09:00:00.000Z"
    rows = [{"timestamp": stamp, "type": kind, "payload": held} for kind, held in records]
    path = tmp_path / "rollout-t1.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return read_one(path, "codex-rollout")


CALL = (
    "response_item",
    {"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": "{}"},
)
OUTPUT = (
    "response_item",
    {
        "type": "function_call_output", "call_id": "c1",
        "output": "Chunk ID: a1\nWall time: 9.0 seconds\nProcess exited with code 0\nOutput:\nx",
    },
)  # fmt: skip
ENDED = (
    "event_msg",
    {
        "type": "item_completed",
        "item": {
            "type": "CommandExecution", "id": "c1", "exit_code": 3,
            "duration": {"secs": 1, "nanos": 500_000_000},
        },
    },
)  # fmt: skip


def test_codex_takes_a_command_s_end_from_its_event_whichever_comes_first(tmp_path):
    for order in ((CALL, ENDED, OUTPUT), (CALL, OUTPUT, ENDED)):
        (call,) = calls_of(codex(tmp_path, *order), "shell")
        assert call.result is not None
        assert (call.result.exit_code, call.result.seconds) == (3, 1.5)
        assert call.result.text.endswith("x")


def test_an_input_count_that_leaves_its_cache_out_is_handed_on(tmp_path):
    info = {
        "total_token_usage": {"input_tokens": 30, "cached_input_tokens": 500, "output_tokens": 7}
    }
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]}
    counted = {"type": "token_count", "info": info}
    run = codex(tmp_path, ("response_item", said), ("event_msg", counted))
    assert run.usage is not None
    assert (run.usage.input, run.usage.cache_read) == (-470, 500)
    row = trajectory_row(run, None)
    assert (row.input, row.cache_read, row.output) == (None, 500, 7)


def test_codex_counts_the_lines_of_its_own_reader_from_one(tmp_path):
    arguments = json.dumps({"file_path": "/w/a.md", "offset": 5, "limit": 2})
    asked = {"type": "function_call", "name": "read_file", "call_id": "c1", "arguments": arguments}
    answer = {"type": "function_call_output", "call_id": "c1", "output": "L5: five\nL6: "}
    (call,) = calls_of(codex(tmp_path, ("response_item", asked), ("response_item", answer)), "read")
    assert (call.start, call.count) == (5, 2)
    assert call.result is not None
    assert (call.result.clean, call.result.first_line, call.result.ok) == ("five\n", 5, True)


def test_a_list_of_skills_that_was_cut_says_so(tmp_path):
    said = "Skill descriptions were shortened to fit the skills context budget."
    run = codex(tmp_path, CALL, ("event_msg", {"type": "warning", "message": said}))
    assert [one.partition(": ")[2] for one in run.warnings] == [SKILL_LIST_CUT]


@pytest.mark.parametrize("text", ["a\nb\n", ""])
def test_output_of_older_versions_is_an_object(text):
    shown = json.dumps({"output": text, "metadata": {"exit_code": 3, "duration_seconds": 0.5}})
    result, running = read_output(TrajectoryBuilder(), shown)
    assert (result.clean, result.exit_code, result.ok) == (text, 3, False)
    assert (result.seconds, running) == (0.5, None)
    assert read_output(TrajectoryBuilder(), '{"output": 1}')[0].clean is None


def test_output_of_another_server_is_a_list_of_pieces():
    pieces = json.dumps([{"type": "text", "text": "a\nb"}, {"type": "text", "text": "c"}])
    result, _ = read_output(TrajectoryBuilder(), f"Wall time: 0.1 seconds\nOutput:\n{pieces}")
    assert result.clean == "a\nb\nc"


FRAME = "Chunk ID: ab12\nWall time: 1.5 seconds\nProcess exited with code 2\nOriginal token count: 3\nOutput:\n"


@pytest.mark.parametrize(
    ("shown", "code", "ok", "clean"),
    [
        (FRAME + "x\n", 2, False, "x\n"),
        (FRAME.replace("code 2", "code 0"), 0, True, ""),
        (FRAME + "Total output lines: 9\n\nx", 2, False, "x"),
        (FRAME + "Exit code: 9\n", 2, False, "Exit code: 9\n"),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nDone\n", 0, True, "Done\n"),
        ("Wall time: 0.2 seconds\nOutput:\n[]", None, None, "[]"),
        ("unsupported call: x", None, False, None),
        ("apply_patch verification failed: x", None, False, None),
        ("Plan updated", None, None, None),
        ("", None, None, None),
    ],
)
def test_output(shown, code, ok, clean):
    result, running = read_output(TrajectoryBuilder(), shown)
    assert (result.text, result.exit_code, result.ok, result.clean) == (shown, code, ok, clean)
    assert running is None


def test_output_of_a_running_command():
    shown = (
        "Chunk ID: ab\nWall time: 0.5 seconds\nProcess running with session ID 77\nOutput:\npart"
    )
    result, running = read_output(TrajectoryBuilder(), shown)
    assert running == "77"
    assert (result.ok, result.exit_code, result.clean, result.seconds) == (None, None, "part", 0.5)


def totals(**counts):
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
    return {name: counts.get(name.split("_")[0], 0) for name in names}


def test_total_that_starts_again():
    meter = UsageMeter()
    meter.token_count({"total_token_usage": totals(input=100, output=5)})
    meter.token_count({
        "total_token_usage": totals(input=40, output=2),
        "last_token_usage": totals(input=40, output=2),
    })
    assert meter.total is not None
    assert (meter.total.input, meter.total.output) == (140, 7)


READ = [
    ('const r = await tools.exec_command({"cmd":"cat a.md","workdir":"/w"});\ntext(r.output);',
     [("exec_command", {"cmd": "cat a.md", "workdir": "/w"})], (0,)),
    ("text(await tools.exec_command({cmd: 'cat a.md', max_output_tokens: most}));",
     [("exec_command", {"cmd": "cat a.md"})], (0,)),
    ("const [a, b] = await Promise.all([tools.x({cmd:'1'}), tools.y({cmd:'2'})]);\n"
     "text(b.output); text(JSON.stringify(a));", [("x", {"cmd": "1"}), ("y", {"cmd": "2"})], (1, 0)),
    ("// look\nconst cmd = `cat SKILL.md`;\n"
     "const r = await tools.exec_command({cmd, workdir: '/w'}); text(r.output.slice(0, 9))",
     [("exec_command", {"cmd": "cat SKILL.md", "workdir": "/w"})], None),
    (r"const p = '*** Begin Patch\n+it\'s \u00e9 \ud83d\ude00'; text(await tools.apply_patch(p));",
     [("apply_patch", {"input": "*** Begin Patch\n+it's é 😀"})], (0,)),
    (r"await tools.apply_patch(String.raw`+a\nb`)", [("apply_patch", {"input": "+a\\nb"})], ()),
    ("text(1 + 1)", [], None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "calls", "shown"), READ)
def test_calls_with_literal_arguments_are_read(text, calls, shown):
    found = read_program(text)
    assert (list(found.calls), found.shown, found.unread) == (calls, shown, False)


@pytest.mark.parametrize(
    "text",
    [
        "await tools.exec_command({cmd: `cat ${at}/SKILL.md`});",
        "for (const f of files) text(await tools.exec_command({cmd: `cat ${f}`}));",
        "if (late) await tools.exec_command({cmd: 'cat a.md'});",
        "ok && (await tools.exec_command({cmd: 'cat a.md'}));",
        "const run = () => tools.exec_command({cmd: 'cat a.md'});",
        "let cmd = 'cat a.md'; cmd = 'cat b.md'; await tools.exec_command({cmd});",
        "const o = {cmd: 'cat a.md'}; o.cmd = 'ls'; await tools.exec_command(o);",
        "const t = tools; await t.exec_command({cmd: 'cat a.md'});",
        "await tools.exec_command({cmd: 'cat a.md",
    ],
)
def test_what_may_not_happen_once_is_unread(text):
    found = read_program(text)
    assert (found.calls, found.unread) == ((), True)


def events_of(folder, *records):
    found = attribute(read_one(rollout(folder, *records), "codex-rollout"), None)
    return found, [
        (one.resource, one.kind, one.ok, one.content_exposed, one.lines) for one in found.events
    ]


def as_object(output: str, code: int = 0) -> str:
    return json.dumps({"chunk_id": "a1", "exit_code": code, "output": output})


FIRST, SECOND = f"cat {SKILL}/SKILL.md", f"cat {SKILL}/references/cones.md"
BOTH = [
    ("SKILL.md", "read", True, "full", ((1, 8),)),
    ("references/cones.md", "read", True, "full", ((1, 4),)),
]
CALLS = f"[tools.exec_command({{cmd: '{FIRST}'}}), tools.exec_command({{cmd: '{SECOND}'}})]"


@pytest.mark.parametrize(
    "records",
    [
        program(f"const [a,b] = await Promise.all({CALLS}); text(a.output); text(b.output)", ROOT, CONES),
        program(f"const [a,b] = await Promise.all({CALLS}); text(b); text(a)", as_object(CONES), as_object(ROOT)),
        program(f"const all = await Promise.all({CALLS}); for (const r of all) text(r)", as_object(ROOT), as_object(CONES)),
        [
            *program("for (const cmd of found) text((await tools.exec_command({cmd})).output)")[:1],
            command(FIRST, ROOT),
            command(SECOND, CONES),
            *program("", ROOT + CONES)[1:],
        ],
        [
            *program(f"const [a,b] = await Promise.all({CALLS}); text(a.output); text(b.output)",
                     head="Script running with cell ID 7\nWall time 9.0 seconds\nOutput:\n"),
            *function("wait", {"cell_id": "7"}, "", call="c2")[:1],
            ("response_item", {"type": "function_call_output", "call_id": "c2",
                               "output": program("", ROOT, CONES)[1][1]["output"]}),
        ],
    ],
    ids=["printed", "swapped", "objects", "recorded", "waited"],
)  # fmt: skip
def test_a_program_has_the_events_of_its_commands(tmp_path, records):
    found, events = events_of(tmp_path, *records)
    assert events == BOTH
    assert not any(tool.skills for tool in found.unknown_tools)


def test_the_exit_status_is_that_of_the_record_or_the_result(tmp_path):
    text = f"text(await tools.exec_command({{cmd: 'python3 {SKILL}/scripts/log.py'}}))"
    script = f"python3 {SKILL}/scripts/log.py"
    asked, answer = program(text, "no kiln")
    for records in (program(text, as_object("no kiln", 3)), (asked, command(script, "no kiln", 3), answer)):  # fmt: skip
        assert events_of(tmp_path, *records)[1] == [("scripts/log.py", "exec", False, "none", None)]


def test_a_result_that_the_program_changed_is_shown_in_part(tmp_path):
    text = f"const r = await tools.exec_command({{cmd: '{SECOND}'}}); text(r.output.slice(0, 9))"
    _, events = events_of(tmp_path, *program(text, CONES[:9]))
    assert events == [("references/cones.md", "read", True, "partial", None)]


def test_a_result_that_is_not_printed_is_not_shown(tmp_path):
    text = f"await tools.exec_command({{cmd: '{SECOND}'}}); text('done')"
    _, events = events_of(tmp_path, *program(text, "done"), command(SECOND, CONES))
    assert events[0][:2] == ("references/cones.md", "read")
    assert events[0][3] != "full"
