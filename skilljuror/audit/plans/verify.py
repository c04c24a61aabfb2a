"""Prove that a variant on disk says what its parent says: rebuild every file of the parent and compare digests.

The plan is a claim. Of the code that made the variant the proof shares only the file format: lines, templates, and
files on a page. Each check claims what no other does:

`rebuild`          the files are those of the plan, to the byte and the execute bit, and give the parent's files
`_check_omitted`   nothing is left out but blank lines and what only marks a carried file
`_check_changes`   a changed line differs in paths of prose alone, which lead to something
`_check_generated` a generated line has no words but the source's
`_check_reading`   text that moved reads as before
`_check_code`      a script has its name, and can be run if it could
`folder_problems`  a command is told the folder that it is run from
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property, partial
from html import unescape
from itertools import pairwise
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from skilljuror.audit.comparison.inline_spans import (
    command_spans,
    link_target_spans,
    unescaped_target,
)
from skilljuror.audit.comparison.normalised_text import (
    all_paths,
    path_suffixes,
    without_upward_steps,
)
from skilljuror.audit.plans.working_folders import folder_problems
from skilljuror.base.errors import TransformError
from skilljuror.base.files import sha256
from skilljuror.base.skill import (
    Blob,
    Bundle,
    Copy,
    Generated,
    Plan,
    PlannedFile,
    Substitution,
    is_markdown,
    is_root_name,
    resource_class,
)
from skilljuror.skill.generated import (
    CLOSING_LINES,
    INFO_WORDS,
    MARKER_PHRASES,
    embedded_files,
    fill_template,
    is_structural_heading,
)
from skilljuror.skill.markdown import (
    BOM,
    MarkdownIndex,
    frontmatter_end,
    markdown_index,
    read_text,
    text_with_flags,
    write_text,
)
from skilljuror.skill.units import units_of

SHOWN = 5  # maximum number of listed problems of one kind; the others are counted
_UNSOURCED = frozenset({"count", "hashes", "fence", "kind", "info", "link"})
"""Holes of templates without words of the source: counts, marks, and links made of paths."""
_TOKEN = re.compile(r"[\w./#%~@+$&!?*-]+")
"""A possible path in a line, without marks around it."""
_WORD = re.compile(r"\w+")
_MARKS = re.compile(r"[*_`~\\]|\]\([^()\s]*\)|</?[A-Za-z][^<>]*>|[\[\]]")
_HASHES = re.compile(r"^( {0,3})(#{1,6})(?!#)")
_LOCAL_TARGET = re.compile(r'(?<=href|.src)="(?![A-Za-z][A-Za-z0-9+.-]{0,20}:)[^"]*"')

Line = tuple[str, int]
"""A line of the parent: its file and 1-based number."""


def verify(plan: Plan, parent: Bundle, variant: Bundle) -> tuple[str, ...]:
    """Return why the variant does not carry its parent; empty if it does."""
    problems = first_problems(_check_rebuilt(plan, parent, variant, control=False))
    if problems:
        return tuple(problems)
    for check in (
        _check_omitted,
        _check_changes,
        _check_generated,
        _check_reading,
        _check_code,
        _check_folders,
    ):
        problems += first_problems(check(plan, parent, variant))
    return tuple(problems)


def verify_control(plan: Plan, parent: Bundle, variant: Bundle) -> tuple[str, ...]:
    """Return why a control is not what its plan says; empty if it is.

    A control omits knowledge on purpose. The proof is that the plan contains the whole difference: variant
    and plan give the parent.
    """
    return tuple(first_problems(_check_rebuilt(plan, parent, variant, control=True)))


def first_problems(problems: Iterable[str]) -> list[str]:
    """Return the first `SHOWN` problems and the number of the rest."""
    every = list(problems)
    more = [f"… and {len(every) - SHOWN} more of this kind"] if len(every) > SHOWN else []
    return every[:SHOWN] + more


def _check_rebuilt(plan: Plan, parent: Bundle, variant: Bundle, *, control: bool) -> Iterator[str]:
    for path in sorted({*(file.path for file in plan.files), *plan.sidecars} ^ {*variant.files}):
        yield f"{path!r} is {'not planned' if path in variant.files else 'missing'}"
    for target, path in plan.sidecars.items():
        if target in variant.files and variant.files[target] != parent.files.get(path):
            yield f"{target!r} is not a copy of {path!r}"
    rebuilt, problems = rebuild(plan, variant.files)
    yield from problems
    carried = Counter([*rebuilt, *plan.sidecars.values(), *plan.dropped])
    yield from (
        f"{path!r} is carried {count} times" for path, count in carried.items() if count > 1
    )
    for path in sorted(rebuilt.keys() | parent.files.keys()):
        blob = parent.files.get(path)
        if path in rebuilt:
            if blob is None or sha256(rebuilt[path]) != blob.sha256:
                yield f"{path!r} cannot be rebuilt byte for byte"
        elif blob and path in plan.dropped:
            if blob.data.strip() and not control:
                yield f"{path!r} was dropped but is not empty"
        elif path not in plan.sidecars.values():
            yield f"{path!r} is missing in the variant"


def rebuild(plan: Plan, variant: Mapping[str, Blob]) -> tuple[dict[str, bytes], list[str]]:
    """Return the parent's text files, made from the variant's files and the plan alone, and the problems."""
    lines: dict[str, dict[int, str]] = {path: {} for path in plan.flags}
    problems: list[str] = []
    restored: list[tuple[Line, str]] = [
        ((omitted.source, omitted.line), omitted.text) for omitted in plan.omitted
    ]
    for planned in plan.files:
        if planned.path in variant:
            try:
                texts = restored_lines(planned, variant[planned.path])
            except (TransformError, UnicodeDecodeError) as error:
                problems.append(f"{planned.path!r} differs from its plan: {error}")
                continue
            places = origins(planned)
            restored += [(place, text) for place, text in zip(places, texts, strict=True) if place]
            lines |= {piece.source: {} for piece in copies(planned) if piece.source not in lines}
    for (source, number), text in restored:
        numbered = lines.setdefault(source, {})
        if number in numbered:
            problems.append(f"{source!r} line {number} stands in the variant twice")
        numbered[number] = text
    whole = {}
    for source, numbered in sorted(lines.items()):
        ordered = (numbered[number] for number in sorted(numbered))
        whole[source] = write_text(text_with_flags(ordered, plan.flags.get(source, ())))
    return whole, problems


def copies(planned: PlannedFile) -> Iterator[Copy]:
    return (piece for piece in planned.pieces if isinstance(piece, Copy))


def origins(planned: PlannedFile) -> list[Line | None]:
    """Where each line of a file was in the parent; None for a generated line."""
    places: list[Line | None] = []
    for piece in planned.pieces:
        if isinstance(piece, Copy):
            places += [(piece.source, number) for number in range(piece.start, piece.end + 1)]
        else:
            places.append(None)
    return places


def restored_lines(planned: PlannedFile, blob: Blob) -> list[str]:
    """Return the lines of a variant's file as the parent has them. Raises TransformError if bytes, bit or a line
    are not what the plan says."""
    end = "\r\n" if planned.crlf else "\n"
    text = blob.data.removeprefix(BOM if planned.bom else b"").decode()
    body = text.removesuffix(end) if planned.final_newline else text
    lines = body.split(end) if planned.pieces and text else []
    ending = end if planned.final_newline and lines else ""
    mark = BOM if planned.bom else b""
    size = sum(piece.size for piece in planned.pieces)
    same = mark + f"{end.join(lines)}{ending}".encode() == blob.data
    if not same or len(lines) != size or blob.executable != planned.executable:
        raise TransformError("it has other bytes, lines or an other execute bit")
    shifted = any(piece.shift for piece in copies(planned))
    headings = {one.start for one in markdown_index(tuple(lines)).headings} if shifted else set()
    place = 0
    for piece in planned.pieces:
        if isinstance(piece, Generated):
            if lines[place] != fill_template(piece.template, piece.params):
                raise TransformError(f"line {place + 1} is not the generated one")
            place += 1
            continue
        changes = {change.line: change for change in piece.substitutions}
        for number in range(piece.start, piece.end + 1):
            if piece.shift and place in headings:
                lines[place] = _unshifted(lines[place], piece.shift)
            change = changes.pop(number, None)
            if change is not None and lines[place] != change.after:
                raise TransformError(f"line {place + 1} is not {change.after!r}")
            lines[place] = change.before if change is not None else lines[place]
            place += 1
        if changes:
            raise TransformError(f"line {min(changes)} of {piece.source!r} is not in the piece")
    return lines


def _unshifted(line: str, levels: int) -> str:
    return _HASHES.sub(lambda match: match[1] + "#" * (len(match[2]) - levels), line)


def _check_omitted(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    structure = _structural_lines(parent)
    for one in plan.omitted:
        if one.text.strip() and (one.source, one.line) not in structure:
            yield f"{one.source!r} line {one.line} was omitted: {one.text[:80]!r}"


def _structural_lines(parent: Bundle) -> set[Line]:
    """Lines of the parent's roots without knowledge: frontmatter delimiters, markers, fences of carried files."""
    structure: set[Line] = set()
    for skill in parent.skills:
        markdown = _index(parent, skill.path)
        lines = {1, markdown.frontmatter_lines} if markdown.frontmatter_lines else set()
        for heading in markdown.headings:
            lines |= {heading.start + 1} if is_structural_heading(heading.title) else set()
        for file in embedded_files(markdown):
            lines.update(range(file.heading.start + 1, file.heading.end + 1))
            lines |= {file.start, file.end + 1} if file.fenced else set()
            lines |= {file.announced_at + 1} if file.announced_at is not None else set()
        structure |= {(skill.path, line) for line in lines}
    return structure


def _index(bundle: Bundle, path: str) -> MarkdownIndex:
    text = read_text(bundle.files[path])
    return markdown_index(text.lines if text else ())


def _check_changes(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """Changed lines, and repeated definitions, differ from the parent's in paths and anchors that lead to something."""
    targets, known = _Targets(variant), _Targets(parent)
    for page, piece in ((file.path, piece) for file in plan.files for piece in file.pieces):
        if isinstance(piece, Generated):
            told = piece.params.get("line", "")
            alike = known.like(told) if piece.template == "definition" else [told]
            if not any(_leads(one, told, page, known, targets) for one in alike):
                yield f"{page!r} has a definition that the parent lacks: {told[:120]!r}"
            continue
        for change in piece.substitutions:
            if changes_code(change, known.index(piece.source)):
                yield f"{page!r} changes code: {change.after[:120]!r}"
            elif not _leads(change.before, change.after, page, known, targets):
                yield f"{page!r} changes more than a path: {change.after[:120]!r}"


def _leads(before: str, after: str, page: str, known: "_Targets", targets: "_Targets") -> bool:
    """Whether a line of a page differs from the parent's in paths alone, which lead to something."""
    pairs = replaced_paths(before, after)
    return pairs is not None and all(
        known.is_path(old) and targets.has(new, page) for old, new in pairs
    )


def replaced_paths(before: str, after: str) -> list[tuple[str, str]] | None:
    """Return the replaced link targets and path tokens of a line; None if anything else differs."""
    (old, olds), (new, news) = _split_link_targets(before), _split_link_targets(after)
    olds, news = [*olds, *_TOKEN.findall(old)], [*news, *_TOKEN.findall(new)]
    if _TOKEN.sub("x", old) != _TOKEN.sub("x", new) or len(olds) != len(news):
        return None
    return [(path, other) for path, other in zip(olds, news, strict=True) if path != other]


def changes_code(change: Substitution, markdown: MarkdownIndex) -> bool:
    """Whether a change of a parent's line affects a code block, or a command in prose."""
    commands = [
        [line[start:end] for start, end in command_spans(line)]
        for line in (change.before, change.after)
    ]
    return change.line - 1 not in markdown.link_lines or commands[0] != commands[1]


def _split_link_targets(line: str) -> tuple[str, list[str]]:
    """(line without link targets, targets)."""
    parts, targets, place = [], list[str](), 0
    for start, end in link_target_spans(line):
        if start >= place:
            parts.append(line[place:start])
            targets.append(unescaped_target(line[start:end]))
            place = end
    return "\0".join([*parts, line[place:]]), targets


class _Targets:
    """What the lines of a bundle can lead to."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self.index = cache(partial(_index, bundle))
        self._paths = set(bundle.files)
        self._paths |= {str(up) for path in bundle.files for up in PurePosixPath(path).parents}

    def has(self, token: str, page: str) -> bool:
        """Whether the token names a file, a folder or an anchor, from the page or a skill."""
        folders = [dirname(page), *(skill.directory for skill in self._bundle.skills)]
        return any(
            any(normpath(join(folder, path)) in self._paths for folder in folders)
            if path
            else anchor in self.index(page).anchor_at.values()
            for path, anchor in _paths_and_anchors(token)
        )

    def is_path(self, token: str) -> bool:
        """Whether the token can be a path or an anchor: an anchor, a path into a folder of skills, or the end of
        the path of a file or folder, on disk or on a page."""
        return any(
            "skills/" in path or without_upward_steps(path) in self._suffixes if path else anchor
            for path, anchor in _paths_and_anchors(token)
        )

    @cached_property
    def _suffixes(self) -> set[str]:
        ends = {""}
        for path in all_paths(self._bundle, units_of(self._bundle)):
            for above in (path, *map(str, PurePosixPath(path).parents)):
                ends.update(path_suffixes(above))
        return ends

    def like(self, line: str) -> list[str]:
        """Return the lines, without quote or list marks, that have the same words but for paths."""
        return self._lines.get(_TOKEN.sub("x", _split_link_targets(line)[0]), [])

    @cached_property
    def _lines(self) -> Mapping[str, list[str]]:
        lines: dict[str, list[str]] = defaultdict(list)
        texts = filter(None, map(read_text, self._bundle.files.values()))
        for line in dict.fromkeys(line for text in texts for line in text.lines):
            for spelling in {line.strip(), line[max(0, line.find("[")) :]}:
                lines[_TOKEN.sub("x", _split_link_targets(spelling)[0])].append(spelling)
        return lines


def _paths_and_anchors(token: str) -> Iterator[tuple[str, str]]:
    """A token as a path and an anchor: as it stands (`_notes.md`), and without marks of emphasis."""
    whole = token.rstrip(".,:;!?*_")
    for text in {whole, whole.lstrip("*_")}:
        path, _, anchor = unquote(text).partition("#")
        yield path, anchor


def _check_generated(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    made = [piece for file in plan.files for piece in file.pieces if isinstance(piece, Generated)]
    known = _words_known(plan, parent) if made else set[str]()
    for piece in made:
        params = piece.params
        if not _is_sound(piece.template, params):
            yield f"an invalid {piece.template!r}: {params}"
        elif piece.template != "closer":
            values = (value for hole, value in params.items() if hole not in _UNSOURCED)
            unknown = _words(values) - known
            if unknown:
                yield f"words that are not in the source, in {piece.template!r}: {sorted(unknown)}"


def _is_sound(template: str, params: Mapping[str, str]) -> bool:
    """Whether a line that closes, opens or marks has no other content, and no line is filler."""
    if template == "closer":
        return params["line"] in CLOSING_LINES or _is_run(params["line"], "`~")
    if template in {"fence-open", "fence-close"}:
        words = set(params.get("info", "").split())
        return _is_run(params["fence"], "`~") and words <= INFO_WORDS
    if template == "marker":
        return _is_run(params["hashes"], "#") and params["kind"] in MARKER_PHRASES
    return template != "filler"


def _is_run(text: str, marks: str) -> bool:
    return bool(text) and set(text) in [{mark} for mark in marks]


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text.casefold())}


def _words_known(plan: Plan, parent: Bundle) -> set[str]:
    """Words of the source and its paths, as written, and as a reader sees them where marks stand inside a word."""
    copied = set(plan.sidecars.values())
    texts = [
        blob.text or ""
        for path, blob in parent.files.items()
        if path not in copied or resource_class(path, blob) != "data"
    ]
    made = [*(file.path for file in plan.files), *plan.sidecars, *parent.files, parent.name]
    return _words([*texts, *made, *(_MARKS.sub("", unescape(text)) for text in texts)])


def _check_reading(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """Every block of the parent's Markdown renders to the same HTML in the variant, and other text stands alone in a
    file or in a fence."""
    alone, blocks = _shown(plan, variant)
    closers = dict(_closers(plan))
    omitted = {(one.source, one.line) for one in plan.omitted}
    for source in dict.fromkeys(piece.source for file in plan.files for piece in copies(file)):
        text = read_text(parent.files[source])
        lines = text.lines if text else ()
        if not lines or not alone.isdisjoint(
            (source, n + 1, len(lines)) for n in (0, frontmatter_end(lines))
        ):
            continue
        if not is_markdown(source):
            yield f"{source!r} does not stand alone in a file or a fence"
            continue
        for html, start, end in _rendered((*lines, *closers.get(source, ()))):
            content = source, start + 2, end - 1
            marks = {(source, number) for number in range(start + 1, end + 1)} <= omitted
            carried = (source, start + 1) in omitted and (marks or content in alone)
            if not carried and ((source, start + 1), html) not in blocks:
                shown = " ".join(html.partition("\0")[2].split())
                yield f"a block of {source!r} reads differently: {shown[:160]!r}"


_Part = tuple[str, int, int]
"""Lines of the parent: file, first and last, 1-based."""


def _shown(plan: Plan, variant: Bundle) -> tuple[set[_Part], set[tuple[Line, str]]]:
    """(what stands alone in a file or a fence, (first line, HTML) of each block)."""
    alone, blocks = set[_Part](), set[tuple[Line, str]]()
    for planned in plan.files:
        if len(planned.pieces) == 1:
            alone |= {(piece.source, piece.start, piece.end) for piece in copies(planned)}
        places = origins(planned)
        markdown = is_markdown(planned.path)
        lines = restored_lines(planned, variant.files[planned.path]) if markdown else ()
        for html, start, end in _rendered(tuple(lines)):
            place = places[start]
            if place is not None:
                blocks.add((place, html))
            elif html.startswith("fence\0"):
                alone |= _part(places[start + 1 : end - 1])
    return alone, blocks


def _part(places: list[Line | None]) -> set[_Part]:
    """The places as one part; empty if they are none."""
    if not places or places[0] is None:
        return set()
    (source, first), last = places[0], places[0][1] + len(places) - 1
    whole = places == [(source, number) for number in range(first, last + 1)]
    return {(source, first, last)} if whole else set()


def _closers(plan: Plan) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Files whose last block the variant closes, each with the line that does."""
    for file in plan.files:
        for piece, closer in pairwise(file.pieces):
            generated = isinstance(closer, Generated) and closer.template == "closer"
            if isinstance(piece, Copy) and isinstance(closer, Generated) and generated:
                yield piece.source, (closer.params["line"],)


def _rendered(lines: tuple[str, ...]) -> Iterator[tuple[str, int, int]]:
    """(HTML, first line, end) of each block, without local link targets, and without blank lines at the end of
    code, which an unclosed fence adds."""
    for html, start, end in markdown_index(lines).rendered_blocks:
        tidy = "</code></pre>".join(part.rstrip() for part in html.split("</code></pre>"))
        yield _LOCAL_TARGET.sub('=""', tidy), start, end


def _check_code(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """Every code file of the parent is in the variant with the same bytes and execute bit, as a file or as
    the content of a fence with its own path."""
    present: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for path, blob in _all_files(variant):
        present[blob.sha256, blob.executable].append(path)
    for path, blob in _all_files(parent) if plan.parent != "source" else parent.files.items():
        alike = present.get((blob.sha256, blob.executable), ())
        if resource_class(path, blob) == "code" and not any(_same_tail(path, one) for one in alike):
            yield f"code {path!r} is not in the variant with the same bytes and execute bit"


def _all_files(bundle: Bundle) -> Iterator[tuple[str, Blob]]:
    """The files on disk, and those in fences of the roots."""
    yield from bundle.files.items()
    for path in filter(is_root_name, bundle.files):
        for file in embedded_files(_index(bundle, path)):
            if file.fenced:
                yield f"{PurePosixPath(path).parent}/{file.path}", file.blob


def _same_tail(path: str, other: str) -> bool:
    """Whether two paths name the same file below a skill's folder: their ends agree without the first part."""
    parts, other_parts = PurePosixPath(path).parts, PurePosixPath(other).parts
    short = min(len(parts), len(other_parts)) - 1
    return short <= 0 or parts[-short:] == other_parts[-short:]


def _check_folders(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    for path, problem in folder_problems(plan, parent, variant):
        yield f"{path!r} {problem}"
