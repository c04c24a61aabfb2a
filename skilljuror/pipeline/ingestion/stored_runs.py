"""Runs that the database holds already: what is read now may take their place."""

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from skilljuror.models.ingest import SourceRow
from skilljuror.store.runs import RunColumns, without_runs

if TYPE_CHECKING:
    from skilljuror.store import Store


class StoredRuns:
    """Runs that the database holds already: what is read now may take their place."""

    def __init__(self, held: Iterable[tuple[str, str]], kept: Mapping[str, int]) -> None:
        self._keys: dict[str, list[str]] = {}
        """Source -> keys of the runs that it gave."""
        for key, source in held:
            self._keys.setdefault(source, []).append(key)
        self._sources = sorted(self._keys)
        self._stored_now: set[str] = set()
        """Keys of the runs that this ingest stored."""
        self._kept = kept
        """Key -> steps of runs that give way to longer ones alone."""

    def remove_replaced(
        self,
        store: "Store",
        sources: Iterable[SourceRow],
        runs: Iterable[str] = (),
        parts: Sequence[str] = (),
    ) -> None:
        """Take out runs that their files no longer give, and files that are now parts of others.

        A trial folder gives the runs of the logs in it.
        """
        self._stored_now.update(runs)
        named = [*(row.path for row in sources), *parts] if self._keys else []
        paths = [path for name in named for path in (name, *self._inside(name))]
        keys = [key for path in paths for key in self._keys.pop(path, ())]
        stale = [key for key in keys if key not in self._stored_now]
        lost = [key for key in stale if key in self._kept]
        store.seen.keep(lost)
        stale = [key for key in stale if key not in self._kept]
        if stale or (paths and parts):
            store.forget(stale, parts)

    def without_shorter(self, store: "Store", runs: RunColumns) -> RunColumns:
        """The runs without those that are held with more steps, which a file of theirs no longer has."""
        logged = runs["trajectories"]
        found = zip(logged["trajectory"], logged["steps"], logged["sub_steps"], strict=True)
        steps = {key: main + others for key, main, others in found if key in self._kept}
        shorter = [key for key, count in steps.items() if count < self._kept[key]]
        store.seen.keep(shorter)
        store.seen.release([*(steps.keys() - shorter)])
        return without_runs(runs, frozenset(shorter)) if shorter else runs

    def _inside(self, folder: str) -> Iterator[str]:
        """The sources of held runs that lie in a folder."""
        begin = folder + os.sep
        first = bisect_left(self._sources, begin)
        rest = (self._sources[at] for at in range(first, len(self._sources)))
        return takewhile(lambda path: path.startswith(begin), rest)
