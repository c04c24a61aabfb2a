"""Drift of whole lines, blocks and files."""

import posixpath
import re
from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath

from skilljuror.audit.gates.mutations.sites import Files, MutationSite, MutationTarget, script_path
from skilljuror.base.skill import Unit, is_licence, is_markdown, is_root_name
from skilljuror.skill.markdown import anchors

_STEP = re.compile(r"^(\s*\d+[.)]\s+)(\S.*)$")
_LINK = re.compile(r"(?<!!)\[[^][\n]+\]\(([^()\s]+)\)")
_COMMAND_WORDS = re.compile(r"\b(?:must|always|never|required|do not)\b", re.IGNORECASE)
_REQUIREMENTS = (
    "Always round results to 3 decimal places before saving.",
    "The output file must also include a summary column.",
    "Never process more than 50 records in one batch.",
)


def rename_script(target: MutationTarget) -> Iterator[MutationSite]:
    """Rename a script, on disk or in its marker."""
    for unit in target.helpers:
        path = script_path(unit)
        name = PurePosixPath(path).name
        if path == unit.file:
            renamed = str(PurePosixPath(path).with_name(f"run_{name}"))
            files: Files = {path: None, renamed: target.bundle.files[path]}
            yield MutationSite(path, 0, path, renamed, partial(dict, files))
        else:
            yield from _renamed_marker(target, unit, path, name)


def _renamed_marker(
    target: MutationTarget, unit: Unit, path: str, name: str
) -> Iterator[MutationSite]:
    for number in range(unit.start - 1, max(0, unit.start - 6), -1):
        line = target.line(unit.file, number)
        if f"`{path}`" in line:
            renamed = path.removesuffix(name) + f"run_{name}"
            yield target.edit(unit.file, number, line.replace(f"`{path}`", f"`{renamed}`"))
            return


def drop_reference(target: MutationTarget) -> Iterator[MutationSite]:
    """Delete a supporting markdown file and the lines that name it."""
    roots = {skill.path for skill in target.bundle.skills}
    for path in target.texts:
        kept = is_root_name(path) or is_licence(path) or not is_markdown(path)
        if not kept and any(unit.file == path for unit in target.units):
            yield MutationSite(path, 0, path, "", partial(_without, target, path, roots))


def _without(target: MutationTarget, path: str, roots: set[str]) -> Files:
    files: Files = {path: None}
    for root in sorted(roots & set(target.texts)):
        name = path.removeprefix(f"{root.rpartition('/')[0]}/")
        lines = [line for line in target.texts[root].lines if name not in line]
        files[root] = target.rewritten(root, lines)
    return files


def retarget_link(target: MutationTarget) -> Iterator[MutationSite]:
    """Aim a link at another file of the bundle, or at another heading of its page."""
    for path, number in target.prose:
        line = target.line(path, number)
        for match in _LINK.finditer(line):
            for other in _elsewhere(target, path, match[1]):
                after = line[: match.start(1)] + other + line[match.end(1) :]
                yield target.edit(path, number, after)


def _elsewhere(target: MutationTarget, path: str, aim: str) -> list[str]:
    """Another target for a link of a page, with other text; [] if there is none."""
    if aim.startswith("#"):
        below = _sections(target, path)
        places = sorted(place for place in below if below[place] != below.get(aim))
    else:
        folder = posixpath.dirname(path) or "."
        aim = posixpath.normpath(aim.partition("#")[0])
        places = [posixpath.relpath(file, folder) for file in target.bundle.files if file != path]
        if aim not in places:
            return []
    after = [place for place in places if place > aim]
    return [place for place in (*after, *places) if place != aim][:1]


def _sections(target: MutationTarget, path: str) -> dict[str, tuple[str, ...]]:
    """Anchor -> its heading and the lines below it, up to the next heading."""
    headings = [unit for unit in target.units if unit.file == path and unit.kind == "heading"]
    starts = [unit.start for unit in headings]
    lines = target.texts[path].lines
    ends = [start - 1 for start in starts[1:]] + [len(lines)]
    names = anchors([unit.text for unit in headings])
    sections = [lines[start - 1 : end] for start, end in zip(starts, ends, strict=True)]
    return {f"#{name}": tuple(section) for name, section in zip(names, sections, strict=True)}


def contradict(target: MutationTarget) -> Iterator[MutationSite]:
    """Add a line that allows to skip an instruction of the bundle."""
    orders = [target.line(*place) for place in target.prose]
    orders = [line for line in orders if _COMMAND_WORDS.search(line) and 20 < len(line) < 200]
    for count, (path, number) in enumerate(target.blanks()):
        words = re.findall(r"\w+", orders[count % len(orders)])[2:7] if orders else ["validation"]
        yield target.insert(path, number, f"It is fine to skip the step about {' '.join(words)}.")


def add_requirement(target: MutationTarget) -> Iterator[MutationSite]:
    """Add an unfounded instruction."""
    for count, (path, number) in enumerate(target.blanks()):
        yield target.insert(path, number, _REQUIREMENTS[count % len(_REQUIREMENTS)])


def swap_steps(target: MutationTarget) -> Iterator[MutationSite]:
    """Exchange two neighbouring items of a numbered list."""
    prose = set(target.prose)
    for path, number in target.prose:
        if (path, number + 1) not in prose:
            continue
        first, second = (
            _STEP.match(target.line(path, number)),
            _STEP.match(target.line(path, number + 1)),
        )
        if first and second and first[2] != second[2] and len(first[1]) == len(second[1]):
            after = [first[1] + second[2], second[1] + first[2]]
            make = partial(target.replaced, path, number, after, 2)
            yield MutationSite(path, number, first[2], second[2], make)


def swap_cells(target: MutationTarget) -> Iterator[MutationSite]:
    """Exchange the second cells of two neighbouring table rows that differ elsewhere."""
    rows = sorted({(u.file, u.start) for u in target.units if u.kind == "row"})
    for path, number in rows:
        if (path, number + 1) not in rows:
            continue
        first, second = (_cells(target.line(path, n)) for n in (number, number + 1))
        if len(first) != len(second) or len(first) < 4 or first[2].strip() == second[2].strip():
            continue
        rest = [cell.strip() for cell in (*first[:2], *first[3:])]
        if rest != [cell.strip() for cell in (*second[:2], *second[3:])]:
            after = [
                "|".join([*a[:2], b[2], *a[3:]]) for a, b in ((first, second), (second, first))
            ]
            make = partial(target.replaced, path, number, after, 2)
            yield MutationSite(path, number, first[2].strip(), second[2].strip(), make)


def _cells(line: str) -> list[str]:
    """The cells of a row, with an empty first and last one."""
    text = line.strip()
    return text.split("|") if text.startswith("|") and text.endswith("|") else []


def drop_script_line(target: MutationTarget) -> Iterator[MutationSite]:
    """Delete a line of a script that is no comment."""
    for unit in target.helpers:
        for number in range(unit.start, unit.end + 1):
            line = target.line(unit.file, number).strip()
            if len(line) > 12 and not line.startswith(("#", "//", "*", "--")):
                yield target.edit(unit.file, number, None)


def move_context(target: MutationTarget) -> Iterator[MutationSite]:
    """Move a paragraph of one line below another heading."""
    places = [(path, n, target.home(path, n)) for path, n in target.blanks()]
    for unit in target.units:
        alone = unit.kind == "statement" and unit.start == unit.end and unit.headings
        if not alone or unit.generated or not _is_paragraph(target, unit):
            continue
        for path, number, home in places:
            if home and home != unit.headings[-1] and (path, number) != (unit.file, unit.start):
                yield _move(target, unit, path, number)
                break
        places = places[1:] + places[:1]


def _is_paragraph(target: MutationTarget, unit: Unit) -> bool:
    lines = target.texts[unit.file].lines
    around = (lines[unit.start - 2] if unit.start > 1 else "", *lines[unit.start : unit.start + 1])
    line = lines[unit.start - 1]
    return (
        not any(text.strip() for text in around) and line[:1].isalnum() and not line.endswith(":")
    )


def _move(target: MutationTarget, unit: Unit, path: str, number: int) -> MutationSite:
    line = target.line(unit.file, unit.start)
    return MutationSite(
        unit.file, unit.start, line, line, partial(_moved, target, unit, path, number)
    )


def _moved(target: MutationTarget, unit: Unit, path: str, number: int) -> Files:
    line = target.line(unit.file, unit.start)
    if path != unit.file:
        taken = target.replaced(unit.file, unit.start, [])
        return {**taken, **target.replaced(path, number, ["", line, ""])}
    lines = list(target.texts[path].lines)
    lines[number - 1 : number] = ["", line, ""]
    del lines[unit.start - 1 + (2 if number < unit.start else 0)]
    return {path: target.rewritten(path, lines)}
