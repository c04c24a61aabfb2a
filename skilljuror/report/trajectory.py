"""One run of a study or of logs: looked up with all details, and the page of one or several runs side by side."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from shlex import quote
from typing import Any

from msgspec import Struct

from skilljuror.base.errors import StudyError, did_you_mean
from skilljuror.base.files import StudyFolder, write_atomic
from skilljuror.base.results import Measure, Verdict
from skilljuror.base.skill import CONTENT_KINDS, MappedUnit
from skilljuror.base.study import TrialRecord
from skilljuror.base.trajectory import Exposure, ResourceEvent, SkillManifest, Trajectory
from skilljuror.harness.artifacts import verifier_output
from skilljuror.store.logs import logged_runs, read_logged
from skilljuror.store.questions import run
from skilljuror.store.records import keeps_quotes
from skilljuror.store.rows import (
    analyse,
    unquoted_event,
    unquoted_verdict,
    without_texts,
)
from skilljuror.store.trials import read_trial

USE = ("agent_minutes", "log_minutes", "display_tokens")
"""Measures of a run's minutes and tokens."""
VERIFIER_BYTES = 65_536
"""Maximum length of a verifier's output."""
SUGGESTIONS = 4
MOST_RANGES = 3  # of the lines of an access
"""Maximum number of suggested names in an error."""


class UnitSight(Struct, frozen=True):
    """A knowledge unit that a trial offered, and the first time that it reached an agent."""

    unit: str
    """Id of the unit, the same in all variants of a build."""
    text: str
    agent: str
    """Whose context it reached first; "" for nobody's."""
    step: int | None
    """Step at which it did, 0 before the first; None for never."""


class RunDetails(Struct, frozen=True):
    """One trial or foreign run with all details."""

    name: str
    """Trial, or key of the trajectory."""
    record: TrialRecord | None
    """The trial; None for foreign logs."""
    trajectory: Trajectory | None
    """The log, read again from its raw file."""
    events: tuple[ResourceEvent, ...]
    verdicts: tuple[Verdict, ...]
    """Verdicts on the events; empty before `judge`."""
    verifier: str | None = None
    """End of the verifier's output; None for foreign logs and without output."""
    manifest: SkillManifest | None = None
    """Skills that the trial offered; None for foreign logs and if unknown."""
    units: tuple[UnitSight, ...] = ()
    """Knowledge units that it offered, in the order of the source; empty without a map."""
    use: tuple[Measure, ...] = ()
    """Minutes and display tokens of the agent."""


def look_up(study: Path, name: str) -> RunDetails:
    """Return one trial of a study, or one run of ingested logs; `name` may be a unique prefix.

    Raises StudyError with suggestions.
    """
    folder = StudyFolder(study)
    record, verifier, manifest = None, None, None
    units: tuple[MappedUnit, ...] = ()
    if folder.planned:
        name = _full_name(folder.finished_trials(), name, study, "trials")
        trial = read_trial(study, name)
        record, trajectory, manifest = trial.record, trial.trajectory, trial.manifest
        units = trial.units
        analysis = analyse(name, trajectory, record, manifest, trial.units)
        verifier = verifier_output(folder.trial_raw(name), VERIFIER_BYTES)
    else:
        database = StudyFolder.existing(study).readable()
        known = [str(row[0]) for row in run(database, "trajectory_names").rows]
        _refuse_unlogged(database, study, name, known)
        name = _full_name(known, name, study, "trajectories")
        trajectory = read_logged(logged_runs(database, [name])[name])
        analysis = analyse(name, trajectory)
    ingested = folder.shards or folder.database.is_file()
    rows = run(folder.readable(), "verdicts_of", trial=name).records() if ingested else []
    events, verdicts = analysis.events, tuple(Verdict(**row) for row in rows)
    use = tuple(measure for measure in analysis.measures if measure.metric in USE)
    if not keeps_quotes(study):
        return RunDetails(
            name, record, trajectory and without_texts(trajectory), tuple(map(unquoted_event, events)),
            tuple(map(unquoted_verdict, verdicts)), use=use,
        )  # fmt: skip
    sights = _sights(units, analysis.exposure, manifest.variant if manifest else None)
    return RunDetails(name, record, trajectory, events, verdicts, verifier, manifest, sights, use)


def _sights(
    units: Sequence[MappedUnit], exposure: Exposure | None, variant: str | None
) -> tuple[UnitSight, ...]:
    """The units of a variant that are text, each with its first arrival; none without an exposure."""
    if exposure is None:
        return ()
    first = {seen.unit: (seen.agent, seen.step) for seen in reversed(exposure.seen)}
    return tuple(
        UnitSight(mapped.unit.unit, mapped.unit.text, *first.get(mapped.unit.unit, ("", None)))
        for mapped in units
        if mapped.unit.kind in CONTENT_KINDS and mapped.places.get(variant or "")
    )


def _refuse_unlogged(database: Path, study: Path, name: str, runs: Sequence[str]) -> None:
    """Raise StudyError with the reason if `name` is a trial without a run, and no run matches."""
    rows = run(database, "observed_trials").records()
    unlogged = {str(row["trial"]): row for row in rows if not row["logged"]}
    matching = [trial for trial in unlogged if trial.startswith(name)]
    if name in unlogged or (matching and not any(known.startswith(name) for known in runs)):
        trial = _full_name(matching, name, study, "observed_trials")
        raise StudyError(
            f"trial {trial!r} has no readable log ({unlogged[trial]['reason']}); see:"
            f" skilljuror query {quote(str(study))} observed_trials",
            file=str(unlogged[trial]["source"]),
        )


def _full_name(names: Sequence[str], name: str, study: Path, what: str) -> str:
    """Complete a name or unique prefix. Raises StudyError with suggestions; `what` is both the kind
    of the names and the query that lists them."""
    matching = [name] if name in names else [full for full in names if full.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    listing = f"list them: skilljuror query {quote(str(study))} {what}"
    guess = did_you_mean(name, names)
    message = f"{name!r} is not among the {len(names)} {what} in {str(study)!r}; {guess}{listing}"
    if matching:
        shown = ", ".join(matching[:SUGGESTIONS]) + (" …" if len(matching) > SUGGESTIONS else "")
        message = f"{len(matching)} {what} begin with {name!r}: {shown}; name one in full, or {listing}"  # fmt: skip
    raise StudyError(message, file=str(study))


class Case(Struct, frozen=True):
    """One task in the two arms of the study's contrast."""

    runs: tuple[RunDetails, ...]
    """A trial of each arm, the control first."""
    chosen: tuple[str, ...]
    """Of each, how often its arm passes and why it was chosen."""


def look_up_case(study: Path, name: str) -> Case | None:
    """Return a trial of each arm that ended as most trials of its arm did; None if `name` is no task of
    the study. Open and contaminated trials are not chosen.

    Raises StudyError without a contrast and without a trial to choose.
    """
    folder = StudyFolder.existing(study)
    if not folder.planned or not folder.database.is_file():
        return None
    setup = next(iter(run(folder.database, "setup").records()), {})
    if name not in {row["task"] for row in run(folder.database, "cells").records()}:
        return None
    rows = run(folder.database, "contrast_trials", tasks=name).records()
    if not rows:
        raise StudyError(f"task {name!r} has no trial of two arms to compare", file=str(study))
    chosen = [
        representative(study, arm, [row for row in rows if row["condition"] == arm])
        for arm in filter(None, (setup["control"], setup["treatment"]))
    ]
    return Case(
        tuple(look_up(study, trial) for trial, _ in chosen), tuple(words for _, words in chosen)
    )


def representative(study: Path, arm: str, rows: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """The first trial that ended as most trials of its arm did, and the reason in words."""
    fit = [row for row in rows if row["final"] and not row["contaminated"]]
    if not fit:
        raise StudyError(
            f"no trial of {arm!r} is final and uncontaminated; see: skilljuror query"
            f" {quote(str(study))} contrast_trials",
            file=str(study),
        )
    passes = sum(row["strict"] for row in fit)
    passing = 2 * passes >= len(fit)
    trial = next(row["trial"] for row in fit if row["strict"] == passing)
    left_out = f", {len(rows) - len(fit)} open or contaminated" if len(fit) < len(rows) else ""
    does = "passes" if passing else "does not pass"
    words = f"{arm}: {passes} of {len(fit)} trials pass{left_out}; {trial} is the first that {does}"
    return trial, words


# The page

LONGEST = 20_000
"""Characters of one text on the page."""
SHORT = 160
"""Characters of a step's summary."""
VERIFIER_LINES = 8
"""Last lines of the verifier that are shown above the steps."""
LABELS = {"yes": "uptake", "no": "no uptake", "unknown": "uptake unknown"}
View = dict[str, Any]
"""What a template shows of a run, a step, a call or a use."""
Anchors = dict[tuple[str, int], str]
"""(agent, step) -> id of the step on the page."""
Sight = tuple[str, str]
"""Words, and the id of the step on the page, "" for none."""
SightRow = tuple[list[str], list[tuple[Sight, ...]]]
"""Texts of units, or name of a resource, and for each run the first sight and first use; empty if it never saw it."""


class Bridges:
    """Verdicts on the events of a run."""

    def __init__(self, verdicts: Iterable[Verdict]) -> None:
        self.of = {verdict.event: verdict for verdict in verdicts}

    def taken(self, event: ResourceEvent) -> Verdict | None:
        """Return the verdict on a use that was taken up."""
        verdict = self.of.get(event.event)
        return verdict if verdict and verdict.label == "yes" else None

    def links(self, event: ResourceEvent) -> list[tuple[str, str]]:
        """Return (name, words) of the signal of a use that was taken up."""
        verdict = self.taken(event)
        return [("signal", verdict.source_quote)] if verdict and verdict.source_quote else []

    def uptake(self, event: ResourceEvent) -> str:
        """Return the verdict in words; "" if the event is not judged."""
        verdict = self.of.get(event.event)
        if verdict is None:
            return ""
        step = f" in step {verdict.action_step}" if verdict.action_step else ""
        said = f": {verdict.action_quote}" if verdict.action_quote else ""
        return f"{LABELS[verdict.label]}: {verdict.category}{step}{said}"


def place_of(event: ResourceEvent) -> str:
    """Return Skill, resource and lines of an event."""
    ranges = [
        f"{first}-{last}" if first < last else f"{first}" for first, last in event.lines or ()
    ]
    rest = f" and {len(ranges) - MOST_RANGES} more places" if len(ranges) > MOST_RANGES + 1 else ""
    lines = ", ".join(ranges[:MOST_RANGES] if rest else ranges) + rest
    return f"{event.skill}/{event.resource}" + (f" lines {lines}" if lines else "")


def write_trajectories(
    runs: Sequence[RunDetails], target: Path, title: str = "", notes: Sequence[str] = ()
) -> None:
    """Write the page of one or more runs, with the texts that they hold; notes are lines below the title."""
    from skilljuror.report.render import templates  # a terminal needs none of this

    html = templates().get_template("trajectory.html.j2").render(**page_view(runs, title, notes))
    write_atomic(target, html)


def page_view(runs: Sequence[RunDetails], title: str = "", notes: Sequence[str] = ()) -> View:
    """Return what trajectory.html.j2 shows of one or more runs."""
    from skilljuror.report.tables import SCRIPTED

    views = [run_view(details, number) for number, details in enumerate(runs)]
    anchors = [view["anchors"] for view in views]
    return {
        "title": title or (views[0]["name"] if len(views) == 1 else f"{len(views)} runs"),
        "notes": notes, "runs": views, "opened": resource_rows(runs, anchors), "units": unit_rows(runs, anchors),
        "scripted": SCRIPTED if any(view["scripted"] for view in views) else "",
    }  # fmt: skip


def run_view(details: RunDetails, number: int = 0) -> View:
    """Return what the page shows of one run: name, facts, steps, and the chain of resource and action of
    each use that was taken up, or why there is none."""
    record, log, bridges = details.record, details.trajectory, Bridges(details.verdicts)
    facts = []
    if record is not None:
        reward = "no reward" if record.reward is None else f"reward {record.reward:g}"
        facts.append(f"{record.task} · {record.variant or 'no skill'} · {record.status} · {reward}")
        facts += [record.message] if record.message else []
    if log is None:
        facts.append("this trial has no readable log")
    else:
        agent = " ".join(part for part in (log.agent, log.agent_version, log.model) if part)
        began = datetime.fromtimestamp(log.started_at, UTC) if log.started_at else None
        facts += [f"{began:%Y-%m-%d %H:%M} UTC"] if began else []
        facts.append(f"{log.format} · {agent or 'agent unknown'} · {len(log.steps)} steps")
    measures = {measure.metric: measure for measure in details.use}
    minutes = measures.get("agent_minutes")
    if minutes is None or minutes.value is None:
        minutes = measures.get("log_minutes", minutes)
    short = minutes is not None and minutes.value is not None and minutes.value < 2
    time = ("seconds", 60, minutes) if short else ("minutes", 1, minutes)
    facts.append(" · ".join(
        f"{unit} not known ({measure.reason})" if measure.value is None else f"{measure.value * factor:,.0f} {unit}"
        for unit, factor, measure in (time, ("display tokens", 1, measures.get("display_tokens")))
        if measure is not None
    ))  # fmt: skip
    steps = list(_steps(details, log, bridges, number)) if log is not None else []
    anchors: Anchors = {(step["agent"] or "main", step["number"]): step["anchor"] for step in steps}
    chain = [
        {
            "place": place_of(event), "step": event.step, "anchor": anchors.get((event.agent, event.step), ""),
            "signal": _short(verdict.source_quote or ""), "action": _short(verdict.action_quote or ""),
            "action_step": verdict.action_step,
            "action_anchor": anchors.get((event.agent, verdict.action_step or 0), ""),
        }
        for event in details.events
        if (verdict := bridges.taken(event))
    ]  # fmt: skip
    no_chain = "No use with uptake."
    if not any(event.counts for event in details.events):
        no_chain = "No use of a Skill."
    elif not details.verdicts:
        no_chain = "The uses are not judged: skilljuror judge STUDY."
    verifier = details.verifier or ""
    return {
        "name": details.name,
        "facts": facts,
        "scripted": record is not None and record.scripted,
        "steps": steps,
        "anchors": anchors,
        "chain": sorted(chain, key=lambda link: (link["action_step"] or link["step"], link["step"])),
        "no_chain": no_chain,
        "verifier": _cut(verifier),
        "said": "\n".join(verifier.rstrip().splitlines()[-VERIFIER_LINES:]),
    }  # fmt: skip


def _steps(details: RunDetails, log: Trajectory, bridges: Bridges, number: int) -> Iterator[View]:
    """The prompt, as step 0, and each step with its calls and its uses of resources."""
    uses: dict[tuple[str, int], list[View]] = defaultdict(list)
    for event in details.events:
        verdict = bridges.of.get(event.event)
        failed = ", failed" if event.ok is False else ""
        uses[event.agent, event.step].append({
            "kind": event.kind, "place": place_of(event), "shown": f"{event.content_exposed}{failed}",
            "label": verdict.label if verdict else "", "uptake": bridges.uptake(event),
            "links": bridges.links(event),
        })  # fmt: skip

    def view(anchor: Any, at: tuple[str, int], summary: str, text: str, calls: Sequence[View]) -> View:  # fmt: skip
        events = uses.pop(at, [])
        if events:
            mark = "taken" if "yes" in {event["label"] for event in events} else "skill"
        else:
            mark = "failed" if any(call["failed"] for call in calls) else "other"
        return {
            "anchor": f"r{number}-{anchor}", "number": at[1], "agent": "" if at[0] == "main" else at[0],
            "summary": summary, "text": _cut(text), "calls": calls, "events": events, "mark": mark,
        }  # fmt: skip

    start = "\n\n".join(message.text for message in log.messages if message.step == 0 and message.kind == "prompt")  # fmt: skip
    if start or uses.get(("main", 0)):
        yield view(0, ("main", 0), _short(start), start, ())
    for place, step in enumerate(log.steps, start=1):
        calls = [
            {
                "prompt": "$" if call.action == "shell" else call.name,
                "asked": _cut(call.asked),
                "result": _cut(call.result.text) if call.result else "",
                "failed": call.result is not None and call.result.ok is False,
            }
            for call in step.calls
        ]
        summary = _short(step.text) or _short(" ; ".join(str(call["asked"]) for call in calls))
        yield view(place, (step.agent, step.index), summary, step.text, calls)
    for agent, index in list(uses):
        yield view(f"{agent}-{index}", (agent, index), "", "", ())


def _short(text: str) -> str:
    folded = " ".join(text[: 4 * SHORT].split())
    return folded if len(folded) <= SHORT else folded[: SHORT - 1] + "…"


def _cut(text: str) -> str:
    left = len(text) - LONGEST
    return text if left <= 0 else f"{text[:LONGEST]}\n… {left:,} more characters"


def unit_rows(runs: Sequence[RunDetails], anchors: Sequence[Anchors]) -> list[SightRow]:
    """Return the knowledge units of the task that all runs worked on, with the step at which each run first saw
    them: those with the same steps in every run are one row. Nothing for runs of several tasks and without a map."""
    if len({details.record.task if details.record else None for details in runs}) != 1:
        return []
    texts = {unit.unit: unit.text for details in runs for unit in details.units}
    sights = [{unit.unit: unit for unit in details.units} for details in runs]
    alike: dict[tuple[tuple[Sight, ...], ...], list[str]] = defaultdict(list)
    for name in texts:
        cells: list[tuple[Sight, ...]] = []
        for units, of_run in zip(sights, anchors, strict=True):
            unit = units.get(name)
            if unit is None:
                cells.append((("not offered", ""),))
            else:
                seen = unit.step is not None
                cells.append((_sight("seen", unit.agent, unit.step or 0, of_run),) if seen else ())
        alike[tuple(cells)].append(name)

    def order(row: tuple[Any, list[str]]) -> list[float]:
        first = (units.get(row[1][0]) for units in sights)
        return [unit.step if unit and unit.step is not None else inf for unit in first]

    return [
        ([texts[name] for name in units], list(cells))
        for cells, units in sorted(alike.items(), key=order)
    ]


def resource_rows(runs: Sequence[RunDetails], anchors: Sequence[Anchors]) -> list[SightRow]:
    """Return the resources of Skills with each run's first successful use, and the first step that a
    judge says shows it; those that more runs opened come first."""
    first: dict[str, dict[int, tuple[int, tuple[Sight, ...]]]] = defaultdict(dict)
    for number, details in enumerate(runs):
        bridges = Bridges(details.verdicts)
        for event in details.events:
            if not event.counts or event.phantom or event.ok is False:
                continue
            known = first[f"{event.skill}/{event.resource}"]
            step, sights = known.get(number, (event.step, ()))
            sights = sights or (_sight("step", event.agent, event.step, anchors[number]),)
            verdict = bridges.taken(event)
            if verdict and verdict.action_step and len(sights) == 1:
                used = _sight("used", event.agent, verdict.action_step, anchors[number])
                sights = (*sights, used)
            known[number] = (step, sights)

    def order(row: tuple[str, dict[int, tuple[int, Any]]]) -> tuple[int, int, str]:
        return -len(row[1]), min(step for step, _ in row[1].values()), row[0]

    return [
        ([name], [by_run.get(number, (0, ()))[1] for number in range(len(runs))])
        for name, by_run in sorted(first.items(), key=order)
    ]


def _sight(word: str, agent: str, step: int, anchors: Anchors) -> Sight:
    by = "" if agent == "main" else f" ({agent})"
    return f"{word} {step}{by}", anchors.get((agent, step), "")
