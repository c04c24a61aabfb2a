"""Process: share of the work that concerned the Skill (measures §3.1 to §3.6)."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import compress
from typing import get_args

import orjson

from skilljuror.base.results import Measure, TrialContext
from skilljuror.base.trajectory import FANOUT, EventKind, ResourceEvent, Step, ToolCall
from skilljuror.measures.metrics.base import (
    SCOPE_KEYS,
    Definition,
    MeasureKey,
    ValueOrReason,
    defines,
    share,
    to_measures,
)
from skilljuror.measures.metrics.scope import (
    SCOPES,
    agent_steps,
    resource_of,
    task_events,
    used_events,
    with_unknown_use,
)

_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=str)
_PLAIN = frozenset({str, int, bool, type(None)})
"""Types that orjson and json encode alike."""
KINDS: tuple[EventKind, ...] = get_args(EventKind)


@defines({
    "agent_steps": Definition("Agent messages, each with its calls", "steps", "§3", SCOPE_KEYS),
    "skill_steps": Definition("Steps with at least one use of a Skill resource", "steps", "§3", SCOPE_KEYS),
    "skill_step_share": Definition("Skill-related steps of all agent steps", "share", "§3.1", SCOPE_KEYS),
    "skill_text_share": Definition(
        "Bytes of Skill-related steps (text, arguments, results) of the bytes of all steps",
        "share", "§3.2", SCOPE_KEYS,
    ),
    "step_tokens": Definition(
        "Tokens of the text, arguments and results of all steps (`ingest --count-tokens`)",
        "tokens", "§3.2", SCOPE_KEYS,
    ),
    "skill_step_tokens": Definition(
        "Tokens of the text, arguments and results of Skill-related steps (`ingest --count-tokens`)",
        "tokens", "§3.2", SCOPE_KEYS,
    ),
    "skill_token_share": Definition(
        "Tokens of Skill-related steps of the tokens of all steps (`ingest --count-tokens`)",
        "share", "§3.2", SCOPE_KEYS,
    ),
    "fanout": Definition("Distinct Skill resources touched, SKILL.md included", "resources", "§3.6", SCOPE_KEYS),
    "fanout_support": Definition("Distinct Skill resources touched, SKILL.md left out", "resources", "§3.6", SCOPE_KEYS),
    "support_read": Definition("Content of a support file was read", "flag", "§3.3", SCOPE_KEYS),
    "script_exec": Definition("A bundled script was run", "flag", "§3.4", SCOPE_KEYS),
    "helper_use": Definition("Bundled code was read, searched or imported", "flag", "§3.5", SCOPE_KEYS),
    "events": Definition(
        "Events of one kind, authoring and mentions included", "events", "own",
        "kind of event; sub:<kind> for sub-agents",
    ),
    "resource_events": Definition("Events that are a use of a resource", "events", "§4", SCOPE_KEYS),
    "failed_events": Definition("Uses that failed: wrong path, unknown Skill, exit status", "events", "own", SCOPE_KEYS),
    "phantom_events": Definition("Uses of a path that the bundle does not have", "events", "own", SCOPE_KEYS),
    "log_complete": Definition(
        "The log reaches the end of the run: not cut off, no prompt left unanswered",
        "flag", "own",
    ),
})  # fmt: skip
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
    return to_measures(context, with_unknown_use(context, values))


def step_texts(step: Step) -> list[str]:
    """Texts of a step: the agent's text, its calls' arguments, their results; some may be empty.

    Reasoning is excluded, because most logs hide it.
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
    """Bytes of `step_texts` joined by line breaks."""
    sizes = [_utf8_bytes(step.text)]
    for call in step.calls:
        sizes.append(_argument_bytes(call))
        if call.result is not None:
            sizes.append(_utf8_bytes(call.result.text))
    return sum(sizes) + max(0, len(sizes) - sizes.count(0) - 1)


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _argument_bytes(call: ToolCall) -> int:
    """Bytes of `_arguments_text`. orjson is faster on flat arguments; it omits the spaces after
    commas and colons, of which there are 2 * members - 1."""
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
    """Token share and its two sums (measures §3.2); null together unless every step was counted,
    because a partial sum is not a share."""
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
    """Fanout and three flags; phantoms are not resources of the bundle and do not count."""
    events = [event for event in used_events(context, scope) if not event.phantom]
    opened = {resource_of(event): event for event in events if event.kind in FANOUT}
    return {
        ("fanout", scope): len(opened),
        ("fanout_support", scope): sum(e.resource_class != "root" for e in opened.values()),
        ("support_read", scope): float(
            any(e.resource_class == "support" and _content_read(e) for e in events)
        ),
        ("script_exec", scope): float(
            any(e.resource_class == "code" and e.kind == "exec" for e in events)
        ),
        ("helper_use", scope): float(any(_helper_use(event) for event in events)),
    }


def _helper_use(event: ResourceEvent) -> bool:
    code = event.resource_class == "code"
    return code and (event.kind == "import" or _content_read(event))


def _content_read(event: ResourceEvent) -> bool:
    return event.kind in {"read", "search"} and event.content_exposed != "none"


def _event_counts(context: TrialContext, scope: str) -> dict[MeasureKey, ValueOrReason]:
    """Events by kind; phantom and failed ones also have their own rows."""
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
