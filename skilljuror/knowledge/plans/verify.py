"""The proof that a variant on disk says what its parent said: nothing lost, nothing made up.

The plan is a claim. Each check below either uses it only to rebuild the parent, byte for byte,
or does not use it at all.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from html import unescape
from pathlib import PurePosixPath
from posixpath import join, normpath
from urllib.parse import unquote

from skilljuror.errors import TransformError
from skilljuror.knowledge.generated.embedded_files import embedded_files, is_structural_heading
from skilljuror.knowledge.generated.templates import UNSOURCED_HOLES, recognise_template
from skilljuror.knowledge.markdown.headings import anchors, shift_line
from skilljuror.knowledge.markdown.text_file import TextFile, read_text
from skilljuror.knowledge.plans.block_inventory import (
    comparable_lines,
    distinct_words,
    embedded_blobs,
    missing_blocks,
    take_inventory,
)
from skilljuror.knowledge.plans.line_substitutions import StructuralLines, replaced_paths
from skilljuror.knowledge.plans.render import (
    BundleTexts,
    accounted_files,
    copies_of,
    rebuild,
    render,
    rendered_pieces,
)
from skilljuror.knowledge.plans.trigger_sentences import trigger_problems
from skilljuror.knowledge.units.extract import units_of
from skilljuror.knowledge.units.normalised_text import all_paths
from skilljuror.models.bundle import Blob, Bundle
from skilljuror.models.plan import Generated, Plan, Substitution
from skilljuror.models.resource_class import is_root_name, resource_class

SHOWN = 5
"""Problems of one kind that are listed; the rest are counted."""
_MARKS = re.compile(r"[*_`~\\]|\]\([^()\s]*\)|</?[A-Za-z][^<>]*>|[\[\]]")


def verify(plan: Plan, parent: Bundle, variant: Bundle) -> tuple[str, ...]:
    """Every reason why the variant is not proved to carry its parent; empty means proved."""
    problems = [*_files(plan, parent, variant)]
    if problems:
        return tuple(problems)
    for check in (_rebuilt, _told_once, _changes, _made_lines, _triggers, _lines, _blocks, _code):
        found = list(check(plan, parent, variant))
        problems += found[:SHOWN]
        if len(found) > SHOWN:
            problems.append(f"… and {len(found) - SHOWN} more of this kind")
    return tuple(problems)


def verify_control(plan: Plan, parent: Bundle, variant: Bundle) -> tuple[str, ...]:
    """Every reason why a control is not what its plan says; empty means it is.

    A control leaves out, on purpose, what other layouts must carry. What is proved is that the
    plan tells the whole difference: the parent comes back from the variant and the plan.
    """
    problems = tuple(_planned(plan, parent, variant))
    return problems or tuple(_rebuilt(plan, parent, variant))


def _files(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """The variant holds the planned files and no other; every parent file is accounted for."""
    problems = list(_planned(plan, parent, variant))
    yield from problems
    if not problems:
        yield from _unaccounted(plan, parent)


def _planned(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """The variant holds the planned files, as planned, and no other."""
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


def _unaccounted(plan: Plan, parent: Bundle) -> Iterator[str]:
    told = accounted_files(plan) | set(plan.sidecars.values())
    for path, blob in sorted(parent.files.items()):
        if path in plan.dropped and blob.data.strip():
            yield f"{path!r} was dropped and is not empty"
        if path not in plan.dropped and path not in told:
            yield f"{path!r} is carried nowhere"


def _rebuilt(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """The parent's files come back byte for byte from the variant and the plan."""
    try:
        files, problems = rebuild(plan, variant.files)
    except TransformError as error:
        yield f"the parent cannot be rebuilt: {error.message}"
        return
    yield from problems
    for path, data in files.items():
        if path not in parent.files or parent.files[path].data != data:
            yield f"{path!r} does not come back byte for byte"


def _told_once(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """Every parent line is copied once or left out for a reason that its text shows."""
    told: Counter[tuple[str, int]] = Counter()
    for piece in (piece for file in plan.files for piece, _ in copies_of(file)):
        told.update((piece.source, line) for line in range(piece.start, piece.end + 1))
    structure = _structure(parent)
    for left in plan.omitted:
        told[left.source, left.line] += 1
        if left.text.strip() and (left.source, left.line) not in structure:
            yield f"{left.source!r} line {left.line} was left out: {left.text[:80]!r}"
    for (path, line), count in sorted(told.items()):
        if count > 1:
            yield f"{path!r} line {line} stands {count} times in the variant"


def _structure(parent: Bundle) -> set[tuple[str, int]]:
    """The lines of the parent's roots that carry no knowledge: frontmatter delimiters, markers and
    the fences of carried files, as (path, 1-based line)."""
    sources = BundleTexts(parent.files)
    found: set[tuple[str, int]] = set()
    for skill in parent.skills:
        markdown = sources.markdown(skill.path)
        lines = {1, markdown.frontmatter_lines} if markdown.frontmatter_lines else set()
        for heading in markdown.headings:
            lines |= {heading.start + 1} if is_structural_heading(heading.title) else set()
        for file in embedded_files(markdown):
            lines.update(range(file.heading.start + 1, file.heading.end + 1))
            lines |= {file.start, file.end + 1} if file.fenced else set()
        found |= {(skill.path, line) for line in lines}
    return found


def _changes(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """Substitutions change paths and anchors only, to something that the variant has; lines that
    are made of marks, or repeat a definition, do nothing else."""
    known, before, shapes = PathTargets(variant), PathTargets(parent), StructuralLines(parent)
    for file in plan.files:

        def fits(old: str, new: str, path: str = file.path) -> bool:
            return before.knew(old) and known.has(new, path)

        for change in (one for piece, _ in copies_of(file) for one in piece.substitutions):
            told = replaced_paths(change.before, change.after)
            if told is None or not all(fits(*one) for one in told):
                yield f"{file.path!r} changes more than a path: {change.after[:120]!r}"
        for piece in file.pieces:
            if isinstance(piece, Generated) and not shapes.is_sound(piece, fits):
                yield f"{file.path!r} has a {piece.template!r} that says more: {piece.params}"


class PathTargets:
    """What a path or an anchor in a bundle may name."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.sources = BundleTexts(bundle.files)
        self.paths = set(bundle.files)
        self.paths |= {str(up) for path in bundle.files for up in PurePosixPath(path).parents}
        self.folders = [skill.directory for skill in bundle.skills]

    def has(self, token: str, page: str) -> bool:
        """Whether the token names a file, a folder or an anchor, from the page or a skill."""
        path, anchor = _parted(token)
        if not path:
            titles = [one.title for one in self.sources.markdown(page).headings]
            return anchor in anchors(titles)
        folders = [str(PurePosixPath(page).parent), *self.folders]
        return any(normpath(join(folder, path)) in self.paths for folder in folders)

    def knew(self, token: str) -> bool:
        """Whether the token was a path or an anchor at all: an anchor, a path into a folder of
        skills, or the end of the path of a file or folder, on disk or on a page."""
        path, anchor = _parted(token)
        if not path:
            return bool(anchor)
        return "skills/" in path or normpath(path).lstrip("./") in self._tails

    @cached_property
    def _tails(self) -> set[str]:
        """Every end of every path, and of the paths that pages carry."""
        found = {""}
        for path in all_paths(self.bundle, units_of(self.bundle)):
            for up in (path, *map(str, PurePosixPath(path).parents)):
                parts = up.split("/")
                found |= {"/".join(parts[place:]) for place in range(len(parts))}
        return found


def _parted(token: str) -> tuple[str, str]:
    """(path, anchor) of a token, without what a sentence puts around it."""
    path, _, anchor = unquote(token.rstrip(".,:;!?*_").lstrip("*_")).partition("#")
    return path, anchor


def _made_lines(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """Generated lines are filled with words and paths of the parent."""
    known: set[str] | None = None
    for file in plan.files:
        for piece in file.pieces:
            if not isinstance(piece, Generated):
                continue
            known = known if known is not None else _known_words(plan, parent)
            text = " ".join(
                value for hole, value in piece.params.items() if hole not in UNSOURCED_HOLES
            )
            strange = distinct_words([text]) - known
            if strange:
                known |= _read_words(plan, parent)
                strange -= known
            if strange and piece.template != "closer":
                yield f"{file.path!r} has made-up words in {piece.template!r}: {sorted(strange)}"


def _triggers(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """Triggers demand nothing that their files do not."""
    for path, problem in trigger_problems(plan, variant):
        yield f"the trigger of {path!r} {problem}"


def _known_words(plan: Plan, parent: Bundle) -> set[str]:
    made = [file.path for file in plan.files] + list(plan.sidecars)
    return distinct_words([*_texts(plan, parent), *parent.files, *made, parent.name])


def _texts(plan: Plan, parent: Bundle) -> list[str]:
    """What the parent's files say, data apart."""
    data = set(plan.sidecars.values())
    return [blob.text or "" for path, blob in parent.files.items() if path not in data]


def _read_words(plan: Plan, parent: Bundle) -> set[str]:
    """Words as a reader sees them, where marks or entities stand inside a word."""
    return distinct_words(_MARKS.sub("", unescape(text)) for text in _texts(plan, parent))


def _undone(plan: Plan, variant: Bundle) -> dict[str, TextFile]:
    """The variant's text files with every substitution taken back; sidecars apart."""
    sources = BundleTexts(variant.files)
    found = {}
    for file in plan.files:
        lines = list(sources.text(file.path).lines)
        for piece, first in copies_of(file):
            for change in piece.substitutions:
                place = first + change.line - piece.start
                lines[place] = _taken_back(lines[place], change, piece.shift)
        found[file.path] = TextFile(tuple(lines))
    return found


def _taken_back(line: str, change: Substitution, shift: int) -> str:
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


def _lines(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """No non-blank line of the parent is missing; every line on top is of a known template."""
    there: Counter[str] = Counter()
    for text in _parent_texts(plan, parent).values():
        there.update(comparable_lines(text.lines))
    here: Counter[str] = Counter()
    for text in _undone(plan, variant).values():
        here.update(comparable_lines(text.lines))
    gone = Counter(comparable_lines(left.text for left in plan.omitted))
    for line in sorted((there - here - gone).keys()):
        yield f"a line of the parent is missing: {line[:120]!r}"
    made = _made(plan, variant)
    for line in sorted((here - there).keys() - made):
        yield f"a line was added: {line[:120]!r}"


def _made(plan: Plan, variant: Bundle) -> set[str]:
    """The generated lines whose text a template explains; definitions are copies of one."""
    sources = BundleTexts(variant.files)
    lines: list[str] = []
    for file in plan.files:
        text = sources.text(file.path).lines
        for span in rendered_pieces(file):
            if isinstance(span.piece, Generated):
                line = text[span.start]
                copy = span.piece.template == "definition"
                lines += [line] if copy or recognise_template(line) is not None else []
    return set(comparable_lines(lines))


def _blocks(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """Every top-level block of the parent renders to the same HTML somewhere in the variant."""
    there, here = (
        take_inventory(_parent_texts(plan, parent)),
        take_inventory(_undone(plan, variant)),
    )
    for block in missing_blocks(there, here):
        yield f"a block of the parent reads differently: {block[:160]!r}"


def _code(plan: Plan, parent: Bundle, variant: Bundle) -> Iterator[str]:
    """Every code file of the parent stands in the variant with the same bytes and execute bit, as a
    file or as the content of a fence under its own path."""
    have: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for path, blob in _code_of(variant, everything=True, carried_too=True):
        have[blob.sha256, blob.executable].append(path)
    flat = plan.parent != "source"
    for path, blob in _code_of(parent, everything=False, carried_too=flat):
        there = have.get((blob.sha256, blob.executable), ())
        if not any(_same_tail(path, other) for other in there):
            yield f"code {path!r} does not stand in the variant with the same bytes and execute bit"


def _code_of(bundle: Bundle, *, everything: bool, carried_too: bool) -> Iterator[tuple[str, Blob]]:
    """(path, content) of code files, and of code carried in the fences of flat roots."""
    blobs = list(bundle.files.items())
    for path, blob in bundle.files.items():
        text = read_text(blob) if carried_too and is_root_name(path) else None
        if text is not None:
            folder = str(PurePosixPath(path).parent)
            blobs += [(f"{folder}/{name}", one) for name, one in embedded_blobs(text).items()]
    for path, blob in sorted(blobs, key=lambda one: one[0]):
        if everything or resource_class(path, blob) == "code":
            yield path, blob


def _same_tail(path: str, other: str) -> bool:
    """Whether two paths name the same file below a skill's folder: one ends with the other's
    parts without the first."""
    mine, theirs = PurePosixPath(path).parts, PurePosixPath(other).parts
    short = min(len(mine), len(theirs)) - 1
    return short <= 0 or mine[-short:] == theirs[-short:]
