"""Codex rollouts made of calls and their outputs, with one listed Skill."""

import json
from pathlib import Path

SKILL = "/w/.agents/skills/kiln-log"
ROOT = (
    "---\nname: kiln-log\ndescription: Keep a kiln log.\n---\n\n# Kiln log\n\nFire cone 6 slowly.\n"
)
CONES = "# Cones\n\nCone 6 bends at 1222 degrees.\nCone 10 bends at 1305 degrees.\n"
DONE = "Script completed\nWall time 0.1 seconds\nOutput:\n"
LIST = f"<skills_instructions>\n## Skills\n### Available skills\n- kiln-log: Keep a kiln log. (file: {SKILL}/SKILL.md)\n</skills_instructions>"  # fmt: skip


def said(role: str, text: str):
    part = {"type": "input_text", "text": text}
    return "response_item", {"type": "message", "role": role, "content": [part]}


def program(text: str, *printed: str, call: str = "c1", head: str = DONE):
    """A call of code mode, and its answer."""
    asked = {"type": "custom_tool_call", "name": "exec", "call_id": call, "input": text}
    parts = [{"type": "input_text", "text": one} for one in (head, *printed)]
    answer = {"type": "custom_tool_call_output", "call_id": call, "output": parts}
    return [("response_item", asked), ("response_item", answer)]


def function(name: str, arguments, output: str, call: str = "c1"):
    """A call of a function, and its answer."""
    asked = {"type": "function_call", "name": name, "call_id": call, "arguments": json.dumps(arguments)}  # fmt: skip
    answer = {"type": "function_call_output", "call_id": call, "output": output}
    return [("response_item", asked), ("response_item", answer)]


def command(script: str, output: str, code: int = 0):
    """The record of a command that a program ran."""
    item = {
        "type": "CommandExecution", "id": "exec-1", "command": ["/bin/bash", "-lc", script],
        "cwd": "file:///w", "exit_code": code, "aggregated_output": output,
    }  # fmt: skip
    return "event_msg", {"type": "item_completed", "item": item}


def rollout(folder: Path, *records, thread: str = "t1") -> Path:
    """A session file of these records after a list of Skills."""
    meta = ("session_meta", {"id": thread, "cwd": "/w", "cli_version": "0.156.1"})
    held = [meta, said("developer", LIST), said("user", "Go."), *records]
    path = folder / f"rollout-{thread}.jsonl"
    rows = [
        {"timestamp": "2026-03-01T09:00:00.000Z", "type": kind, "payload": payload}
        for kind, payload in held
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return path
