"""Coverage of a Skill: which of its knowledge units the runs of one condition were shown (heat)."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror.build.given_skills import units_of_given
from skilljuror.build.manifests import units_of_build
from skilljuror.errors import StudyError, UsageError
from skilljuror.files import StudyFolder, read_record
from skilljuror.models.knowledge import MappedUnit
from skilljuror.models.study import StudyPlan
from skilljuror.queries.run import open_read, run
from skilljuror.store.reader import Reader

_RUNS = """
SELECT r.task, count(*) AS runs
FROM runs AS r
JOIN measures AS m ON m.trial = r.run AND m.metric = 'units_offered' AND m.value IS NOT NULL
WHERE r.condition = $condition
GROUP BY r.task
ORDER BY r.task
"""
_SEEN = """
SELECT r.task, e.unit, count(DISTINCT r.run) AS seen
FROM exposure AS e
JOIN trajectories AS t ON t.trajectory = e.trajectory
JOIN runs AS r ON r.run = coalesce(t.trial, t.trajectory)
WHERE r.condition = $condition
GROUP BY r.task, e.unit
ORDER BY r.task, e.unit
"""
RARE = 3.0
"""Seen in none of n runs: at most 3/n of all runs, with 95 % confidence (rule of three)."""


class UnitHeat(Struct, frozen=True):
    """One knowledge unit of one task's Skill, in the layout of the condition."""

    task: str
    file: str
    """Path in the offered Skills."""
    start: int
    """First line, 1-based."""
    end: int
    """Last line, inclusive."""
    kind: str
    """Kind of the unit."""
    text: str
    """Its normalised text."""
    runs: int
    """Runs of the condition with a readable log and a knowledge map."""
    seen: int
    """Of these, runs in which any agent was shown the unit."""

    @property
    def share(self) -> float:
        return self.seen / self.runs

    @property
    def at_most(self) -> float | None:
        """Upper bound of the share of a unit that no run was shown; None for others."""
        return min(1.0, RARE / self.runs) if self.seen == 0 else None


class FileHeat(Struct, frozen=True):
    """The units of one file."""

    task: str
    file: str
    units: int
    seen: int
    """Units that at least one run was shown."""
    runs: int
    mean_share: float
    """Mean over its units of the share of runs that were shown them."""


def heat(study: Path, condition: str | None = None) -> tuple[str, tuple[UnitHeat, ...]]:
    """Return the condition, by default the contrast's treatment, and its units by task, file and line.

    Raises StudyError without a plan or a run with a knowledge map, UsageError for a condition that
    offers no Skill.
    """
    folder = StudyFolder(study)
    if not folder.planned:
        raise StudyError(
            f"{str(study)!r} has no builds, so its Skills have no knowledge map; for logs as found see"
            f" `skilljuror query {study} fanout_by_resource`",
            file=str(study),
        )
    plan = read_record(StudyPlan, folder.plan_file)
    name, variant = _arm(plan, condition)
    with open_read(folder.database) as reader:
        runs = dict(_rows(reader, _RUNS, name))
        seen = {(task, unit): count for task, unit, count in _rows(reader, _SEEN, name)}
    if not runs:
        raise StudyError(
            f"no run of {name!r} has a readable log and a knowledge map; run the study, then"
            f" `skilljuror ingest --study {study}`",
            file=str(study),
        )
    found = [
        UnitHeat(
            task, place.file, place.start, place.end, mapped.unit.kind, mapped.unit.text, runs[task],
            seen.get((task, mapped.unit.unit), 0),
        )
        for task in runs
        for mapped in _units(folder, task, variant)
        if (place := mapped.places.get(variant)) is not None
    ]  # fmt: skip
    if not found:
        raise StudyError(f"the Skills of {name!r} have no knowledge unit", file=str(study))
    return name, tuple(sorted(found, key=lambda one: (one.task, one.file, one.start, one.end)))


def _arm(plan: StudyPlan, condition: str | None) -> tuple[str, str]:
    """Name and variant of the condition."""
    arms = {one.name: one.variant for one in plan.config.conditions}
    offering = [name for name, variant in arms.items() if variant]
    contrast = plan.config.contrast
    name = condition or (contrast.treatment if contrast else None) or (offering or [""])[-1]
    variant = arms.get(name)
    if variant is None:
        raise UsageError(
            f"--condition {name!r}: choose one that offers a Skill: {', '.join(offering) or 'none does'}",
            field="condition",
        )
    return name, variant


def _rows(reader: Reader, sql: str, condition: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in run(reader, sql, condition=condition).rows]


def _units(folder: StudyFolder, task: str, variant: str) -> tuple[MappedUnit, ...]:
    """Raises StudyError for a build whose knowledge map is gone: its units would be missing unseen."""
    offered = folder.offered(task, variant)
    if offered.parent.parent == folder.given:
        return units_of_given(offered, variant)
    build = folder.build(task)
    if found := units_of_build(build):
        return found
    raise StudyError(
        f"{str(build / 'knowledge.jsonl')!r} is missing or empty; restore it, or build and run again",
        file=str(build),
    )


def by_file(units: Iterable[UnitHeat]) -> Iterator[FileHeat]:
    """Sum up the units of each file, in order."""
    files: dict[tuple[str, str], list[UnitHeat]] = {}
    for unit in units:
        files.setdefault((unit.task, unit.file), []).append(unit)
    for (task, file), found in files.items():
        shown = sum(one.seen > 0 for one in found)
        mean = sum(one.share for one in found) / len(found)
        yield FileHeat(task, file, len(found), shown, found[0].runs, mean)


def lcov(study: Path, condition: str, units: Iterable[UnitHeat]) -> Iterator[str]:
    """Lines of an LCOV trace file: how many runs were shown each line that holds a unit."""
    plan = read_record(StudyPlan, StudyFolder(study).plan_file)
    _, variant = _arm(plan, condition)
    files: dict[Path, dict[int, int]] = {}
    for one in units:
        lines = files.setdefault(StudyFolder(study).offered(one.task, variant) / one.file, {})
        for line in range(one.start, one.end + 1):
            lines[line] = max(one.seen, lines.get(line, 0))
    for file, lines in files.items():
        yield f"TN:{condition.replace('-', '_')}"
        yield f"SF:{file.resolve()}"
        yield from (f"DA:{line},{lines[line]}" for line in sorted(lines))
        yield f"LF:{len(lines)}"
        yield f"LH:{sum(count > 0 for count in lines.values())}"
        yield "end_of_record"
