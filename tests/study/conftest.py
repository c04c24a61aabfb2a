import pytest

from tests.support.studies import KETTLE, make_study


@pytest.fixture
def base(tmp_path):
    return make_study(tmp_path, task="kettle", text=KETTLE).parent
