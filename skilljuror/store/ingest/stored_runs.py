"""Stored runs that newly read ones may replace."""

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING

from skilljuror.base.results import SourceRow
from skilljuror.store.runs import RunColumns, without_runs

if TYPE_CHECKING:
    from skilljuror.store import Store


class StoredRuns:
    def __init__(
        self, held: Iterable[tuple[str, str]], kept: Mapping[str, tuple[int, int]]
    ) -> None:
        self._keys: dict[str, list[str]] = {}
        """Source -> keys of its stored runs."""
        for key, source in held:
            self._keys.setdefault(source, []).append(key)
        self._sources = sorted(self._keys)
        self._stored_now: set[str] = set()
        """Keys stored by this ingest."""
        self._kept = kept
        """Key -> steps, all and inherited, of runs that only longer ones replace."""

    def remove_replaced(
        self,
        store: "Store",
        sources: Iterable[SourceRow],
        runs: Iterable[str] = (),
    ) -> None:
        """Remove runs that their files no longer contain, such as those merged into others. A trial
        folder contains the runs of its logs."""
        self._stored_now.update(runs)
        named = [row.path for row in sources] if self._keys else []
        paths = [path for name in named for path in (name, *self._inside(name))]
        keys = [key for path in paths for key in self._keys.pop(path, ())]
        stale = [key for key in keys if key not in self._stored_now]
        lost = [key for key in stale if key in self._kept]
        store.seen.keep(lost)
        stale = [key for key in stale if key not in self._kept]
        store.forget(stale)

    def without_shorter(self, store: "Store", runs: RunColumns) -> RunColumns:
        """Drop runs that are stored with more steps although one of their files became shorter, and
        those that only repeat more because the log of their first steps is missing."""
        logged = runs["trajectories"]
        counts = ("trajectory", "steps", "sub_steps", "inherited_steps")
        steps = {
            key: (main + others + inherited, inherited)
            for key, main, others, inherited in zip(*map(logged.__getitem__, counts), strict=True)
            if key in self._kept
        }
        shorter = [key for key, count in steps.items() if count[0] < self._kept[key][0]]
        alike = [key for key, (all_, _) in steps.items() if all_ == self._kept[key][0]]
        orphans = [key for key in alike if steps[key][1] < self._kept[key][1]]
        store.seen.keep(shorter)
        store.seen.release([*(steps.keys() - shorter)])
        dropped = frozenset(shorter + orphans)
        return without_runs(runs, dropped) if dropped else runs

    def _inside(self, folder: str) -> Iterator[str]:
        """Sources of stored runs inside a folder."""
        begin = folder + os.sep
        first = bisect_left(self._sources, begin)
        rest = (self._sources[at] for at in range(first, len(self._sources)))
        return takewhile(lambda path: path.startswith(begin), rest)
