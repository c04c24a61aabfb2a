"""Boundary cases of rubrics/eru.yaml as trajectories and events."""

from typing import Any

import yaml

from skilljuror.base.files import data_dir
from skilljuror.base.trajectory import (
    Compaction,
    Message,
    ResourceEvent,
    Step,
    ToolCall,
    ToolResult,
    Trajectory,
)

CASES: dict[str, dict[str, Any]] = {
    case["id"]: case
    for case in yaml.load((data_dir("rubrics") / "eru.yaml").read_bytes(), yaml.CSafeLoader)[
        "boundary_cases"
    ]
}
"""Id -> a short run with the verdicts it must get."""
ACCESSES = ("read", "list", "search", "activate", "exec", "import")


class CaseBuilder:
    """Turns the steps of one case into what a parser and attribution would give."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.events: list[ResourceEvent] = []
        self.messages: list[Message] = []
        self.steps: list[Step] = []
        self.compactions: list[Compaction] = []
        self._line = 0
        if "prompt" in case:
            self._message("prompt", case["prompt"])
        if "injected" in case:
            self._message("skill_body", case["injected"]["shows"])
            self._event(case["injected"], self._line, None, "injected")
        for one in case["run"]:
            self._add(one)
        self.trajectory = Trajectory(
            trajectory="run", format="atif", files=("log",), steps=tuple(self.steps),
            messages=tuple(self.messages), compactions=tuple(self.compactions),
            complete=case.get("complete", True),
        )  # fmt: skip

    def _add(self, one: dict[str, Any]) -> None:
        if "compact" in one:
            self.compactions.append(Compaction("main", len(self.steps), self._next()))
            self._message("summary", one["compact"])
            return
        line = self._next()
        calls = [self._call(part) for part in [one, *one.get("also", ())] if self._acts(part)]
        self.steps.append(
            Step(
                agent="main", index=len(self.steps) + 1, line=line, text=one.get("say", ""),
                reasoning=one.get("think", ""), calls=tuple(calls),
            )
        )  # fmt: skip

    @staticmethod
    def _acts(one: dict[str, Any]) -> bool:
        return any(key in one for key in (*ACCESSES, "run", "write"))

    def _call(self, one: dict[str, Any]) -> ToolCall:
        line = self._next()
        ok = one.get("ok", True)
        result = ToolResult(
            text=one.get("shows", one.get("prints", "")), line=self._next(), ok=ok,
            unchanged=one.get("unchanged", False),
        )  # fmt: skip
        call_id = f"call-{line}"
        if "write" in one:
            return ToolCall(
                call_id=call_id, name="write", action="write", line=line, path=one["write"],
                written=one["text"], result=result,
            )  # fmt: skip
        if "run" not in one:
            self._event(one, line, call_id, "shell")
        return ToolCall(
            call_id=call_id, name="bash", action="shell", line=line,
            command=one.get("run") or one.get("command") or self._command(one), result=result,
        )  # fmt: skip

    @staticmethod
    def _command(one: dict[str, Any]) -> str:
        kind = next(kind for kind in ACCESSES if kind in one)
        return f"{kind} skills/{one.get('of', 'csv')}/{one[kind]}"

    def _event(self, one: dict[str, Any], line: int, call_id: str | None, via: Any) -> None:
        kind: Any = next(kind for kind in ACCESSES if kind in one)
        unseen = kind in {"list", "exec", "import"}
        self.events.append(
            ResourceEvent(
                trajectory="run", ordinal=len(self.events), line=line, agent="main",
                step=0 if call_id is None else len(self.steps) + 1, skill=one.get("of", "csv"),
                resource=one[kind], resource_class="root" if one[kind] == "SKILL.md" else "support",
                kind=kind, via=via, ok=one.get("ok", True),
                content_exposed="none" if unseen else one.get("exposed", "full"), call_id=call_id,
            )
        )  # fmt: skip

    def _message(self, kind: Any, text: str) -> None:
        self.messages.append(
            Message(agent="main", kind=kind, text=text, line=self._next(), step=len(self.steps))
        )

    def _next(self) -> int:
        self._line += 1
        return self._line
