"""The tracing judge: uptake that can be proved by quoting both sides, without any model.

An event counts as taken up when content that came from its resource and from nowhere
else in the run turns up in a later action of the same agent. What may be recognised:

    features    names, paths, flags, numbers, headings and phrases, each with a weight (features.py);
                a deed needs weight 3, deeds and words of one step 4, names over several steps 4
    settings    a name with its value, however it is spelled, table cells by their heads (settings.py)
    together    at least three values of one small passage that come back close to each other in one
                call and are improbable together, though each alone is common (together.py)
    runs        a run of bundled code: what it wrote and a later call works with (runs.py), or a line
                of its output that the next words say again (restated.py)

Whose a recognised thing is says ledger.py; decide.py makes a label of it: `yes` with both quotes;
`no` where something recognisable was shown and not seen again, or the access failed; `unknown`
where the resource offered nothing distinctive, was not shown, only shared content was used, or
the log ends. The rules in full, their limits and the boundary cases are data: rubrics/eru.yaml.
"""

from collections.abc import Iterator
from typing import ClassVar

from skilljuror.judge.agent_trace import AgentRun, Use
from skilljuror.judge.decision import Decision, decide
from skilljuror.judge.features.extraction import position
from skilljuror.judge.replay.shown_text import ShownText
from skilljuror.judge.replay.timeline import agents_of
from skilljuror.judge.rubric import load_eru
from skilljuror.models.events import ResourceEvent, SkillManifest
from skilljuror.models.measure import Verdict
from skilljuror.models.trajectory import Trajectory

QUOTE = 200
"""Most characters of a quote."""


class TracingJudge:
    """Labels events by tracing their content into later actions."""

    name: ClassVar[str] = "tracing/1"
    """Name and version, stored with every verdict."""

    def judge(
        self,
        trial: str,
        trajectory: Trajectory,
        events: tuple[ResourceEvent, ...],
        manifest: SkillManifest | None,
    ) -> Iterator[Verdict]:
        """One verdict per counted event, in order; linear in the text of the trajectory."""
        rubric = load_eru()
        shown = ShownText(trajectory, events, manifest)
        runs = {
            agent: AgentRun(trajectory, agent, shown, rubric) for agent in agents_of(trajectory)
        }
        for i, event in enumerate(events):
            if event.counts:
                run = runs.get(event.agent)
                found = decide(event, i, run, trajectory.complete)
                yield _verdict(trial, event, found)


def _verdict(trial: str, event: ResourceEvent, found: Decision) -> Verdict:
    use = found.use
    return Verdict(
        event=event.event,
        trial=trial,
        judge=TracingJudge.name,
        label=found.label,
        category=found.category,
        source_quote=clip(found.source, found.sign) if use else None,
        action_quote=clip(use.line, found.sign) if use else None,
        action_step=use.action.step.index if use else None,
        action_line=_line_of(use) if use else None,
        note=", ".join(use.features[:5]) if use else "",
    )


def _line_of(use: Use) -> int:
    call = use.action.call
    return call.line if call else use.action.step.line


def clip(line: str, sign: str) -> str:
    """At most QUOTE characters of a line, around the sign."""
    if len(line) <= QUOTE:
        return line.strip()
    start = max(0, min(position(line, sign) - QUOTE // 4, len(line) - QUOTE))
    return line[start : start + QUOTE].strip()
