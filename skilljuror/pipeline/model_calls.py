"""What all that put a study to a model share: its prices, their bounds, and when answers are no ground."""

from pathlib import Path

from skilljuror.files import StudyFolder, read_record
from skilljuror.models.measure import Price
from skilljuror.models.study import StudyPlan
from skilljuror.prices import with_packaged

THREADS = 16
"""Calls in flight, unless told otherwise."""
MOST_UNPARSED = 0.02
"""Share of answers of no usable form above which what was judged must not pass for a result."""


def study_prices(place: Path) -> tuple[Price, ...]:
    """The packaged list; at a planned study, with its own prices in their place."""
    folder = StudyFolder(place)
    own = read_record(StudyPlan, folder.plan_file).config.prices if folder.planned else ()
    return with_packaged(own)
