"""The knowledge units of a bundle."""

import hashlib
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ParamSpec, TypeVar

from skilljuror.knowledge.markdown.text_file import read_text
from skilljuror.knowledge.units.code_and_data import RawUnit
from skilljuror.knowledge.units.critical_tokens import critical_tokens
from skilljuror.knowledge.units.prose import file_units, markdown_units
from skilljuror.models.bundle import Blob, Bundle, Skill
from skilljuror.models.knowledge import Unit
from skilljuror.models.resource_class import is_markdown

_NO_CRITICALS = frozenset({"file", "schema", "step"})


Answer = TypeVar("Answer")
Bundles = ParamSpec("Bundles")


def cached_by_bundles(function: Callable[Bundles, Answer]) -> Callable[Bundles, Answer]:
    """A function of bundles that keeps its last four answers, since several gates ask the same of
    the same bundles; two bundles are the same if their names, files and skills are."""

    @lru_cache(maxsize=4)
    def by_key(*keys: _BundleKey) -> Answer:
        return function(*(Bundle(name, dict(files), skills) for name, files, skills in keys))  # type: ignore[call-arg, arg-type]

    def cached(*bundles: Bundles.args, **_: Bundles.kwargs) -> Answer:
        return by_key(*map(_bundle_key, bundles))

    return cached


_BundleKey = tuple[str, tuple[tuple[str, Blob], ...], tuple[Skill, ...]]


def _bundle_key(bundle: Any) -> _BundleKey:
    return bundle.name, tuple(bundle.files.items()), bundle.skills


def units_of(bundle: Bundle) -> list[Unit]:
    """Every unit of `bundle`, by file in bytewise path order, then by line.

    Markdown is cut into headings, sentences, list items, table rows, code lines, commands, steps
    and links, and frontmatter into fields; other text into lines; each file that is not markdown
    is also one unit "path digest". A file that stands in a fence below its marker gives the same
    units as the file itself, with the lines where it stands. Machine-read data gives only its
    file unit; an empty file gives none. (transforms §5.1)
    """
    return list(_units(tuple(sorted(bundle.files.items(), key=lambda file: file[0].encode()))))


@lru_cache(maxsize=8)
def _units(files: tuple[tuple[str, Blob], ...]) -> tuple[Unit, ...]:
    """Kept, because every gate asks for the same two bundles."""
    counts: Counter[str] = Counter()
    return tuple(
        _unit(draft, path, counts) for path, blob in files for draft in _drafts(path, blob)
    )


def _unit(draft: RawUnit, path: str, counts: Counter[str]) -> Unit:
    stem = f"{draft.kind}:{_digest(draft.text)}"
    counts[stem] += 1
    tokens = () if draft.kind in _NO_CRITICALS else critical_tokens(draft.text)
    return Unit(
        f"{stem}:{counts[stem]}", draft.kind, path, draft.start, draft.end,
        draft.headings, draft.text, tokens, draft.generated, draft.lead,
    )  # fmt: skip


@lru_cache(maxsize=1 << 16)
def _digest(text: str) -> str:
    return hashlib.blake2s(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


@lru_cache(maxsize=512)
def _drafts(path: str, blob: Blob) -> tuple[RawUnit, ...]:
    """Units of one file; kept, because a variant shares most of its files with its parent."""
    text = read_text(blob)
    if text is None:
        lines = blob.data.count(b"\n") + 1
        return (RawUnit("file", 1, lines, (), f"{path} {blob.sha256}"),)
    units = markdown_units(text.lines) if is_markdown(path) else file_units(path, text.lines, 1)
    return tuple(sorted(units, key=lambda draft: (draft.start, draft.end)))
