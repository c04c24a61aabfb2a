"""Answers to the questions of a report, each asked once; on demand without what people's logs say."""

from collections.abc import Callable, Iterable
from typing import Any

from skilljuror.queries.run import TASKS, QueryResult, Reader, run

PRIVATE = frozenset(
    {
        "action_quote", "file", "message", "path", "preview", "quote", "source", "source_quote",
        "source_text", "variant_text",
    }
)  # fmt: skip
"""Columns that hold words or paths of a log or of a bundle."""

WITH_REASONS = frozenset({"source_counts", "sources"})
"""Questions whose reasons may quote a path or a text, and that leave these out when told so."""


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
        if name in WITH_REASONS and not self.quotes:
            params = {**params, "reasons": "harmless"}
        if self._tasks and name not in WHOLE:
            params = {**params, TASKS: self._tasks}
        return self._allowed_columns(run(self._reader, name, **params))

    def single(self, name: str) -> dict[str, Any]:
        """The only row of an answer; empty when there is none."""
        return next(iter(self(name).records()), {})

    def _allowed_columns(self, answer: QueryResult) -> QueryResult:
        if self.quotes:
            return answer
        kept = [i for i, name in enumerate(answer.columns) if name not in PRIVATE]
        return QueryResult(
            tuple(answer.columns[i] for i in kept),
            [tuple(row[i] for i in kept) for row in answer.rows],
        )
