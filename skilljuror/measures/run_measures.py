"""The measures of one trial: outcome, efficiency, process, timing, invocation, exposure (measures §1 to §7)."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain, compress
from typing import get_args

import orjson
from msgspec.structs import replace

from skilljuror.base.results import Measure, Price, TrialContext
from skilljuror.base.texts import cost, long_price, price_of
from skilljuror.base.trajectory import (
    FANOUT,
    OPENING,
    EventKind,
    ResourceEvent,
    Step,
    ToolCall,
    Trajectory,
    Usage,
    Via,
)
from skilljuror.measures.metrics import (
    MAIN,
    SCOPE_KEYS,
    SCOPES,
    Definition,
    MeasureKey,
    ValueOrReason,
    Values,
    agent_steps,
    defines,
    measures_of_use,
    part_share,
    resource_of,
    seconds_to,
    task_events,
    to_measures,
    used_events,
)

CLASSES = ("input", "cache_write", "cache_read", "output", "reasoning")
CACHE_ABOVE_INPUT = "cache_above_input"
"""Reason for counts of a log with more cached tokens than input."""
KINDS: tuple[EventKind, ...] = get_args(EventKind)
MODES: tuple[Via, ...] = get_args(Via)
THIRDS = 3
BINS = 20
MIN_THIRDS = 2
"""Thirds that must contain Skill-related steps for a trial to count as distributed."""


@defines({
    "strict_pass": Definition("The reward is exactly 1; a missing reward is not a pass", "flag", "§1.1"),
    "broad_pass": Definition("The reward is above 0; a missing reward is not a pass", "flag", "§1.2"),
    "reward": Definition("Reward of the verifier, 0 to 1", "reward", "§1.3"),
    "runtime_success": Definition("The run ended without a recorded exception", "flag", "§1.4"),
    "strict_pass_and_runtime": Definition("Strict pass and runtime success", "flag", "§1.5"),
    "scored": Definition("The verifier gave a reward", "flag", "§0"),
    "timeout": Definition("The agent ran out of time", "flag", "§0"),
})  # fmt: skip
def outcome(context: TrialContext) -> Iterator[Measure]:
    """The verifier's result, and whether the run ended without errors; all null outside a study, which has no
    verifier. A missing reward is not a pass (measures §1.1)."""
    record = context.record
    if record is None:
        return to_measures(context, {(name, ""): "no_record" for name in outcome.definitions})
    reward, clean, strict = record.reward, record.exception is None, record.strict_pass
    passes: dict[str, ValueOrReason] = {
        "strict_pass": float(strict),
        "broad_pass": float(reward is not None and reward > 0),
        "strict_pass_and_runtime": float(strict and clean),
    }
    if record.reason == "no_verifier":
        passes = dict.fromkeys(passes, "no_verifier")
    no_reward = "unscored" if record.status == "scored" else record.end
    values = passes | {
        "reward": no_reward if reward is None else reward,
        "runtime_success": float(clean),
        "scored": float(reward is not None),
        "timeout": float(record.status == "timeout"),
    }
    return to_measures(context, {(name, ""): values[name] for name in outcome.definitions})


@defines({
    "agent_minutes": Definition("Wall clock of the agent's execution", "minutes", "§2.1"),
    "log_minutes": Definition("From the first to the last record of the log", "minutes", "own"),
    "tokens": Definition(
        "Tokens of one class, as the log reports them", "tokens", "§2.2",
        "input (uncached), cache_write, cache_read, output, reasoning (part of output)",
    ),
    "display_tokens": Definition("Uncached input, cache writes and output", "tokens", "§2.2"),
    "total_tokens": Definition("All input, cached or not, and output", "tokens", "§2.5"),
    "cost_usd": Definition("Tokens at the dated list price of the model", "USD", "§2.3"),
    "price_date": Definition("Date of the price used for cost_usd", "YYYYMMDD", "§2.3"),
    "cost_usd_logged": Definition("Cost as reported by the log", "USD", "own"),
})  # fmt: skip
def efficiency(context: TrialContext) -> Iterator[Measure]:
    """Time, tokens and money; a value missing in the log is null, never zero."""
    record, trajectory = context.record, context.trajectory
    seconds = record.agent_seconds if record else None
    absent = "never_started" if record else "no_record"
    values: Values = {
        ("agent_minutes", ""): absent if seconds is None else seconds / 60,
        ("log_minutes", ""): _log_minutes(trajectory) if trajectory else "no_trajectory",
    }
    usage = usage_of(trajectory) if trajectory else None
    # the record's reason takes precedence: zeros logged by a policy without a model are not usage
    unused = record.usage_reason if record else None
    if usage is None or unused:
        rest = [name for name in efficiency.definitions if name not in {"agent_minutes", "log_minutes", "tokens"}]  # fmt: skip
        keys = [("tokens", name) for name in CLASSES] + [(name, "") for name in rest]
        missing = unused or ("no_usage" if trajectory else "no_trajectory")
        return to_measures(context, values | dict.fromkeys(keys, missing))
    values |= {("tokens", name): _class_tokens(usage, name) for name in CLASSES}
    values |= {("display_tokens", ""): _display(usage), ("total_tokens", ""): _total(usage)}
    values |= _cost(context, usage)
    logged = "not_reported" if usage.cost_usd is None else usage.cost_usd
    return to_measures(context, values | {("cost_usd_logged", ""): logged})


def usage_of(trajectory: Trajectory) -> Usage | None:
    """Totals of the run: as logged, else the sum over the steps if every step has usage."""
    usages = [step.usage for step in trajectory.steps if step.usage is not None]
    if logged := trajectory.usage:
        written = sum(usage.cache_write or 0 for usage in usages)
        if logged.cache_write and written and logged.hour_write is None:  # divided as in the steps
            share = sum(usage.hour_write or 0 for usage in usages) / written
            return replace(logged, hour_write=round(share * logged.cache_write))
        return logged
    if not usages or len(usages) < len(trajectory.steps):
        return None
    return _total_of(usages)


def _total_of(usages: list[Usage]) -> Usage:
    """Sums by class; a negative value is unknown, and so is its sum."""
    sums: dict[str, int | None] = {}
    for name in CLASSES:
        values: list[int | None] = [getattr(usage, name) for usage in usages]
        known = [value for value in values if value is not None]
        if known and min(known) < 0:
            sums[name] = min(known)
        else:
            sums[name] = sum(known) if len(known) == len(values) else None
    return Usage(**sums, hour_write=sum(usage.hour_write or 0 for usage in usages))


def _log_minutes(trajectory: Trajectory) -> ValueOrReason:
    start, end = trajectory.started_at, trajectory.finished_at
    if start is None or end is None or end < start:
        return "no_timestamps"
    return (end - start) / 60


def _class_tokens(usage: Usage, name: str) -> ValueOrReason:
    value: int | None = getattr(usage, name)
    if value is None:
        return "not_reported"
    return value if value >= 0 else CACHE_ABOVE_INPUT


def _display(usage: Usage) -> ValueOrReason:
    """Uncached input, cache writes and output (measures §2.2).

    The classes are disjoint. If the log does not separate writes, they are part of the input; if it
    does not separate reads, the result is null, because they would count as uncached.
    """
    total = _total(usage)
    if not isinstance(total, str) and usage.cache_read is None:
        return "no_cache_read"
    return total if isinstance(total, str) else total - (usage.cache_read or 0)


def _total(usage: Usage) -> ValueOrReason:
    """Every token once, cache included (measures §2.5)."""
    if usage.input is None or usage.output is None:
        return "no_input_or_output"
    if usage.input < 0:
        return CACHE_ABOVE_INPUT
    return usage.input + (usage.cache_write or 0) + (usage.cache_read or 0) + usage.output


def _cost(context: TrialContext, usage: Usage) -> Values:
    """Each model's tokens at its own price, with the oldest of their dates."""
    bills = [
        (price, cost(part, price) if price else "no_price")
        for price, part in _by_price(context, usage)
    ]
    reason = next((dollars for _, dollars in bills if isinstance(dollars, str)), None)
    if reason:
        return {("cost_usd", ""): reason, ("price_date", ""): reason}
    date = min(float(price.as_of.replace("-", "")) for price, _ in bills if price)
    total = sum(dollars for _, dollars in bills if not isinstance(dollars, str))
    return {("cost_usd", ""): total, ("price_date", ""): date}


def _by_price(context: TrialContext, usage: Usage) -> Iterator[tuple[Price | None, Usage]]:
    """The run's tokens by price. Steps of other models than the main one, and answers to long prompts, have their own
    price, if the steps account for all tokens."""
    steps = context.trajectory.steps if context.trajectory else ()
    model = context.trajectory.model if context.trajectory else None
    named = (context.record.model if context.record else None) or model
    main = [price_of(name, context.prices) for name in (named, model)]
    parts: dict[Price | None, list[Usage]] = {}
    for step in steps:
        if step.usage:
            other = price_of(step.model, context.prices)
            price = main[0] if step.model is None or other in main else other
            if price and price.long_above and _prompt(step.usage) > price.long_above:
                price = long_price(price)
            parts.setdefault(price, []).append(step.usage)
    every = _total_of([*chain.from_iterable(parts.values())])
    if parts and all(getattr(usage, name) == getattr(every, name) for name in CLASSES[:4]):
        yield from ((price, _total_of(part)) for price, part in parts.items())
    else:
        yield main[0], usage


def _prompt(usage: Usage) -> int:
    """Tokens of a prompt, as far as they are known."""
    return (usage.input or 0) + (usage.cache_write or 0) + (usage.cache_read or 0)


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
def process(context: TrialContext) -> Iterator[Measure]:
    """Share of the work that concerned the Skill (measures §3.1 to §3.6), for the main agent and (key "sub")
    for all sub-agents together."""
    values: Values = {}
    for scope in SCOPES:
        values |= _step_shares(context, scope)
        values |= _resources(context, scope)
        values |= _event_counts(context, scope)
    complete = context.trajectory is not None and context.trajectory.complete
    values["log_complete", ""] = float(complete)
    return measures_of_use(context, values)


def _step_shares(context: TrialContext, scope: str) -> Values:
    steps = agent_steps(context, scope)
    touched = {(event.agent, event.step) for event in used_events(context, scope)}
    related = [step for step in steps if (step.agent, step.index) in touched]
    values: Values = {
        ("agent_steps", scope): len(steps),
        ("skill_steps", scope): len(related),
        ("skill_step_share", scope): part_share(len(related), len(steps), "no_steps"),
        ("skill_text_share", scope): _text_share(context, touched, steps),
    }
    # token share and its two sums (measures §3.2); null together unless every step was counted, because a
    # partial sum is not a share
    sums = [("step_tokens", scope), ("skill_step_tokens", scope), ("skill_token_share", scope)]
    counted = context.step_tokens
    if not steps:
        return values | dict.fromkeys(sums, "no_steps")
    if any((step.agent, step.index) not in counted for step in steps):
        return values | dict.fromkeys(sums, "not_counted")
    whole = sum(counted[step.agent, step.index] for step in steps)
    if not whole:
        return values | dict.fromkeys(sums, "no_text")
    part = sum(counted[step.agent, step.index] for step in related)
    return values | dict(zip(sums, (whole, part, part / whole), strict=True))


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
    return part_share(sum(compress(sizes, is_related)), sum(sizes), "no_text")


_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=str)
_PLAIN = frozenset({str, int, bool, type(None)})
"""Types that orjson and json encode alike."""


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


def _resources(context: TrialContext, scope: str) -> Values:
    """Fanout and three flags; phantoms are not resources of the bundle and do not count."""
    events = [event for event in used_events(context, scope) if not event.phantom]
    opened = {resource_of(event): event for event in events if event.kind in FANOUT}
    code = [event for event in events if event.resource_class == "code"]
    support = [event for event in events if event.resource_class == "support"]
    return {
        ("fanout", scope): len(opened),
        ("fanout_support", scope): sum(e.resource_class != "root" for e in opened.values()),
        ("support_read", scope): float(any(map(_content_read, support))),
        ("script_exec", scope): float(any(event.kind == "exec" for event in code)),
        ("helper_use", scope): float(
            any(event.kind == "import" or _content_read(event) for event in code)
        ),
    }


def _content_read(event: ResourceEvent) -> bool:
    return event.kind in {"read", "search"} and event.content_exposed != "none"


def _event_counts(context: TrialContext, scope: str) -> Values:
    """Events by kind; phantom and failed ones also have their own rows."""
    events = task_events(context, scope)
    kinds = Counter(event.kind for event in events)
    prefix = f"{scope}:" if scope else ""
    by_kind: Values = {("events", f"{prefix}{kind}"): kinds[kind] for kind in KINDS}
    return {
        ("resource_events", scope): sum(event.counts for event in events),
        ("failed_events", scope): sum(event.counts and event.ok is False for event in events),
        ("phantom_events", scope): sum(event.counts and event.phantom for event in events),
        **by_kind,
    }


def part_of(position: int, steps: int, parts: int) -> int:
    """0-based part of `parts` equal half-open parts that contains a step's midpoint.

    floor(parts * (2i + 1) / (2m)) for 0-based position i of m steps (measures §3.7).
    """
    return parts * (2 * position + 1) // (2 * steps)


@defines({
    "skill_steps_in_third": Definition(
        "Skill-related steps whose midpoint falls into one third of the run", "steps", "§3.7",
        "0 first, 1 middle, 2 last",
    ),
    "skill_steps_in_bin": Definition(
        "Skill-related steps whose midpoint falls into one twentieth of the run", "steps", "§3.7",
        "00 to 19",
    ),
    "skill_thirds": Definition("Thirds of the run with a Skill-related step", "thirds", "§3.8"),
    "exposed": Definition("The run has a Skill-related step", "flag", "§3.8"),
    "distributed": Definition(
        "Skill-related steps occupy two or more thirds; null when the run is not exposed",
        "flag", "§3.8",
    ),
    "fewer_than_three_steps": Definition("The run is too short for thirds to mean much", "flag", "§3.7"),
    "first_skill_step": Definition("Number of the first Skill-related step; null: never", "step", "own"),
    "first_skill_position": Definition(
        "Midpoint of the first Skill-related step, 0 to 1; null: never", "share of the run", "§3.7"
    ),
})  # fmt: skip
def timing(context: TrialContext) -> Iterator[Measure]:
    """Where in the run the Skill was used, in integer arithmetic (measures §3.7, §3.8); main agent only:
    sub-agents have no common clock, and step 0, before the first, has no position."""
    touched = {event.step for event in used_events(context)}
    every = agent_steps(context)
    positions = [i for i, step in enumerate(every) if step.index in touched]
    steps = len(every)
    thirds = {part_of(position, steps, THIRDS) for position in positions}
    values = _by_part(positions, steps, THIRDS, "skill_steps_in_third")
    values |= _by_part(positions, steps, BINS, "skill_steps_in_bin")
    values |= {
        ("skill_thirds", ""): len(thirds),
        ("exposed", ""): float(bool(positions)),
        ("distributed", ""): float(len(thirds) >= MIN_THIRDS) if positions else "not_exposed",
        ("fewer_than_three_steps", ""): float(steps < THIRDS),
    }
    if positions:
        first: ValueOrReason = positions[0] + 1
        place: ValueOrReason = (2 * positions[0] + 1) / (2 * steps)
    else:  # `never` is a censored observation, not a missing one
        first = place = (
            "no_steps" if not steps else "before_first_step" if 0 in touched else "never"
        )
    values |= {("first_skill_step", ""): first, ("first_skill_position", ""): place}
    return measures_of_use(context, values)


def _by_part(positions: list[int], steps: int, parts: int, name: str) -> Values:
    counts = Counter([part_of(position, steps, parts) for position in positions])
    return {key: counts[part] for part, key in enumerate(_keys_of_parts(name, parts))}


@cache
def _keys_of_parts(name: str, parts: int) -> tuple[MeasureKey, ...]:
    width = len(str(parts - 1))
    return tuple((name, f"{part:0{width}}") for part in range(parts))


@defines({
    "skill_invoked": Definition(
        "A Skill was activated, or its SKILL.md read with content", "flag", "§5", SCOPE_KEYS
    ),
    "invocation_mode": Definition("Mode of the first invocation", "flag", "own", "mode"),
    "invocation_step": Definition(
        "Step of the first invocation, 0 before the first step; null: never", "step", "own"
    ),
    "invocation_seconds": Definition(
        "From the start of the log to the first invocation; null: never", "seconds", "own"
    ),
    "return_visits": Definition(
        "Resources opened again in a later third than the first time", "resources", "own"
    ),
    "root_shown": Definition(
        "Lines of the opened SKILL.md files that the main agent was shown, of all their lines; null:"
        " none opened, or the lines are unknown",
        "share", "own",
    ),
    "offered_skills": Definition("Skills offered for the task", "skills", "§5"),
    "offered_never_opened": Definition("Offered Skills that were never opened", "skills", "own"),
})  # fmt: skip
def invocation(context: TrialContext) -> Iterator[Measure]:
    """Whether, how and when an offered Skill was used (measures §5); sub-agents only count for resources
    opened, not for times."""
    invoked = next((event for event in used_events(context) if is_invocation(event)), None)
    offered = _offered_names(context)
    unknown = "offer_not_logged"
    return measures_of_use(context, {
        ("skill_invoked", ""): float(invoked is not None),
        ("skill_invoked", "sub"): float(any(map(is_invocation, used_events(context, "sub")))),
        ("invocation_step", ""): float(invoked.step) if invoked else "never",
        ("invocation_seconds", ""): seconds_to(context, invoked.step) if invoked else "never",
        ("return_visits", ""): _return_visits(context),
        ("root_shown", ""): _root_shown(context),
        **{
            ("invocation_mode", mode): float(invoked is not None and invoked.via == mode)
            for mode in MODES
        },
        ("offered_skills", ""): unknown if offered is None else len(offered),
        ("offered_never_opened", ""): (
            unknown if offered is None else len(offered - _opened_names(context))
        ),
    })  # fmt: skip


def is_invocation(event: ResourceEvent) -> bool:
    """A successful activation, or a read of SKILL.md with content (measures §5).

    Only of an offered Skill: a phantom belongs to another one, or to another variant.
    """
    if event.phantom:
        return False
    if event.kind == "activate":
        return bool(event.ok)
    return (
        event.kind == "read" and event.resource_class == "root" and event.content_exposed != "none"
    )


def _return_visits(context: TrialContext) -> int:
    """Resources opened again in a later third than the first time; step 0 is in the first third."""
    positions = {step.index: i for i, step in enumerate(agent_steps(context))}
    first_third: dict[tuple[str, str], int] = {}
    returned: set[tuple[str, str]] = set()
    for event in used_events(context):
        if event.kind not in FANOUT or event.phantom:
            continue
        at = positions.get(event.step)
        third = 0 if at is None else part_of(at, len(positions), THIRDS)
        if first_third.setdefault(resource_of(event), third) < third:
            returned.add(resource_of(event))
    return len(returned)


def _root_shown(context: TrialContext) -> ValueOrReason:
    """Share of the lines of the opened roots that were shown, by the content of the events."""
    texts = {
        (one.skill, one.path): one.text
        for one in (context.manifest.resources if context.manifest else ())
    }
    opened: dict[tuple[str, str], list[ResourceEvent]] = {}
    for event in task_events(context):
        if event.resource_class == "root" and event.content_exposed != "none" and not event.phantom:
            opened.setdefault(resource_of(event), []).append(event)
    shown = lines = 0
    for root, events in opened.items():
        text = texts.get(root)
        length = len(text.splitlines()) if text is not None else 0
        if any(event.content_exposed == "full" for event in events):
            seen = length = length if text else 1
        elif text is None or any(event.lines is None for event in events):
            return "unknown_lines"
        else:
            ranges = [pair for event in events for pair in event.lines or ()]
            seen = len({
                line for first, last in ranges for line in range(first, min(last, length) + 1)
            })
        shown, lines = shown + seen, lines + length
    return part_share(shown, lines, "never")


def _offered_names(context: TrialContext) -> set[str] | None:
    """Skills offered for the task: from the manifest if known, else from the log."""
    manifest, trajectory = context.manifest, context.trajectory
    if manifest is not None and manifest.known:
        return set(manifest.skills)
    if trajectory is None or trajectory.offered is None:
        return None
    return {skill.name for skill in trajectory.offered if not skill.bundled}


def _opened_names(context: TrialContext) -> set[str]:
    return {
        event.skill
        for event in (*used_events(context), *used_events(context, "sub"))
        if event.kind in OPENING and event.ok is not False and not event.phantom
    }


@defines({
    "units_offered": Definition("Knowledge units in the offered variant", "units", "own"),
    "units_exposed": Definition("Knowledge units that reached a context", "units", "own"),
    "unit_exposure_share": Definition("Exposed units of all units offered", "share", "own"),
    "unit_repeats": Definition("Repeated showings of units to the main agent", "units", "own"),
    "skill_bytes_shown": Definition("Bytes of Skill text shown, repeats included", "bytes", "own"),
    "skill_tokens_shown": Definition("Tokens of Skill text shown, repeats included", "tokens", "own"),
    "tokens_per_exposed_unit": Definition(
        "Tokens of Skill text shown for each unit exposed", "tokens", "own"
    ),
    "first_exposure_step": Definition(
        "Step at which the first unit reached the main agent, 0 before the first step; null: never",
        "step", "own",
    ),
    "first_exposure_seconds": Definition(
        "From the start of the log to the first unit; null: never", "seconds", "own"
    ),
})  # fmt: skip
def exposure(context: TrialContext) -> Iterator[Measure]:
    """How much of the Skill's text and knowledge reached a context; a unit counts if any agent of the trial
    saw it."""
    rows = [(name, "") for name in exposure.definitions]
    given = context.exposure
    if context.trajectory is None or given is None:
        reason = "no_knowledge_map" if context.trajectory else "no_trajectory"
        return to_measures(context, dict.fromkeys(rows, reason))
    seen = {unit.unit for unit in given.seen}
    seen_by_main = [unit for unit in given.seen if unit.agent == MAIN]
    tokens = given.shown_tokens
    first = min((unit.step for unit in seen_by_main), default=None)
    values: tuple[ValueOrReason, ...] = (
        given.units,
        len(seen),
        part_share(len(seen), given.units, "no_units"),
        len(seen_by_main) - len({unit.unit for unit in seen_by_main}),
        given.shown_bytes,
        "not_counted" if tokens is None else tokens,
        "not_counted" if tokens is None else part_share(tokens, len(seen), "no_unit_exposed"),
        "never" if first is None else first,
        "never" if first is None else seconds_to(context, first),
    )
    return measures_of_use(context, dict(zip(rows, values, strict=True)))
