"""The knowledge units of a bundle."""

import hashlib
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ParamSpec, TypeVar

from skilljuror.base.skill import Blob, Bundle, Skill, Unit, is_markdown
from skilljuror.skill.markdown.text_file import read_text
from skilljuror.skill.units.critical_tokens import critical_tokens
from skilljuror.skill.units.prose import RawUnit, file_units, markdown_units

_NO_CRITICALS = frozenset({"file", "schema", "step"})


Answer = TypeVar("Answer")
Bundles = ParamSpec("Bundles")


def cached_by_bundles(function: Callable[Bundles, Answer]) -> Callable[Bundles, Answer]:
    """Cache the last four results of a function of bundles, by names, files and skills."""

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
    """Return the units of a bundle, by file in bytewise path order, then by line.

    Markdown gives headings, sentences, list items, table rows, code lines, commands, steps, links and
    frontmatter fields; other text gives lines, and one unit "path digest" per file. A fenced file below its
    marker gives the same units as the file itself, at the lines of the fence. Data gives only its file unit,
    an empty file gives nothing. (transforms §5.1)
    """
    return list(_units(tuple(sorted(bundle.files.items(), key=lambda file: file[0].encode()))))


@lru_cache(maxsize=8)
def _units(files: tuple[tuple[str, Blob], ...]) -> tuple[Unit, ...]:
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
        draft.depth,
    )  # fmt: skip


@lru_cache(maxsize=1 << 16)
def _digest(text: str) -> str:
    return hashlib.blake2s(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


@lru_cache(maxsize=512)
def _drafts(path: str, blob: Blob) -> tuple[RawUnit, ...]:
    text = read_text(blob)
    if text is None:
        lines = blob.data.count(b"\n") + 1
        return (RawUnit("file", 1, lines, (), f"{path} {blob.sha256}"),)
    units = markdown_units(text.lines) if is_markdown(path) else file_units(path, text.lines, 1)
    return tuple(sorted(units, key=lambda draft: (draft.start, draft.end)))
