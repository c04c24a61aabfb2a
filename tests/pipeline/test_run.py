import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from uuid import uuid4

import pytest
import yaml

from skilljuror.errors import GateError, HarnessError, StudyError
from skilljuror.files import RunFolder, digest_tree, read_record
from skilljuror.models.study import StudyPlan, TrialRecord
from skilljuror.pipeline.lock import only_run
from skilljuror.pipeline.run import run_study
from tests.harnesses.tasks import SKILL, alive, make_task, needs_bwrap, write_tree

ROOT = Path(__file__).parents[2]
PROGRAMS = "tests.pipeline.programs"
MAIN = """\
import sys
from pathlib import Path
from skilljuror.pipeline.run import run_study
if __name__ == "__main__":
    summary = run_study(Path(sys.argv[1]), Path(sys.argv[2]), jobs=2)
    print(summary.finished, summary.interrupted)
"""


def make_study(base, *, script="echo done > out.txt", trials=2, variants=None, **more):
    """A study of one task; `variants` maps conditions to variants (default: two bare arms)."""
    make_task(base / "tea")
    write_tree(base, {"brew/SKILL.md": SKILL, "main.py": MAIN})
    arms = variants or {"a": None, "b": None}
    study = {
        "name": "tea",
        "trials_per_cell": trials,
        "tasks": [{"path": "tea", "skills": "brew"}],
        "conditions": [{"name": name, "variant": variant} for name, variant in arms.items()],
        "agent": {"name": f"{PROGRAMS}:shell", "options": {"script": script}},
        "harness": {"options": {"isolation": "none"}, "timeout_sec": 20},
    } | more
    (base / "study.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    return base / "study.yaml"


def edit(study, **more):
    study.write_text(yaml.safe_dump(yaml.safe_load(study.read_text()) | more), encoding="utf-8")


def start(study, out, **more):
    """A run in a process of its own, as from a terminal."""
    return subprocess.Popen(
        [sys.executable, study.parent / "main.py", study, out],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more,
    )  # fmt: skip


def until(met, seconds=30.0):
    limit = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.01)


def identity(out):
    """Finished trial -> inode of its record: a trial that ran again has another one."""
    folder = RunFolder(out)
    return {name: folder.trial_record(name).stat().st_ino for name in folder.finished_trials()}


def test_every_planned_trial_becomes_a_folder(tmp_path):
    out = tmp_path / "out"
    summary = run_study(make_study(tmp_path), out, jobs=2)
    plan = read_record(StudyPlan, out / "plan.json")
    assert sorted(trial.trial for trial in plan.trials) == RunFolder(out).finished_trials()
    assert (summary.planned, summary.finished, summary.ran) == (4, 4, 4)
    assert (summary.statuses, summary.isolation) == ({"scored": 4}, "none")
    assert (out / "study.yaml").read_bytes() == (tmp_path / "study.yaml").read_bytes()
    record = read_record(TrialRecord, out / "trials/tea__a__1/trial.json")
    assert record.config_digest == plan.config_digest
    assert record.substrate_digest == plan.tasks[0].substrate_digest


def test_trials_run_in_plan_order(tmp_path):
    out, told = tmp_path / "out", []
    run_study(make_study(tmp_path, trials=3), out, progress=lambda sign: told.append(sign.note))
    plan = read_record(StudyPlan, out / "plan.json")
    assert [note.split(":")[0] for note in told if note] == [one.trial for one in plan.trials]


def test_each_arm_gets_its_variant(tmp_path):
    out = tmp_path / "out"
    look = 'cat "$3"/*/SKILL.md > $2/skill.txt 2>/dev/null; echo $4 > $2/seed.txt'
    study = make_study(tmp_path, script=look, trials=1, variants={"no": None, "base": "baseline"})
    summary = run_study(study, out)
    bare, flat = (read_record(TrialRecord, out / f"trials/tea__{arm}__1/trial.json")
                  for arm in ("no", "base"))  # fmt: skip
    assert (bare.variant, bare.variant_digest) == (None, None)
    assert flat.variant_digest == digest_tree(out / "variants/tea/variants/baseline")
    assert bare.seed == flat.seed
    raw = out / "trials/tea__base__1/raw/agent"
    assert "Steep for 4 minutes." in (raw / "skill.txt").read_text(encoding="utf-8")
    assert (raw / "seed.txt").read_text(encoding="utf-8").strip() == str(flat.seed)
    assert summary.finished == 2


@needs_bwrap
def test_isolated_by_default_where_possible(tmp_path):
    study = make_study(tmp_path, trials=1, harness={})
    assert run_study(study, tmp_path / "out").isolation == "bwrap"


def test_running_again_runs_nothing_again(tmp_path):
    study, out = make_study(tmp_path), tmp_path / "out"
    run_study(study, out)
    before = identity(out)
    again = run_study(study, out)
    assert (again.finished, again.ran) == (4, 0)
    assert identity(out) == before


def test_only_what_is_missing_runs(tmp_path):
    study, out = make_study(tmp_path), tmp_path / "out"
    run_study(study, out)
    before = identity(out)
    (out / "trials/tea__a__2").rename(tmp_path / "lost")
    assert run_study(study, out).ran == 1
    after = identity(out)
    assert after.keys() == before.keys()
    assert [name for name in before if after[name] != before[name]] == ["tea__a__2"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 9}, "seed"),
        ({"trials_per_cell": 7}, "trials_per_cell"),
        ({"agent": {"name": f"{PROGRAMS}:shell", "options": {"script": "true"}}},
         "agent.options.script"),
    ],
)  # fmt: skip
def test_another_plan_is_refused_and_named(tmp_path, change, named):
    study, out = make_study(tmp_path), tmp_path / "out"
    run_study(study, out)
    edit(study, **change)
    with pytest.raises(StudyError, match=f"changed since: {named}"):
        run_study(study, out)
    assert len(identity(out)) == 4


def test_another_program_of_the_agent_is_refused(tmp_path):
    study, out = make_study(tmp_path), tmp_path / "out"
    run_study(study, out)
    plan = json.loads((out / "plan.json").read_text(encoding="utf-8"))
    (out / "plan.json").write_text(json.dumps(plan | {"agent_digest": "0"}), encoding="utf-8")
    with pytest.raises(StudyError, match="the agent's program"):
        run_study(study, out)


def test_trials_without_a_plan_are_refused(tmp_path):
    study, out = make_study(tmp_path), tmp_path / "out"
    run_study(study, out)
    (out / "plan.json").unlink()
    with pytest.raises(StudyError, match=r"holds trials but no plan\.json"):
        run_study(study, out)


def test_a_trial_of_another_plan_is_refused(tmp_path):
    study, out = make_study(tmp_path), tmp_path / "out"
    run_study(study, out)
    path = out / "trials/tea__a__1/trial.json"
    record = json.loads(path.read_text(encoding="utf-8")) | {"config_digest": "other"}
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(StudyError, match="'tea__a__1' was run under another plan"):
        run_study(study, out)


def test_a_task_that_changes_in_the_middle_stops_the_run(tmp_path):
    study, out = make_study(tmp_path, trials=3), tmp_path / "out"
    instruction = tmp_path / "tea" / "instruction.md"
    text = instruction.read_text(encoding="utf-8")

    def meddle(sign):
        if sign.done == 2:
            instruction.write_text("Something else.\n", encoding="utf-8")

    with pytest.raises(StudyError, match="'tea' changed since the plan was frozen"):
        run_study(study, out, progress=meddle)
    kept = identity(out)
    assert 2 <= len(kept) < 6
    instruction.write_text(text, encoding="utf-8")
    assert run_study(study, out).finished == 6
    assert kept.items() <= identity(out).items()


def test_a_variant_that_failed_its_gates_is_not_run(tmp_path):
    study = make_study(tmp_path, variants={"base": "baseline"})
    out = tmp_path / "out"
    run_study(study, out)
    path = out / "variants/tea/build.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    for variant in record["variants"]:
        variant["verdict"] = "fail"
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(GateError, match="'baseline' of task 'tea' failed its gates"):
        run_study(study, out)


def test_a_variant_edited_after_its_build_is_not_run(tmp_path):
    study, out = make_study(tmp_path, variants={"base": "baseline"}), tmp_path / "out"
    run_study(study, out)
    (out / "trials/tea__base__1").rename(tmp_path / "lost")
    root = next((out / "variants/tea/variants/baseline").rglob("SKILL.md"))
    root.write_text(SKILL.replace("4", "9"), encoding="utf-8")
    with pytest.raises(HarnessError, match="changed after its gates"):
        run_study(study, out)


def test_an_unknown_variant_is_named(tmp_path):
    study = make_study(tmp_path, variants={"base": "baseline"})
    out = tmp_path / "out"
    run_study(study, out)
    path = out / "variants/tea/build.json"
    record = json.loads(path.read_text(encoding="utf-8")) | {"variants": []}
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(StudyError, match="has no variant 'baseline'"):
        run_study(study, out)


def faulty(tmp_path, fault):
    harness = {"name": f"{PROGRAMS}:Faulty", "options": {"fault": fault}}
    return make_study(tmp_path, variants={"sound": None, "faulty": None}, harness=harness)


def test_what_nobody_foresaw_is_a_row(tmp_path):
    out = tmp_path / "out"
    summary = run_study(faulty(tmp_path, "bug"), out)
    assert summary.statuses == {"error": 2, "scored": 2}
    record = read_record(TrialRecord, out / "trials/tea__faulty__1/trial.json")
    assert (record.status, record.reward, record.exception) == ("error", None, "ValueError")
    assert record.message == "ValueError: nobody foresaw this"
    assert (out / "trials/tea__faulty__1/raw/half.txt").is_file()


@pytest.mark.parametrize(("fault", "said"), [("machine", "no sandbox today"), ("die", "died")])
def test_a_broken_machine_stops_the_run_and_loses_nothing(tmp_path, fault, said):
    out = tmp_path / "out"
    with pytest.raises(HarnessError, match=said):
        run_study(faulty(tmp_path, fault), out)
    assert not [name for name in identity(out) if "faulty" in name]
    with pytest.raises(HarnessError, match=said):
        run_study(tmp_path / "study.yaml", out)
    assert len(list((out / "trials").glob(".*"))) <= 1


def test_two_runs_do_not_interleave(tmp_path):
    study, out = make_study(tmp_path), tmp_path / "out"
    with only_run(RunFolder(out)), pytest.raises(StudyError, match=f"process {os.getpid()}"):
        run_study(study, out)
    assert run_study(study, out).finished == 4


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Temporary files of started runs, seen apart from those of others."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("isolation", [pytest.param("bwrap", marks=needs_bwrap), "none"])
def test_ctrl_c_stops_cleanly(tmp_path, scratch, isolation):
    mark, out = f"mark-{uuid4().hex}", tmp_path / "out"
    study = make_study(tmp_path, script=f"exec -a {mark} sleep 0.4", trials=10,
                       harness={"options": {"isolation": isolation}})  # fmt: skip
    run = start(study, out)
    until(lambda: len(identity(out)) >= 2 and alive(mark))
    os.killpg(run.pid, signal.SIGINT)
    said, errors = run.communicate(timeout=30)
    assert (run.returncode, errors) == (0, "")
    finished = identity(out)
    assert said.split() == [str(len(finished)), "True"]
    assert len(finished) < 20
    assert not alive(mark)
    assert not list(scratch.iterdir())
    assert not list((out / "trials").glob(".*"))


@pytest.mark.parametrize(
    ("isolation", "finished"), [pytest.param("bwrap", 1, marks=needs_bwrap), ("none", 5)]
)
def test_kill_9_loses_no_finished_trial_and_runs_none_twice(tmp_path, scratch, isolation, finished):
    mark, out = f"mark-{uuid4().hex}", tmp_path / "out"
    study = make_study(tmp_path, script=f"exec -a {mark} sleep 0.1", trials=5,
                       harness={"options": {"isolation": isolation}})  # fmt: skip
    run = start(study, out)
    until(lambda: len(identity(out)) >= finished)
    run.kill()
    run.communicate(timeout=30)
    before = identity(out)
    summary = run_study(study, out, jobs=2)
    assert not alive(mark)
    assert (summary.finished, summary.statuses) == (10, {"scored": 10})
    assert summary.ran < 10
    assert before.items() <= identity(out).items()
    assert not list(scratch.iterdir())
    assert not list((out / "trials").glob(".*"))


def test_a_module_in_the_working_directory_breaks_nothing(tmp_path):
    study = make_study(tmp_path / "study")
    here = write_tree(tmp_path / "here", {"struct.py": "raise SystemExit('shadowed')\n"})
    run = start(study, tmp_path / "out", cwd=here)
    said, errors = run.communicate(timeout=60)
    assert (said.split(), errors) == (["4", "False"], "")
