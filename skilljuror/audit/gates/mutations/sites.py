"""A bundle as a target of mutations: its lines by kind, and sites for changes."""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import NamedTuple

from skilljuror.audit.comparison.file_matching import file_path
from skilljuror.base.skill import CONTENT_KINDS, Blob, Bundle, Unit, class_of, is_markdown
from skilljuror.skill.markdown import TextFile, markdown_index, read_text, write_text
from skilljuror.skill.units import units_of

Files = dict[str, Blob | None]  # path -> new content; None deletes the file

MARK = re.compile(r"^\s*(?:(?:>\s?)|(?:[-*+]|\d{1,9}[.)])\s+)*(?:\[[ xX]\]\s+)?")
"""Prefix of a line's words: indentation, quote marks, list markers."""
_OUTSIDE = re.compile(r"\]\([^)]*\)|https?://\S+|`[^`]*`|<[^>]*>")


class MutationSite(NamedTuple):
    """One possible change."""

    path: str
    line: int  # 1-based line; 0 for a whole file
    before: str
    after: str  # text after the change; "" for a deletion
    make: Callable[[], Files]  # returns the changed files


class MutationTarget:
    """One bundle, read once for all mutations."""

    def __init__(self, bundle: Bundle, seed: int = 0) -> None:
        self.bundle = bundle
        self.units = units_of(bundle)
        self.seed = seed

    @cached_property
    def texts(self) -> Mapping[str, TextFile]:
        texts = {path: read_text(blob) for path, blob in self.bundle.files.items()}
        return {path: text for path, text in texts.items() if text is not None}

    @cached_property
    def prose(self) -> tuple[tuple[str, int], ...]:
        """(file, 1-based line) of the lines of statements and list items, in order."""
        return self._lines_of({"statement", "item"})

    @cached_property
    def listings(self) -> tuple[tuple[str, int], ...]:
        """(file, 1-based line) of code lines in Markdown, outside embedded scripts."""
        helpers = {(unit.file, n) for unit in self.helpers for n in _numbers(unit)}
        lines = self._lines_of({"code"})
        return tuple(x for x in lines if x not in helpers and is_markdown(x[0]))

    @cached_property
    def helpers(self) -> tuple[Unit, ...]:
        """The file units of scripts, in a fence or on disk."""
        files = (unit for unit in self.units if unit.kind == "file")
        return tuple(unit for unit in files if class_of(file_path(unit)) == "code")

    def _lines_of(self, kinds: set[str]) -> tuple[tuple[str, int], ...]:
        numbers = {
            (unit.file, n)
            for unit in self.units
            if unit.kind in kinds
            and not unit.generated
            and not (unit.kind == "item" and unit.headings[-1:] == ("Contents",))
            for n in _numbers(unit)
        }
        return tuple(sorted(numbers))

    def line(self, path: str, number: int) -> str:
        return self.texts[path].lines[number - 1]

    def replaced(self, path: str, number: int, after: Sequence[str], count: int = 1) -> Files:
        """Return the file with `count` lines from `number` on replaced."""
        text = self.texts[path]
        lines = (*text.lines[: number - 1], *after, *text.lines[number - 1 + count :])
        return {path: self.rewritten(path, lines)}

    def rewritten(self, path: str, lines: Sequence[str]) -> Blob:
        """Return the file with other lines and its original flags."""
        text = self.texts[path]
        data = write_text(TextFile(tuple(lines), text.bom, text.crlf, text.final_newline))
        return Blob(data, self.bundle.files[path].executable)

    def edit(self, path: str, number: int, after: str | None, count: int = 1) -> MutationSite:
        """Return a site that replaces `count` lines, or deletes them for None."""
        before = "\n".join(self.texts[path].lines[number - 1 : number - 1 + count])
        lines = [] if after is None else after.split("\n")
        make = partial(self.replaced, path, number, lines, count)
        return MutationSite(path, number, before, (after or "").strip("\n"), make)

    def blanks(self) -> Iterator[tuple[str, int]]:
        """Yield (file, 1-based line) of the blank lines between two lines of prose."""
        for path, number in self.prose:
            lines = self.texts[path].lines
            end = number + 1
            if (
                end < len(lines)
                and not lines[end - 1].strip()
                and (path, end + 1) in self.prose_places
            ):
                yield path, end

    @cached_property
    def prose_places(self) -> frozenset[tuple[str, int]]:
        return frozenset(self.prose)

    @cached_property
    def homes(self) -> dict[tuple[str, int], str]:
        """(file, last line) of each text with content -> the heading above; "" if there is none."""
        content = (u for u in self.units if u.kind in CONTENT_KINDS and u.kind != "heading")
        return {(unit.file, unit.end): "".join(unit.headings[-1:]) for unit in content}

    def choose(self, name: str, sites: Sequence[MutationSite], count: int) -> list[MutationSite]:
        """Choose up to `count` sites, the same ones for the same bundle, name and seed."""
        chance = random.Random(f"{self.seed}:{name}:{self.bundle.digest}")
        return chance.sample(list(sites), min(count, len(sites)))

    def mutant(self, site: MutationSite) -> Bundle:
        files: dict[str, Blob] = dict(self.bundle.files)
        for path, blob in site.make().items():
            if blob is None:
                del files[path]
            else:
                files[path] = blob
        ordered = {path: files[path] for path in sorted(files, key=str.encode)}
        return Bundle(self.bundle.name, ordered, self.bundle.skills)


Sites = Callable[[MutationTarget], Iterator[MutationSite]]
LineChange = Callable[[str], str | None]
"""A line -> the line as changed, None to delete it, the same where the kind has no place in it."""


def _numbers(unit: Unit) -> range:
    return range(unit.start, unit.end + 1)


def changed_lines(change: LineChange, *, code: bool = False) -> Sites:
    """Each line of prose, and of `code` too, that a change makes another."""

    def sites(target: MutationTarget) -> Iterator[MutationSite]:
        for path, number in sorted({*target.prose, *(target.listings if code else ())}):
            line = target.line(path, number)
            if (after := change(line)) != line:
                yield target.edit(path, number, after)

    return sites


def first_matches(
    pattern: re.Pattern[str], change: Callable[[re.Match[str]], str], only: str = ""
) -> Sites:
    """The first match of a line outside of code, links and tags is changed, in lines with a match of `only`."""
    needed = re.compile(only, re.IGNORECASE)

    def changed(line: str) -> str:
        match = next(shown(pattern, line), None) if needed.search(line) else None
        return line[: match.start()] + change(match) + line[match.end() :] if match else line

    return changed_lines(changed)


def shown(pattern: re.Pattern[str], line: str) -> Iterator[re.Match[str]]:
    hidden = [span.span() for span in _OUTSIDE.finditer(line)]
    for match in pattern.finditer(line, words_start(line)):
        if not any(a < match.end() and match.start() < b for a, b in hidden):
            yield match


def words_start(line: str) -> int:
    """Where the words of a line begin."""
    return len(line) - len(MARK.sub("", line, count=1))


def block_around(lines: Sequence[str], number: int) -> tuple[int, Sequence[str]]:
    """Return the top-level block of a line, as (0-based first line, lines)."""
    blocks = markdown_index(tuple(lines)).blocks
    block = next((one for one in blocks if one.start < number <= one.end), None)
    return (block.start, lines[block.start : block.end]) if block else (0, lines)


def is_equivalent(target: MutationTarget, site: MutationSite) -> bool:
    """Whether an agent reads the same after a change."""
    made = site.make()
    before = {path: target.bundle.files[path] for path in made if path in target.bundle.files}
    after = {path: blob for path, blob in made.items() if blob is not None}
    return said_lines(before) == said_lines(after)


def item_depths(lines: Sequence[str]) -> tuple[int, ...]:
    """Return for each line of a page the number of list items that hold it."""
    depths = [0] * len(lines)
    for token in markdown_index(tuple(lines)).tokens:
        if token.type == "list_item_open" and token.map:
            start, end = token.map
            while end > start + 1 and not "".join(lines[end - 1 : end]).strip():
                end -= 1
            for number in range(start, min(end, len(lines))):
                depths[number] += 1
    return tuple(depths)


def said_lines(files: Mapping[str, Blob]) -> list[tuple[str, int, str]]:
    """Return the lines of files without white space, list markers and emphasis, each with its depth in
    lists.

    Files with equal lines are equivalent mutants: nothing that an agent reads differs. It is
    independent of the units on purpose, so that the gate does not judge itself.
    """
    lines = []
    for path, blob in files.items():
        text = blob.text
        if text is None:
            lines.append((path, 0, blob.sha256))
            continue
        written = text.split("\n")
        depths = item_depths(written) if is_markdown(path) else (0,) * len(written)
        for line, depth in zip(written, depths, strict=True):
            bare = "".join(MARK.sub("", line).replace("*", "").replace("_", "").split())
            if bare:
                lines.append((path, max(0, depth - 1), bare))
    return lines
