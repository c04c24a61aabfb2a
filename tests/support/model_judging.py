"""Runs to put to a model, and models that judge them: scripted, and asked over real HTTP."""

import json
import os
from typing import Any

from skilljuror.judge.by_model import RunExcerpt, excerpt_of
from tests.support.atif_documents import agent_step, document
from tests.support.judge_cases import CaseBuilder
from tests.support.scripted_model import blocks

RULE = "Keep the newest entry of every ledger."
FOLLOWED = "ledger.sort(); ledger = ledger[-1:]"
RUN = (
    {"read": "references/rules.md", "shows": RULE},
    {"say": "Now the ledger.", "write": "job.py", "text": FOLLOWED},
    {"run": "python job.py", "prints": "done"},
)
"""A rule that is followed without a word of it: tracing cannot tell."""
MODEL = "openai/gpt-5.4"
"""A model whose price is known; it is asked at an address of this machine."""


def excerpt(*steps: dict[str, Any], **case: Any) -> RunExcerpt:
    """All events of a run made of the steps of a boundary case."""
    built = CaseBuilder({"run": list(steps or RUN), **case})
    asked = {event.event for event in built.events}
    return excerpt_of(built.trajectory, tuple(built.events), None, asked)


def verdict(event: str = "e0", **changes: Any) -> dict[str, Any]:
    """A good answer about the first event of RUN."""
    whole: dict[str, Any] = {
        "event": event, "evidence": "The script keeps the last entry only.", "source": RULE,
        "quote": FOLLOWED, "step": 2, "label": "yes", "category": "implementation",
    }  # fmt: skip
    return whole | changes


def answer(*verdicts: Any) -> str:
    """Verdicts as a model gives them."""
    return json.dumps({"verdicts": list(verdicts)})


def reader(body: dict[str, Any], before: int) -> str:
    """A model that reads: yes, with true quotes, where a later call says `work` and the access showed
    something; no elsewhere."""
    told = blocks(body["messages"])
    return answer(*[_read(access, told["steps"]) for access in told["accesses"]])


def _read(access: dict[str, Any], steps: list[dict[str, Any]]) -> dict[str, Any]:
    for step in steps:
        for call in step.get("calls", ()):
            if step["step"] > access["step"] and "work" in call["call"] and access["shown"].strip():
                source, quote = access["shown"].strip().split("\n")[0], call["call"].split("\n")[0]
                return verdict(access["event"], source=source, quote=quote, step=step["step"])
    return verdict(
        access["event"], label="no", category="background", source="", quote="", step=None
    )


def write_logs(folder, count, *, follows=True):
    """That many logs of an agent that reads a Skill and works on, without a word of what it read."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        opened = _call("a", f"cat ~/.claude/skills/ledger-{number}/SKILL.md")
        worked = _call("b", f"python work.py {number}" if follows else "ls")
        log = document(
            {"source": "user", "message": f"Balance the ledger of shop {number}."},
            agent_step("", opened, results=[_result("a", f"# Ledger {number}\n\nUse `sum_by_shop_{number}` alone.")]),
            agent_step("Now to work.", worked, results=[_result("b", "done")]),
            agent_step("All done."),
            agent="somebody",
        ) | {"session_id": f"run-{number}", "schema_version": "ATIF-v1.7"}  # fmt: skip
        (folder / f"run-{number}.json").write_text(json.dumps(log))
    return folder


def _call(call_id, command):
    return {"tool_call_id": call_id, "function_name": "bash", "arguments": {"command": command}}


def _result(call_id, content):
    return {"source_call_id": call_id, "content": content}


def environment(address: str | None = None) -> dict[str, str]:
    """What a process needs to ask a model on this machine."""
    more = {"OPENAI_API_KEY": "dummy"} | ({"OPENAI_API_BASE": address} if address else {})
    return {**os.environ, **more}
