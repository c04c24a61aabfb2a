"""What every registered harness promises."""

import pytest

from skilljuror.base.errors import UsageError, resolve
from skilljuror.base.files import sha256
from skilljuror.base.study import TrialRecord
from skilljuror.harness import HARNESSES
from skilljuror.study.trial import without_verifier
from tests.support.harbor_venv import OPTIONS, needs_harbor
from tests.support.harness_tasks import make_job, make_task, make_variant

REAL = {"harbor": OPTIONS}
"""Options of those that drive a program which the tests bring."""
MARKS = {"harbor": (needs_harbor, pytest.mark.slow)}

pytestmark = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=MARKS.get(name, ())) for name in sorted(HARNESSES)]
)


@pytest.fixture
def harness(name):
    made = resolve(HARNESSES, name, "harness")(REAL.get(name, {}))
    made.prepare()
    return made


def snapshot(folder):
    return {path: sha256(path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def test_a_trial_is_a_complete_record(harness, name, tmp_path):
    job = make_job(make_task(tmp_path / "task"), "echo done > out.txt")
    (tmp_path / "raw").mkdir()
    record = harness.run(job, tmp_path / "raw")
    assert isinstance(record, TrialRecord)
    assert (record.trial, record.seed) == (job.trial.trial, job.trial.seed)
    assert (record.harness, record.status, record.reward) == (name, "scored", 1.0)
    assert record.isolation == harness.prepare()
    assert record.started_at < record.finished_at


def test_task_and_variant_stay_as_they_are(harness, tmp_path):
    variant = make_variant(tmp_path / "variant")
    task = make_task(tmp_path / "task")
    before = snapshot(task) | snapshot(variant)
    script = "rm -rf ./* $3/*; echo x > input.txt; echo log > $2/log"
    (tmp_path / "raw").mkdir()
    record = harness.run(make_job(task, script, variant=variant), tmp_path / "raw")
    assert snapshot(task) | snapshot(variant) == before
    assert record.variant_digest is not None


def test_trials_do_not_see_each_other(harness, tmp_path):
    task = make_task(tmp_path / "task")
    script = "test -e ~/mark -o -e mark || echo done > out.txt; touch ~/mark mark"
    for number in ("1", "2"):
        (tmp_path / number).mkdir()
        assert harness.run(make_job(task, script), tmp_path / number).reward == 1.0


def test_an_agents_fault_is_a_row(harness, tmp_path):
    (tmp_path / "raw").mkdir()
    record = harness.run(make_job(make_task(tmp_path / "task"), "exit 9"), tmp_path / "raw")
    assert (record.reward, record.exception) == (0.0, "NonZeroAgentExitCodeError")


@pytest.mark.parametrize("script", ["exit 0", "exit 9"])
def test_a_task_without_a_verifier_ends_without_a_reward(harness, tmp_path, script):
    task = make_task(tmp_path / "task")
    (task / "tests/test.sh").rename(task / "tests/rubric.json")
    (tmp_path / "raw").mkdir()
    job = make_job(task, script)
    record = without_verifier(harness.run(job, tmp_path / "raw"), job.task)
    fault = "NonZeroAgentExitCodeError" if script == "exit 9" else None
    assert (record.status, record.reason, record.reward) == ("unscored", "no_verifier", None)
    assert record.exception == fault


def test_unknown_options_are_refused(name):
    with pytest.raises(UsageError, match="no-such-option"):
        resolve(HARNESSES, name, "harness")({"no-such-option": 1})
