"""Named questions: one .sql file each.

The comments at the head of a file are its documentation and its contract:

    -- question: what a person wants to know
    -- section: RQ1 … RQ4, overview or lists
    -- grain: one row is …
    -- columns: names of the result's columns, in order
    -- first: columns that a person needs most, in their order; the others follow   (optional)
    -- sums: columns whose sum over all rows means something                        (optional)
    -- place: place in the short list of questions                                  (optional)
    -- params: name=default, …            (optional)
    -- read: how to read the numbers      (optional)
    -- column NAME: what it is            (optional, one line per column)

Adding a question is adding a file; nothing else names it.
"""

import csv
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC
from decimal import Decimal
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TextIO

from skilljuror.base.errors import QueryError, UsageError, did_you_mean
from skilljuror.base.files import fresh_dir, parse_time, replacement, write_atomic
from skilljuror.store.connect import QueryResult, Reader, open_read

if TYPE_CHECKING:
    import pandas as pd

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
    first: tuple[str, ...]
    """Columns that a person needs most, in their order."""
    sums: tuple[str, ...]
    """Columns whose sum over all rows means something."""
    place: int
    """Place in the short list of questions; 0 if it is not there."""
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
        first=tuple(_listed(head.get("first", ""))),
        sums=tuple(_listed(head.get("sums", ""))),
        place=int(head.get("place", 0)),
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


FOLDER = Path(__file__).parent / "questions"
QUESTION_NAME = re.compile(r"[A-Za-z0-9_-]+")
"""A single word is meant as the name of a question; SQL has more."""

SINCE = "since"
"""A parameter of this name is a moment, written as people write it."""
FIRST_USES = "first_uses"
"""A parameter of this name is how many uses an answer must list, in the order of their runs; null for all."""
TASKS = "tasks"
"""A parameter of this name is a list of tasks, with spaces between them; it limits the answer to them."""
NAMES_OF = {
    "build": "SELECT build FROM builds ORDER BY ALL",
    "condition": "SELECT condition FROM conditions ORDER BY position",
    "control": "SELECT condition FROM conditions ORDER BY position",
    "judge": "SELECT DISTINCT judge FROM verdicts ORDER BY ALL",
    "metric": "SELECT DISTINCT metric FROM measures ORDER BY ALL",
    "run": "SELECT run FROM all_runs ORDER BY ALL",
    "skill": "SELECT skill FROM events UNION SELECT regexp_extract(skill, '[^:]*$') FROM events"
    " UNION SELECT skill FROM offered UNION SELECT regexp_extract(skill, '[^:]*$') FROM offered"
    " UNION SELECT unnest(skills) FROM variants ORDER BY ALL",
    "status": "SELECT DISTINCT status FROM sources ORDER BY ALL",
    "task": "SELECT task FROM tasks ORDER BY ALL",
    "treatment": "SELECT condition FROM conditions ORDER BY position",
    "trial": "SELECT run FROM all_runs UNION SELECT trial FROM verdicts ORDER BY ALL",
    "variant": "SELECT DISTINCT variant FROM variants ORDER BY ALL",
    "with": "SELECT condition FROM conditions ORDER BY position",
}
"""A parameter of this name names one of these; where there is none at all, the answer is empty."""
TYPES = {
    "BIGINT": "a whole number",
    "BOOLEAN": "true or false",
    "DATE": "a date, such as 2026-03-05",
    "DOUBLE": "a number, such as 0.5",
    "INTEGER": "a whole number",
}
"""Types that the SQL of a question casts its parameters to."""
_CAST = re.compile(rf"CAST\(\$(\w+) AS ({'|'.join(TYPES)})\)")
MOST_NAMES = 60
"""Names that a message lists."""

Source = Path | str | Reader
"""A database file, or a view of one that is open already."""


@lru_cache(maxsize=1)
def _queries() -> dict[str, Query]:
    return {path.stem: read_query(path) for path in sorted(FOLDER.glob("*.sql"))}


def catalog(*, asked: bool = False) -> list[Query]:
    """Every named question, sorted by name; or the few of the short list, in its order."""
    every = sorted(_queries().values(), key=lambda one: one.place if asked else 0)
    return [one for one in every if one.place or not asked]


def for_people(question: str, answer: QueryResult) -> tuple[Any, ...]:
    """Columns of an answer by importance, rows in this order, and the sums if there is more than a row; rows of two
    judges have none. A number over some of its runs (`…_unknown`) is a lower bound, as is the sum of such."""
    named = query(question) if QUESTION_NAME.fullmatch(question) else None
    named_columns = [*dict.fromkeys((*named.first, *named.columns))] if named else []
    columns = sorted(
        answer.columns, key=lambda name: named_columns.index(name) if name in named_columns else -1
    )
    records = answer.records()
    rows = [[at_least(row, name) for name in columns] for row in records]
    if named is None or len(rows) < 2 or len({row.get("judge") for row in records}) > 1:
        return columns, rows, None
    total = {}
    for name in named.sums:
        unknown = sum((row[name] is None) + (row.get(f"{name}_unknown") or 0) for row in records)
        known = sum(row[name] or 0 for row in records)
        total[name] = at_least({name: known, f"{name}_unknown": unknown}, name)
    return columns, rows, total or None


def at_least(row: dict[str, Any], name: str) -> Any:
    """A value; as a lower bound if the row has runs whose part in it is unknown."""
    if row[name] is None or not row.get(f"{name}_unknown"):
        return row[name]
    return f"≥ {row[name]:.3g}" if row[name] else None


def query(name: str) -> Query:
    """One named question. Raises QueryError with the names that exist."""
    named = _queries().get(name)
    if named is None:
        guess = did_you_mean(name.lower().replace("-", "_"), _queries())
        listing = "`skilljuror query DIR --list` lists all, or write SQL"
        raise QueryError(f"unknown question {name!r}; {guess}{listing}")
    return named


def remarks_on(question: str, answer: QueryResult) -> list[str]:
    """Return sentences on what is missing in an answer and how to get it: no row, or
    no value in a column. None for SQL.

    Raises QueryError for an unknown question.
    """
    if QUESTION_NAME.fullmatch(question) is None:
        return []
    named = query(question)
    if not answer.rows:
        return [named.empty] if named.empty else []
    return [
        f"{column} is empty: {text}"
        for place, column in enumerate(answer.columns)
        if (text := named.nulls.get(column)) and all(row[place] is None for row in answer.rows)
    ]


def run(source: Source, question: str, most: int | None = None, **params: Any) -> QueryResult:
    """The answer to a named question, or to SQL: whatever is not a single word. With `most`, at most so many rows
    of SQL, or of a list without sums.

    `source` is a database file or an open Reader. Raises QueryError, StoreError.
    """
    with _reader(source) as reader:
        sql, bound = _prepared(reader, question, params)
        if most and QUESTION_NAME.fullmatch(question):
            named = query(question)
            if FIRST_USES in bound and bound[FIRST_USES] is None:
                bound[FIRST_USES] = most
            most = None if named.section != "lists" or named.sums or named.nulls else most
            sql = f"FROM (\n{sql.rstrip().removesuffix(';')}\n) LIMIT {most}" if most else sql
        return reader.rows(sql, bound, most)


def parts(source: Source, question: str, **params: Any) -> Iterator[QueryResult]:
    """Yield the answer in parts of some thousand rows, at least one. Raises as `run`."""
    with _reader(source) as reader:
        yield from reader.parts(*_prepared(reader, question, params))


def frame(source: Source, question: str, **params: Any) -> "pd.DataFrame":
    """The answer as a pandas DataFrame. Raises as `run`."""
    with _reader(source) as reader:
        sql, bound = _prepared(reader, question, params)
        return reader.frame(sql, bound)


def parquet(database: Path, question: str, out: Path | BinaryIO, **params: Any) -> int:
    """Write the answer as Parquet, whole or not at all and with the database's own types, and return
    its number of rows. `out` is a file's path or an open stream. Raises as `run`."""
    with TemporaryDirectory() as folder:  # DuckDB writes to no path that is not UTF-8
        rows = Path(folder, "rows.parquet")
        with open_read(database, rows) as reader:
            sql, bound = _prepared(reader, question, params)
            count = reader.to_parquet(sql, bound)
        if isinstance(out, Path):
            out.parent.mkdir(parents=True, exist_ok=True)
            with replacement(out) as new:
                shutil.copyfile(rows, new)
        else:
            out.write(rows.read_bytes())
        return count


def _prepared(reader: Reader, question: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if QUESTION_NAME.fullmatch(question) is None:
        return question, params
    named = query(question)
    unknown = sorted(set(params) - set(named.params))
    if unknown:
        valid = ", ".join(named.params) or "none"
        raise QueryError(f"question {question!r} has no parameter {unknown[0]!r}; it has: {valid}")
    given = {name: value for name, value in params.items() if value is not None}
    for name, choices in named.choices.items():
        if given.get(name, choices[0]) not in choices:
            valid = " or ".join(map(str, choices))
            raise QueryError(f"parameter {name} is {str(given[name])!r}; use {valid}")
    for name in given.keys() & NAMES_OF.keys():
        _check_name(reader, name, str(given[name]))
    for name, kind in sorted(set(_CAST.findall(named.sql))):
        if name in given:
            _check_type(reader, name, kind, given[name])
    for task in str(given.get(TASKS, "")).split():
        _check_name(reader, "task", task)
    if since := given.get(SINCE):
        given[SINCE] = _utc(str(since))
    return named.sql, {**named.params, **given}


def _check_name(reader: Reader, param: str, value: str) -> None:
    """Raise QueryError where nothing has this name, and something has another."""
    there = [str(row[0]) for row in reader.rows(NAMES_OF[param], {}).rows]
    if not there or value in there:
        return
    guess = did_you_mean(value, there)
    more = f" and {len(there) - MOST_NAMES} more" if len(there) > MOST_NAMES else ""
    raise QueryError(
        f"{param} {value!r} is not in this study; {guess}it has {', '.join(there[:MOST_NAMES])}{more}"
    )


def _check_type(reader: Reader, param: str, kind: str, value: Any) -> None:
    """Raise QueryError where a value is not of the type that the SQL casts it to."""
    ((cast,),) = reader.rows(f"SELECT TRY_CAST($value AS {kind})", {"value": value}).rows
    if cast is None:
        raise QueryError(f"parameter {param} is {str(value)!r}; use {TYPES[kind]}")


def _utc(since: str) -> str:
    try:
        return parse_time(since).astimezone(UTC).replace(tzinfo=None).isoformat()
    except ValueError as error:
        raise QueryError(f"{SINCE} {error}") from error


@contextmanager
def _reader(source: Source) -> Iterator[Reader]:
    if isinstance(source, Reader):
        yield source
        return
    with open_read(Path(source)) as reader:
        yield reader


STUDY = "study"
"""First column of the table."""
OWN_NAME = "study_name"
"""What a question's own column `study`, the name in the study file, is called beside it."""


def study_names(folders: Sequence[Path]) -> dict[str, Path]:
    """Return the folders by name: that of the folder, or the whole path where two have the same.

    Raises UsageError for a folder that is named twice, since its rows would be too.
    """
    names = [folder.resolve().name for folder in folders]
    if len({*names}) < len(names):
        names = [str(folder) for folder in folders]
    for place, folder in enumerate(folders):
        if folder.resolve() in {other.resolve() for other in folders[:place]}:
            raise UsageError(f"the study {str(folder)!r} is named twice; name each study once")
    return dict(zip(names, folders, strict=True))


def side_by_side(answers: Mapping[str, QueryResult]) -> QueryResult:
    """Return the rows of all answers, by study, with its name as first column; a single answer as it is.

    Raises QueryError if the answers have different columns, as a PIVOT over the data may.
    """
    (first, one), *others = answers.items()
    if not others:
        return one
    for name, answer in others:
        if answer.columns != one.columns:
            raise QueryError(
                f"the columns of {name!r} ({', '.join(answer.columns)}) are not those of {first!r}"
                f" ({', '.join(one.columns)}); ask for the same columns of every study"
            )
    own = (OWN_NAME if column == STUDY else column for column in one.columns)
    rows = [(name, *row) for name, answer in answers.items() for row in answer.rows]
    return QueryResult((STUDY, *own), rows)


def write_parts(
    parts: Iterable[QueryResult], file: TextIO, text_of: Callable[[QueryResult], str]
) -> QueryResult:
    """Write the parts of an answer as CSV or as one JSON list; return one row that has, for each column, a value if
    any row has one."""
    columns: tuple[str, ...] = ()
    seen: list[Any] = []
    end = ""
    for place, part in enumerate(parts):
        columns = part.columns
        for row in part.rows if not seen or None in seen else ():
            seen = [new if old is None else old for old, new in zip(seen or row, row, strict=True)]
        text = text_of(part)
        if text_of is csv_text:
            text = text.removeprefix(csv_text(part._replace(rows=[])) if place else "")
        else:
            text, end = (", " if place else "[") + text[1:-1], "]\n"
        file.write(text)
    file.write(end)
    return QueryResult(columns, [tuple(seen)] if seen else [])


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a cell begins with that spreadsheets take for a formula."""
_END = "\r\n"
"""The end of a line as the writer is told it: with another one it would not quote a CR in a text,
behind which a spreadsheet begins a new row."""


def csv_text(found: QueryResult) -> str:
    """Header and rows. A null is an empty field and a number stays one; any other value that a
    spreadsheet would run as a formula gets a leading apostrophe."""
    lines: list[str] = []
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator=_END)
    writer.writerow(map(_cell, found.columns))
    writer.writerows(map(_cell, row) for row in found.rows)
    return "".join(line.removesuffix(_END) + "\n" for line in lines)


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, int | float | Decimal):
        return value
    written = str(value)
    return f"'{written}" if written.startswith(_FORMULA) else written


DICTIONARY = "dictionary.csv"
_COLUMNS = """
SELECT table_name AS "table", column_name AS "column", lower(data_type) AS type, comment AS meaning
FROM duckdb_columns()
WHERE comment IS NOT NULL  -- once: the columns of all shards have the same
GROUP BY ALL ORDER BY table_name, any_value(column_index)
"""


def export(database: Path, target: Path) -> dict[str, int]:
    """Write DIR/<table>.parquet for every table and view and dictionary.csv, all or nothing; return
    name -> rows. An earlier export is replaced. Raises UsageError for a folder with other content,
    StoreError for a damaged database."""
    old = (target / DICTIONARY).is_file()
    if target.exists() and not old and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"--out {str(target)!r} is not empty; name a new folder", field="out")
    counts = {}
    with TemporaryDirectory() as folder, open_read(database, rows := Path(folder, "rows.parquet")) as reader:  # fmt: skip
        dictionary = run(reader, _COLUMNS)
        with fresh_dir(target) as staging:
            for name in dict.fromkeys(row[0] for row in dictionary.rows):
                counts[name] = reader.to_parquet(f"SELECT * FROM {name}")  # noqa: S608
                shutil.copyfile(rows, staging / f"{name}.parquet")
            write_atomic(staging / DICTIONARY, csv_text(dictionary))
    return counts
