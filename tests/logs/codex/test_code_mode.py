"""Code mode: a program that calls the tools is read as the calls that it makes."""

import json

import pytest

from skilljuror.events.attribute import attribute
from skilljuror.logs.codex.code_mode import read_program
from tests.support.codex_rollouts import (
    CONES,
    ROOT,
    SKILL,
    command,
    function,
    program,
    rollout,
)
from tests.support.parsed_logs import read_one

READ = [
    ('const r = await tools.exec_command({"cmd":"cat a.md","workdir":"/w"});\ntext(r.output);',
     [("exec_command", {"cmd": "cat a.md", "workdir": "/w"})], (0,)),
    ("text(await tools.exec_command({cmd: 'cat a.md', max_output_tokens: most}));",
     [("exec_command", {"cmd": "cat a.md"})], (0,)),
    ("const [a, b] = await Promise.all([tools.x({cmd:'1'}), tools.y({cmd:'2'})]);\n"
     "text(b.output); text(JSON.stringify(a));", [("x", {"cmd": "1"}), ("y", {"cmd": "2"})], (1, 0)),
    ("// look\nconst at = '/w/s'; const cmd = `cat ${at}/SKILL.md`;\n"
     "const r = await tools.exec_command({cmd, workdir: at + '/x'}); text(r.output.slice(0, 9))",
     [("exec_command", {"cmd": "cat /w/s/SKILL.md", "workdir": "/w/s/x"})], None),
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


@pytest.mark.parametrize(
    "text", ["`" * 60_000, "tools.x(" * 9_000, "const a=" * 9_000, "{[" * 30_000]
)
def test_a_broken_program_is_read_soon(text):
    assert read_program(text).calls == ()


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
