"""Searches that print lines: one event per file printed."""

import re
from collections.abc import Iterator

from skilljuror.attribution.catalog import Location
from skilljuror.attribution.claims import Claim
from skilljuror.attribution.content import joined, size_of
from skilljuror.attribution.evidence import Output, Shown
from skilljuror.attribution.gather import Gathered, Touch
from skilljuror.attribution.paths import join, name_of

_PRINTED = re.compile(
    r"^(?P<path>[^:\s`'\"{}<>|()]{1,500})[:](?:(?P<number>\d{1,7})[:-])?(?P<text>.*)$"
)
_AROUND = re.compile(r"^(?P<path>[^:\s`'\"{}<>|()]{1,500}?)-(?P<number>\d{1,7})-(?P<text>.*)$")
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
            yield from _folder(claim, printed)
        elif claim.key in printed:
            yield claim, claim.location, _shown(printed.pop(claim.key))
        elif not printed:
            shown = _alone(touch, claim, output, run)
            if shown:
                yield claim, claim.location, shown


def _by_path(touch: Touch, run: Gathered, output: Output) -> Printed:
    """Lines that begin with the path of a resource."""
    printed: Printed = {}
    folders = {claim.access.path for claim in touch.claims if claim.access.kind == "search"}
    base = touch.call.workdir or run.cwd
    known: dict[str, Location | None] = {}
    for line in output.lines:
        found = _PRINTED.match(line) or _AROUND.match(line)
        if not found:
            continue
        path = found["path"]
        if path not in known:
            known[path] = _resource(path, base, folders, run)
        location = known[path]
        if location is None:
            continue
        key = location.skill, location.resource
        _, numbers, size = printed.setdefault(key, (location, [], 0))
        if found["number"]:
            numbers.append(int(found["number"]))
        printed[key] = location, numbers, size + size_of(found["text"]) + 1
    return printed


def _resource(path: str, base: str | None, folders: set[str], run: Gathered) -> Location | None:
    if "." not in name_of(path) and "/" not in path:
        return None
    for full in (join(base, path), *(join(folder, path) for folder in sorted(folders))):
        location = run.catalog.locate(full)
        if location is not None and location.skill and not location.folder:
            return location
    return None


def _folder(claim: Claim, printed: Printed) -> Iterator[tuple[Claim, Location, Shown]]:
    """A search of a folder: every file of it that was printed."""
    inner = "" if claim.location.resource == "." else claim.location.resource + "/"
    for key in sorted(printed):
        if key[0] == claim.location.skill and key[1].startswith(inner):
            yield claim, printed[key][0], _shown(printed.pop(key))


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
    match = run.prints.match(claim.key, output.lines)
    if lines is None:
        if match is None:
            return None if claim.key in run.prints.pages else Shown("partial", None, ok=True)
        return Shown("partial", match.ranges, ok=True, witness="both", quote=match.first[:120])
    if not any(line.strip() for line in lines) or output.error_for(claim.access.path):
        return None
    numbers = [int(found[1]) for line in lines if (found := _NUMBER.match(line))]
    ranges = joined((n, n) for n in numbers) if len(numbers) == len(lines) else None
    if ranges is None and match is not None:
        ranges = match.ranges
    return Shown("partial", ranges, ok=True, witness="both" if match else "command")
