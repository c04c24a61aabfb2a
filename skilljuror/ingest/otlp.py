"""Resource events as OTLP JSON by OpenTelemetry's GenAI conventions (development, September 2026).

An invocation of an agent is the root span; loads of Skills, reads of their resources and commands
that run them are its tool spans. Listings, edits, writes and mentions have no span, and a part of a
resource is a read of it.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from skilljuror import __version__
from skilljuror.models.events import ResourceEvent
from skilljuror.models.trajectory import ToolCall, Trajectory

_RUN = ("run_skill_script", ("shell", "python"))
_TOOLS: dict[str, tuple[str, tuple[str, ...]]] = {
    "activate": ("load_skill", ("skill",)), "exec": _RUN, "import": _RUN,
}  # fmt: skip
"""Kind of event -> the conventions' tool for it, and the actions of calls that are one."""
_READ = ("read_skill_resource", ("read",))


def request_of(run: Trajectory, events: Iterable[ResourceEvent]) -> dict[str, Any]:
    """Return the export request of one run. Unknown times are 0."""
    trace = hashlib.sha256(run.trajectory.encode()).hexdigest()[:32]
    kept = [event for event in events if event.counts and event.kind != "list"]
    invoked = {"gen_ai.operation.name": "invoke_agent"}
    times = run.started_at, run.finished_at
    root = _span(
        trace, run.trajectory, f"invoke_agent {run.agent or ''}".rstrip(), times,
        invoked | {
            "gen_ai.agent.name": run.agent,
            "gen_ai.agent.version": run.agent_version,
            "gen_ai.conversation.id": run.session or run.trajectory,
            "gen_ai.request.model": run.model,
        },
    )  # fmt: skip
    agents = {"main": root}
    for agent in dict.fromkeys(event.agent for event in kept if event.agent != "main"):
        span = _span(trace, agent, "invoke_agent", times, invoked | {"gen_ai.agent.id": agent})
        agents[agent] = span | {"parentSpanId": root["spanId"]}
    tools = [
        span | {"parentSpanId": agents[event.agent]["spanId"]}
        for event, span in zip(kept, _tool_spans(trace, run, kept), strict=True)
    ]
    service = _attributes({"service.name": run.agent or "unknown"})
    scope = {"name": "skilljuror", "version": __version__}
    scoped = [{"scope": scope, "spans": [*agents.values(), *tools]}]
    return {"resourceSpans": [{"resource": {"attributes": service}, "scopeSpans": scoped}]}


def _tool_spans(
    trace: str, run: Trajectory, events: Iterable[ResourceEvent]
) -> Iterator[dict[str, Any]]:
    steps = {(step.agent, step.index): step for step in run.steps}
    for event in events:
        step = steps.get((event.agent, event.step))
        calls = step.calls if step else ()
        call = next((one for one in calls if event.call_id and one.call_id == event.call_id), None)
        start = step.timestamp if step else run.started_at
        lasted = call.result.seconds if call and call.result else None
        tool, actions = _TOOLS.get(event.kind, _READ)
        tool = call.name if call and call.action in actions else tool
        resource = None if event.kind == "activate" or event.resource == "." else event.resource
        name = " ".join(filter(None, ("execute_tool", tool, event.skill, resource)))
        end = None if start is None else start + (lasted or 0)
        failed = {"error.type": "failed"} if event.ok is False else {}
        yield _span(
            trace, event.event, name, (start, end),
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool,
                "gen_ai.tool.call.id": event.call_id,
                "gen_ai.skill.name": event.skill,
                "gen_ai.skill.resource.name": resource,
                "process.exit.code": _exit_code(event, call),
                "skilljuror.event.kind": event.kind,
                "skilljuror.event.via": event.via,
                "skilljuror.event.content_exposed": event.content_exposed,
                **failed,
            },
        )  # fmt: skip


def _exit_code(event: ResourceEvent, call: ToolCall | None) -> int | None:
    """That of a command that runs a resource."""
    if event.kind not in {"exec", "import"} or call is None or call.result is None:
        return None
    return call.result.exit_code


def _span(
    trace: str, key: str, name: str, times: tuple[float | None, float | None],
    attributes: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    return {
        "traceId": trace,
        "spanId": hashlib.sha256(f"{trace} {key}".encode()).hexdigest()[:16],
        "name": name,
        "kind": 1,
        "startTimeUnixNano": _nanoseconds(times[0]),
        "endTimeUnixNano": _nanoseconds(times[1]),
        "attributes": _attributes(attributes),
        "status": {"code": 2} if "error.type" in attributes else {},
    }


def _nanoseconds(seconds: float | None) -> str:
    return str(round((seconds or 0) * 1_000_000) * 1_000)


def _attributes(given: dict[str, Any]) -> list[dict[str, Any]]:
    """Known attributes; OTLP writes whole numbers as text."""
    return [
        {
            "key": key,
            "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value},
        }
        for key, value in given.items()
        if value is not None
    ]
