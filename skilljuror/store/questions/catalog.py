"""The head of a .sql file as data."""

import re
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from skilljuror.base.errors import QueryError

_ENTRY = re.compile(r"-- ([a-z]+|(?:column|null) [a-z0-9_]+): (\S.*)")
_CONTINUATION = re.compile(r"--   (\S.*)")


NOT_USABLE = "not_usable"
"""Last column of a question about arms: why an arm of the row is not whole."""
_AMONG = "CAST($tasks AS VARCHAR) IS NULL OR list_contains(string_split(CAST($tasks AS VARCHAR), ' '), task)"
CONTRAST = ("treatment", "control")
"""Arms of a question whose header says `arms: contrast`."""


class Query(NamedTuple):
    """A named question: one SQL file that answers one thing people ask of a study."""

    name: str
    """File name without .sql."""
    question: str
    """What a person wants to know."""
    section: str
    """RQ1 to RQ4, overview or lists."""
    grain: str
    """What one row is."""
    columns: tuple[str, ...]
    """Names of the result's columns, in order."""
    params: dict[str, str | None]
    """Parameters with their defaults; None is null."""
    choices: dict[str, tuple[str | None, ...]]
    """Valid values of a parameter whose header lists them (`name=one|other`, the first is the default)."""
    read: str
    """How to read the numbers; "" when nothing needs saying."""
    empty: str
    """What it means that there is no row, and how to get some; "" when nothing needs saying."""
    nulls: dict[str, str]
    """What it means that a column is null in every row, and how to get values."""
    definitions: dict[str, str]
    """What single columns are."""
    arms: tuple[str, ...]
    """Columns that name the arms of a row, or "contrast"; () for a question without figures of arms."""
    whole: tuple[str, ...]
    """Columns that are null unless every planned trial of these arms is usable."""
    sql: str
    """The whole file; with `arms`, its answer is marked with NOT_USABLE."""


def read_query(path: Path) -> Query:
    """A question from its .sql file. Raises QueryError where the head of the file lacks an entry."""
    sql = path.read_text(encoding="utf-8")
    head = _head(sql)
    missing = [name for name in ("question", "section", "grain", "columns") if name not in head]
    if missing:
        raise QueryError(f"{path.name!r} has no line '-- {missing[0]}: …'")
    params = dict(map(_param, _listed(head.get("params", ""))))
    made = Query(
        name=path.stem,
        question=head["question"],
        section=head["section"],
        grain=head["grain"],
        columns=tuple(_listed(head["columns"])),
        params={name: default for name, (default, *_) in params.items()},
        choices={name: values for name, values in params.items() if len(values) > 1},
        read=head.get("read", ""),
        empty=head.get("empty", ""),
        nulls=_of_columns(head, "null "),
        definitions=_of_columns(head, "column "),
        arms=tuple(_listed(head.get("arms", ""))),
        whole=tuple(_listed(head.get("whole", ""))),
        sql=sql,
    )
    return _marked(made) if made.arms else made


def meaning_of_mark(whole: tuple[str, ...]) -> str:
    """What the column NOT_USABLE says."""
    nulls = f"; while it has a value, these are null: {', '.join(whole)}" if whole else ""
    return f"how many planned trials of the row's arms figures may use, and why not the others; null for all{nulls}"


def _marked(made: Query) -> Query:
    """The question with the column NOT_USABLE, which is the reason for its null columns in `whole`."""
    head = "".join(
        takewhile(lambda line: line.startswith("-- "), made.sql.splitlines(keepends=True))
    )
    body = made.sql[len(head) :].strip().removesuffix(";")
    names = CONTRAST if made.arms == ("contrast",) else made.arms
    task = ", task" if "task" in made.columns else ""
    among = f"\n    WHERE {_AMONG}" if "tasks" in made.params else ""
    joins = "".join(
        f"\n    LEFT JOIN arm_words AS {name}_arm ON {name}_arm.arm = {_arm(made, name)}"
        + (task and f" AND {name}_arm.task IS NOT DISTINCT FROM placed.task")
        for name in names
    )
    sets = "condition"
    if task:  # a null task stands for all, but for foreign runs without one
        sets = "GROUPING SETS ((condition, task), (condition)) HAVING grouping(task) = 0 OR count(*) = count(task)"
    words = ", ".join(f"{name}_arm.words" for name in names)
    null = [f"if({NOT_USABLE} IS NULL, {name}, NULL) AS {name}" for name in made.whole]
    null += [
        f"coalesce({NOT_USABLE}, {name}) AS {name}"
        for name in (f"{column}_reason" for column in made.whole)
        if name in made.columns
    ]
    replaced = f" REPLACE (\n    {f',{chr(10)}    '.join(null)}\n)" if null else ""
    sql = f"""{head}WITH arm_runs AS MATERIALIZED (SELECT * FROM main.arm_runs),
answer AS (
{body}
),
placed AS (SELECT row_number() OVER () AS place, * FROM answer),
arm_words AS MATERIALIZED (
    SELECT condition AS arm{task}, usable_words(condition, list(unusable)) AS words
    FROM arm_runs{among}
    GROUP BY {sets}
),
marked AS (
    SELECT placed.*, nullif(concat_ws('; ', {words}), '') AS {NOT_USABLE}
    FROM placed{joins}
)
SELECT * EXCLUDE (place){replaced}
FROM marked
ORDER BY place;
"""  # noqa: S608  names of our own files
    said = {NOT_USABLE: meaning_of_mark(made.whole)}
    return made._replace(
        sql=sql, columns=(*made.columns, NOT_USABLE), definitions=made.definitions | said
    )


def _arm(made: Query, name: str) -> str:
    """SQL of an arm's name: a column, or an arm of the contrast."""
    if name in made.columns:
        return f"placed.{name}"
    given = f"CAST(${name} AS VARCHAR), " if name in made.params else ""
    return f"coalesce({given}(SELECT max({name}) FROM study))"  # noqa: S608  names of our own files


def _of_columns(head: dict[str, str], kind: str) -> dict[str, str]:
    """Column -> text of the entries of one kind."""
    return {name.removeprefix(kind): text for name, text in head.items() if name.startswith(kind)}


def _head(sql: str) -> dict[str, str]:
    """Names and texts of the leading comment lines; an indented line goes on with the last one."""
    entries: dict[str, str] = {}
    name = ""
    for line in sql.splitlines():
        if first := _ENTRY.fullmatch(line):
            name, entries[first[1]] = first[1], first[2]
        elif (more := _CONTINUATION.fullmatch(line)) and name:
            entries[name] += " " + more[1]
        elif not line.startswith("--"):
            break
    return entries


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _param(text: str) -> tuple[str, tuple[str | None, ...]]:
    """Name and values of a parameter, its default first."""
    name, _, values = text.partition("=")
    given = (value.strip() for value in values.split("|"))
    return name.strip(), tuple(None if value in {"", "null"} else value for value in given)
