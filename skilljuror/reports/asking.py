"""Questions of a report, asked once, with what came from people's logs taken out on demand."""

from typing import Any

from skilljuror.queries.catalog import Query
from skilljuror.queries.run import Reader, Result, query, run
from skilljuror.reports.computed import COMPUTED

PRIVATE = frozenset(
    {
        "action_quote", "file", "message", "path", "preview", "quote", "source", "source_quote",
        "source_text", "variant_text",
    }
)  # fmt: skip
"""Columns that hold words or paths of a log or of a bundle."""

PRIVATE_IN = {"sources": frozenset({"reason"})}
"""Further ones of single questions: why a file was skipped may quote its path."""


class Ask:
    """Answers of one database; `quotes` false leaves every private column out."""

    def __init__(self, reader: Reader, *, quotes: bool = True) -> None:
        self._reader = reader
        self._answers: dict[str, Result] = {}
        self.quotes = quotes
        """Whether words and paths of logs may be shown."""

    def __call__(self, name: str, **params: str) -> Result:
        """The answer to a named question, or a computed table."""
        key = " ".join([name, *(f"{param}={value}" for param, value in sorted(params.items()))])
        if key not in self._answers:
            self._answers[key] = self._answer(name, params)
        return self._answers[key]

    def _answer(self, name: str, params: dict[str, str]) -> Result:
        if name in COMPUTED:
            return COMPUTED[name].make(self)
        if name == "source_counts" and not self.quotes:
            params = {**params, "reasons": "no"}
        return self._shown(name, run(self._reader, name, **params))

    def one(self, name: str) -> dict[str, Any]:
        """The only row of an answer; empty when there is none."""
        return next(iter(self(name).records()), {})

    def _shown(self, question: str, found: Result) -> Result:
        if self.quotes:
            return found
        private = PRIVATE | PRIVATE_IN.get(question, frozenset())
        kept = [i for i, name in enumerate(found.columns) if name not in private]
        return Result(
            tuple(found.columns[i] for i in kept),
            [tuple(row[i] for i in kept) for row in found.rows],
        )


def about(name: str) -> Query:
    """The documentation of a question or of a computed table."""
    return COMPUTED[name].about(name) if name in COMPUTED else query(name)
