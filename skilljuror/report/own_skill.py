"""Coverage of a Skill in people's own logs: its text as it is today, found by content.

A unit was shown by an event if the lines that the event showed contain all of the unit's lines, so that old
logs count for the text that a revision of the Skill has left unchanged.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from msgspec import Struct

from skilljuror.base.errors import StudyError, TrajectoryError, UsageError
from skilljuror.base.files import StudyFolder
from skilljuror.base.results import Verdict
from skilljuror.base.skill import CONTENT_KINDS
from skilljuror.base.trajectory import ResourceEvent, Trajectory
from skilljuror.base.workers import Listener, Progress, map_unordered, silent, workers_for
from skilljuror.events.attribute import attribute
from skilljuror.events.exposure import exposes_text
from skilljuror.judge.replay.shown_text import RUN_KINDS, ShownText
from skilljuror.judge.tracing import TracingJudge
from skilljuror.report.heat import Heat, UnitHeat
from skilljuror.skill.bundles import load_bundle
from skilljuror.skill.markdown.text_file import read_text
from skilljuror.skill.units.extract import units_of
from skilljuror.store.ingest.logs import LoggedRun, logged_runs, read_logged
from skilljuror.store.ingest.token_counts import count
from skilljuror.store.questions.run import run

_TOUCHED = "SELECT DISTINCT trajectory, skill FROM events WHERE counted"
_NOT_WORD = re.compile(r"[\W_]+")


class OwnUnit(Struct, frozen=True):
    """A unit of the Skill with its lines."""

    unit: str
    resource: str
    """Path inside the Skill."""
    start: int
    end: int
    kind: str
    text: str
    lines: tuple[str, ...]
    """Its lines without white space around them."""
    tokens: int


class OwnRun(Struct, frozen=True):
    """What one run was shown and used."""

    shown: dict[str, list[int]]
    """Unit -> step of each showing."""
    ran: frozenset[str] = frozenset()
    """Resources that it ran or imported."""
    proven: frozenset[str] = frozenset()
    """Units with a line that proves a use."""
    possible: frozenset[str] = frozenset()
    """Units that it may have used."""


class _Job(Struct, frozen=True):
    logged: LoggedRun
    names: frozenset[str]
    """Names of the Skill in this log."""
    units: tuple[OwnUnit, ...]


def heat_of_skill(study: Path, folder: Path, *, jobs: int = 1, progress: Listener = silent) -> Heat:
    """Return the units of a Skill's folder over the runs of a study of foreign logs that were shown any.

    Raises UsageError for a study with a plan or a folder without one SKILL.md, StudyError where no run
    was shown the Skill.
    """
    own = StudyFolder.existing(study)
    if own.planned:
        raise UsageError(
            "--skill is for logs as found; this study has conditions: leave it out", field="skill"
        )
    name, units = _units_of(folder)
    rows = run(own.existing_database, _TOUCHED).rows
    touched: dict[str, set[str]] = defaultdict(set)
    for trajectory, skill in rows:
        if _plain(str(skill)) in {_plain(name), _plain(folder.resolve().name)}:
            touched[str(trajectory)].add(str(skill))
    logged = logged_runs(own.existing_database, sorted(touched))
    work = [_Job(one, frozenset(touched[key]), units) for key, one in logged.items()]
    runs: list[OwnRun] = []
    for done, (job, found) in enumerate(map_unordered(_read, work, workers_for(work, jobs)), 1):
        runs += [found] if found and found.shown else []
        progress(Progress("read", done, len(work), job.logged.trajectory))
    if not runs:
        known = sorted({str(skill) for _, skill in rows})
        raise StudyError(
            f"no readable run of {str(study)!r} was shown text of the Skill {name!r} as it is in"
            f" {str(folder)!r}; its logs touch: {', '.join(known) or 'no Skill'}",
            file=str(folder),
        )
    found_units = tuple(_heat_of(unit, name, runs) for unit in units)
    files = {(name, one.resource): folder / one.resource for one in units}
    return Heat(name, found_units, files)


def _plain(name: str) -> str:
    """Normal form of a name, without its plugin, as the database's macro plain_name."""
    return _NOT_WORD.sub("-", name.rpartition(":")[2].rpartition("/")[2].lower())


def _units_of(folder: Path) -> tuple[str, tuple[OwnUnit, ...]]:
    bundle = load_bundle(folder, inspect=False)
    if len(bundle.skills) != 1:
        raise UsageError(
            f"--skill {str(folder)!r}: name the folder of one Skill, with its SKILL.md",
            field="skill",
        )
    (skill,) = bundle.skills
    texts = {path: read_text(blob) for path, blob in bundle.files.items()}
    units: list[OwnUnit] = []
    for unit in units_of(bundle):
        text = texts[unit.file]
        if unit.kind in CONTENT_KINDS and text is not None:
            lines = tuple(filter(None, map(str.strip, text.lines[unit.start - 1 : unit.end])))
            resource = unit.file.removeprefix(f"{skill.directory}/")
            units.append(
                OwnUnit(
                    unit.unit, resource, unit.start, unit.end, unit.kind, unit.text, lines,
                    count(unit.text),
                )
            )  # fmt: skip
    return skill.name, tuple(sorted(units, key=lambda one: (one.resource, one.start, one.end)))


def _read(job: _Job) -> OwnRun | None:
    """Read one log again; None for one that cannot be read."""
    try:
        trajectory = read_logged(job.logged)
    except TrajectoryError:
        return None
    attribution = attribute(trajectory, None)
    events, manifest = attribution.events, attribution.manifest
    texts = _shown_lines(trajectory, ShownText(trajectory, events, manifest))
    said = {
        one.event: one
        for one in TracingJudge().judge(trajectory.trajectory, trajectory, events, manifest)
    }
    shown: dict[str, list[int]] = defaultdict(list)
    proven: set[str] = set()
    possible: set[str] = set()
    for i, event in enumerate(events):
        if event.skill not in job.names or not exposes_text(event):
            continue
        verdict = said.get(event.event)
        for unit in _units_in(job.units, event, texts[i]):
            shown[unit.unit].append(event.step)
            if verdict and not set(unit.lines).isdisjoint(_proofs(verdict)):
                proven.add(unit.unit)
            if verdict is None or verdict.label == "yes" or verdict.category.open:
                possible.add(unit.unit)
    ran = {
        event.resource
        for event in events
        if event.skill in job.names and event.kind in RUN_KINDS and event.ok is not False
    }
    return OwnRun(dict(shown), frozenset(ran), frozenset(proven), frozenset(possible | proven))


def _proofs(verdict: Verdict) -> set[str]:
    return {line.strip() for line, _ in verdict.used}


def _units_in(
    units: tuple[OwnUnit, ...], event: ResourceEvent, lines: set[str]
) -> Iterator[OwnUnit]:
    for unit in units:
        if unit.resource == event.resource and unit.lines and lines.issuperset(unit.lines):
            yield unit


def _shown_lines(trajectory: Trajectory, shown: ShownText) -> dict[int, set[str]]:
    """Position of an event -> the stripped lines that it showed."""
    found: dict[int, set[str]] = defaultdict(set)
    for position in shown.events_at:
        for portion in shown.portions(position, _text_at(trajectory, position)):
            for i in portion.events:
                found[i].update(map(str.strip, portion.lines))
    return found


def _text_at(trajectory: Trajectory, position: tuple[int, int]) -> str:
    step, call = position
    if step < 0:
        return trajectory.messages[call].text
    result = trajectory.steps[step].calls[call].result
    if result is None:
        return ""
    return result.text if result.clean is None else result.clean


def _heat_of(unit: OwnUnit, name: str, runs: list[OwnRun]) -> UnitHeat:
    steps = [min(one.shown[unit.unit]) for one in runs if unit.unit in one.shown]
    times = sum(len(one.shown.get(unit.unit, ())) for one in runs)
    return UnitHeat(
        task=name, file=unit.resource, start=unit.start, end=unit.end, kind=unit.kind,
        text=unit.text, tokens=unit.tokens, runs=len(runs), seen=len(steps),
        unplaced=0,  # found by content, not by lines
        ran=sum(unit.resource in one.ran for one in runs),
        used_low=sum(unit.unit in one.proven for one in runs),
        used_high=sum(unit.unit in one.possible for one in runs),
        first_step=median(steps) if steps else None,
        tokens_per_run=unit.tokens * times / len(runs),
    )  # fmt: skip
