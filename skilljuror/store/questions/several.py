"""One question asked of several studies, its answers as one table."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from skilljuror.base.errors import QueryError, UsageError
from skilljuror.store.questions.run import QueryResult

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
