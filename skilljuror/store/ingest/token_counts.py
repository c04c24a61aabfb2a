"""Exact token counts (o200k_base) of steps and of Skill text shown; each distinct text counts once."""

from collections.abc import Sequence
from hashlib import blake2b

from msgspec.structs import replace

from skilljuror.base import texts
from skilljuror.base.skill import MappedUnit
from skilljuror.base.trajectory import Exposure, ResourceEvent, SkillManifest, Trajectory
from skilljuror.events.exposure import exposes_text
from skilljuror.measures.metrics.process import step_texts

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
