"""The tracing judge: prove uptake without a model by quotes of the resource and of the action.

An event counts as taken up if content that only its resource showed is in a later action of the same
agent. Recognised content:

    features     names, paths, flags, numbers, headings and phrases, each with a weight
                 (features/extraction); calls of one step need weight 3, calls and words of one step 4,
                 names over several steps 4
    commands     a program with its subcommand and flags, whatever the values (features/commands)
    settings     a name with its value, however it is spelled; table cells by their heads
                 (features/key_values)
    passages     at least three values, or names of fields, of one small passage that occur close to
                 each other in one call and are improbable together (signals/cooccurrence)
    script runs  a file that a run of bundled code wrote and a later call uses (signals/script_artifacts),
                 or a line of its output that the next words restate (signals/restatement)
    pointers     another Skill that a resource names first and that is opened next (signals/skill_pointers)

replay/content_ownership assigns content to events; `decision` derives the label: `yes` with both quotes;
`no` if the access failed, or no name of a listing was used; `unknown` if the resource offered nothing
distinctive, was not shown, was shown but not seen again (agents also follow a text without repeating it),
only shared content was used, or the log ends. Rules, limits and boundary cases: rubrics/eru.yaml.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import ClassVar

from skilljuror.base.results import Verdict
from skilljuror.base.trajectory import ResourceEvent, SkillManifest, Trajectory
from skilljuror.judge.agent_trace import AgentTrace, ContentUse
from skilljuror.judge.decision import Decision, decide
from skilljuror.judge.features.extraction import DECISIVE_WEIGHT, position_of
from skilljuror.judge.replay.shown_text import ShownText
from skilljuror.judge.replay.timeline import agents_of
from skilljuror.judge.rubric import load_rubric

QUOTE = 200
"""Maximum characters of a quote."""
_WORD_START = re.compile(r"\s\S")


class TracingJudge:
    """Labels events by tracing their content into later actions."""

    name: ClassVar[str] = "tracing/4"
    """Name and version, stored with every verdict."""

    def judge(
        self,
        trial: str,
        trajectory: Trajectory,
        events: tuple[ResourceEvent, ...],
        manifest: SkillManifest | None,
    ) -> Iterator[Verdict]:
        """Yield one verdict per counted event, in order; linear in the text of the trajectory."""
        rubric = load_rubric()
        shown = ShownText(trajectory, events, manifest)
        runs = {
            agent: AgentTrace(trajectory, agent, shown, rubric) for agent in agents_of(trajectory)
        }
        for i, event in enumerate(events):
            if event.counts:
                run = runs.get(event.agent)
                decision = decide(event, i, run, trajectory.complete)
                yield _verdict(trial, event, decision, _used(i, run, decision))


def _used(i: int, run: AgentTrace | None, decision: Decision) -> Iterator[tuple[str, int]]:
    """The line that proves a yes with the step that used it, then the others: each line whose own features
    in the calls of one step have a decisive weight."""
    if run is None or decision.use is None:
        return
    yield decision.source, decision.use.action.step.index
    lines: dict[tuple[str, int], set[str]] = defaultdict(set)
    for use in run.trace_of(i).uses:
        for feature in use.features if use.action.call else ():
            if line := run.features.quote(use.group, feature):
                lines[line, use.action.step.index].add(feature)
    for used, features in lines.items():
        if run.weigh(features) >= DECISIVE_WEIGHT:
            yield used


def _verdict(
    trial: str, event: ResourceEvent, decision: Decision, used: Iterable[tuple[str, int]]
) -> Verdict:
    use = decision.use
    return Verdict(
        event=event.event,
        trial=trial,
        judge=TracingJudge.name,
        label=decision.category.label,
        category=decision.category,
        source_quote=clip(decision.source, decision.feature) if use else None,
        action_quote=clip(use.line, decision.feature) if use else None,
        action_step=use.action.step.index if use else None,
        action_line=_line_of(use) if use else None,
        note=", ".join(use.features[:5]) if use else "",
        used=tuple(dict.fromkeys(used)),
    )


def _line_of(use: ContentUse) -> int:
    call = use.action.call
    return call.line if call else use.action.step.line


def clip(line: str, feature: str) -> str:
    """Return up to QUOTE characters of a line around a feature, from the start of a word if
    possible."""
    if len(line) <= QUOTE:
        return line.strip()
    position = position_of(line, feature)
    start = max(0, min(position - QUOTE // 4, len(line) - QUOTE))
    if start and not line[start - 1].isspace():
        word = _WORD_START.search(line, start, position + 1)
        start = word.end() - 1 if word else start
    return line[start : start + QUOTE].strip()
