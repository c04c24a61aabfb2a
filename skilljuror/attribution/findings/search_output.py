"""Searches that print lines: one event per file printed."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from skilljuror.attribution.accesses.file_access import FILTERED
from skilljuror.attribution.evidence.line_index import merged_ranges, utf8_size
from skilljuror.attribution.evidence.output_segments import printing_accesses
from skilljuror.attribution.evidence.read_evidence import CallOutput, ReadEvidence, failure_of
from skilljuror.attribution.paths import join, name_of
from skilljuror.attribution.resolution.call_normalisation import with_forward_slashes
from skilljuror.attribution.resolution.resolver import ResolvedAccess
from skilljuror.attribution.resolution.skill_catalog import ResourceLocation
from skilljuror.attribution.run_context import AnalysedCall, RunContext

_PRINTED = re.compile(
    r"^(?P<path>(?:[A-Za-z]:(?=[\\/]))?[^:\s`'\"{}<>|()]{1,500})[:](?:(?P<number>\d{1,7})[:-])?(?P<text>.*)$"
)
_AROUND = re.compile(r"^(?P<path>[^:\s`'\"{}<>|()]{1,500}?)-(?P<number>\d{1,7})-(?P<text>.*)$")
_HEADING = re.compile(r"^(?:File: )?(?P<path>[^:\s`'\"{}<>|()]{1,500}\.\w{1,10}):?$")
_UNDER = re.compile(r"^\s*(?:L|Line )?(?P<number>\d{1,7})[:-] ?(?P<text>.*)$")
_ASKS_NUMBERS = re.compile(r"\s-(?!-)[a-zA-Z]*n|--line-number|\s--vimgrep")
_NUMBER = re.compile(r"^(\d{1,7})[:-]")

Printed = dict[tuple[str, str], tuple[ResourceLocation, list[int], int]]
"""Resource -> where, line numbers, bytes."""


def search_events(
    analysed: AnalysedCall, run: RunContext, output: CallOutput
) -> Iterator[tuple[ResolvedAccess, ResourceLocation, ReadEvidence]]:
    """(claim, file, what was shown) of every file whose lines a search of the call printed."""
    resolved_accesses = [one for one in analysed.resolved_accesses if one.access.kind == "search"]
    if not resolved_accesses or not output.text.strip():
        return
    printed = _by_path(analysed, run, output)
    for resolved in resolved_accesses:
        if not resolved.access.shown:
            continue
        if resolved.location.folder:
            yield from (
                _folder(resolved, printed) if printed else _unnamed(analysed, resolved, output, run)
            )
        elif resolved.key in printed:
            yield resolved, resolved.location, _shown(printed.pop(resolved.key))
        elif not printed:
            shown = _alone(analysed, resolved, output, run)
            if shown:
                yield resolved, resolved.location, shown


def _by_path(analysed: AnalysedCall, run: RunContext, output: CallOutput) -> Printed:
    """Lines that begin with the path of a resource."""
    printed: Printed = {}
    reader = _Reader(analysed, run)
    if not reader.inside and not run.catalog.named_in(output.text):
        return printed
    for line in output.lines:
        found = reader.line(line)
        if found is None:
            continue
        location, number, text = found
        key = location.skill, location.resource
        _, numbers, size = printed.setdefault(key, (location, [], 0))
        if number:
            numbers.append(int(number))
        printed[key] = location, numbers, size + utf8_size(text) + 1
    return printed


class _Reader:
    """Reads the lines of a search's output: `path:12:text`, or a path and numbered lines under it."""

    def __init__(self, analysed: AnalysedCall, run: RunContext) -> None:
        self.run = run
        self.base = analysed.call.workdir or run.cwd
        searched = [one for one in analysed.accesses if one.kind == "search"]
        self.folders = sorted({one.path for one in searched})
        self.inside = any(map(self._holds, (self.base or "", *self.folders)))
        """Whether a path may mean a bundled file without naming the bundle."""
        self.known: dict[str, ResourceLocation | None] = {}
        self.under: ResourceLocation | None = None
        """The file that a heading named."""

    def line(self, line: str) -> tuple[ResourceLocation, str | None, str] | None:
        """(file, line number, text) of a line of the output."""
        if self.under is None and not self.inside and not self.run.catalog.named_in(line):
            return None
        heading = _HEADING.match(line)
        if heading:
            self.under = self._resource(heading["path"])
            return None
        numbered = _UNDER.match(line) if self.under is not None else None
        if numbered and self.under is not None:
            return self.under, numbered["number"], numbered["text"]
        found = _PRINTED.match(line) or _AROUND.match(line)
        location = self._resource(found["path"]) if found else None
        return (location, found["number"], found["text"]) if found and location else None

    def _holds(self, folder: str) -> bool:
        return self.run.catalog.locate(f"{folder}/x") is not None

    def _resource(self, path: str) -> ResourceLocation | None:
        if path not in self.known:
            self.known[path] = self._located(path)
        return self.known[path]

    def _located(self, path: str) -> ResourceLocation | None:
        path = with_forward_slashes(path)
        if "." not in name_of(path) and "/" not in path:
            return None
        for full in (join(self.base, path), *(join(folder, path) for folder in self.folders)):
            location = self.run.catalog.locate(full)
            if location is not None and location.skill and not location.folder:
                return location
        return None


def _folder(
    resolved: ResolvedAccess, printed: Printed
) -> Iterator[tuple[ResolvedAccess, ResourceLocation, ReadEvidence]]:
    """A search of a folder: every file of it that was printed."""
    inner = "" if resolved.location.resource == "." else resolved.location.resource + "/"
    for key in sorted(printed):
        if key[0] == resolved.location.skill and key[1].startswith(inner):
            yield resolved, printed[key][0], _shown(printed.pop(key))


def _unnamed(
    analysed: AnalysedCall, resolved: ResolvedAccess, output: CallOutput, run: RunContext
) -> Iterator[tuple[ResolvedAccess, ResourceLocation, ReadEvidence]]:
    """A search of a folder that prints no names (`grep -rh`): what the lines of a lone output prove."""
    if len(
        printing_accesses(analysed.resolved_accesses)
    ) != 1 or resolved.order not in analysed.parts(output, run.line_index):
        return
    inner = "" if resolved.location.resource == "." else resolved.location.resource + "/"
    for key, match in run.line_index.matches(output.lined).items():
        if key[0] == resolved.location.skill and key[1].startswith(inner) and match.distinctive:
            location = replace(resolved.location, resource=key[1], folder=False)
            quote = match.first[:120]
            yield (
                resolved,
                location,
                ReadEvidence("partial", match.ranges, True, "both", quote=quote),
            )


def events_of_wide_search(
    analysed: AnalysedCall, run: RunContext, output: CallOutput
) -> Iterator[tuple[ResourceLocation, ReadEvidence]]:
    """Bundled files whose lines a search over something wider printed."""
    for location, numbers, size in _by_path(analysed, run, output).values():
        yield location, _shown((location, numbers, size))


def _shown(found: tuple[ResourceLocation, list[int], int]) -> ReadEvidence:
    _, numbers, size = found
    lines = merged_ranges((number, number) for number in numbers) if numbers else None
    return ReadEvidence("partial", lines, ok=True, witness="both", size=size)


def _alone(
    analysed: AnalysedCall, resolved: ResolvedAccess, output: CallOutput, run: RunContext
) -> ReadEvidence | None:
    """A search in one file prints no path: all of a lone output, or what its text proves."""
    lines = analysed.parts(output, run.line_index).get(resolved.order)
    match = run.line_index.match(resolved.key, output.lined)
    if lines is None:
        if match is None:
            return (
                None
                if resolved.key in run.line_index.pages
                else ReadEvidence("partial", None, ok=True)
            )
        return ReadEvidence(
            "partial", match.ranges, ok=True, witness="both", quote=match.first[:120]
        )
    if not any(line.strip() for line in lines) or failure_of(resolved, output):
        return None
    told = resolved.access.via != "shell" or (
        resolved.access.note != FILTERED and bool(_ASKS_NUMBERS.search(resolved.access.text))
    )
    numbers = [int(found[1]) for line in lines if told and (found := _NUMBER.match(line))]
    ranges = merged_ranges((n, n) for n in numbers) if len(numbers) == len(lines) else None
    if ranges is None and match is not None:
        ranges = match.ranges
    return ReadEvidence("partial", ranges, ok=True, witness="both" if match else "command")
