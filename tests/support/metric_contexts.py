"""Contexts to measure: small ones by hand, wild ones by Hypothesis."""

from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from skilljuror.base.results import TrialContext
from skilljuror.base.study import TrialRecord
from skilljuror.base.trajectory import (
    Exposure,
    OfferedSkill,
    ResourceEvent,
    SkillManifest,
    Step,
    ToolCall,
    ToolResult,
    Trajectory,
    UnitExposure,
    Usage,
)

KINDS = ("activate", "read", "list", "search", "exec", "import", "edit", "write", "mention")
VIAS = ("skill-tool", "read-tool", "shell", "injected", "slash", "reinjected", "python")
CLASSES = ("root", "support", "code", "data")


def step(index, *, agent="main", text="working", calls=(), usage=None, at=None):
    return Step(
        agent=agent, index=index, line=index, text=text, calls=calls, usage=usage, timestamp=at
    )


def call(command="ls", output="ok"):
    return ToolCall(
        call_id="c", name="bash", action="shell", line=1, command=command,
        result=ToolResult(text=output, line=2),
    )  # fmt: skip


def trajectory(steps=(), **fields):
    return Trajectory(trajectory="run", format="atif", files=("log",), steps=tuple(steps), **fields)


def event(step=1, kind="read", **fields):
    values: dict[str, Any] = {
        "trajectory": "run", "ordinal": 0, "line": 1, "agent": "main", "skill": "csv",
        "resource": "SKILL.md", "resource_class": "root", "via": "shell", "ok": True,
        "content_exposed": "full",
    }  # fmt: skip
    return ResourceEvent(step=step, kind=kind, **values | fields)


def record(**fields):
    values: dict[str, Any] = {
        "trial": "t__pd__1", "task": "t", "condition": "pd", "number": 1, "seed": 1,
        "status": "scored", "reward": 1.0, "agent": "scripted", "harness": "local",
        "isolation": "none", "config_digest": "d", "substrate_digest": "s", "variant": "pd",
        "variant_digest": "v", "skill_root": "/skills", "started_at": "2026-01-01T00:00:00Z",
        "finished_at": "2026-01-01T00:01:00Z", "agent_seconds": 60.0, "verifier_seconds": 1.0,
    }  # fmt: skip
    return TrialRecord(**values | fields)


def run(count, skill=()):
    """A context of `count` steps whose 0-based positions in `skill` read SKILL.md."""
    steps = [step(i + 1) for i in range(count)]
    events = tuple(event(i + 1) for i in skill)
    return TrialContext(trial="t", trajectory=trajectory(steps), events=events)


_agents = st.sampled_from(["main", "sub-1", "sub-2"])
_count = st.none() | st.integers(-5, 10**9)
_usage = st.none() | st.builds(
    Usage, input=_count, cache_write=_count, cache_read=_count, output=_count, reasoning=_count,
    cost_usd=st.none() | st.floats(),
)  # fmt: skip
_text = st.text(st.characters(), max_size=12)
_results = st.none() | st.builds(ToolResult, text=_text, line=st.integers(1, 99))
_calls = st.builds(
    ToolCall, call_id=st.none() | _text, name=_text, action=st.sampled_from(["shell", "read"]),
    line=st.integers(1, 99), command=st.none() | _text, written=st.none() | _text, result=_results,
    arguments=st.dictionaries(_text, st.none() | st.integers() | _text | st.lists(_text), max_size=2),
)  # fmt: skip
_steps = st.builds(
    Step, agent=_agents, index=st.integers(1, 8), line=st.integers(1, 99), text=_text,
    calls=st.lists(_calls, max_size=2).map(tuple), usage=_usage,
    timestamp=st.none() | st.floats(0, 1e10),
)  # fmt: skip
_events = st.builds(
    ResourceEvent, trajectory=st.just("run"), ordinal=st.integers(0, 9), line=st.integers(1, 99),
    agent=_agents, step=st.integers(0, 10), skill=st.sampled_from(["csv", "p:csv", "pdf"]),
    resource=st.sampled_from(["SKILL.md", "a.md", "run.py", "."]),
    resource_class=st.sampled_from(CLASSES), kind=st.sampled_from(KINDS), via=st.sampled_from(VIAS),
    ok=st.none() | st.booleans(), content_exposed=st.sampled_from(["full", "partial", "none"]),
    phantom=st.booleans(), bundled=st.booleans(),
)  # fmt: skip
_offers = st.builds(OfferedSkill, name=st.sampled_from(["csv", "p:csv"]), bundled=st.booleans())
_trajectories = st.builds(
    Trajectory, trajectory=st.just("run"), format=st.just("atif"), files=st.just(("log",)),
    steps=st.lists(_steps, max_size=9).map(tuple), usage=_usage,
    model=st.sampled_from([None, "gpt-5.4", "openai/gpt-5.4-2026-03-05", "nobody"]),
    offered=st.none() | st.lists(_offers, max_size=2).map(tuple), complete=st.booleans(),
    started_at=st.none() | st.floats(0, 1e10), finished_at=st.none() | st.floats(0, 1e10),
)  # fmt: skip


def _no_more_seen_than_stand(exposure):
    """What was seen stands in the variant."""
    seen = {unit.unit for unit in exposure.seen}
    return replace(exposure, units=max(exposure.units, len(seen)))


_exposures = st.builds(
    Exposure, units=st.integers(0, 9), shown_bytes=st.integers(0, 99),
    seen=st.lists(
        st.builds(
            UnitExposure, trajectory=st.just("run"), unit=st.sampled_from(["u", "v"]),
            agent=_agents, step=st.integers(0, 9), ordinal=st.integers(0, 9),
        ), max_size=3,
    ).map(tuple),
).map(_no_more_seen_than_stand)  # fmt: skip
_records = st.builds(
    record, status=st.sampled_from(["scored", "timeout", "unscored", "error"]),
    reward=st.none() | st.sampled_from([0.0, 0.5, 0.9999, 1.0]),
    exception=st.none() | st.just("AgentTimeoutError"), model=st.sampled_from([None, "gpt-5.4"]),
    agent_seconds=st.none() | st.floats(0, 1e6), usage_reason=st.sampled_from([None, "no_model"]),
)  # fmt: skip


def _context(**known: Any) -> TrialContext:
    return TrialContext(trial="t", **known)


contexts = st.builds(
    _context, record=st.none() | _records,
    trajectory=st.none() | _trajectories, events=st.lists(_events, max_size=6).map(tuple),
    exposure=st.none() | _exposures,
    manifest=st.none() | st.builds(
        SkillManifest, skills=st.sampled_from([(), ("csv",), ("csv", "pdf")]), known=st.booleans()
    ),
    step_tokens=st.dictionaries(st.tuples(_agents, st.integers(1, 8)), st.integers(0, 99)),
)  # fmt: skip
