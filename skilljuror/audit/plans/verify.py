"""Verify that a variant on disk says what its parent says: nothing lost, nothing added.

The plan is a claim. Each check either uses it only to rebuild the parent, byte for byte, or not at all.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from html import unescape
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
from skilljuror.audit.plans.block_inventory import (
    CLOSING_LINES,
    comparable_lines,
    distinct_words,
    embedded_blobs,
    missing_blocks,
    take_inventory,
)
from skilljuror.audit.plans.render import (
    BundleTexts,
    accounted_files,
    copies_of,
    rebuild,
    render,
    shift_line,
)
from skilljuror.audit.plans.trigger_sentences import trigger_problems
from skilljuror.audit.plans.working_folders import folder_problems
from skilljuror.base.errors import TransformError
from skilljuror.base.skill import (
    Blob,
    Bundle,
    Generated,
    Plan,
    PlannedFile,
    Substitution,
    is_root_name,
    resource_class,
)
from skilljuror.skill.generated import (
    INFO_WORDS,
    MARKER_PHRASES,
    UNSOURCED_HOLES,
    embedded_files,
    fill_template,
    is_structural_heading,
    recognise_template,
)
from skilljuror.skill.markdown import MarkdownIndex, TextFile, read_text
from skilljuror.skill.units import units_of

_TOKEN = re.compile(r"[\w./#%~@+$&!?*-]+")
"""A possible path in a line, without marks around it."""


def replaced_paths(before: str, after: str) -> list[tuple[str, str]] | None:
    """Return the replaced link targets and path tokens of a line; None if anything else differs."""
    (old, olds), (new, news) = split_link_targets(before), split_link_targets(after)
    olds, news = [*olds, *_TOKEN.findall(old)], [*news, *_TOKEN.findall(new)]
    if pathless_skeleton(old) != pathless_skeleton(new) or len(olds) != len(news):
        return None
    return [(path, other) for path, other in zip(olds, news, strict=True) if path != other]


def changes_code(change: Substitution, markdown: MarkdownIndex) -> bool:
    """Whether a change of a parent's line affects a code block, or a command in prose."""
    commands = [
        [line[start:end] for start, end in command_spans(line)]
        for line in (change.before, change.after)
    ]
    return change.line - 1 not in markdown.link_lines or commands[0] != commands[1]


def pathless_skeleton(line: str) -> str:
    """Replace every word that could be a path."""
    return _TOKEN.sub("x", line)


def split_link_targets(line: str) -> tuple[str, list[str]]:
    """Return (line without link targets, targets)."""
    parts, targets, place = [], list[str](), 0
    for start, end in link_target_spans(line):
        if start >= place:
            parts.append(line[place:start])
            targets.append(unescaped_target(line[start:end]))
            place = end
    return "\0".join([*parts, line[place:]]), targets


PathMayBecome = Callable[[str, str], bool]
"""Whether an old path or anchor may have become a new one."""


class StructuralLines:
    """Check generated punctuation in the variants of one parent."""

    def __init__(self, parent: Bundle) -> None:
        self._parent = parent

    def is_sound(self, piece: Generated, fits: PathMayBecome) -> bool:
        """Whether a line that closes, opens, marks or defines has no other content."""
        params = piece.params
        if piece.template == "closer":
            return params["line"] in CLOSING_LINES or _is_run(params["line"], "`~")
        if piece.template in {"fence-open", "fence-close"}:
            words = set(params.get("info", "").split())
            return _is_run(params["fence"], "`~") and words <= INFO_WORDS
        if piece.template == "marker":
            return _is_run(params["hashes"], "#") and params["kind"] in MARKER_PHRASES
        return piece.template != "definition" or self._is_copy(params["line"], fits)

    def _is_copy(self, line: str, fits: PathMayBecome) -> bool:
        for before in self._lines.get(pathless_skeleton(split_link_targets(line)[0]), ()):
            pairs = replaced_paths(before, line)
            if pairs is not None and all(fits(old, new) for old, new in pairs):
                return True
        return False

    @cached_property
    def _lines(self) -> Mapping[str, list[str]]:
        """Lines of the parent, without quote or list marks, by their words without paths."""
        lines: dict[str, list[str]] = defaultdict(list)
        texts = filter(None, map(read_text, self._parent.files.values()))
        for line in dict.fromkeys(line for text in texts for line in text.lines):
            for spelling in {line.strip(), line[max(0, line.find("[")) :]}:
                lines[pathless_skeleton(split_link_targets(spelling)[0])].append(spelling)
        return lines


def _is_run(text: str, marks: str) -> bool:
    return bool(text) and set(text) in [{mark} for mark in marks]


SHOWN = 5  # maximum number of listed problems of one kind; the others are counted
_MARKS = re.compile(r"[*_`~\\]|\]\([^()\s]*\)|</?[A-Za-z][^<>]*>|[\[\]]")


def verify(plan: Plan, parent: Bundle, variant: Bundle) -> tuple[str, ...]:
    """Return why the variant does not carry its parent; empty if it does."""
    problems = [*_check_planned(plan, parent, variant)] or [*_check_accounted(plan, parent)]
    if problems:
        return tuple(problems)
    for check in (
        _check_rebuilt,
        _check_coverage,
        _check_substitutions,
        _check_generated,
        _check_triggers,
        _check_folders,
        _check_lines,
        _check_blocks,
        _check_code,
    ):
        found = list(check(plan, parent, variant))
        problems += found[:SHOWN]
        if len(found) > SHOWN:
            problems.append(f"… and {len(found) - SHOWN} more of this kind")
    return tuple(problems)


def verify_control(plan: Plan, parent: Bundle, variant: Bundle) -> tuple[str, ...]:
    """Return why a control is not what its plan says; empty if it is.

    A control omits knowledge on purpose. The proof is that the plan contains the whole difference: variant
    and plan give the parent.
    """
    problems = tuple(_check_planned(plan, parent, variant))
    return problems or tuple(_check_rebuilt(plan, parent, variant))


def _check_planned(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    try:
        expected = render(plan, parent)
    except TransformError as error:
        yield f"the plan does not fit its parent: {error.message}"
        return
    for path in sorted(expected.keys() ^ variant.files.keys()):
        yield f"{path!r} is {'missing' if path in expected else 'not planned'}"
    for path in sorted(expected.keys() & variant.files.keys()):
        if expected[path] != variant.files[path]:
            yield f"{path!r} differs from what the plan renders"
    for target, path in sorted(plan.sidecars.items()):
        if variant.files.get(target) != parent.files.get(path):
            yield f"{target!r} is not a copy of {path!r}"


def _check_accounted(plan: Plan, parent: Bundle) -> Iterator[str]:
    """Every file of the parent is carried, or was dropped because it is empty."""
    accounted = accounted_files(plan) | set(plan.sidecars.values())
    for path, blob in sorted(parent.files.items()):
        if path in plan.dropped and blob.data.strip():
            yield f"{path!r} was dropped but is not empty"
        if path not in plan.dropped and path not in accounted:
            yield f"{path!r} is missing in the variant"


def _check_rebuilt(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    try:
        files, problems = rebuild(plan, variant.files)
    except TransformError as error:
        yield f"the parent cannot be rebuilt: {error.message}"
        return
    yield from problems
    for path, data in files.items():
        if path not in parent.files or parent.files[path].data != data:
            yield f"{path!r} cannot be rebuilt byte for byte"


def _check_coverage(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """Every parent line is copied once, or omitted if it is structural."""
    counts: Counter[tuple[str, int]] = Counter()
    for piece in (piece for file in plan.files for piece, _ in copies_of(file)):
        counts.update((piece.source, line) for line in range(piece.start, piece.end + 1))
    structure = _structural_lines(parent)
    for omitted in plan.omitted:
        counts[omitted.source, omitted.line] += 1
        if omitted.text.strip() and (omitted.source, omitted.line) not in structure:
            yield f"{omitted.source!r} line {omitted.line} was omitted: {omitted.text[:80]!r}"
    for (path, line), count in sorted(counts.items()):
        if count > 1:
            yield f"{path!r} line {line} occurs {count} times in the variant"


def _structural_lines(parent: Bundle) -> set[tuple[str, int]]:
    """Lines of the parent's roots without knowledge, as (path, 1-based line): frontmatter delimiters, markers
    and the fences of embedded files."""
    parent_texts = BundleTexts(parent.files)
    structure: set[tuple[str, int]] = set()
    for skill in parent.skills:
        markdown = parent_texts.markdown(skill.path)
        lines = {1, markdown.frontmatter_lines} if markdown.frontmatter_lines else set()
        for heading in markdown.headings:
            lines |= {heading.start + 1} if is_structural_heading(heading.title) else set()
        for file in embedded_files(markdown):
            lines.update(range(file.heading.start + 1, file.heading.end + 1))
            lines |= {file.start, file.end + 1} if file.fenced else set()
            lines |= {file.announced_at + 1} if file.announced_at is not None else set()
        structure |= {(skill.path, line) for line in lines}
    return structure


def _check_substitutions(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """Substitutions change only paths and anchors, to existing targets; lines of marks and definitions have no
    other content."""
    variant_targets, parent_targets = PathTargets(variant), PathTargets(parent)
    structural, parent_texts = StructuralLines(parent), BundleTexts(parent.files)
    for file in plan.files:

        def fits(old: str, new: str, path: str = file.path) -> bool:
            return parent_targets.is_path(old) and variant_targets.has(new, path)

        for source, change in _changes(file):
            if changes_code(change, parent_texts.markdown(source)):
                yield f"{file.path!r} changes code: {change.after[:120]!r}"
            pairs = replaced_paths(change.before, change.after)
            if pairs is None or not all(fits(old, new) for old, new in pairs):
                yield f"{file.path!r} changes more than a path: {change.after[:120]!r}"
        for piece in file.pieces:
            if isinstance(piece, Generated) and not structural.is_sound(piece, fits):
                yield f"{file.path!r} has an invalid {piece.template!r}: {piece.params}"


def _changes(file: PlannedFile) -> Iterator[tuple[str, Substitution]]:
    for piece, _ in copies_of(file):
        yield from ((piece.source, change) for change in piece.substitutions)


class PathTargets:
    """Possible targets of paths and anchors in a bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._texts = BundleTexts(bundle.files)
        self._paths = set(bundle.files)
        self._paths |= {str(up) for path in bundle.files for up in PurePosixPath(path).parents}

    def has(self, token: str, page: str) -> bool:
        """Whether the token names a file, a folder or an anchor, from the page or a skill."""
        path, anchor = _path_and_anchor(token)
        if not path:
            return anchor in self._texts.markdown(page).anchor_at.values()
        folders = [dirname(page), *(skill.directory for skill in self._bundle.skills)]
        return any(normpath(join(folder, path)) in self._paths for folder in folders)

    def is_path(self, token: str) -> bool:
        """Whether the token can be a path or an anchor: an anchor, a path into a folder of skills, or the end of
        the path of a file or folder, on disk or on a page."""
        path, anchor = _path_and_anchor(token)
        if not path:
            return bool(anchor)
        return "skills/" in path or without_upward_steps(path) in self._suffixes

    @cached_property
    def _suffixes(self) -> set[str]:
        ends = {""}
        for path in all_paths(self._bundle, units_of(self._bundle)):
            for above in (path, *map(str, PurePosixPath(path).parents)):
                ends.update(path_suffixes(above))
        return ends


def _path_and_anchor(token: str) -> tuple[str, str]:
    path, _, anchor = unquote(token.rstrip(".,:;!?*_").lstrip("*_")).partition("#")
    return path, anchor


def _check_generated(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    known: set[str] | None = None
    for file in plan.files:
        for piece in file.pieces:
            if not isinstance(piece, Generated):
                continue
            known = known if known is not None else _words_known(plan, parent)
            text = " ".join(
                value for hole, value in piece.params.items() if hole not in UNSOURCED_HOLES
            )
            unknown = distinct_words([text]) - known
            if unknown:
                known |= _words_shown(plan, parent)
                unknown -= known
            if unknown and piece.template != "closer":
                yield f"{file.path!r} has words that are not in the source, in {piece.template!r}: {sorted(unknown)}"


def _check_triggers(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    for path, problem in trigger_problems(plan, variant):
        yield f"the trigger of {path!r} {problem}"


def _check_folders(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    for path, problem in folder_problems(plan, parent, variant):
        yield f"{path!r} {problem}"


def _words_known(plan: Plan, parent: Bundle) -> set[str]:
    made = [file.path for file in plan.files] + list(plan.sidecars)
    return distinct_words([*_source_texts(plan, parent), *parent.files, *made, parent.name])


def _source_texts(plan: Plan, parent: Bundle) -> list[str]:
    copied = set(plan.sidecars.values())
    return [
        blob.text or ""
        for path, blob in parent.files.items()
        if path not in copied or resource_class(path, blob) != "data"
    ]


def _words_shown(plan: Plan, parent: Bundle) -> set[str]:
    """Words as a reader sees them, if marks or entities are inside a word."""
    return distinct_words(_MARKS.sub("", unescape(text)) for text in _source_texts(plan, parent))


def _without_substitutions(plan: Plan, variant: Bundle) -> dict[str, TextFile]:
    variant_texts = BundleTexts(variant.files)
    texts = {}
    for file in plan.files:
        lines = list(variant_texts.text(file.path).lines)
        for piece, first in copies_of(file):
            for change in piece.substitutions:
                place = first + change.line - piece.start
                lines[place] = _without_substitution(lines[place], change, piece.shift)
        texts[file.path] = TextFile(tuple(lines))
    return texts


def _without_substitution(line: str, change: Substitution, shift: int) -> str:
    if line == change.after:
        return change.before
    shifted = shift_line(change.after, shift)
    return shift_line(change.before, shift) if line == shifted else line


def _parent_texts(plan: Plan, parent: Bundle) -> dict[str, TextFile]:
    sidecars = set(plan.sidecars.values())
    texts = {
        path: read_text(blob)
        for path, blob in parent.files.items()
        if path not in sidecars and path not in plan.dropped
    }
    return {path: text for path, text in texts.items() if text is not None}


def _check_lines(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """No non-blank line of the parent is missing; every additional line is of a known template."""
    parent_lines: Counter[str] = Counter()
    for text in _parent_texts(plan, parent).values():
        parent_lines.update(comparable_lines(text.lines))
    variant_lines: Counter[str] = Counter()
    for text in _without_substitutions(plan, variant).values():
        variant_lines.update(comparable_lines(text.lines))
    omitted = Counter(comparable_lines(left.text for left in plan.omitted))
    for line in sorted((parent_lines - variant_lines - omitted).keys()):
        yield f"a line of the parent is missing: {line[:120]!r}"
    explained = _explained_lines(plan)
    for line in sorted((variant_lines - parent_lines).keys() - explained):
        yield f"a line was added: {line[:120]!r}"


def _explained_lines(plan: Plan) -> set[str]:
    """The generated lines whose text a template explains; definitions are copies."""
    lines: list[str] = []
    for piece in (piece for file in plan.files for piece in file.pieces):
        if isinstance(piece, Generated):
            line = fill_template(piece.template, piece.params)
            copy = piece.template == "definition"
            lines += [line] if copy or recognise_template(line) is not None else []
    return set(comparable_lines(lines))


def _check_blocks(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """Every top-level block of the parent renders to the same HTML in the variant."""
    parent_blocks, variant_blocks = (
        take_inventory(_parent_texts(plan, parent)),
        take_inventory(_without_substitutions(plan, variant)),
    )
    for block in missing_blocks(parent_blocks, variant_blocks):
        yield f"a block of the parent reads differently: {block[:160]!r}"


def _check_code(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """Every code file of the parent is in the variant with the same bytes and execute bit, as a file or as
    the content of a fence with its own path."""
    present: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for path, blob in _code_files(variant, everything=True, embedded_too=True):
        present[blob.sha256, blob.executable].append(path)
    flat = plan.parent != "source"
    for path, blob in _code_files(parent, everything=False, embedded_too=flat):
        candidates = present.get((blob.sha256, blob.executable), ())
        if not any(_same_tail(path, other) for other in candidates):
            yield f"code {path!r} is not in the variant with the same bytes and execute bit"


def _code_files(
    bundle: Bundle, *, everything: bool, embedded_too: bool
) -> Iterator[tuple[str, Blob]]:
    blobs = list(bundle.files.items())
    for path, blob in bundle.files.items():
        text = read_text(blob) if embedded_too and is_root_name(path) else None
        if text is not None:
            folder = str(PurePosixPath(path).parent)
            blobs += [(f"{folder}/{name}", one) for name, one in embedded_blobs(text).items()]
    for path, blob in sorted(blobs, key=lambda one: one[0]):
        if everything or resource_class(path, blob) == "code":
            yield path, blob


def _same_tail(path: str, other: str) -> bool:
    """Whether two paths name the same file below a skill's folder: their ends agree without the first part."""
    parts, other_parts = PurePosixPath(path).parts, PurePosixPath(other).parts
    short = min(len(parts), len(other_parts)) - 1
    return short <= 0 or parts[-short:] == other_parts[-short:]
