"""pd: Progressive Disclosure. A short root that routes to files opened on demand."""

from pathlib import PurePosixPath
from typing import Any, ClassVar

from skilljuror.errors import TransformError
from skilljuror.knowledge.render import Sources
from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Copy, Omitted, Plan
from skilljuror.transforms.choose import choose
from skilljuror.transforms.disclose import Disclosure
from skilljuror.transforms.sections import FlatSkill, Group

ROOT_LINES = 220
"""Lines of the root, frontmatter and routing table included."""
ROUNDS = 8


class ProgressiveDisclosure:
    """Reorganises a flat baseline, and nothing but the baseline."""

    variant: ClassVar[str] = "pd"
    parent: ClassVar[str] = "baseline"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """The plan. `params["root_lines"]` overrides the root's budget of lines."""
        if len(parent.skills) != 1:
            raise TransformError(
                f"{self.variant!r} is made from a bundle of exactly one skill; {parent.name!r} has "
                f"{len(parent.skills)}; build the baseline first"
            )
        path = parent.skills[0].path
        sources = Sources(parent.files)
        flat = FlatSkill(path, sources.document(path))
        limit = int(params.get("root_lines", ROOT_LINES))
        disclosure = _within(parent, sources, flat, limit)
        return Plan(
            self.variant,
            self.parent,
            tuple(disclosure.files),
            sidecars={name: name for name in parent.files if name != path},
            flags={path: flags} if (flags := sources.text(path).flags) else {},
            omitted=_omitted(flat, disclosure),
            notes=tuple(disclosure.notes),
        )


def _within(parent: Bundle, sources: Sources, flat: FlatSkill, limit: int) -> Disclosure:
    """The disclosure whose root keeps within the limit: the budget shrinks until it does."""
    groups = flat.groups()
    body = max(20, limit - flat.document.skip - len(flat.embedded) - 4)
    best = None
    for _ in range(ROUNDS):
        kept = _keep(flat, groups, body)
        best = Disclosure(parent, sources, flat)
        best.build(kept, [group for group in groups if group not in kept])
        over = best.root_lines - limit
        if over <= 0 or body <= 1:
            break
        body = max(1, body - over)
    if best is None:
        raise TransformError(f"{parent.name!r} has no text")
    return best


def _keep(flat: FlatSkill, groups: list[Group], body: int) -> list[Group]:
    """What stays; something moves as long as there are two things to tell apart."""
    kept = choose(flat, groups, body)
    movable = [group for group in kept if not group.lead]
    if len(kept) == len(groups) and not flat.embedded and len(kept) > 1:
        victim = movable[-1] if movable else kept[-1]
        kept = [group for group in kept if group is not victim]
    return [group for group in kept if not (group.bare and group.path and not _below(group, kept))]


def _below(parent: Group, kept: list[Group]) -> bool:
    path = (*parent.path, parent.title)
    return any(group.path[: len(path)] == path for group in kept)


def _omitted(flat: FlatSkill, disclosure: Disclosure) -> tuple[Omitted, ...]:
    covered = {
        line
        for file in disclosure.files
        for piece in file.pieces
        if isinstance(piece, Copy)
        for line in range(piece.start, piece.end + 1)
    }
    return tuple(
        Omitted(flat.path, number, line)
        for number, line in enumerate(flat.lines, start=1)
        if number not in covered
    )


def folder_of(flat: FlatSkill) -> str:
    """The skill's folder."""
    return str(PurePosixPath(flat.path).parent)
