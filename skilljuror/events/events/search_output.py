"""Searches that print lines: one event per file with printed lines."""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from skilljuror.events.accesses.file_access import FILTERED
from skilljuror.events.events.candidate_event import CandidateEvent
from skilljuror.events.evidence.line_index import ResourceKey, merged_ranges, utf8_size
from skilljuror.events.evidence.read_evidence import ReadEvidence, failure_of
from skilljuror.events.paths import join, name_of
from skilljuror.events.resolution.call_normalisation import with_forward_slashes
from skilljuror.events.resolution.resolver import ResolvedAccess
from skilljuror.events.resolution.skill_catalog import ResourceLocation
from skilljuror.events.run_context import AnalysedCall, RunContext

_FOUND_LINE = re.compile(
    r"^(?P<path>(?:[A-Za-z]:(?=[\\/]))?[^:\s`'\"{}<>|()]{1,500})[:](?:(?P<number>\d{1,7})[:-])?(?P<text>.*)$"
)
"""`path:12:text`, or `path:text`."""
_CONTEXT_LINE = re.compile(
    r"^(?P<path>[^:\s`'\"{}<>|()]{1,500}?)-(?P<number>\d{1,7})-(?P<text>.*)$"
)
"""`path-12-text`: a line around a match."""
_HEADING = re.compile(r"^(?:File: )?(?P<path>[^:\s`'\"{}<>|()]{1,500}\.\w{1,10}):?$")
_BELOW_HEADING = re.compile(r"^\s*(?:L|Line )?(?P<number>\d{1,7})[:-] ?(?P<text>.*)$")
_ASKS_FOR_NUMBERS = re.compile(r"\s-(?!-)[a-zA-Z]*n|--line-number|\s--vimgrep")
_NUMBER = re.compile(r"^(\d{1,7})[:-]")


class _PrintedLines(Struct):
    """Lines of one file that a search printed."""

    location: ResourceLocation
    numbers: list[int] = field(default_factory=list)
    """Their numbers, if printed."""
    size: int = 0
    """Bytes of their text."""

    def evidence(self) -> ReadEvidence:
        lines = merged_ranges((n, n) for n in self.numbers) if self.numbers else None
        return ReadEvidence("partial", lines, ok=True, witness="both", size=self.size)


def search_events(
    analysed: AnalysedCall, run: RunContext
) -> Iterator[tuple[ResolvedAccess, ResourceLocation, ReadEvidence]]:
    """Yield (search, file, evidence) for every file with lines printed by a search in a bundle; for
    redirected searches (`grep … SKILL.md > found.txt`), the file named."""
    output = analysed.output
    searches = [one for one in analysed.resolved_accesses if one.access.kind == "search"]
    for search in searches:
        if not search.access.shown and not search.location.folder and search.access.via == "shell":
            ok = False if failure_of(search, output) else output.ok
            yield search, search.location, ReadEvidence("none", None, ok)
    if not searches or not output.text.strip():
        return
    printed = _printed_lines(analysed, run)
    for search in (search for search in searches if search.access.shown):
        for key in _files_searched(search, printed):
            lines = printed.pop(key)
            yield search, lines.location, lines.evidence()
        if not search.location.folder and not printed:
            evidence = _in_one_file(analysed, search, run)
            if evidence:
                yield search, search.location, evidence


def _files_searched(
    search: ResolvedAccess, printed: Mapping[ResourceKey, object]
) -> list[ResourceKey]:
    """Printed files that a search covers: the path itself, or all below a folder."""
    if not search.location.folder:
        return [search.key] if search.key in printed else []
    inner = "" if search.location.resource == "." else search.location.resource + "/"
    return sorted(
        key for key in printed if key[0] == search.location.skill and key[1].startswith(inner)
    )


def events_of_wide_search(
    analysed: AnalysedCall, run: RunContext
) -> Iterator[tuple[ResourceLocation, ReadEvidence]]:
    """Bundled files with lines printed by a search over more than a bundle."""
    for lines in _printed_lines(analysed, run).values():
        yield lines.location, lines.evidence()


def _printed_lines(analysed: AnalysedCall, run: RunContext) -> dict[ResourceKey, _PrintedLines]:
    """Lines of each resource that an output shows below or after their paths."""
    printed: dict[ResourceKey, _PrintedLines] = {}
    reader = _OutputReader(analysed, run)
    if not reader.inside and not run.catalog.named_in(analysed.output.text):
        return printed
    for line in analysed.output.lines:
        found = reader.line(line)
        if found is None:
            continue
        location, number, text = found
        key = location.skill, location.resource
        lines = printed.setdefault(key, _PrintedLines(location))
        lines.numbers.extend([int(number)] if number else [])
        lines.size += utf8_size(text) + 1
    return printed


def listed_skills(analysed: AnalysedCall, run: RunContext) -> Iterator[CandidateEvent]:
    """A listing per Skill whose folder heads a part of `ls -R` of its parent."""
    for order, access in enumerate(analysed.accesses):
        if access.kind != "list" or not access.shown:
            continue
        bases = analysed.call.workdir or run.cwd, access.path
        for heading in (line[:-1] for line in analysed.output.lines if line.endswith(":")):
            folders = (join(base, heading) for base in bases)
            below = [one for one in folders if one and one.rpartition("/")[0] == access.path]
            location = run.catalog.locate(below[0]) if below else None
            if location is not None and location.skill and location.resource == ".":
                evidence = ReadEvidence("none", None, ok=True, witness="both")
                yield CandidateEvent.of_call(
                    analysed, location, "list", access.via, evidence, order=order, quote=access.text
                )


class _OutputReader:
    """Reads a search's output: `path:12:text`, or a path followed by numbered lines."""

    def __init__(self, analysed: AnalysedCall, run: RunContext) -> None:
        self.run = run
        self.base = analysed.call.workdir or run.cwd
        self.folders = sorted({
            access.path for access in analysed.accesses if access.kind == "search"
        })
        self.inside = any(
            run.catalog.locate(f"{folder}/x") for folder in (self.base or "", *self.folders)
        )
        """Whether a relative path may be a bundled file."""
        self.located: dict[str, ResourceLocation | None] = {}
        self.under: ResourceLocation | None = None
        """File named by the last heading."""

    def line(self, line: str) -> tuple[ResourceLocation, str | None, str] | None:
        """Return (file, line number, text) of an output line."""
        if self.under is None and not self.inside and not self.run.catalog.named_in(line):
            return None
        heading = _HEADING.match(line)
        if heading:
            self.under = self._resource(heading["path"])
            return None
        numbered = _BELOW_HEADING.match(line) if self.under is not None else None
        if numbered and self.under is not None:
            return self.under, numbered["number"], numbered["text"]
        found = _FOUND_LINE.match(line) or _CONTEXT_LINE.match(line)
        location = self._resource(found["path"]) if found else None
        return (location, found["number"], found["text"]) if found and location else None

    def _resource(self, path: str) -> ResourceLocation | None:
        if path not in self.located:
            self.located[path] = self._locate(path)
        return self.located[path]

    def _locate(self, path: str) -> ResourceLocation | None:
        path = with_forward_slashes(path)
        if "." not in name_of(path) and "/" not in path:
            return None
        for folder in (self.base, *self.folders):
            location = self.run.catalog.locate(join(folder, path))
            if location is not None and location.skill and not location.folder:
                return location
        return None


def _in_one_file(
    analysed: AnalysedCall, search: ResolvedAccess, run: RunContext
) -> ReadEvidence | None:
    """A search in one file prints no path: its whole output, or matches of its text."""
    output = analysed.output
    lines = analysed.segments(run.line_index).get(search.order)
    match = output.match(search.key, run.line_index)
    if lines is None:
        if match is None:
            unknown = search.key not in run.line_index.files
            return ReadEvidence("partial", None, ok=True) if unknown else None
        return ReadEvidence("partial", match.ranges, True, "both", quote=match.first[:120])
    if not any(line.strip() for line in lines) or failure_of(search, output):
        return None
    numbered = search.access.via != "shell" or (
        search.access.note != FILTERED and bool(_ASKS_FOR_NUMBERS.search(search.access.text))
    )
    numbers = [int(n[1]) for line in lines if numbered and (n := _NUMBER.match(line))]
    ranges = match.ranges if match is not None else None
    if len(numbers) == len(lines):
        ranges = merged_ranges((number, number) for number in numbers)
    return ReadEvidence("partial", ranges, ok=True, witness="both" if match else "command")
