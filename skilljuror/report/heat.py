"""Coverage of a Skill: which of its knowledge units runs were shown, and which they used (heat)."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror.base.errors import StudyError, UsageError
from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.study import StudyPlan
from skilljuror.measures.rates import wilson_interval
from skilljuror.store.connect import open_read
from skilljuror.store.questions import run

RARE = 3.0
"""Seen in none of n runs: at most 3/n of all runs, with 95 % confidence (rule of three)."""
MOST = 0.5
"""Share of runs above which a unit counts as used in most of them."""
_CONDITIONS = "SELECT condition, variant, role FROM conditions ORDER BY position"


class UnitHeat(Struct, frozen=True):
    """One knowledge unit of a Skill, in the layout of the condition."""

    task: str
    """Task, or the first of those with the same Skill and their number; of own logs, the name of the Skill."""
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
    tokens: int
    """Tokens of that text."""
    runs: int
    """Runs with a readable log and a knowledge map; of own logs, runs that were shown any of the Skill."""
    seen: int
    """Of these, runs in which any agent was shown the unit."""
    unplaced: int
    """Runs that were shown a part of a Skill at unknown lines, which may hold the unit."""
    ran: int
    """Runs in which its file was run or imported."""
    used_low: int | None
    """Runs in which a line of the unit proves a use; None before judging."""
    used_high: int | None
    """The same, counting every run that may have used it."""
    first_step: float | None
    """Median step of its first showing; None for a unit that no run was shown."""
    tokens_per_run: float
    """Tokens of its text, each time it was shown, over all runs."""

    @property
    def share(self) -> float:
        return self.seen / self.runs

    @property
    def at_most(self) -> float | None:
        """Upper bound of the share of a unit that no run was shown; None for others, and if a run may have been."""
        return min(1.0, RARE / self.runs) if self.seen + self.unplaced == 0 else None

    @property
    def remark(self) -> str:
        """What an author may want to do about it; "" for nothing that the runs can tell."""
        if self.seen == 0:
            return "" if self.ran or self.unplaced else "never shown"
        shown = wilson_interval(self.seen, self.runs)
        if self.used_low == 0 and shown and shown.low > MOST:
            return "shown, no use proven"
        used = wilson_interval(self.used_low or 0, self.runs)
        if self.file.rpartition("/")[2].lower().startswith("skill.") or not used:
            return ""
        return "used in most runs, and not in the root" if used.low > MOST else ""


class FileHeat(Struct, frozen=True):
    """The units of one file."""

    task: str
    file: str
    units: int
    seen: int
    """Units that at least one run was shown."""
    used: int | None
    """Units that at least one run used, proven; None before judging."""
    ran: int
    """Runs in which the file was run or imported."""
    runs: int
    mean_share: float
    """Mean over its units of the share of runs that were shown them."""
    tokens_per_run: float
    """Tokens of its units, each time one was shown, over all runs."""


class Heat(Struct, frozen=True):
    """The units of a condition's Skills, or of a Skill in own logs."""

    name: str
    """Condition, or Skill."""
    units: tuple[UnitHeat, ...]
    """By task, file and line."""
    files: Mapping[tuple[str, str], Path]
    """(task, file) -> the file itself."""

    @property
    def seen(self) -> float:
        """Share of the units that at least one run was shown."""
        return sum(one.seen > 0 for one in self.units) / len(self.units)

    @property
    def used(self) -> float | None:
        """Share of the units that at least one run used, proven; None if a task is not judged."""
        counts = [one.used_low for one in self.units]
        return None if None in counts else sum(bool(count) for count in counts) / len(counts)


def heat(study: Path, condition: str | None = None) -> Heat:
    """Return the units of a condition, by default the contrast's treatment.

    Raises StudyError without a plan or a run with a knowledge map, UsageError for a condition that
    offers no Skill.
    """
    folder = StudyFolder(study)
    if not folder.planned:
        raise StudyError(
            f"{str(study)!r} has no builds, so its Skills have no knowledge map: heat needs a study with a"
            " plan",
            file=str(study),
        )
    with open_read(folder.existing_database) as reader:
        name, variant = _arm(run(reader, _CONDITIONS).rows, condition)
        rows = run(reader, "unit_heat", condition=name).records()
        known = run(reader, "SELECT DISTINCT build FROM unit_places WHERE variant = $v", v=variant)
    planned = [task.name for task in read_record(StudyPlan, folder.plan_file).tasks]
    if missing := sorted({*planned} - {str(row[0]) for row in known.rows}):
        raise StudyError(
            f"{str(folder.build(missing[0]) / 'knowledge.jsonl')!r} is missing or empty; restore it,"
            " or build again, and ingest",
            file=str(study),
        )
    if not rows:
        raise StudyError(
            f"no run of {name!r} has a readable log and a knowledge map; run the study, then"
            f" `skilljuror ingest --study {study}`",
            file=str(study),
        )
    files, units = {}, []
    for row in rows:
        first, *more = row["tasks"].split(", ")
        task = f"{first} and {len(more)} more" if more else first
        files[task, row["file"]] = folder.offered(first, variant) / row["file"]
        values = row | {"task": task, "start": row["first_line"], "end": row["last_line"]}
        units.append(UnitHeat(**{field: values[field] for field in UnitHeat.__struct_fields__}))
    return Heat(name, tuple(units), files)


def _arm(conditions: Iterable[tuple[Any, ...]], wanted: str | None) -> tuple[str, str]:
    """Name and variant of the condition."""
    offering = {name: (variant, role) for name, variant, role in conditions if variant}
    treated = [name for name, (_, role) in offering.items() if role == "treatment"]
    name = wanted or (treated or [*offering] or [""])[-1]
    if name not in offering:
        raise UsageError(
            f"--condition {name!r}: choose one that offers a Skill: {', '.join(offering) or 'none does'}",
            field="condition",
        )
    return name, offering[name][0]


def by_file(units: Iterable[UnitHeat]) -> Iterator[FileHeat]:
    """Sum up the units of each file, in order."""
    files: dict[tuple[str, str], list[UnitHeat]] = {}
    for unit in units:
        files.setdefault((unit.task, unit.file), []).append(unit)
    for (task, file), found in files.items():
        uses = [one.used_low for one in found]
        yield FileHeat(
            task,
            file,
            units=len(found),
            seen=sum(one.seen > 0 for one in found),
            used=None if None in uses else sum(map(bool, uses)),
            ran=found[0].ran,
            runs=found[0].runs,
            mean_share=sum(one.share for one in found) / len(found),
            tokens_per_run=sum(one.tokens_per_run for one in found),
        )


def lcov(found: Heat) -> Iterator[str]:
    """Lines of an LCOV trace file: how many runs were shown each line that holds a unit."""
    files: dict[Path, dict[int, int]] = {}
    for one in found.units:
        lines = files.setdefault(found.files[one.task, one.file], {})
        for line in range(one.start, one.end + 1):
            lines[line] = max(one.seen, lines.get(line, 0))
    for file, lines in files.items():
        yield f"TN:{found.name.replace('-', '_')}"
        yield f"SF:{file.resolve()}"
        yield from (f"DA:{line},{lines[line]}" for line in sorted(lines))
        yield f"LF:{len(lines)}"
        yield f"LH:{sum(count > 0 for count in lines.values())}"
        yield "end_of_record"
