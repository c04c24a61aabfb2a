"""Searches that print lines: one event per file printed."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from skilljuror.attribution.accesses.file_access import SIFTED
from skilljuror.attribution.evidence.line_index import joined, size_of
from skilljuror.attribution.evidence.output_segments import printing
from skilljuror.attribution.evidence.read_evidence import Output, Shown, failure_of
from skilljuror.attribution.paths import join, name_of
from skilljuror.attribution.resolution.call_normalisation import slashed
from skilljuror.attribution.resolution.resolver import Claim
from skilljuror.attribution.resolution.skill_catalog import Location
from skilljuror.attribution.run_context import Gathered, Touch

_PRINTED = re.compile(
    r"^(?P<path>(?:[A-Za-z]:(?=[\\/]))?[^:\s`'\"{}<>|()]{1,500})[:](?:(?P<number>\d{1,7})[:-])?(?P<text>.*)$"
)
_AROUND = re.compile(r"^(?P<path>[^:\s`'\"{}<>|()]{1,500}?)-(?P<number>\d{1,7})-(?P<text>.*)$")
_HEADING = re.compile(r"^(?:File: )?(?P<path>[^:\s`'\"{}<>|()]{1,500}\.\w{1,10}):?$")
_UNDER = re.compile(r"^\s*(?:L|Line )?(?P<number>\d{1,7})[:-] ?(?P<text>.*)$")
_ASKS_NUMBERS = re.compile(r"\s-(?!-)[a-zA-Z]*n|--line-number|\s--vimgrep")
_NUMBER = re.compile(r"^(\d{1,7})[:-]")

Printed = dict[tuple[str, str], tuple[Location, list[int], int]]
"""Resource -> where, line numbers, bytes."""


def search_findings(
    touch: Touch, run: Gathered, output: Output
) -> Iterator[tuple[Claim, Location, Shown]]:
    """(claim, file, what was shown) of every file whose lines a search of the call printed."""
    claims = [one for one in touch.claims if one.access.kind == "search"]
    if not claims or not output.text.strip():
        return
    printed = _by_path(touch, run, output)
    for claim in claims:
        if not claim.access.shown:
            continue
        if claim.location.folder:
            yield from _folder(claim, printed) if printed else _unnamed(touch, claim, output, run)
        elif claim.key in printed:
            yield claim, claim.location, _shown(printed.pop(claim.key))
        elif not printed:
            shown = _alone(touch, claim, output, run)
            if shown:
                yield claim, claim.location, shown


def _by_path(touch: Touch, run: Gathered, output: Output) -> Printed:
    """Lines that begin with the path of a resource."""
    printed: Printed = {}
    reader = _Reader(touch, run)
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
        printed[key] = location, numbers, size + size_of(text) + 1
    return printed


class _Reader:
    """Reads the lines of a search's output: `path:12:text`, or a path and numbered lines under it."""

    def __init__(self, touch: Touch, run: Gathered) -> None:
        self.run = run
        self.base = touch.call.workdir or run.cwd
        searched = [one for one in touch.accesses if one.kind == "search"]
        self.folders = sorted({one.path for one in searched})
        self.inside = any(map(self._holds, (self.base or "", *self.folders)))
        """Whether a path may mean a bundled file without naming the bundle."""
        self.known: dict[str, Location | None] = {}
        self.under: Location | None = None
        """The file that a heading named."""

    def line(self, line: str) -> tuple[Location, str | None, str] | None:
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

    def _resource(self, path: str) -> Location | None:
        if path not in self.known:
            self.known[path] = self._located(path)
        return self.known[path]

    def _located(self, path: str) -> Location | None:
        path = slashed(path)
        if "." not in name_of(path) and "/" not in path:
            return None
        for full in (join(self.base, path), *(join(folder, path) for folder in self.folders)):
            location = self.run.catalog.locate(full)
            if location is not None and location.skill and not location.folder:
                return location
        return None


def _folder(claim: Claim, printed: Printed) -> Iterator[tuple[Claim, Location, Shown]]:
    """A search of a folder: every file of it that was printed."""
    inner = "" if claim.location.resource == "." else claim.location.resource + "/"
    for key in sorted(printed):
        if key[0] == claim.location.skill and key[1].startswith(inner):
            yield claim, printed[key][0], _shown(printed.pop(key))


def _unnamed(
    touch: Touch, claim: Claim, output: Output, run: Gathered
) -> Iterator[tuple[Claim, Location, Shown]]:
    """A search of a folder that prints no names (`grep -rh`): what the lines of a lone output prove."""
    if len(printing(touch.claims)) != 1 or claim.order not in touch.parts(output, run.prints):
        return
    inner = "" if claim.location.resource == "." else claim.location.resource + "/"
    for key, match in run.prints.matches(output.lined).items():
        if key[0] == claim.location.skill and key[1].startswith(inner) and match.distinctive:
            location = replace(claim.location, resource=key[1], folder=False)
            quote = match.first[:120]
            yield claim, location, Shown("partial", match.ranges, True, "both", quote=quote)


def outside(touch: Touch, run: Gathered, output: Output) -> Iterator[tuple[Location, Shown]]:
    """Bundled files whose lines a search over something wider printed."""
    for location, numbers, size in _by_path(touch, run, output).values():
        yield location, _shown((location, numbers, size))


def _shown(found: tuple[Location, list[int], int]) -> Shown:
    _, numbers, size = found
    lines = joined((number, number) for number in numbers) if numbers else None
    return Shown("partial", lines, ok=True, witness="both", size=size)


def _alone(touch: Touch, claim: Claim, output: Output, run: Gathered) -> Shown | None:
    """A search in one file prints no path: all of a lone output, or what its text proves."""
    lines = touch.parts(output, run.prints).get(claim.order)
    match = run.prints.match(claim.key, output.lined)
    if lines is None:
        if match is None:
            return None if claim.key in run.prints.pages else Shown("partial", None, ok=True)
        return Shown("partial", match.ranges, ok=True, witness="both", quote=match.first[:120])
    if not any(line.strip() for line in lines) or failure_of(claim, output):
        return None
    told = claim.access.via != "shell" or (
        claim.access.note != SIFTED and bool(_ASKS_NUMBERS.search(claim.access.text))
    )
    numbers = [int(found[1]) for line in lines if told and (found := _NUMBER.match(line))]
    ranges = joined((n, n) for n in numbers) if len(numbers) == len(lines) else None
    if ranges is None and match is not None:
        ranges = match.ranges
    return Shown("partial", ranges, ok=True, witness="both" if match else "command")
