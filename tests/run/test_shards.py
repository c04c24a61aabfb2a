"""A study run in shards and merged is the study run in one piece."""

import json
import shutil

import pytest

from skilljuror.errors import StudyError, UsageError
from skilljuror.ingest.trials import ingest_trials
from skilljuror.queries.run import run
from skilljuror.run.run import run_study
from skilljuror.run.shards import Shard, merge
from tests.support.cli_process import call
from tests.support.studies import edit_study, make_study


@pytest.fixture
def study(tmp_path):
    return make_study(tmp_path, trials=3, variants={"bare": None, "flat": "baseline"})


def shards(study, tmp_path, of=2):
    folders = [tmp_path / f"shard-{number}" for number in range(1, of + 1)]
    ran = [
        run_study(study, folder, shard=Shard(number, of))
        for number, folder in enumerate(folders, 1)
    ]
    return folders, ran


def test_no_trial_is_run_twice_and_none_is_left_out(study, tmp_path):
    folders, ran = shards(study, tmp_path)
    assert [(one.planned, one.finished) for one in ran] == [(4, 4), (2, 2)]
    assert "shard 1/2: 4 of the study's 6 trials" in ran[0].notes
    merged = merge(folders, tmp_path / "merged")
    assert (merged.trials, merged.planned, merged.shards) == (6, 6, 2)
    run_study(study, tmp_path / "whole")
    names = {path.name for path in (tmp_path / "merged" / "trials").iterdir()}
    assert names == {path.name for path in (tmp_path / "whole" / "trials").iterdir()}
    assert run_study(study, tmp_path / "merged").ran == 0
    for place in ("merged", "whole"):
        ingest_trials(tmp_path / place)
    rewards = [
        sorted(run(tmp_path / place / "study.duckdb", "SELECT trial, reward FROM trials").rows)
        for place in ("merged", "whole")
    ]
    assert rewards[0] == rewards[1]


def test_every_arm_of_a_task_and_number_is_in_one_shard(study, tmp_path):
    folders, _ = shards(study, tmp_path, of=3)
    for folder in folders:
        names = sorted(path.name for path in (folder / "trials").iterdir())
        assert [name.split("__")[1] for name in names] == ["bare", "flat"]
        assert len({name.split("__")[2] for name in names}) == 1


def test_a_shard_is_resumed_and_says_how(study, tmp_path):
    done = call("run", study, "--out", tmp_path / "one", "--shard", "1/2")
    assert done.returncode == 0
    assert "4 of 4 trials finished" in done.stdout
    again = call("run", study, "--out", tmp_path / "one", "--shard", "1/2")
    assert "(0 run, 4 finished before)" in again.stdout


@pytest.mark.parametrize("given", ["0/2", "3/2", "1", "1/0", "a/b", "-1/2"])
def test_what_is_no_share_is_refused(given):
    with pytest.raises(UsageError, match="write K/N"):
        Shard.read(given)


def test_what_does_not_fit_is_refused_and_nothing_is_written(study, tmp_path):
    folders, _ = shards(study, tmp_path)
    with pytest.raises(StudyError, match="already exists"):
        merge(folders, folders[0])
    changed = tmp_path / "changed"
    shutil.copytree(folders[0], changed)
    trial = changed / "trials" / "tea__bare__1" / "trial.json"
    trial.write_text(json.dumps({**json.loads(trial.read_text()), "reward": 0.25}))
    with pytest.raises(StudyError, match="'tea__bare__1' is in two shards with different results"):
        merge([*folders, changed], tmp_path / "merged")
    edit_study(study, trials_per_cell=4)
    run_study(study, tmp_path / "other", shard=Shard(1, 2))
    with pytest.raises(StudyError, match="different plans: trials_per_cell"):
        merge([*folders, tmp_path / "other"], tmp_path / "merged")
    page = next((folders[1] / "variants").rglob("SKILL.md"))
    page.write_text("another\n")
    with pytest.raises(StudyError, match="variants of task 'tea' differ between shards"):
        merge(folders, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
