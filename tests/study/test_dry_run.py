"""A dry run tells what a run does, and does nothing."""

import pytest

from skilljuror.base.errors import StudyError
from skilljuror.study.dry_run import dry_run
from skilljuror.study.run import run_study
from tests.support.cli_process import call
from tests.support.studies import edit_study, make_study


def files(base):
    return sorted(base.rglob("*"))


def test_it_tells_what_the_run_then_does(tmp_path):
    study = make_study(tmp_path, trials=2, variants={"a": None, "b": "baseline"})
    out, before, told = tmp_path / "out", files(tmp_path), []
    plan = dry_run(study, out)
    assert files(tmp_path) == before
    (build,) = plan.builds
    assert (build.task, build.source, build.variants, build.there) == (
        "tea",
        "brew",
        ("baseline",),
        False,
    )
    assert plan.commands["a"][:2] == ("bash", "-c")
    assert {one.condition: one.variant for one in plan.trials} == {"a": None, "b": "baseline"}
    run_study(study, out, progress=lambda sign: told.append((sign.stage, sign.note)))
    ran = [note.split(":")[0] for stage, note in told if stage == "run" and note]
    assert [one.trial for one in plan.trials] == ran
    again = dry_run(study, out)
    assert (again.trials, again.finished) == ((), 4)
    assert again.builds[0].there


def test_trials_that_would_run_again_are_told(tmp_path):
    study = make_study(tmp_path, trials=1, variants={"a": None})
    (tmp_path / "tea/tests/test.sh").write_text("#!/bin/bash\n")
    run_study(study, tmp_path / "out")
    (trial,) = dry_run(study, tmp_path / "out", rerun={"unscored"}).trials
    assert trial.again
    assert not (tmp_path / "out" / "attempts").exists()


def test_what_cannot_be_run_is_refused_as_by_a_run(tmp_path):
    study = make_study(tmp_path, contrast={"treatment": "a", "control": "z"})
    with pytest.raises(StudyError, match="unknown condition 'z'"):
        dry_run(study, tmp_path / "out")


def test_the_command_writes_nothing(tmp_path):
    study = make_study(tmp_path, trials=1)
    edit_study(study, name="quiet")
    before = files(tmp_path)
    done = call("run", "study.yaml", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "each trial of a, b: bash -c 'echo done > out.txt' agent '{instruction}'" in done.stdout
    assert "2 trials would run; 0 are finished in out/quiet" in done.stdout
    assert files(tmp_path) == before
