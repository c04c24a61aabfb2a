"""Prices and limits of model calls, shared by rubric and judges."""

from pathlib import Path

from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.models.measure import Price
from skilljuror.base.models.study import StudyPlan
from skilljuror.base.prices import with_packaged

THREADS = 16
"""Default number of parallel calls."""
MOST_UNPARSED = 0.02
"""Maximum share of invalid answers for a valid result."""


def study_prices(place: Path) -> tuple[Price, ...]:
    """Return the packaged prices, overridden by those of a planned study."""
    folder = StudyFolder(place)
    own = read_record(StudyPlan, folder.plan_file).config.prices if folder.planned else ()
    return with_packaged(own)
