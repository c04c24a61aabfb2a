"""Records of trials are checked against the plan when they are read: what lies is a row with its reason."""

import json
import shutil

import pytest

from skilljuror import open_study
from tests.support.cli_process import call, complaint
from tests.support.studies import run_example

pytestmark = pytest.mark.slow

ONE = "alert-rules__pd__1"
ERRORS = "SELECT path, reason FROM sources WHERE status = 'error'"


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """A study of three trials."""
    return run_example(tmp_path_factory.mktemp("honest"))


@pytest.fixture
def study(honest, tmp_path):
    """A copy of it to lie in."""
    return shutil.copytree(honest, tmp_path / "study")


def change(study, **fields):
    path = study / "trials" / ONE / "trial.json"
    record = {**json.loads(path.read_text()), **fields}
    path.write_text(json.dumps(record).replace('"1e999"', "1e999"))
    return path


LIES = {
    "an infinite reward": ({"reward": "1e999"}, "reward"),
    "a reward above 1": ({"reward": 30.0}, "reward"),
    "another name": ({"trial": "../../../evil"}, "../../../evil"),
    "another number": ({"number": 2}, "number 2"),
}


@pytest.mark.parametrize(("lie", "told"), LIES.values(), ids=LIES.keys())
def test_a_record_that_lies_is_refused_and_the_rest_is_read(lie, told, study):
    path = change(study, **lie)
    done = call("ingest", "--study", study)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 trajectories" in done.stdout
    read = open_study(study)
    (row,) = read.query(ERRORS).to_dict("records")
    assert row["path"] == str(path)
    assert told in row["reason"]
    assert "error: " in done.stdout
    assert str(path) in done.stdout
    kept = list(read.query("SELECT trial FROM trials ORDER BY trial")["trial"])
    assert kept == ["alert-rules__baseline__1", "alert-rules__no_skill__1"]
    assert "inf" not in read.query("outcomes").to_csv()


def test_a_trial_that_the_plan_does_not_name(study):
    extra = study / "trials" / "alert-rules__pd__31"
    shutil.copytree(study / "trials" / ONE, extra)
    record = json.loads((extra / "trial.json").read_text())
    record |= {"trial": extra.name, "number": 31}
    (extra / "trial.json").write_text(json.dumps(record))
    done = call("ingest", "--study", study)
    assert done.returncode == 1
    assert "3 trajectories" in done.stdout
    assert f"trial '{extra.name}' is not in the plan" in done.stdout
    assert len(open_study(study).trials()) == 3


def test_a_lie_takes_the_place_of_what_the_record_said(study):
    assert call("ingest", "--study", study).returncode == 0
    change(study, reward="1e999")
    assert call("ingest", "--study", study).returncode == 1
    assert len(open_study(study).query("SELECT trial FROM trials")) == 2
    assert "reward" in complaint(call("show", study, ONE))
