"""What tests of answers share."""

import pytest

from tests.support.fabricated_studies import small_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The small fabricated study."""
    return small_study(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The same with every trial usable."""
    return small_study(tmp_path_factory.mktemp("whole"), whole=True)
