"""Records of ingested files, so that unchanged files are skipped."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import duckdb

from skilljuror.base.results import SeenFile

AGAIN = "-"
"""Prefix of the digest of a group that must be read again."""
_FIELDS = ", ".join(SeenFile.__struct_fields__)
_WITHIN = "path IN (SELECT unnest($paths::VARCHAR[]))"
_KNOWN = "SELECT path, size, mtime_ns, inode, content, reader, read_with FROM seen"
_CONTESTED = f"""
SELECT DISTINCT list(DISTINCT ltrim(digest, '{AGAIN}')) AS digests
FROM (SELECT digest, unnest(keys) AS key FROM groups) GROUP BY key HAVING len(digests) > 1
"""  # noqa: S608
_HELD = """
SELECT trajectory, steps + sub_steps + inherited_steps, inherited_steps FROM trajectories
WHERE trajectory IN (
    SELECT unnest(keys) FROM groups WHERE digest IN (SELECT unnest($digests::VARCHAR[]))
    UNION ALL SELECT trajectory FROM kept_runs
)
"""
_STATUSES = f"""
SELECT status, if(status = 'error', path, NULL), reason, count(*)
FROM sources WHERE {_WITHIN} GROUP BY ALL ORDER BY 4 DESC, 1, 2, 3
"""  # noqa: S608
_RUNS = """
CREATE OR REPLACE TEMP TABLE selected_runs AS
SELECT DISTINCT unnest(keys) AS key FROM groups
WHERE digest IN (SELECT read_with FROM seen WHERE path IN (SELECT unnest($paths::VARCHAR[])))
UNION SELECT trajectory FROM trajectories WHERE source IN (SELECT unnest($paths::VARCHAR[]))
"""
_COUNTS = """
SELECT
    (SELECT count(*) FROM trajectories WHERE trajectory IN (FROM selected_runs)),
    (SELECT count(*) FROM unlogged_trials WHERE trial IN (FROM selected_runs)),
    (SELECT coalesce(sum(steps + sub_steps), 0) FROM trajectories WHERE trajectory IN (FROM selected_runs)),
    (SELECT count(DISTINCT skill) FROM events WHERE trajectory IN (FROM selected_runs)),
    (SELECT count(*) FROM events WHERE trajectory IN (FROM selected_runs)),
    (SELECT count(*) FROM kept_runs WHERE trajectory IN (FROM selected_runs))
"""
_UNKNOWN_TOOLS = """
SELECT tool, CAST(sum(calls) AS BIGINT) AS calls, count(*) FILTER (WHERE len(skills) > 0)
FROM unknown_tools WHERE trajectory IN (FROM selected_runs) GROUP BY tool ORDER BY calls DESC, tool
"""


class KnownFile(NamedTuple):
    """The record of a file, to detect changes."""

    size: int
    """Bytes; for a folder, of all its files."""
    mtime_ns: int
    """Last change, nanoseconds since the epoch."""
    inode: int
    """Inode number."""
    content: str | None
    """Digest of its content, or of the tree of a folder."""
    reader: str
    """Digest of the code and options of its reader."""
    read_with: str | None
    """Digest of its group."""


class Walked(NamedTuple):
    """The records of files found by a walk."""

    known: dict[str, KnownFile]
    """Path -> files seen before."""
    related: dict[str, KnownFile]
    """Path -> other files of the same groups."""
    missed: list[str]
    """Other files below the same folders."""


class Totals(NamedTuple):
    """Contents of the database from some files."""

    statuses: list[tuple[str, str | None, str | None, int]]
    """(status, path of an error, reason, files), most frequent first."""
    runs: int
    """Runs."""
    unlogged: int
    """Foreign trials with a result and no log."""
    steps: int
    """Agent steps, including sub-agents."""
    skills: int
    """Distinct skills with a resource event."""
    events: int
    """Resource events."""
    kept: int
    """Runs missing from their files."""
    unknown_tools: list[tuple[str, int, int]]
    """(tool that skilljuror does not know, its calls, runs in which it may have opened a Skill)."""


class SeenFiles:
    """The tables `seen`, `groups` and `kept_runs`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def files(self, paths: Iterable[str] | None = None) -> list[SeenFile]:
        """Return the records of these paths, or of all."""
        where = "" if paths is None else f"WHERE {_WITHIN}"
        params = None if paths is None else {"paths": list(paths)}
        return [
            SeenFile(**dict(zip(SeenFile.__struct_fields__, row, strict=True)))
            for row in self._rows(f"SELECT {_FIELDS} FROM seen {where}", params)  # noqa: S608
        ]

    def walked(self, paths: Sequence[str], roots: Sequence[str]) -> "Walked":
        """Return the records of files found by a walk below some folders."""
        self._connection.execute("CREATE OR REPLACE TEMP TABLE walked (path VARCHAR)")
        self._connection.execute("INSERT INTO walked SELECT unnest($paths)", {"paths": list(paths)})
        with_them = "read_with IN (SELECT read_with FROM seen SEMI JOIN walked USING (path))"
        below = (
            "list_bool_or(list_transform($roots::VARCHAR[], lambda root: starts_with(path, root)))"
        )
        return Walked(
            {
                row[0]: KnownFile(*row[1:])
                for row in self._rows(f"{_KNOWN} SEMI JOIN walked USING (path)", None)
            },
            {
                row[0]: KnownFile(*row[1:])
                for row in self._rows(
                    f"{_KNOWN} ANTI JOIN walked USING (path) WHERE {with_them}", None
                )
            },
            [
                row[0]
                for row in self._rows(
                    f"SELECT path FROM seen ANTI JOIN walked USING (path) WHERE {below}",  # noqa: S608
                    {"roots": list(roots)},
                )
            ],
        )

    def paths(self) -> set[str]:
        """Paths of all files."""
        return {row[0] for row in self._rows("SELECT path FROM seen", None)}

    def digests_of(self, paths: Sequence[str]) -> set[str]:
        """Digests of the groups that some files were read with."""
        sql = f"SELECT DISTINCT ltrim(read_with, '{AGAIN}') FROM seen WHERE {_WITHIN} AND read_with IS NOT NULL"  # noqa: S608
        return {row[0] for row in self._rows(sql, {"paths": list(paths)})}

    def groups(self, *, pending: bool = False) -> set[str]:
        """Digests of all groups that were read, without or with those to be read again."""
        sql = "SELECT ltrim(digest, $again) FROM groups WHERE $pending OR NOT starts_with(digest, $again)"
        return {row[0] for row in self._rows(sql, {"again": AGAIN, "pending": pending})}

    def with_names(self, names: Iterable[str]) -> list[tuple[str, list[str]]]:
        """(path, names) of the files that have one of the names."""
        sql = """
        SELECT path, names FROM seen WHERE path IN (
            SELECT path FROM (SELECT path, unnest(names) AS name FROM seen)
            SEMI JOIN (SELECT unnest($names::VARCHAR[]) AS name) USING (name)
        )
        """
        return self._rows(sql, {"names": list(names)})

    def kept(self, digests: Iterable[str]) -> dict[str, tuple[int, int]]:
        """Key -> steps in the log, and those inherited, of the kept runs and of the runs of some
        groups."""
        return {key: steps for key, *steps in self._rows(_HELD, {"digests": list(digests)})}

    def totals(self, paths: Sequence[str]) -> Totals:
        """Return the contents from some files."""
        self._connection.execute(_RUNS, {"paths": paths})
        statuses = self._rows(_STATUSES, {"paths": paths})
        tools = self._rows(_UNKNOWN_TOOLS, None)
        return Totals._make([statuses, *self._rows(_COUNTS, None)[0], tools])

    def contested(self) -> list[set[str]]:
        """Return the sets of groups that have the same run, as digests."""
        return [set(row[0]) for row in self._rows(_CONTESTED, None)]

    def read_again(self, digests: Iterable[str]) -> None:
        """Mark the files of groups to be read again by the next ingest."""
        gone = {"digests": [one for one in digests if not one.startswith(AGAIN)]}
        within = "IN (SELECT unnest($digests::VARCHAR[]))"
        self._connection.execute(
            f"UPDATE seen SET reader = '', read_with = '{AGAIN}' || read_with"  # noqa: S608
            f" WHERE read_with {within}", gone,
        )  # fmt: skip
        self._connection.execute(
            f"UPDATE groups SET digest = '{AGAIN}' || digest WHERE digest {within}",  # noqa: S608
            gone,
        )

    def groups_giving(self, keys: Iterable[str]) -> list[str]:
        """Return the digests of the groups of some runs."""
        sql = """
        SELECT DISTINCT digest FROM (SELECT digest, unnest(keys) AS key FROM groups)
        SEMI JOIN (SELECT unnest($keys::VARCHAR[]) AS key) USING (key)
        """
        return [row[0] for row in self._rows(sql, {"keys": list(keys)})]

    def kept_runs(self) -> list[str]:
        """Return the keys of runs missing from their files."""
        return [row[0] for row in self._rows("SELECT trajectory FROM kept_runs", None)]

    def heirs(self) -> list[str]:
        """Return the keys of runs that repeat steps of another one."""
        sql = "SELECT trajectory FROM trajectories WHERE inherited_steps > 0"
        return [row[0] for row in self._rows(sql, None)]

    def leave(self, gone: Sequence[str]) -> None:
        """Mark files as missing; remove those without a run in the database, and groups without a file."""
        self._connection.execute(
            f"UPDATE seen SET read_with = NULL WHERE {_WITHIN}",  # noqa: S608
            {"paths": list(gone)},
        )
        self._connection.execute(
            f"DELETE FROM seen WHERE {_WITHIN} AND path NOT IN (SELECT source FROM trajectories)",  # noqa: S608
            {"paths": list(gone)},
        )
        self._connection.execute(
            "DELETE FROM groups WHERE digest NOT IN"
            " (SELECT read_with FROM seen WHERE read_with IS NOT NULL)"
        )

    def forget(self, paths: Sequence[str]) -> None:
        """Remove files."""
        self._connection.execute(f"DELETE FROM seen WHERE {_WITHIN}", {"paths": list(paths)})  # noqa: S608

    def keep(self, keys: Sequence[str]) -> None:
        """Flag runs as missing from their files."""
        if keys:
            self.release(keys)
            sql = "INSERT INTO kept_runs SELECT unnest($keys::VARCHAR[])"
            self._connection.execute(sql, {"keys": list(keys)})

    def release(self, keys: Sequence[str]) -> None:
        """Remove the flag of runs."""
        if keys:
            sql = "DELETE FROM kept_runs WHERE trajectory IN (SELECT unnest($keys::VARCHAR[]))"
            self._connection.execute(sql, {"keys": list(keys)})

    def _rows(self, sql: str, params: dict[str, Any] | None) -> list[Any]:
        return self._connection.execute(sql, params).fetchall()
