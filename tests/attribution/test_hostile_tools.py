"""Tools of other servers, terminals, Windows, variables: shapes that fool a search for paths."""

import pytest

from skilljuror.attribution.attribute import attribute
from skilljuror.models.trajectory import Message, Step, ToolCall, ToolResult, Trajectory
from tests.attribution.test_hostile import REFERENCES, seen
from tests.support.attribution_runs import BUNDLE, SKILL, TAXES, events_of, ran


def other(name, text, *, ok=True, **arguments):
    """(kind, resource, exposure, lines) of a tool of some other server."""
    call = ToolCall("c1", name, "other", 2, arguments=arguments, result=ToolResult(text, 3, ok=ok))
    return [
        (one.kind, one.resource, one.content_exposed, one.lines)
        for one in events_of(call, manifest=None)
    ]


@pytest.mark.parametrize(
    ("name", "kind", "exposed"),
    [
        ("mcp__files__read_text_file", "read", "full"),
        ("getFileContents", "read", "full"),
        ("mcp__files__write_file", "write", "none"),
        ("create_file_at", "write", "none"),
        ("mcp__files__edit_file", "edit", "none"),
        ("deleteFile", "edit", "none"),
        ("mcp__files__get_file_info", "list", "none"),
        ("lint_markdown", "read", "none"),
    ],
)
def test_the_name_of_an_unknown_tool_tells_what_it_does(name, kind, exposed):
    found = other(name, TAXES if exposed == "full" else "done", path=f"{REFERENCES}/taxes.md")
    assert [one[:3] for one in found] == [(kind, "references/taxes.md", exposed)]


def test_a_tool_that_reads_many_files_heads_each():
    text = f"--- {BUNDLE}/SKILL.md ---\n\n{SKILL}\n\n--- {REFERENCES}/taxes.md ---\n\n{TAXES}\n\n--- End of content ---"
    paths = [f"{BUNDLE}/SKILL.md", f"{REFERENCES}/*.md"]
    assert other("read_many_files", text, paths=paths) == [
        ("read", "SKILL.md", "full", ((1, 10),)),
        ("read", "references/taxes.md", "full", ((1, 3),)),
    ]


def test_many_files_without_headings_share_an_output_and_no_lines():
    text = f"{SKILL}\n{TAXES}"
    paths = [f"{BUNDLE}/SKILL.md", f"{REFERENCES}/taxes.md"]
    assert {one[2:] for one in other("read_files", text, paths=paths)} == {("full", None)}


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        (r"Get-Content C:\Users\me\.codex\skills\ledger\SKILL.md", SKILL, ("full", ((1, 10),))),
        (r"type C:\Users\me\.codex\skills\ledger\SKILL.md", SKILL, ("full", ((1, 10),))),
        (r"Get-Content -Raw .\.claude\skills\ledger\SKILL.md | Select-Object -First 5", "\n".join(SKILL.split("\n")[:5]), ("partial", ((1, 5),))),
        (r"Get-Content -Raw $env:USERPROFILE\.codex\skills\ledger\SKILL.md", SKILL, ("full", ((1, 10),))),
        (r"type %USERPROFILE%\.claude\skills\ledger\SKILL.md", SKILL, ("full", ((1, 10),))),
        (r"gc 'C:\Program Files\x\.agents\skills\ledger\SKILL.md' -TotalCount 5", "\n".join(SKILL.split("\n")[:5]), ("partial", ((1, 5),))),
    ],
)  # fmt: skip
def test_paths_of_windows(command, output, expected):
    (found,) = seen(command, output)
    assert (found[1], found[2:]) == ("SKILL.md", expected)


@pytest.mark.parametrize(
    "command",
    [
        r"rg -n hundred C:\Users\me\.codex\skills\ledger",
        r"Select-String -Path C:\Users\me\.codex\skills\ledger\references\*.md -Pattern hundred",
        r"Get-ChildItem C:\Users\me\.codex\skills\ledger -Recurse | Select-String hundred",
    ],
)
def test_searches_on_windows(command):
    path = r"C:\Users\me\.codex\skills\ledger\references\taxes.md"
    found = seen(command, f"{path}:2:No tax is due below one hundred cents.\n")
    if "ChildItem" in command:
        assert [one[0] for one in found] == ["list"]
    else:
        assert found == [("search", "references/taxes.md", "partial", ((2, 2),))]


def test_tools_that_are_given_a_relative_path():
    relative = other("mcp__code__read_file", SKILL, relative_path=".claude/skills/ledger/SKILL.md")
    assert relative == [("read", "SKILL.md", "full", ((1, 10),))]


def test_a_listing_without_a_status_is_judged_by_its_output():
    for text, ok in (("SKILL.md\n", True), (f"{BUNDLE}: no such file or directory", False)):
        call = ToolCall("c1", "list_dir", "list", 2, path=BUNDLE, result=ToolResult(text, 3))
        (event,) = events_of(call, manifest=None)
        assert (event.kind, event.resource, event.ok) == ("list", ".", ok)


def test_a_command_typed_into_a_running_shell():
    typed = ToolCall(
        "c2", "write_stdin", "poll", 5,
        arguments={"chars": f"python3 {BUNDLE}/scripts/total.py\n"}, command="bash",
        result=ToolResult("total 7\n$ ", 6),
    )  # fmt: skip
    found = events_of(ran("bash", "$ "), typed, manifest=None)
    assert [(one.kind, one.resource, one.line) for one in found] == [
        ("exec", "scripts/total.py", 5)
    ]


def test_a_path_below_an_unknown_variable_means_the_only_file_that_ends_so():
    text = f"Base directory for this skill: {BUNDLE}\n\n# Ledger\nRun scripts/total.py.\n"
    body = Message("main", "skill_body", text, 1, 0, skill="ledger", path=BUNDLE, call_id="c0")
    for variable in ("$SKILL_DIR", "${CLAUDE_SKILL_DIR}", "${CLAUDE_PLUGIN_ROOT}/skills/ledger"):
        run = ran(f'python3 "{variable}/scripts/total.py" a.csv', "total 7\n")
        found = events_of(run, manifest=None, messages=(body,))
        assert [one.resource for one in found if one.kind == "exec"] == ["scripts/total.py"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"make -C {BUNDLE}/scripts all", ("exec", "scripts/Makefile")),
        (f"make -f {BUNDLE}/scripts/rules.mk", ("exec", "scripts/rules.mk")),
        (f"uv run --script {BUNDLE}/scripts/total.py a.csv", ("exec", "scripts/total.py")),
        (f"npx -y tsx {BUNDLE}/scripts/total.ts", ("exec", "scripts/total.ts")),
        (f"node -e \"require('{BUNDLE}/scripts/total.js')()\"", ("import", "scripts/total.js")),
        (f"docker run --rm -v {BUNDLE}:/s box python /s/scripts/total.py", None),
        (f"docker cp {BUNDLE} box:/x && docker exec box cat /x/SKILL.md", None),
        (f"zip -r kit.zip {BUNDLE}", None),
        (f"cat {BUNDLE}/scripts/run.sh | bash -s -- x", ("exec", "scripts/run.sh")),
        (f"cd {BUNDLE} && python3 -m pytest scripts/test_total.py -q", ("exec", "scripts/test_total.py")),
        (f"cd {BUNDLE} && python3 -m http.server 8000", None),
        (f"export PYTHONPATH={BUNDLE}/scripts:$PYTHONPATH\npython3 -c 'import total; total.main()'", ("import", "scripts/total.py")),
        (f"cat > m.mjs <<'EOF'\nimport {{ t }} from '{BUNDLE}/scripts/t.mjs';\nt()\nEOF\nnode m.mjs", ("import", "scripts/t.mjs")),
        ("python3 <<'EOF'\nfrom pathlib import Path\nimport sys\nS = Path.home() / '.claude' / 'skills' / 'ledger'\nsys.path.insert(0, str(S / 'scripts'))\nfrom total import main\nmain()\nEOF", ("import", "scripts/total.py")),
        ("python3 -c \"import os, runpy; runpy.run_path(os.path.expanduser('~/.claude/skills/ledger/scripts/total.py'))\"", ("exec", "scripts/total.py")),
    ],
)  # fmt: skip
def test_ways_to_run_what_a_bundle_brings(command, expected):
    found = [one[:2] for one in seen(command, "total 7\n") if one[0] != "mention"]
    assert found == ([expected] if expected else [])


def keys(keystrokes, screen=None, *, call_id, line):
    """One keystroke; the screen answers the last of those sent together."""
    return ToolCall(
        call_id, "bash_command", "shell", line, arguments={"keystrokes": keystrokes}, command=keystrokes,
        result=ToolResult(screen, line + 1) if screen else None,
    )  # fmt: skip


def on_screen(*steps):
    """(line, kind, resource) of a run on a terminal."""
    made = [
        Step("main", number, calls[0].line, calls=calls) for number, calls in enumerate(steps, 1)
    ]
    run = Trajectory(trajectory="t", files=("log.json",), steps=tuple(made), messages=(), format="terminus-2", cwd="/app")  # fmt: skip
    return [(one.line, one.kind, one.resource) for one in attribute(run, None).events]


def test_keystrokes_sent_together_share_one_screen():
    screen = f"New Terminal Output:\nroot@x:/app# cat {BUNDLE}/SKILL.md\n{SKILL}root@x:/app#"
    first = keys("cd /app\n", call_id="k1", line=1)
    second = keys(f"cat {BUNDLE}/SKILL.md\n", call_id="k2", line=2)
    third = keys("q", screen, call_id="k3", line=3)
    assert on_screen((first, second, third)) == [(2, "read", "SKILL.md")]


def test_what_a_terminal_still_shows_is_not_read_again():
    prompt = "root@x:/app# "
    screen = f"Current Terminal Screen:\n{prompt}cat {BUNDLE}/SKILL.md\n{SKILL}{prompt}"
    read = keys(f"cat {BUNDLE}/SKILL.md\n", screen, call_id="k1", line=1)
    wait = keys("", screen, call_id="k2", line=5)
    clear = keys("clear\n", f"Current Terminal Screen:\n{prompt}", call_id="k3", line=7)
    again = keys("x\n", f"Current Terminal Screen:\n{prompt}x\n{SKILL}{prompt}", call_id="k4", line=9)  # fmt: skip
    assert on_screen((read,), (wait,), (clear,), (again,)) == [
        (1, "read", "SKILL.md"),
        (9, "read", "SKILL.md"),
    ]


@pytest.mark.parametrize("name", ["Grep", "grep"])
def test_a_search_that_is_asked_for_names_lists(name):
    call = ToolCall(
        "c1", name, "search", 2, path=BUNDLE, pattern="cents", result=ToolResult(f"{BUNDLE}/SKILL.md", 3, True),
        arguments={"output_mode": "files_with_matches"},
    )  # fmt: skip
    found = [(one.kind, one.resource) for one in events_of(call, manifest=None)]
    assert found == [("list", ".")]


@pytest.mark.parametrize(
    "message",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "Permission to use Bash with command cat has been denied.",
        "Sibling tool call errored",
        "aborted by user after 3.2s",
    ],
)
def test_a_refused_command_shows_and_teaches_nothing(message):
    refused = ran(f"cat {REFERENCES}/taxes.md", message, exit_code=None)
    refused = ToolCall(**{**_fields(refused), "result": ToolResult(message, 3, ok=False)})
    shown = ran(f"cat {REFERENCES}/taxes.md", TAXES, call_id="c2", line=9)
    first, second = events_of(refused, shown, manifest=None)
    assert (first.content_exposed, first.ok, first.note) == ("none", False, message)
    assert (second.content_exposed, second.lines) == ("full", ((1, 3),))


def _fields(call):
    return {name: getattr(call, name) for name in call.__struct_fields__}


@pytest.mark.parametrize(
    ("command", "exposed"),
    [
        ("cat @ 2>/dev/null || true", "none"),
        ("cat @ 2> err.txt; true", "none"),
        ("cat @ &>/dev/null; true", "none"),
        ("cat @ 2>&1", "full"),
        ("cat @", "full"),
    ],
)
def test_nothing_printed_is_a_read_only_where_a_complaint_would_show(command, exposed):
    (found,) = seen(command.replace("@", f"{REFERENCES}/nope.md"), "")
    assert found[2] == exposed


def test_a_program_that_only_complains_shows_nothing():
    complaint = "sed: -e expression #1, char 3: unknown command: `x'\n"
    assert seen(f"sed -n 1,5x {BUNDLE}/SKILL.md", complaint, exit_code=1)[0][2] == "none"
