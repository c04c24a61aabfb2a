"""Calls of tools of which nobody knows what they do, and the Skills that they may have opened."""

import json
import re
from collections.abc import Iterable, Iterator

from skilljuror.base.trajectory import Trajectory, UnknownTool
from skilljuror.events.events.candidate_event import CandidateEvent
from skilljuror.events.paths import expand_home, join
from skilljuror.events.resolution.call_normalisation import with_forward_slashes
from skilljuror.events.resolution.skill_catalog import ResourceLocation, bare_skill_name
from skilljuror.events.run_context import AnalysedCall, RunContext

_LONGEST_TEXT = 400_000
"""Characters of a call or an answer to search for paths."""
_PATH = re.compile(r"[^\s\"'`<>|;,(){}\[\]=$\\]{1,500}")


def unknown_tools(
    trajectory: Trajectory, events: Iterable[CandidateEvent], run: RunContext
) -> Iterator[UnknownTool]:
    """The run's unknown tools, by name."""
    explained: dict[str | int, set[str]] = {}
    for event in events:
        explained.setdefault(event.call_id or event.call, set()).add(event.location.skill)
    calls: dict[str, int] = {}
    skills: dict[str, set[str]] = {}
    for analysed in run.analysed_calls:
        call, result = analysed.call, analysed.result
        if not call.unknown or (result is not None and result.ok is False):
            continue
        known = explained.get(call.call_id or analysed.number, set())
        named = set(_named_skills(analysed, run)) - known
        if named or not known:
            calls[call.name] = calls.get(call.name, 0) + 1
            skills.setdefault(call.name, set()).update(named)
    for tool, count in sorted(calls.items()):
        yield UnknownTool(trajectory.trajectory, tool, count, tuple(sorted(skills[tool])))


def _named_skills(analysed: AnalysedCall, run: RunContext) -> Iterator[str]:
    """Skills with a file, or their folder, in the arguments, or with a file in the answer."""
    given = json.dumps(analysed.call.arguments, ensure_ascii=False, default=str)
    yield from (place.skill for place in _places(given, analysed, run))
    for place in _places(analysed.output.text, analysed, run):
        if not (place.folder or place.resource == "."):
            yield place.skill


def _places(text: str, analysed: AnalysedCall, run: RunContext) -> Iterator[ResourceLocation]:
    """Files and folders of known Skills that a text names by their paths."""
    if not run.catalog.named_in(text):
        return
    for token in set(_PATH.findall(with_forward_slashes(text[:_LONGEST_TEXT]))):
        path = join(analysed.call.workdir or run.cwd, expand_home(token.rstrip(".:"), None))
        place = run.catalog.locate(path)
        if place and place.skill and bare_skill_name(place.skill) in run.catalog.names:
            yield place
