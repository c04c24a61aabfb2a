"""Process: which part of the work was about the Skill (measures §3.1 to §3.6)."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import compress
from typing import get_args

import orjson

from skilljuror.metrics.base import MeasureKey, ValueOrReason, share, to_measures
from skilljuror.metrics.scope import (
    SCOPES,
    agent_steps,
    resource_of,
    task_events,
    used_events,
)
from skilljuror.models.events import FANOUT, EventKind, ResourceEvent
from skilljuror.models.measure import Measure, TrialContext
from skilljuror.models.trajectory import Step, ToolCall

_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=str)
_PLAIN = frozenset({str, int, bool, type(None)})
"""Types of values that orjson spells as json does."""
KINDS: tuple[EventKind, ...] = get_args(EventKind)


def measure(context: TrialContext) -> Iterator[Measure]:
    """Rows of one trial, for the main agent and (key "sub") for all sub-agents together."""
    values: dict[MeasureKey, ValueOrReason] = {}
    for scope in SCOPES:
        values |= (
            _step_shares(context, scope)
            | _resources(context, scope)
            | _event_counts(context, scope)
        )
    trajectory = context.trajectory
    values["log_complete", ""] = float(trajectory is not None and trajectory.complete)
    if trajectory is None:
        return to_measures(context, dict.fromkeys(values, "no_trajectory"))
    return to_measures(context, values)


def step_texts(step: Step) -> list[str]:
    """The texts of a step: what the agent said, its calls' arguments, their results.

    Reasoning is left out, because most logs hide it. Some may be empty.
    """
    parts = [step.text]
    for call in step.calls:
        parts += [_arguments_text(call), call.result.text if call.result else ""]
    return parts


def _arguments_text(call: ToolCall) -> str:
    if call.arguments:
        return _JSON.encode(call.arguments)
    fields = (call.command, call.path, call.pattern, call.skill, call.written)
    return "\n".join(field for field in fields if field)


def _step_shares(context: TrialContext, scope: str) -> dict[MeasureKey, ValueOrReason]:
    steps = agent_steps(context, scope)
    touched = {(event.agent, event.step) for event in used_events(context, scope)}
    related = [step for step in steps if (step.agent, step.index) in touched]
    return {
        ("agent_steps", scope): len(steps),
        ("skill_steps", scope): len(related),
        ("skill_step_share", scope): share(len(related), len(steps), "no_steps"),
        ("skill_text_share", scope): _text_share(context, touched, steps),
        **{(name, scope): value for name, value in _token_shares(context, related, steps).items()},
    }


def _text_share(
    context: TrialContext, touched: set[tuple[str, int]], steps: tuple[Step, ...]
) -> ValueOrReason:
    if not steps:
        return "no_steps"
    if not touched:
        return 0.0 if any(part for step in steps for part in step_texts(step)) else "no_text"
    known = context.step_bytes or {(step.agent, step.index): step_bytes(step) for step in steps}
    keys = [(step.agent, step.index) for step in steps]
    sizes = [known[key] for key in keys]
    is_related = [key in touched for key in keys]
    return share(sum(compress(sizes, is_related)), sum(sizes), "no_text")


def step_bytes(step: Step) -> int:
    """Bytes of the texts in `step_texts` and of the line breaks between them."""
    sizes = [_utf8_bytes(step.text)]
    for call in step.calls:
        sizes.append(_argument_bytes(call))
        if call.result is not None:
            sizes.append(_utf8_bytes(call.result.text))
    return sum(sizes) + max(0, len(sizes) - sizes.count(0) - 1)


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _argument_bytes(call: ToolCall) -> int:
    """Bytes of `_arguments_text`. orjson is faster on flat ones and leaves out the blanks after commas
    and colons, which are one less than twice the number of members."""
    arguments = call.arguments
    if arguments and {*map(type, arguments.values())} <= _PLAIN:
        try:
            return len(orjson.dumps(arguments)) + 2 * len(arguments) - 1
        except orjson.JSONEncodeError:  # a lone surrogate, or a number beyond 64 bits
            pass
    return _utf8_bytes(_arguments_text(call))


def _token_shares(
    context: TrialContext, related: list[Step], steps: tuple[Step, ...]
) -> dict[str, ValueOrReason]:
    """The token share and the two sums it is made of (measures §3.2); only where every step was
    counted, since a partial sum is no share. All three are null together."""
    counted = context.step_tokens
    names = ("step_tokens", "skill_step_tokens", "skill_token_share")
    if not steps:
        return dict.fromkeys(names, "no_steps")
    if any((step.agent, step.index) not in counted for step in steps):
        return dict.fromkeys(names, "not_counted")
    whole = sum(counted[step.agent, step.index] for step in steps)
    if not whole:
        return dict.fromkeys(names, "no_text")
    part = sum(counted[step.agent, step.index] for step in related)
    return dict(zip(names, (whole, part, part / whole), strict=True))


def _resources(context: TrialContext, scope: str) -> dict[MeasureKey, ValueOrReason]:
    """Fanout and the three flags. A phantom names no resource of the bundle and adds none."""
    events = [event for event in used_events(context, scope) if not event.phantom]
    opened = {resource_of(event): event for event in events if event.kind in FANOUT}
    return {
        ("fanout", scope): len(opened),
        ("fanout_support", scope): sum(e.resource_class != "root" for e in opened.values()),
        ("support_read", scope): float(any(_support_read(event) for event in events)),
        ("script_exec", scope): float(any(_script_exec(event) for event in events)),
        ("helper_use", scope): float(any(_helper_use(event) for event in events)),
    }


def _support_read(event: ResourceEvent) -> bool:
    return event.resource_class == "support" and _content_read(event)


def _script_exec(event: ResourceEvent) -> bool:
    return event.resource_class == "code" and event.kind == "exec"


def _helper_use(event: ResourceEvent) -> bool:
    code = event.resource_class == "code"
    return code and (event.kind == "import" or _content_read(event))


def _content_read(event: ResourceEvent) -> bool:
    return event.kind in {"read", "search"} and event.content_exposed != "none"


def _event_counts(context: TrialContext, scope: str) -> dict[MeasureKey, ValueOrReason]:
    """Events by kind; phantom and failed ones are their own rows, and in the kinds as well."""
    events = task_events(context, scope)
    kinds = Counter(event.kind for event in events)
    prefix = f"{scope}:" if scope else ""
    by_kind: dict[MeasureKey, ValueOrReason] = {
        ("events", f"{prefix}{kind}"): kinds[kind] for kind in KINDS
    }
    return {
        ("resource_events", scope): sum(event.counts for event in events),
        ("failed_events", scope): sum(event.counts and event.ok is False for event in events),
        ("phantom_events", scope): sum(event.counts and event.phantom for event in events),
        **by_kind,
    }
