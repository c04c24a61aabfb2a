"""From the arguments of a call to the resources that it touches."""

import pytest

from skilljuror.base.trajectory import (
    ToolCall,
    ToolResult,
)
from tests.support.attribution_runs import (
    BUNDLE,
    REFERENCES,
    ROOT,
    SKILL,
    TAXES,
    events_of,
    file_tool,
    observed,
    observed_events,
    ran,
    ran_each,
    unknown_tool,
)


def test_a_write_of_code_that_imports_is_a_mention_until_it_runs():
    code = f"import sys\nsys.path.append('{BUNDLE}/scripts')\nfrom total import x\n"
    written = file_tool("write", ToolResult("ok", 3, True), path="/srv/app/use.py", written=code)
    ran_ = ran("python3 use.py", "7", call_id="c2", line=5)
    kinds = [(one.kind, one.resource, one.line, one.via) for one in events_of(written, ran_)]
    assert kinds == [
        ("mention", "scripts/total.py", 2, "python"),
        ("import", "scripts/total.py", 5, "python"),
    ]


@pytest.mark.parametrize(
    ("path", "pattern"), [(ROOT, "**/*.md"), ("/srv/app", "**/*ledger*"), (ROOT, None)]
)
def test_a_listing_over_more_than_one_bundle_is_no_event(path, pattern):
    call = file_tool("list", ToolResult(f"{BUNDLE}/SKILL.md", 3, True), path=path, pattern=pattern)
    assert events_of(call) == []


def test_an_unknown_tool_that_is_given_paths_reads_them():
    arguments = {"paths": [f"{BUNDLE}/SKILL.md", "/srv/app/notes.md"]}
    call = ToolCall(
        "c1", "mcp__files__read", "other", 2, arguments=arguments, result=ToolResult(SKILL, 3, True)
    )
    assert [(one.kind, one.resource, one.via) for one in events_of(call)] == [
        ("read", "SKILL.md", "read-tool")
    ]


def test_tools_that_are_given_a_relative_path():
    relative = unknown_tool(
        "mcp__code__read_file", SKILL, relative_path=".claude/skills/ledger/SKILL.md"
    )
    assert relative == [("read", "SKILL.md", "full", ((1, 10),))]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        (f"find {ROOT} -type f", f"{BUNDLE}/SKILL.md\n"),
        (f"tree {ROOT}", f"{ROOT}\n└── ledger\n    └── SKILL.md\n"),
        (f"ls -la {ROOT}/", "total 4\ndrwxr-xr-x 2 root root 4096 Mar 2 10:00 ledger\n"),
        ("ls -R /root/.claude", f"/root/.claude:\nskills\n\n{ROOT}:\nledger\n\n{BUNDLE}:\nSKILL.md\n"),
    ],
)  # fmt: skip
def test_a_listing_of_more_than_the_folder_of_a_skill_is_aimed_at_none(command, output):
    assert observed(command, output) == []


def test_a_script_that_is_written_and_run_shows_what_it_prints():
    script = f"cat > run.sh <<'EOF'\ncat {REFERENCES}/taxes.md\npython3 {BUNDLE}/scripts/total.py\nEOF\nbash run.sh"
    assert [one[:3] for one in observed(script, f"{TAXES}total 7\n")] == [
        ("read", "references/taxes.md", "full"),
        ("exec", "scripts/total.py", "none"),
    ]
    hidden = observed(script + " > log.txt", "")
    assert hidden[0][:3] == ("read", "references/taxes.md", "none")


MOVED = (f"cd {BUNDLE} && cat SKILL.md", SKILL), ("python3 scripts/total.py > notes.txt", "")


@pytest.mark.parametrize("agent", ["claude-code", "openhands", "terminus-2"])
def test_a_folder_is_kept_between_calls_where_they_share_a_shell(agent):
    events = observed_events(*ran_each(*MOVED), format="atif", agent=agent)
    assert [(one.kind, one.resource) for one in events] == [
        ("read", "SKILL.md"), ("exec", "scripts/total.py"), ("write", "notes.txt"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "agent", ["codex", "gemini-cli", "mini-swe-agent", "opencode", "copilot-cli", "scripted", None]
)
def test_a_folder_is_not_kept_where_every_call_has_a_new_shell(agent):
    events = observed_events(*ran_each(*MOVED), format="atif", agent=agent)
    assert [(one.kind, one.resource) for one in events] == [("read", "SKILL.md")]


def test_a_shell_that_is_typed_into_stays_where_it_was_moved():
    def typed(chars, line):
        return ToolCall(
            f"c{line}", "write_stdin", "poll", line, arguments={"chars": chars}, command="bash",
            result=ToolResult("$ ", line + 1),
        )  # fmt: skip

    started = ran("bash", "$ ")
    moved = [typed(f"cd {BUNDLE}\n", 5), typed("python3 scripts/total.py\n", 7)]
    events = observed_events(started, *moved, ran("ls scripts", "", line=9), agent="codex")
    assert [(one.kind, one.resource, one.line) for one in events] == [
        ("exec", "scripts/total.py", 7)
    ]


def test_a_folder_that_the_harness_reset_is_forgotten():
    first, second = ran_each((f"cd {BUNDLE}", "Shell cwd was reset to /srv/app"), ("ls", "x"))
    third = ran("python3 scripts/total.py", "7", call_id="c9", line=50)
    assert observed_events(first, second, third) == []
