"""The sections of a Skill that an audit is about."""

from typing import NamedTuple

from skilljuror.base.models.gate import Finding, GateVerdict


class SectionChange(NamedTuple):
    """A section of a Skill, or a whole file, and what became of it."""

    title: str
    """Last heading; "" for a file, or for text above all headings."""
    file: str
    """Path inside the side that has the section."""
    line: int | None
    """Line of the first finding, or of the first text."""
    lost: bool
    """Whether only the source has it, so that `file` and `line` are of the source."""
    verdict: GateVerdict
    """Worst verdict of its findings alone."""
    findings: tuple[Finding, ...]
    """What was found in it, worst first."""
    counted: int
    """Duties of the source's section, or all its texts if it has no duty."""
    moved: int
    """Those that are in other files now."""
    noun: str
    """What was counted: duties or texts."""
    moved_to: tuple[str, ...]
    """Those files, if the section was removed or most of it moved."""
