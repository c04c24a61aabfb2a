"""The database rows of one run: attribution, exposure, metrics, places, counts and short previews, never full texts."""

import hashlib
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from sys import modules
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict, replace

from skilljuror.base import __version__, texts
from skilljuror.base.errors import UsageError
from skilljuror.base.files import path_of, path_text, sha256
from skilljuror.base.results import (
    CompactionRow,
    Ingested,
    Measure,
    OfferedRow,
    SourceRow,
    SourceStatus,
    StepRow,
    TrajectoryRow,
    TrialContext,
    Verdict,
)
from skilljuror.base.skill import MappedUnit
from skilljuror.base.texts import model_date, plain_model
from skilljuror.base.trajectory import (
    Compaction,
    Exposure,
    ResourceEvent,
    SkillManifest,
    Step,
    ToolCall,
    Trajectory,
    Usage,
)
from skilljuror.events.attribute import Attribution, attribute
from skilljuror.events.exposure import expose, exposes_text
from skilljuror.logs.base import FoundSource
from skilljuror.logs.discovery import facts_at
from skilljuror.measures.metrics import METRICS, families
from skilljuror.measures.run_measures import step_bytes, step_texts
from skilljuror.store.records import NOTHING_FURTHER, MeasureOptions

if TYPE_CHECKING:  # kept light for workers: no pydantic and no DuckDB where logs are read
    from skilljuror.base.study import TrialRecord

PREVIEW = 160
_LOOK = 4 * PREVIEW
"""Characters used for a preview before white space is folded."""
_NEAR = PREVIEW + PREVIEW // 4
"""Characters that usually suffice."""
_NO_USAGE = Usage()
_HOME = re.compile(
    r"(?:/home|/Users|/var/home|[A-Za-z]:[\\/]Users)[\\/]([^\\/]+)[\\/]?|/(root)(?:/|$)"
)
"""Homes of people on Linux, macOS and Windows; a match ends with the home."""


def trajectory_row(
    trajectory: Trajectory, trial: str | None, further: tuple[str, ...] = (), *, named: bool = False
) -> TrajectoryRow:
    """The run without its text; `further` are warnings in addition to the parser's, `named` adds the
    names of a foreign run's project and person."""
    usage = trajectory.usage or Usage()
    outcome = None if trial else trajectory.outcome
    others = [step.agent for step in trajectory.steps if step.agent != "main"]
    models = _models(trajectory)
    plain = [*dict.fromkeys(map(plain_model, models))]
    return TrajectoryRow(
        trajectory=trajectory.trajectory,
        trial=trial,
        source=trajectory.files[0],
        format=trajectory.format,
        session=trajectory.session,
        agent=trajectory.agent,
        agent_version=trajectory.agent_version,
        model=next(iter(models), None),
        started_at=trajectory.started_at,
        finished_at=trajectory.finished_at,
        steps=len(trajectory.steps) - len(others),
        sub_agents=len(set(others)),
        sub_steps=len(others),
        inherited_steps=trajectory.inherited,
        input=_fresh(usage),
        cache_write=usage.cache_write,
        cache_read=usage.cache_read,
        output=usage.output,
        reasoning=usage.reasoning,
        hour_write=usage.hour_write,
        cost_usd=usage.cost_usd,
        compactions=len(trajectory.compactions),
        complete=trajectory.complete,
        skipped_records=sum(trajectory.skipped.values()),
        warnings=trajectory.warnings + further,
        task=outcome.task if outcome else None,
        reward=outcome.reward if outcome else None,
        exception=outcome.exception if outcome else None,
        lists_every_skill=trajectory.traits.lists_every_skill,
        lists_folder_names=trajectory.traits.lists_folder_names,
        project=project_of(trajectory) if named and not trial else None,
        person=person_of(trajectory) if named and not trial else None,
        plain_model=next(iter(plain), None),
        model_date=model_date(models[0]) if models else None,
        other_models=tuple(plain[1:]),
    )


def _models(run: Trajectory) -> list[str]:
    """Models that answered the main agent, the one with most answers first; else what the log names."""
    steps = Counter(step.model for step in run.steps if step.agent == "main" and step.model)
    answered = [name for name, _ in steps.most_common() if not name.startswith("<")]  # <synthetic>
    return answered or [*filter(None, [run.model])]


def project_of(run: Trajectory) -> str | None:
    """Name of the working folder; None if it is unknown, a root or a home."""
    if run.cwd is None or run.cwd == run.home or _HOME.fullmatch(run.cwd):
        return None
    return re.split(r"[\\/]", run.cwd.rstrip("\\/"))[-1] or None


def person_of(run: Trajectory) -> str | None:
    """Name of the home folder, which may be part of the working folder's path; None if unknown."""
    found = next(filter(None, (_HOME.match(path) for path in (run.home, run.cwd) if path)), None)
    return found and (found[1] or found[2])


def _fresh(usage: Usage) -> int | None:
    """Uncached input; None if the log counts more cached tokens than input."""
    return None if usage.input is None or usage.input < 0 else usage.input


def step_rows(trajectory: Trajectory, events: tuple[ResourceEvent, ...]) -> tuple[StepRow, ...]:
    related = {(event.agent, event.step) for event in events if event.counts}
    return tuple([_step_row(trajectory, step, related) for step in trajectory.steps])


def _step_row(trajectory: Trajectory, step: Step, related: set[tuple[str, int]]) -> StepRow:
    usage = step.usage or _NO_USAGE
    results = [call.result for call in step.calls if call.result is not None]
    asks = [call.asked for call in step.calls]
    return StepRow(
        trajectory=trajectory.trajectory,
        agent=step.agent,
        step=step.index,
        file=trajectory.files[step.file] if step.file else None,
        line=step.line,
        timestamp=step.timestamp,
        actions=tuple([call.action for call in step.calls]),
        failed_calls=[result.ok for result in results].count(False),
        skill_related=(step.agent, step.index) in related,
        text_bytes=step_bytes(step),
        preview=_preview(asks, step.text),
        input=_fresh(usage),
        cache_write=usage.cache_write,
        cache_read=usage.cache_read,
        output=usage.output,
    )


_WITHOUT_CALL = frozenset({"injected", "slash", "reinjected"})
"""Ways of text that the harness adds between two steps."""


def compaction_rows(
    trajectory: Trajectory, events: tuple[ResourceEvent, ...]
) -> tuple[CompactionRow, ...]:
    """Compactions with the events whose text each one found in the context, and kept."""
    rows = []
    removed: set[int] = set()
    shown = [event for event in events if exposes_text(event)]
    for position, one in enumerate(trajectory.compactions):
        file = trajectory.files[one.file] if one.file else None
        had = [
            event for event in shown
            if event.ordinal not in removed and _is_before(event, one, trajectory.files)
        ]  # fmt: skip
        kept = None
        if one.kept is not None:
            kept = tuple(
                event.ordinal for event in had
                if event.file == file and any(a <= event.line <= b for a, b in one.kept)
            )  # fmt: skip
            removed |= {event.ordinal for event in had} - {*kept}
        ordinals = tuple(event.ordinal for event in had)
        rows.append(
            CompactionRow(
                trajectory.trajectory, position, one.agent, one.step, file, one.line, ordinals, kept
            )
        )
    return tuple(rows)


def _is_before(event: ResourceEvent, compaction: Compaction, files: tuple[str, ...]) -> bool:
    if event.agent != compaction.agent or event.step > compaction.step:
        return False
    if event.step < compaction.step or event.via not in _WITHOUT_CALL:
        return True
    file = files.index(event.file) if event.file else 0
    return (file, event.line) < (compaction.file, compaction.line)


def offered_rows(trajectory: Trajectory) -> tuple[OfferedRow, ...] | None:
    """Skills shown to the model; None if the log does not tell."""
    if (offered := trajectory.offered) is None:
        return None
    key = trajectory.trajectory
    return tuple(OfferedRow(key, one.name, one.bundled, one.listing_bytes) for one in offered)


def _preview(asks: list[str], message: str) -> str:
    """First characters of the step's calls, else of its text."""
    text = " ; ".join([ask[:_LOOK] for ask in asks]) or message
    near = " ".join(text[:_NEAR].split())
    if len(near) < PREVIEW and len(text) > _NEAR:
        near = " ".join(text[:_LOOK].split())
    return near[:PREVIEW]


def unread_row(found: FoundSource) -> SourceRow:
    """Row of a source without a format: an error if the user named it or it is broken, else skipped."""
    status: SourceStatus = "error" if found.named or found.broken else "skipped"
    return SourceRow(path_text(found.source.path), status, None, found.problem, found.size)


def part_rows(found: FoundSource) -> Iterator[SourceRow]:
    """Rows of a source's siblings and of their shorter captures; its own row has the result for all."""
    head = path_text(found.source.path)
    for path in (*found.source.siblings, *found.shorter):
        facts = facts_at(path_text(path))
        size = facts.size if facts else None
        if path in found.source.siblings:
            yield SourceRow(path_text(path), "part", found.format, f"part of {head!r}", size)
        else:
            reason = f"shorter copy of a part of {head!r}"
            yield SourceRow(path_text(path), "duplicate", found.format, reason, size)


CACHED_TEXTS = 50_000
"""Distinct texts whose counts a worker caches (about 10 MB)."""
_counts: dict[bytes, int] = {}


def step_tokens(trajectory: Trajectory) -> dict[tuple[str, int], int]:
    """(agent, step) -> tokens of its texts, each tokenized separately (measures §3.2)."""
    return {
        (step.agent, step.index): sum(map(count, step_texts(step))) for step in trajectory.steps
    }


def with_tokens(
    exposure: Exposure,
    events: Sequence[ResourceEvent],
    manifest: SkillManifest,
    units: Sequence[MappedUnit],
) -> Exposure:
    """Add tokens to an exposure: of every unit seen, and of all Skill text shown.

    Shown text is the lines of the variant's files that reached a context, each showing tokenized
    separately; text without a known place adds nothing.
    """
    texts = {
        (resource.skill, resource.path): resource.text
        for resource in manifest.resources
        if resource.text
    }
    shown = 0
    for event in filter(exposes_text, events):
        text = texts.get((event.skill, event.resource), "")
        shown += count(_shown_part(text, event))
    unit_texts = {mapped.unit.unit: mapped.unit.text for mapped in units}
    seen = tuple(replace(unit, tokens=count(unit_texts[unit.unit])) for unit in exposure.seen)
    return replace(exposure, seen=seen, shown_tokens=shown)


def _shown_part(text: str, event: ResourceEvent) -> str:
    """Text of a file that an event showed."""
    if event.content_exposed == "full":
        return text
    lines = text.splitlines(keepends=True)
    return "".join(line for first, last in event.lines or () for line in lines[first - 1 : last])


def count(text: str) -> int:
    """Tokens of a text."""
    key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    counted = _counts.get(key)
    if counted is None:
        if len(_counts) >= CACHED_TEXTS:
            _counts.clear()
        counted = _counts[key] = texts.count(text)
    return counted


def analyse(
    name: str,
    trajectory: Trajectory | None,
    record: "TrialRecord | None" = None,
    manifest: SkillManifest | None = None,
    units: Sequence[MappedUnit] = (),
    *,
    options: MeasureOptions = NOTHING_FURTHER,
) -> Ingested:
    """Return all database rows of one trial, or of one foreign run (without a record).

    Tokens of Skill text are counted if there is a knowledge map; those of every step only on
    request, because that is slow. Raises UsageError if a metric returns an undefined measure.
    """
    if trajectory is None:
        context = TrialContext(trial=name, record=record, manifest=manifest)
        return Ingested(trajectory=None, measures=measures_of(context, options.metrics))
    attribution = attribute(trajectory, manifest)
    variant = attribution.manifest.variant
    exposure = None
    if units and variant:
        exposure = expose(
            trajectory, attribution.events, units, variant, attribution.manifest.skills
        )
        exposure = with_tokens(exposure, attribution.events, attribution.manifest, units)
    steps = step_rows(trajectory, attribution.events)
    context = TrialContext(
        trial=name,
        record=record,
        trajectory=trajectory,
        events=attribution.events,
        exposure=exposure,
        unknown_use=_unknown_use(trajectory, attribution),
        manifest=attribution.manifest,
        step_bytes={(row.agent, row.step): row.text_bytes for row in steps},
        step_tokens=step_tokens(trajectory) if options.count_tokens else {},
        prices=options.prices,
    )
    return Ingested(
        trajectory=trajectory_row(
            trajectory, name if record else None, attribution.warnings, named=options.projects
        ),
        steps=steps,
        offered=offered_rows(trajectory),
        events=attribution.events,
        compactions=compaction_rows(trajectory, attribution.events),
        measures=measures_of(context, options.metrics),
        exposure=exposure,
        unknown_tools=attribution.unknown_tools,
    )


def _unknown_use(trajectory: Trajectory, attribution: Attribution) -> bool:
    """Whether an unknown tool may have opened a Skill that is not the agent's own."""
    own = {skill.name for skill in trajectory.offered or () if skill.bundled}
    return any(skill not in own for one in attribution.unknown_tools for skill in one.skills)


def size_of(files: Iterable[str]) -> int:
    """Total bytes of raw files; missing ones count 0."""
    paths = [path_of(file) for file in files]
    return sum(path.stat().st_size for path in paths if path.is_file())


def measures_of(context: TrialContext, further: tuple[str, ...] = ()) -> tuple[Measure, ...]:
    """Rows of every registered metric and of `further` ones."""
    rows: list[Measure] = []
    for name, metric in families(further).items():
        found = list(metric(context))
        if name not in METRICS:
            _check_defined(name, metric.definitions, found)
        rows += found
    return tuple(rows)


def _check_defined(name: str, defined: Container[str], found: Iterable[Measure]) -> None:
    for measure in found:
        if measure.metric not in defined:
            raise UsageError(f"metric {name!r} returns the undefined measure {measure.metric!r}")


def definition_rows(further: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Rows of the table `metrics`, one per measure. Raises UsageError for an invalid name."""
    return [
        {"metric": measure, "family": name, **asdict(definition)}
        for name, metric in families(further).items()
        for measure, definition in metric.definitions.items()
    ]


def without_quotes(run: Ingested) -> Ingested:
    """Remove previews and quotes from the rows of a run."""
    steps = tuple([replace(step, preview="") for step in run.steps])
    leaks = tuple([replace(leak, excerpt="") for leak in run.leaks])
    return replace(run, steps=steps, events=tuple(map(unquoted_event, run.events)), leaks=leaks)


def unquoted_event(event: ResourceEvent) -> ResourceEvent:
    """Remove quote and note."""
    return replace(event, quote="", note="")


def unquoted_verdict(verdict: Verdict) -> Verdict:
    """Remove both quotes and the note."""
    return replace(verdict, source_quote=None, action_quote=None, note="", used=())


def without_texts(run: Trajectory) -> Trajectory:
    """Remove all text from a run's steps, calls and messages."""
    messages = tuple(replace(message, text="") for message in run.messages)
    return replace(run, steps=tuple(map(_without_text, run.steps)), messages=messages, warnings=())


def _without_text(step: Step) -> Step:
    return replace(step, text="", reasoning="", calls=tuple(map(_unworded, step.calls)))


def _unworded(call: ToolCall) -> ToolCall:
    result = call.result and replace(call.result, text="", clean=None)
    return replace(
        call, command=call.name, path=None, pattern=None, written=None, workdir=None, arguments={},
        result=result,
    )  # fmt: skip


UNITS = (
    "base", "measures/metrics", "logs", "events", "store",
)  # fmt: skip
"""Units loaded to read logs, attribute and measure."""
LIBRARIES = ("jiter", "msgspec", "orjson")
"""Libraries whose versions can change the result."""


def reader_digest(options: MeasureOptions, formats: Iterable[str] = ()) -> str:
    """Digest of the reading code, plugins included, and of the options; if it changes, every log is
    read again."""
    plugins = [(name, file_digest(name)) for name in (*formats, *options.metrics) if ":" in name]
    return sha256(msgspec.json.encode([code_digest(), plugins, options]))


@cache
def code_digest(*more: str) -> str:
    """Digest of the reading code and of further units of the package."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256(f"{__version__} {[*map(version, LIBRARIES)]}".encode())
    for unit in (*UNITS, *more):
        inside = (package / unit).rglob("*") if (package / unit).is_dir() else [package / unit]
        for path in sorted(one for one in inside if one.suffix in {".py", ".sql"}):
            digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def file_digest(plugin: str) -> str:
    """Digest of the file of a loaded plugin."""
    file = getattr(modules.get(plugin.partition(":")[0]), "__file__", None)
    return sha256(Path(file).read_bytes()) if file else ""
