"""Convert trajectories to rows: places, counts and short previews, never full texts."""

import re
from collections import Counter
from collections.abc import Iterator

from skilljuror.base.files import path_text
from skilljuror.base.results import (
    CompactionRow,
    OfferedRow,
    SourceRow,
    SourceStatus,
    StepRow,
    TrajectoryRow,
)
from skilljuror.base.texts import model_date, plain_model
from skilljuror.base.trajectory import Compaction, ResourceEvent, Step, Trajectory, Usage
from skilljuror.events.exposure import exposes_text
from skilljuror.logs.base import FoundSource
from skilljuror.logs.discovery.file_facts import facts_at
from skilljuror.measures.metrics.process import step_bytes

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
    if trajectory.offered is None:
        return None
    key = trajectory.trajectory
    return tuple(OfferedRow(key, skill.name, skill.bundled) for skill in trajectory.offered)


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
