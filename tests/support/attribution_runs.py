"""Hand-made runs: a bundle with three files, and trajectories of one call each."""

from skilljuror.base.skill import class_of
from skilljuror.base.trajectory import (
    Action,
    Message,
    Resource,
    ResourceEvent,
    SkillManifest,
    Step,
    ToolCall,
    ToolResult,
    Trajectory,
)
from skilljuror.events.attribute import attribute
from skilljuror.logs.read import traits_of

ROOT = "/root/.claude/skills"
BUNDLE = f"{ROOT}/ledger"
REFERENCES = f"{BUNDLE}/references"
FRONT = "---\nname: ledger\ndescription: Keep a ledger of sales.\n---\n"
BODY = (
    "# Ledger\n"
    "Every sale is written down once, in whole cents.\n"
    "Read references/format.md before the first entry.\n"
    "\n"
    "Totals are made by scripts/total.py from the entries.\n"
    "Close the ledger with the word FINIS on its own line.\n"
)
SKILL = FRONT + BODY
FORMAT = "# Format\n" + "".join(
    f"Column {n} holds the value of rule number {n}.\n" for n in range(1, 31)
)
TAXES = "# Taxes\nNo tax is due below one hundred cents.\nAbove that, round half up to the cent.\n"
SCRIPT = '"""Totals of a ledger."""\n\nimport sys\n\nprint("total of the ledger", len(sys.argv))\n'
TEXTS = {
    "SKILL.md": SKILL,
    "references/format.md": FORMAT,
    "references/taxes.md": TAXES,
    "scripts/total.py": SCRIPT,
    "assets/blank.docx": None,
}
MANIFEST = SkillManifest(
    resources=tuple(Resource("ledger", path, class_of(path), text) for path, text in TEXTS.items()),
    roots=(ROOT,),
    skills=("ledger",),
)


def ran(command: str, output: str = "", *, exit_code: int | None = 0, **more) -> ToolCall:
    """A shell call with its output."""
    result = ToolResult(text=output, line=3, exit_code=exit_code, ok=exit_code == 0)
    known = {"call_id": "c1", "name": "Bash", "action": "shell", "line": 2, "result": result}
    return ToolCall(**{**known, "command": command, **more})


def run_of(*calls: ToolCall, messages: tuple[Message, ...] = (), **more) -> Trajectory:
    """A run in which every call is a step of its own."""
    steps = tuple(
        Step("main", number, call.line, calls=(call,)) for number, call in enumerate(calls, 1)
    )
    known = {"format": "claude-session", "cwd": "/srv/app", "home": "/root", **more}
    known.setdefault("traits", traits_of(known.get("agent") or known["format"]))
    return Trajectory(
        trajectory="t1", files=("log.jsonl",), steps=steps, messages=messages, **known
    )


def events_of(
    *calls: ToolCall, manifest: SkillManifest | None = MANIFEST, **more
) -> list[ResourceEvent]:
    """The events of such a run."""
    return list(attribute(run_of(*calls, **more), manifest).events)


def touched(command: str, output: str = "", **more) -> list[tuple[str, str]]:
    """(kind, resource) of every event of one command, in order."""
    return [(event.kind, event.resource) for event in events_of(ran(command, output, **more))]


def ran_each(*pairs: tuple[str, str]) -> list[ToolCall]:
    """Shell calls one after the other, each with its output, at the lines 10, 20, …"""
    return [
        ran(command, output, call_id=f"c{number}", line=number * 10)
        for number, (command, output) in enumerate(pairs, 1)
    ]


def observed_events(*calls: ToolCall, **more) -> list[ResourceEvent]:
    """The events of a log of its own: no manifest, all is learned from the log."""
    return events_of(*calls, manifest=None, **more)


def observed(command: str, output: str = "", *, manifest: SkillManifest | None = None, **more):
    """(kind, resource, exposure, lines) of every event of one command in a log of its own."""
    return [
        (event.kind, event.resource, event.content_exposed, event.lines)
        for event in events_of(ran(command, output, **more), manifest=manifest)
    ]


PYTHON = "python3 - <<'EOF'\n{}\nEOF"
"""A command that runs Python code."""


_FILE_TOOLS = {"read": "Read", "edit": "Edit", "write": "Write", "search": "Grep", "list": "Glob"}


def file_tool(action: Action, result: ToolResult | None = None, **more) -> ToolCall:
    """A call of one of Claude Code's file tools."""
    return ToolCall("c1", _FILE_TOOLS[action], action, 2, result=result, **more)


def unknown_tool(name: str, text: str, *, ok: bool = True, **arguments):
    """(kind, resource, exposure, lines) of every event of a tool of some other server."""
    result = ToolResult(text, 3, ok=ok)
    call = ToolCall("c1", name, "other", 2, arguments=arguments, result=result)
    return [
        (event.kind, event.resource, event.content_exposed, event.lines)
        for event in observed_events(call)
    ]


def keystrokes_call(keys: str, screen: str | None = None, *, call_id: str, line: int) -> ToolCall:
    """Keystrokes for a terminal; the screen answers the last of those sent together."""
    return ToolCall(
        call_id, "bash_command", "shell", line, arguments={"keystrokes": keys}, command=keys,
        result=ToolResult(screen, line + 1) if screen else None,
    )  # fmt: skip


def events_on_screen(*steps: tuple[ToolCall, ...]) -> list[tuple[int, str, str]]:
    """(line, kind, resource) of every event of a run on a terminal."""
    made = [
        Step("main", number, calls[0].line, calls=calls) for number, calls in enumerate(steps, 1)
    ]
    run = Trajectory(
        trajectory="t", files=("log.json",), steps=tuple(made), format="terminus-2", cwd="/app",
        traits=traits_of("terminus-2"),
    )  # fmt: skip
    return [(one.line, one.kind, one.resource) for one in attribute(run, None).events]
