"""The variant has the layout that it claims."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import ClassVar, NamedTuple
from urllib.parse import quote

from skilljuror.audit.comparison.code_paths import commanded_paths
from skilljuror.audit.comparison.file_matching import is_tail
from skilljuror.audit.condition_words import is_unread
from skilljuror.audit.gates.findings import Observation, differential, finding, gate_result
from skilljuror.audit.gates.loader import gained_loader_text, kept_on_disk
from skilljuror.audit.gates.prerequisites import prerequisite_observations
from skilljuror.base.build import GateResult
from skilljuror.base.skill import (
    CONTENT_KINDS,
    Bundle,
    Skill,
    Unit,
    is_markdown,
    is_root_name,
    resource_class,
)
from skilljuror.base.texts import count
from skilljuror.skill.generated import POINTERS, EmbeddedFile, embedded_files, is_operational
from skilljuror.skill.markdown import markdown_index, parse_frontmatter, plain_field, read_text
from skilljuror.skill.units import units_of

ROOT_TOKENS = 5_000
"""PD-1: most tokens of a root, the limit of the Agent Skills format. A process is never cut to keep lines."""

_CUE_WORDS = 3
_CUE = re.compile(
    r"\b(?:when|whenever|if|for|before|after|while|during|until|unless|because|to|where|why|how"
    r"|needs?|needed|involves?|appl(?:y|ies)|contains?|covers?|describes?|explains?|lists?|see"
    r"|read|open|use|follow|load|steps?|with|about|on"
    r"|(?:listed|defined|described|explained|documented|covered|given|stands?|part|is|are) (?:in|of))\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{2,}")


class LayoutGate:
    """Check root, frontmatter and the structure that each kind of variant requires."""

    name: ClassVar[str] = "layout"

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        """Judge one pair; the structure of `kind` is required of the variant only."""
        required = _REQUIREMENTS[kind](parent, variant) if kind in _REQUIREMENTS else ()
        found = [
            *required,
            *prerequisite_observations(parent, variant),
            *gained_loader_text(parent, variant),
        ]
        findings = [*map(finding, found), *differential(_general(parent), _general(variant))]
        checked = {"root": len(variant.skills), "path": len(variant.files)}
        return gate_result(self.name, (parent, variant), policy, findings, checked)


def _general(bundle: Bundle) -> Iterator[Observation]:
    if not bundle.skills:
        yield Observation("layout.no-root", "", "")
    roots = {skill.path for skill in bundle.skills}
    for path in bundle.files:
        name = PurePosixPath(path).name
        if is_root_name(path) and path not in roots:
            yield Observation("layout.nested-root", name, path)
        elif is_root_name(path) and name != "SKILL.md":
            yield Observation("layout.root-name", name, path)
    for skill in bundle.skills:
        yield from _frontmatter(bundle, skill)


def _frontmatter(bundle: Bundle, skill: Skill) -> Iterator[Observation]:
    fields, problem = parse_frontmatter((bundle.files[skill.path].text or "").split("\n"))
    missing = [name for name in ("name", "description") if not plain_field(fields, name)]
    if problem or missing:
        message = problem or f"the frontmatter does not have {' and '.join(missing)}"
        yield Observation("layout.frontmatter", message, skill.path, 1, message=message)


def _same_roots(parent: Bundle, variant: Bundle) -> Iterator[Observation]:
    if len(parent.skills) != len(variant.skills):
        message = f"{len(variant.skills)} skill folders, but the source has {len(parent.skills)}"
        yield Observation("layout.roots", "", "", message=message)


def _text_outside_roots(parent: Bundle, variant: Bundle) -> Iterator[Observation]:
    """Text files except the roots; data, binaries, licences, empty files and what a loader would change may stay."""
    roots = {skill.path for skill in variant.skills} | kept_on_disk(parent) | kept_on_disk(variant)
    for path, blob in variant.files.items():
        if path not in roots and blob.data.strip() and resource_class(path, blob) != "data":
            yield Observation("layout.flat", path, path)


def _origin_flat(parent: Bundle, variant: Bundle) -> Iterator[Observation]:
    yield from _same_roots(parent, variant)
    yield from _text_outside_roots(parent, variant)


def _baseline(parent: Bundle, variant: Bundle) -> Iterator[Observation]:
    yield from _one_root(variant)
    yield from _text_outside_roots(parent, variant)


def _one_root(variant: Bundle) -> Iterator[Observation]:
    if len(variant.skills) != 1:
        message = f"{len(variant.skills)} skill folders, but this layout has one"
        yield Observation("layout.roots", "", "", message=message)


def _flat_files(parent: Bundle, variant: Bundle) -> Iterator[Observation]:
    """One root; next to it no Markdown but what a command names or a loader would change; on it, no file that is of use
    only on disk."""
    yield from _one_root(variant)
    commanded = {path for _, path in commanded_paths(variant)}
    announced = {path for path, _, file in _embedded(parent) if file.announced_at is not None}
    for path in _support(variant):
        if is_markdown(path) and path not in commanded | announced | kept_on_disk(variant):
            yield Observation("layout.flat", path, path)
    known = {*parent.files, *announced}
    for path, page, file in _embedded(variant):
        inlined = is_operational(file, path in commanded)
        if inlined and any(is_tail(path, other) for other in known):
            yield Observation("layout.inlined", path, page, file.heading.start + 1, path)


def _embedded(bundle: Bundle) -> Iterator[tuple[str, str, EmbeddedFile]]:
    """(path, page, file) of the files that the roots carry."""
    for skill in bundle.skills:
        text = read_text(bundle.files[skill.path])
        for file in embedded_files(markdown_index(text.lines)) if text else ():
            yield f"{skill.directory}/{file.path}", skill.path, file


class _Root(NamedTuple):
    skill: Skill
    text: str
    units: list[Unit]  # its content units, in order
    on: dict[int, list[int]]  # 1-based line -> indices of the units on it
    links: list[Unit]  # a reference link has its target on another line


def _pd(parent: Bundle, variant: Bundle) -> Iterator[Observation]:
    """PD-1, PD-2 and PD-3, as far as code can check them. (measures §6)

    A page that the author wrote needs no cue but the author's, and no row if another file names it or nobody reads it
    to do a task.
    """
    for skill in variant.skills:
        tokens = count(variant.files[skill.path].text or "")
        if tokens > ROOT_TOKENS:
            message = f"the root has {tokens:,} tokens, more than {ROOT_TOKENS:,}"
            yield Observation("layout.pd-root-size", "", skill.path, message=message)
    support = list(_support(variant))
    if not support:
        yield Observation("layout.pd-support", "", "")
    roots = _roots(variant)
    texts = [(path, (blob.text or "").casefold()) for path, blob in variant.files.items()]
    carried = {path: file.blob.data for path, _, file in _embedded(parent)}
    known = {*carried.values(), *(blob.data for blob in parent.files.values())}
    for path in support:
        own = path in carried or path in parent.files or variant.files[path].data in known
        name = _named(path)
        named = any(name.search(text) for other, text in texts if other != path)
        if not (own and (named or is_unread(path.partition("/")[2]))):
            yield from _cue_observations(path, roots, own, named)


def _named(path: str) -> re.Pattern[str]:
    """Match the name of a file, or a folder that holds it, in a text in lower case."""
    pure = PurePosixPath(path.partition("/")[2].casefold())
    folders = (rf"{re.escape(folder.name)}/(?![\w.])" for folder in pure.parents if folder.name)
    return re.compile("|".join([re.escape(pure.name), *folders]))


def _support(variant: Bundle) -> Iterator[str]:
    """Paths of supporting files: text outside the roots that is neither code nor data."""
    roots = {skill.path for skill in variant.skills}
    for path, blob in variant.files.items():
        if path not in roots and blob.data.strip() and resource_class(path, blob) == "support":
            yield path


def _roots(variant: Bundle) -> list[_Root]:
    units: dict[str, list[Unit]] = defaultdict(list)
    links: dict[str, list[Unit]] = defaultdict(list)
    for unit in units_of(variant):
        if unit.kind in CONTENT_KINDS:
            units[unit.file].append(unit)
        elif unit.kind == "link":
            links[unit.file].append(unit)
    roots = []
    for skill in variant.skills:
        on: dict[int, list[int]] = defaultdict(list)
        for number, unit in enumerate(units[skill.path]):
            for line in range(unit.start, unit.end + 1):
                on[line].append(number)
        text = variant.files[skill.path].text or ""
        roots.append(_Root(skill, text, units[skill.path], on, links[skill.path]))
    return roots


def _cue_observations(
    path: str, roots: list[_Root], own: bool, named: bool
) -> Iterator[Observation]:
    """Whether a page is named, and the root, where it names it, says when to open it."""
    cues = [cue for root in roots for cue in _cues_for(root, path)]
    if not cues and not named:
        yield Observation("layout.pd-unnamed", path, path)
    elif cues and not own and not any(map(_says_when, cues)):
        yield Observation("layout.pd-cue", path, path, text=cues[0].text)


class _Cue(NamedTuple):
    text: str  # without the file's names
    is_row: bool  # whether it is a row of a table, or an item that says what the file holds
    leads: bool  # whether it stands, with its condition, where the text was


def _says_when(cue: _Cue) -> bool:
    words = len(_WORD.findall(cue.text))
    return cue.leads or (words >= _CUE_WORDS and (cue.is_row or bool(_CUE.search(cue.text))))


def _cues_for(root: _Root, path: str) -> Iterator[_Cue]:
    """The text around each mention of the file in the root."""
    names, units = _names_of(path, root.skill.directory), root.units
    starts = (match.start() for match in names.finditer(root.text))
    named = {root.text.count("\n", 0, start) + 1 for start in starts}
    for line in sorted(named.union(link.start for link in root.links if names.search(link.text))):
        numbers = list(root.on.get(line, ()))
        if numbers and units[numbers[-1]].kind == "heading":
            numbers += range(numbers[-1] + 1, min(numbers[-1] + 3, len(units)))
        above = units[numbers[0] - 1].text if numbers and numbers[0] else ""
        leads = [units[n].lead for n in numbers] + [above if above.endswith(":") else ""]
        text = names.sub(" ", " ".join([*leads, *(units[n].text for n in numbers)]))
        described = re.compile(
            rf"(?:[\w*_ ]{{1,40}}:[*_]*\s)?[`*\[]*(?:{names.pattern})[`*\]]*(?:\([^)\s]*\))?\s*[-–—:](?:\s|$)",
            re.I,
        )
        is_row = any(units[n].kind == "row" or described.match(units[n].text) for n in numbers)
        yield _Cue(text, is_row, any(units[n].generated in POINTERS for n in numbers))


def _names_of(path: str, directory: str) -> re.Pattern[str]:
    """Match a file's path in the skill or an end of it, either one URL-quoted, or a folder above it, in any case."""
    pure = PurePosixPath(path.removeprefix(f"{directory}/"))
    folders = [f"{folder}/" for folder in pure.parents if folder.name] or ["./"]
    names = ["/".join(pure.parts[start:]) for start in range(len(pure.parts))]
    tail = "|".join(re.escape(name) for name in dict.fromkeys((*names, *map(quote, names))))
    rows = "|".join(rf"`{re.escape(folder)}`" for folder in folders)
    return re.compile(
        rf"(?<![\w-])(?:{tail})(?![\w-])" + (f"|{rows}" if rows else ""), re.IGNORECASE
    )


_REQUIREMENTS: dict[str, Callable[[Bundle, Bundle], Iterator[Observation]]] = {
    "origin": _same_roots,
    "origin-flat": _origin_flat,
    "baseline": _baseline,
    "flat-files": _flat_files,
    "flat-toc": _flat_files,
    "pd": _pd,
}
"""kind -> its structural check; other kinds require nothing."""
