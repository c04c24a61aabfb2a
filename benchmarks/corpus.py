"""A big corpus from a small one: copies whose sessions have ids of their own."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"
FOLDERS = ("claude-session-jsonl", "codex-rollout-jsonl")
"""The logs that are multiplied: Claude Code and Codex."""

_ID = re.compile(
    rb'"(?:sessionId|session_id|parent_thread_id|forked_from_id)":\s?"([0-9a-f-]{36})"'
    rb'|"payload":\s?\{"(?:session_)?id":\s?"([0-9a-f-]{36})"'
)


def logs(root: Path) -> list[Path]:
    """The raw logs below a folder, sorted."""
    return sorted(root.rglob("*.jsonl"))


def multiply(folders: Iterable[Path], target: Path, size: int, first: int = 0) -> int:
    """Copies of the folders' logs below `target`, numbered from `first`, until they hold `size`
    bytes; the number of the next copy.

    Every copy of a session has ids of its own, in its text and in its path, so that nothing
    is a duplicate that was none before.
    """
    texts = {
        f"{folder.name}/{path.relative_to(folder)}": path.read_bytes()
        for folder in folders
        for path in logs(folder)
    }
    ids = sorted({id for text in texts.values() for pair in _ID.findall(text) for id in pair if id})
    written = 0
    while written < size:
        for place, text in _copied(texts, ids, first):
            out = target / f"{first:04}" / place
            out.parent.mkdir(parents=True, exist_ok=True)
            written += out.write_bytes(text)
        first += 1
    return first


def _copied(texts: dict[str, bytes], ids: list[bytes], copy: int) -> Iterator[tuple[str, bytes]]:
    """(place, text) of every log, renamed."""
    for place, text in texts.items():
        new_place, new_text = place.encode(), text
        for id in ids:
            if id in text or id in new_place:
                new = _renamed(id, copy)
                new_place, new_text = new_place.replace(id, new), new_text.replace(id, new)
        yield new_place.decode(), new_text


def _renamed(id: bytes, copy: int) -> bytes:
    """An id of the same length: the first eight digits tell the copy."""
    return hashlib.sha256(b"%d %s" % (copy, id)).hexdigest()[:8].encode() + id[8:]
