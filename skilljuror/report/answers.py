"""Answers to the questions of a report, each asked once; on demand without what people's logs say."""

from collections.abc import Callable, Iterable
from typing import Any

from skilljuror.base.errors import without_paths
from skilljuror.store.questions.run import TASKS, QueryResult, Reader, run

PRIVATE = frozenset(
    {
        "action_quote", "file", "message", "path", "person", "preview", "project", "quote", "said", "source",
        "source_quote", "source_text", "variant_text",
    }
)  # fmt: skip
"""Columns that hold words or paths of a log or of a bundle, or names of people and their projects."""

WHOLE = frozenset({"cells", "overview", "setup"})
"""Questions about the whole study, which are not limited to some of its tasks."""


class Answers:
    """Answers of one database; `quotes` false leaves every private column out, and `tasks` all other tasks."""

    def __init__(self, reader: Reader, *, quotes: bool = True, tasks: Iterable[str] = ()) -> None:
        self._reader = reader
        self._tasks = " ".join(tasks)
        self._answers: dict[str, QueryResult] = {}
        self.quotes = quotes
        """Whether words and paths of logs may be shown."""

    def __call__(self, name: str, **params: str) -> QueryResult:
        """The answer to a named question. Raises QueryError."""
        key = " ".join([name, *(f"{param}={value}" for param, value in sorted(params.items()))])
        if key not in self._answers:
            self._answers[key] = self._answer(name, params)
        return self._answers[key]

    def made(self, name: str, make: Callable[["Answers"], QueryResult]) -> QueryResult:
        """The rows of a computed table, made once."""
        key = f"computed {name}"
        if key not in self._answers:
            self._answers[key] = make(self)
        return self._answers[key]

    def _answer(self, name: str, params: dict[str, str]) -> QueryResult:
        if self._tasks and name not in WHOLE:
            params = {**params, TASKS: self._tasks}
        answer = run(self._reader, name, **params)
        return answer if self.quotes else shareable(answer)

    def single(self, name: str) -> dict[str, Any]:
        """The only row of an answer; empty when there is none."""
        return next(iter(self(name).records()), {})


def shareable(answer: QueryResult) -> QueryResult:
    """What of an answer may leave the machine: no private column, no error of a log, which may quote it, and
    no absolute path in any text."""
    kept = [name for name in answer.columns if name not in PRIVATE]
    rows = []
    for row in answer.records():
        if row.get("status") == "error" and "reason" in row:
            row["reason"] = None
        rows.append(tuple(_without_paths(row[name]) for name in kept))
    return QueryResult(tuple(kept), rows)


def _without_paths(cell: Any) -> Any:
    if isinstance(cell, str):
        return without_paths(cell)
    return [*map(_without_paths, cell)] if isinstance(cell, list) else cell
