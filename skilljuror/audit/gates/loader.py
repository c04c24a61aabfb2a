"""Loader text: what a loader replaces or runs in the body of a SKILL.md, in fences too, and in no other file.

The rules are those of Claude Code: `$0` to `$99` and `$ARGUMENTS` become what the Skill is called with,
`${CLAUDE_SKILL_DIR}` and `${CLAUDE_SESSION_ID}` a path and an id; the output of its command replaces a code span
behind a "!" and a fence that is marked with one. A backslash in front of a `$` keeps it. Such text has to work in a
variant where it works in the parent, and nowhere else.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from posixpath import join, normpath
from typing import NamedTuple

from skilljuror.audit.comparison.code_paths import BundlePaths, carried_files, path_literals
from skilljuror.audit.gates.findings import Observation
from skilljuror.base.skill import Bundle, Skill, resource_class
from skilljuror.skill.generated import own_lines
from skilljuror.skill.markdown import frontmatter_end, parse_frontmatter, read_text
from skilljuror.skill.units import cached_by_bundles, units_of

RUN = "!"
"""Token of a command that the loader runs."""
_RUN = re.compile(r"(?<!\S)!`([^`\n]+)`")
_MARKED = re.compile(r"[ \t>]*```![^\S\n]*$")
_CLOSED = re.compile(r"[ \t>]*```")
_REPLACED = re.compile(
    r"(?<!\\)\$(?:\d{1,2}(?!\w)|ARGUMENTS\b|\{CLAUDE_(?:SKILL_DIR|SESSION_ID)\})"
)
_POSITION = re.compile(r"\$[1-9]\d?")
_FOLDER = "${CLAUDE_SKILL_DIR}/"


class LoaderLine(NamedTuple):
    """A line with loader text."""

    number: int  # 1-based
    text: str
    tokens: tuple[str, ...]  # what is replaced, and `RUN` for each command
    commands: tuple[str, ...]  # what is run


@lru_cache(maxsize=1 << 10)
def loader_lines(lines: tuple[str, ...]) -> tuple[LoaderLine, ...]:
    """Return the lines with loader text, as if they were the body of a SKILL.md; a fence that is run counts as its
    first line."""
    found: dict[int, tuple[list[str], list[str]]] = {}
    opened, block = 0, list[str]()
    for number, line in enumerate(lines, 1):
        commands = _RUN.findall(line)
        tokens = [*[RUN] * len(commands), *_REPLACED.findall(line)]
        if tokens:
            found[number] = tokens, commands
        if opened and _CLOSED.match(line):
            before = found.get(opened, ([], []))
            found[opened] = [RUN, *before[0]], ["\n".join(block), *before[1]]
            opened, block = 0, []
        elif opened:
            block.append(line)
        elif _MARKED.match(line):
            opened = number
    return tuple(
        LoaderLine(number, lines[number - 1].strip(), tuple(tokens), tuple(commands))
        for number, (tokens, commands) in sorted(found.items())
    )


def loaded_lines(bundle: Bundle, root: str, *, own: bool = False) -> tuple[LoaderLine, ...]:
    """Return the loader text of a root; `own` leaves out the files that its page carries."""
    text = read_text(bundle.files[root])
    lines = text.lines if text else ()
    end = frontmatter_end(lines)
    return loader_lines(("",) * end + (own_lines(lines) if own else lines)[end:])


def is_for_loader(bundle: Bundle, root: str) -> bool:
    """Whether a root is written for its loader: `$1` alone, without a word about arguments in the frontmatter, is
    a shell's, or a price."""
    text = read_text(bundle.files[root])
    fields, _ = parse_frontmatter(text.lines if text else ())
    tokens = {token for line in loaded_lines(bundle, root) for token in line.tokens}
    said = {"argument-hint", "arguments"} & fields.keys()
    return bool(said) or any(not _POSITION.fullmatch(token) for token in tokens)


@cached_by_bundles
def kept_on_disk(bundle: Bundle) -> frozenset[str]:
    """Return the files that a flat page leaves on disk: those that the loader runs, and those with loader text,
    which would change on the page."""
    found = {
        path
        for path, blob in bundle.files.items()
        if resource_class(path, blob) != "data"
        and (text := read_text(blob))
        and loader_lines(text.lines)
    }
    return frozenset((found | _run_at_load(bundle)) - {skill.path for skill in bundle.skills})


def _run_at_load(bundle: Bundle) -> set[str]:
    """The files that the loader's commands name, and those that these name in turn."""
    paths, found = BundlePaths(bundle, units_of(bundle)), set[str]()
    lines = [one for skill in bundle.skills for one in loaded_lines(bundle, skill.path)]
    waiting = [command for one in lines for command in one.commands]
    while waiting:
        named = map(paths.place_from_anywhere, path_literals(waiting.pop()))
        new = {path for path in named if path in bundle.files} - found
        waiting += [bundle.files[path].text or "" for path in new]
        found |= new
    return found


def named_at_load(bundle: Bundle) -> Iterator[tuple[str, str, LoaderLine, bool]]:
    """Yield (path as written, root, line, whether it is there) of each path that a root names by its own folder,
    or that its loader's commands name; these need it on disk, an agent can write a file from the page."""
    disk, carried = BundlePaths(bundle, ()), {*carried_files(units_of(bundle))}

    def is_there(path: str, skill: Skill, *, run: bool) -> bool:
        if not path.startswith(_FOLDER):
            return disk.place_from_anywhere(path) is not None
        place = normpath(join(skill.directory, path.removeprefix(_FOLDER)))
        return disk.place(path, skill.path) is not None or (not run and place in carried)

    for skill in bundle.skills:
        for line in loaded_lines(bundle, skill.path):
            run = {path for command in line.commands for path in path_literals(command)}
            own = {path for path in path_literals(line.text) if path.startswith(_FOLDER)}
            for path in sorted(run | own):
                yield path, skill.path, line, is_there(path, skill, run=path in run)


# ---- what a variant gains and loses of it ----------------------------------------------------------


class _Loaded(NamedTuple):
    root: str
    line: LoaderLine


def gained_loader_text(parent: Bundle, variant: Bundle) -> Iterator[Observation]:
    """Yield lines of the variant's roots with loader text that the parent's own text in its roots does not have:
    text of a file that stands on the page is the file's."""
    before, after = _loaded(parent, own=True), _loaded(variant)
    for (root, line), tokens in _surplus(after, before):
        message = f"the loader of SKILL.md {_does(tokens)} here, which the source does not have in a SKILL.md"
        yield Observation("layout.loader-text", "", root, line.number, line.text, message)


def lost_loader_text(
    parent: Bundle, variant: Bundle, *, every: bool
) -> Iterator[tuple[Observation, str]]:
    """Yield (observation, line of the parent) for loader text that the roots do not have any more, and for files
    that it names and that are not there any more when it is loaded; unless `every`, only where it is meant."""
    for (root, line), tokens in _surplus(_loaded(parent, own=True), _loaded(variant)):
        if not (every or is_for_loader(parent, root)):
            continue
        file, number = _place(variant, line)
        lost = sorted({_KINDS.get(token[:2], "argument") for token in tokens})
        message = f"the line loses its {' and '.join(lost)}: only the loader of SKILL.md gives it"
        yield Observation("knowledge.loader-text", "", file, number, None, message), line.text
    there = {path for path, _, _, there in named_at_load(parent) if there}
    for path, root, line, still in named_at_load(variant):
        if path in there and not still:
            message = f"{path!r} is not there when SKILL.md is loaded"
            yield (
                Observation("knowledge.loader-text", path, root, line.number, line.text, message),
                line.text,
            )


_KINDS = {RUN: "injection", "${": "value"}
"""Begin of a token -> what it becomes; all others are arguments."""


def _does(tokens: Sequence[str]) -> str:
    replaced = ", ".join(dict.fromkeys(map(repr, filter(lambda one: one != RUN, tokens))))
    does = [f"replaces {replaced}"] if replaced else []
    return " and ".join(does + ["runs a command"] * (RUN in tokens))


def _loaded(bundle: Bundle, *, own: bool = False) -> list[_Loaded]:
    roots = (skill.path for skill in bundle.skills)
    return [_Loaded(root, line) for root in roots for line in loaded_lines(bundle, root, own=own)]


def _surplus(
    more: Sequence[_Loaded], less: Sequence[_Loaded]
) -> Iterator[tuple[_Loaded, list[str]]]:
    """Lines with tokens that one side has more often than the other; lines that the other has come last."""
    spare = Counter(token for one in more for token in one.line.tokens)
    spare.subtract(token for one in less for token in one.line.tokens)
    known = {one.line.text for one in less}
    for one in sorted(more, key=lambda one: one.line.text in known):
        tokens = [token for token in one.line.tokens if spare[token] > 0]
        spare.subtract(tokens)
        if tokens:
            yield one, tokens


def _place(variant: Bundle, line: LoaderLine) -> tuple[str, int | None]:
    """(file, line) where a line of a root went; the first root, if nowhere."""
    for path, blob in variant.files.items():
        text = read_text(blob) if line.text in (blob.text or "") else None
        for other in loader_lines(text.lines) if text else ():
            if other.text == line.text:
                return path, other.number
    return next((skill.path for skill in variant.skills), ""), None
