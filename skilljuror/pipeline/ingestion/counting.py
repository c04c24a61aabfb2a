"""Exact tokens: of what steps say, ask for and get back, and of the Skill text that was shown. Each
distinct text is counted once."""

from collections.abc import Sequence
from hashlib import blake2b

from msgspec.structs import replace

from skilljuror import tokens
from skilljuror.attribution.exposure import exposes_text
from skilljuror.attribution.resolution.skill_catalog import bare_skill_name
from skilljuror.errors import MissingDependency
from skilljuror.metrics.process import step_texts
from skilljuror.models.events import Exposure, ResourceEvent, SkillManifest
from skilljuror.models.knowledge import MappedUnit
from skilljuror.models.trajectory import Trajectory

KEPT = 50_000
"""Distinct texts whose counts a worker remembers; some 10 MB."""
_counts: dict[bytes, int] = {}


def refuse_estimates() -> None:
    """Raise MissingDependency where tokens can only be estimated: an estimate is no exact share."""
    if not tokens.available():
        raise MissingDependency(
            "tokens cannot be counted exactly: the vocabulary o200k_base is not on this machine;"
            " install litellm, which brings it, or leave --count-tokens out"
        )


def step_tokens(trajectory: Trajectory) -> dict[tuple[str, int], int]:
    """(agent, step) -> tokens (o200k_base) of its texts, each counted by itself (measures §3.2)."""
    return {
        (step.agent, step.index): sum(map(_count, step_texts(step))) for step in trajectory.steps
    }


def counted(
    exposure: Exposure,
    events: Sequence[ResourceEvent],
    manifest: SkillManifest,
    units: Sequence[MappedUnit],
) -> Exposure:
    """The exposure with tokens (o200k_base): of every unit seen, and of all the Skill text shown.

    Shown text is the lines of the variant's files that reached a context, each showing counted by
    itself; a part that nobody could place adds none. Left as it is where tokens can only be
    estimated.
    """
    if not tokens.available():
        return exposure
    texts = {
        (bare_skill_name(one.skill), one.path): one.text for one in manifest.resources if one.text
    }
    shown = 0
    for event in filter(exposes_text, events):
        shown += _count(
            _shown(texts.get((bare_skill_name(event.skill), event.resource), ""), event)
        )
    said = {one.unit.unit: one.unit.text for one in units}
    seen = tuple(replace(one, tokens=_count(said[one.unit])) for one in exposure.seen)
    return replace(exposure, seen=seen, shown_tokens=shown)


def _shown(text: str, event: ResourceEvent) -> str:
    """What an event showed of a file."""
    if event.content_exposed == "full":
        return text
    lines = text.splitlines(keepends=True)
    return "".join(line for first, last in event.lines or () for line in lines[first - 1 : last])


def _count(text: str) -> int:
    key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    found = _counts.get(key)
    if found is None:
        if len(_counts) >= KEPT:
            _counts.clear()
        found = _counts[key] = tokens.count(text)
    return found
