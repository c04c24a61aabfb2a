import pytest

from tests.support.tea_study import make_tea


@pytest.fixture
def base(tmp_path):
    return make_tea(tmp_path)
