import json
import os
import re
import shutil
import signal
import tempfile
from uuid import uuid4

import pytest
from msgspec.structs import replace

from skilljuror.base.build import BuildRecord
from skilljuror.base.errors import GateError, HarnessError, StudyError, UsageError, WorkerError
from skilljuror.base.files import (
    StudyFolder,
    digest_json,
    digest_tree,
    read_jsonl,
    read_record,
)
from skilljuror.base.study import AgentProgram, StudyPlan, TrialRecord
from skilljuror.base.workers import Progress
from skilljuror.harness.sandbox import bwrap_problem
from skilljuror.layouts.build.assay import AssaySettings, assay
from skilljuror.report.forecast import forecast
from skilljuror.study.lock import exclusive_run
from skilljuror.study.run import agent_digest, run_study
from skilljuror.study.scheduling import _seconds
from tests.support.harness_tasks import SKILL, alive, needs_bwrap, write_tree
from tests.support.programs import KEY
from tests.support.studies import PROGRAMS, edit_study, make_study, start, until


def identity(out):
    """Finished trial -> inode of its record: a trial that ran again has another one."""
    folder = StudyFolder(out)
    return {name: folder.trial_record(name).stat().st_ino for name in folder.finished_trials()}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """One finished run of two arms: (its folder, its summary)."""
    base = tmp_path_factory.mktemp("original")
    study = make_study(base, variants={"a": None, "b": "baseline"})
    return base, run_study(study, base / "out", jobs=2)


@pytest.fixture
def finished(original, tmp_path):
    """A copy of the finished run: (study file, folder of the study)."""
    shutil.copytree(original[0], tmp_path / "copy")
    return tmp_path / "copy" / "study.yaml", tmp_path / "copy" / "out"


def edit_json(path, **more):
    record = json.loads(path.read_text(encoding="utf-8")) | more
    path.write_text(json.dumps(record), encoding="utf-8")


def test_every_planned_trial_becomes_a_folder(original):
    base, summary = original
    out = base / "out"
    plan = read_record(StudyPlan, out / "plan.json")
    assert sorted(trial.trial for trial in plan.trials) == StudyFolder(out).finished_trials()
    assert (summary.planned, summary.finished, summary.ran) == (4, 4, 4)
    assert (summary.statuses, summary.isolation) == ({"scored": 4}, "none")
    assert (out / "study.yaml").read_bytes() == (base / "study.yaml").read_bytes()
    record = read_record(TrialRecord, out / "trials/tea__a__1/trial.json")
    assert record.config_digest == plan.config_digest
    assert record.substrate_digest == plan.tasks[0].substrate_digest


def test_who_writes_a_carried_file_where_the_page_says_edits_nothing(tmp_path):
    """The same act where the file lies on disk is an edit."""
    script = 'mkdir -p "$3/brew/scripts"; echo "print(4)" > "$3/brew/scripts/steep.py"'
    study = make_study(tmp_path, script=script, variants={"a": "baseline", "b": "pd"}, trials=1)
    page = SKILL + "\nRun `python3 scripts/steep.py`.\n"
    write_tree(tmp_path, {"brew/SKILL.md": page, "brew/scripts/steep.py": "print(3)\n"})
    run_study(study, tmp_path / "out")
    edited = {}
    for arm in ("a", "b"):
        trial = read_record(TrialRecord, tmp_path / f"out/trials/tea__{arm}__1/trial.json")
        edited[arm] = trial.variant_digest_after != trial.variant_digest
    assert edited == {"a": False, "b": True}


def test_trials_run_in_plan_order(tmp_path):
    out, told = tmp_path / "out", []
    run_study(make_study(tmp_path, trials=3), out, progress=lambda sign: told.append(sign.note))
    plan = read_record(StudyPlan, out / "plan.json")
    assert [note.split(":")[0] for note in told if note] == [one.trial for one in plan.trials]


def test_each_arm_gets_its_variant(original):
    out = original[0] / "out"
    bare, flat = (
        read_record(TrialRecord, out / f"trials/tea__{arm}__1/trial.json") for arm in ("a", "b")
    )
    assert (bare.variant, bare.variant_digest, bare.skill_root) == (None, None, None)
    assert flat.variant_digest == digest_tree(out / "variants/tea/variants/baseline")
    assert bare.seed == flat.seed


def test_a_layout_and_a_gate_of_another_package_are_built_run_and_kept(tmp_path):
    study = make_study(
        tmp_path, trials=1, variants={"bare": None, "twin": f"{PROGRAMS}:Twin"},
        build={"gates": [f"{PROGRAMS}:Grumpy"]},
    )  # fmt: skip
    out = tmp_path / "out"
    assert run_study(study, out).statuses == {"scored": 2}
    assert run_study(study, out).ran == 0
    record = read_record(TrialRecord, out / "trials/tea__twin__1/trial.json")
    build = read_record(BuildRecord, out / "variants/tea/build.json")
    (twin,) = build.variants
    assert (record.variant, record.variant_digest) == ("twin", twin.tree_digest)
    assert build.gates == (f"{PROGRAMS}:Grumpy",)
    found = [row for row in read_jsonl(out / "variants/tea/gates.jsonl") if row["findings"]]
    assert [row["gate"] for row in found] == ["grumpy"]
    assert assay(out / "variants/tea", AssaySettings(sites=1)).rows


@needs_bwrap
def test_isolated_by_default_where_possible(tmp_path):
    study = make_study(tmp_path, trials=1, harness={})
    assert run_study(study, tmp_path / "out").isolation == "bwrap"


@pytest.fixture
def without_bwrap(monkeypatch, tmp_path):
    """A machine where no bwrap is installed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    bwrap_problem.cache_clear()
    yield
    bwrap_problem.cache_clear()


def test_an_agent_with_a_model_is_refused_without_a_sandbox(tmp_path, without_bwrap, monkeypatch):
    monkeypatch.setenv(KEY, "of no worth")
    agent = {"name": f"{PROGRAMS}:talkative", "options": {"script": "true"}}
    study = make_study(tmp_path, trials=1, harness={}, agent=agent)
    with pytest.raises(
        HarnessError, match=r"'talkative' .* bwrap is not installed; .*apt install"
    ) as said:
        run_study(study, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    planned = {one.name: one for one in forecast(study).requirements}["agent talkative"]
    assert (planned.ready, planned.detail) == (False, str(said.value))
    edit_study(study, harness={"options": {"isolation": "none"}})
    assert run_study(study, tmp_path / "out").finished == 2


def test_a_scripted_agent_runs_without_a_sandbox_and_one_line_says_so(tmp_path, without_bwrap):
    summary = run_study(make_study(tmp_path, trials=1, harness={}), tmp_path / "out")
    (note,) = summary.notes
    assert summary.isolation == "none"
    assert note.startswith("isolation none: ")
    assert "bwrap is not installed; install it: apt install bubblewrap" in note


def test_running_again_runs_nothing_again(finished):
    before = identity(finished[1])
    again = run_study(*finished)
    assert (again.finished, again.ran) == (4, 0)
    assert identity(finished[1]) == before


def test_only_what_is_missing_runs(finished, tmp_path):
    before = identity(finished[1])
    (finished[1] / "trials/tea__a__2").rename(tmp_path / "lost")
    assert run_study(*finished).ran == 1
    after = identity(finished[1])
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
def test_another_plan_is_refused_and_named(finished, change, named):
    edit_study(finished[0], **change)
    with pytest.raises(StudyError, match=f"changed fields: {named}"):
        run_study(*finished)
    assert len(identity(finished[1])) == 4


def test_before_any_trial_has_finished_the_plan_may_change(finished):
    """A source that failed its gates is mended and run again: plan and build are made anew."""
    study, out = finished
    shutil.rmtree(out / "trials")
    source = study.parent / "brew" / "SKILL.md"
    source.write_text(SKILL.replace("4", "9"), encoding="utf-8")
    summary = run_study(study, out)
    assert (summary.finished, summary.ran) == (4, 4)
    assert (
        "replaced the plan, because no trial had finished (task tea: source_digest)"
        in summary.notes[0]
    )
    built = next((out / "variants/tea/variants/baseline").rglob("SKILL.md"))
    assert SKILL.replace("4", "9").splitlines()[-1] in built.read_text(encoding="utf-8")


def test_a_build_of_another_source_is_refused(finished, tmp_path, variants):
    (finished[1] / "trials/tea__b__1").rename(tmp_path / "lost")
    source = json.loads(variants[0].read_text(encoding="utf-8"))["source"]
    edit_json(variants[0], source=source | {"tree_digest": "0"})
    with pytest.raises(StudyError, match="has another source than 'brew' of task 'tea'"):
        run_study(*finished)


def test_a_study_file_of_somebody_else_is_not_replaced(tmp_path):
    study, out = make_study(tmp_path), tmp_path / "out"
    write_tree(out, {"study.yaml": "name: mine"})
    with pytest.raises(StudyError, match=r"has another study\.yaml"):
        run_study(study, out)
    assert (out / "study.yaml").read_text(encoding="utf-8") == "name: mine"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"build": {"engine": "assign"}}, "requires a model: name one"),
        ({"build": {"engine": "dream"}}, "'plan', 'assign' or 'rewrite', got 'dream'"),
        ({"build": {"model": "openai/x"}}, "the engine 'plan' uses no model"),
        ({"build": {"mode": "assign"}}, "build.mode: unknown option"),
        ({"conditions": [{"name": "b", "variant": "pdd"}]}, "unknown variant 'pdd'"),
        ({"contrast": {"treatment": "a", "control": "z"}}, "unknown condition 'z'"),
        (
            {"conditions": [{"name": "b", "variant": "os:sep"}]},
            "variant 'os:sep' is not valid: missing",
        ),
        ({"build": {"gates": ["grumpy"]}}, "unknown gate 'grumpy'"),
        ({"agent": {"name": "nobody"}}, "unknown agent 'nobody'"),
        ({"harness": {"options": {"isolation": "x"}}}, "harness.options.isolation: unknown 'x'"),
    ],
)
def test_what_cannot_be_run_is_refused_with_its_file_before_anything_is_written(
    tmp_path, change, said
):
    study = make_study(tmp_path, **change)
    with pytest.raises(UsageError, match=said) as caught:
        run_study(study, tmp_path / "out")
    assert caught.value.message.startswith(f"{study}: ")
    assert caught.value.file == str(study)
    assert not (tmp_path / "out").exists()


def test_another_task_is_refused_and_named(finished):
    write_tree(finished[0].parent, {"tea/instruction.md": "Something else.\n"})
    with pytest.raises(StudyError, match="changed fields: task tea: instruction_digest"):
        run_study(*finished)


def test_another_program_of_the_agent_is_refused(finished):
    edit_json(finished[1] / "plan.json", agent_digest="0")
    with pytest.raises(StudyError, match="the agent's program"):
        run_study(*finished)


def test_the_digest_of_an_agent_tells_every_field_and_stands_for_older_ones():
    plain = AgentProgram("a", "1", (), ("run",), keys=("K",))
    assert agent_digest(plain) == digest_json(["a", "1", None, ("run",), [], ("K",)])
    fields = {
        "effort": "high", "skills": None, "home_files": {"x": "1"}, "env": {"X": "1"}, "logs": ("~/x",),
    }  # fmt: skip
    others = [agent_digest(replace(plain, **{name: fields[name]})) for name in fields]
    assert len({agent_digest(plain), *others}) == len(fields) + 1


def test_trials_without_a_plan_are_refused(finished):
    (finished[1] / "plan.json").unlink()
    with pytest.raises(StudyError, match=r"has trials but no plan\.json"):
        run_study(*finished)


def test_a_trial_of_another_plan_is_refused(finished):
    edit_json(finished[1] / "trials/tea__a__1/trial.json", config_digest="other")
    with pytest.raises(StudyError, match="'tea__a__1' was run under another plan"):
        run_study(*finished)


def test_a_plan_of_another_version_is_told(finished):
    edit_json(finished[1] / "plan.json", skilljuror_version="0.0.1")
    assert "the plan was created by skilljuror 0.0.1" in run_study(*finished).notes


def test_a_task_that_changes_in_the_middle_stops_the_run(tmp_path):
    study, out = make_study(tmp_path, trials=3), tmp_path / "out"
    instruction = tmp_path / "tea" / "instruction.md"
    text = instruction.read_text(encoding="utf-8")

    def meddle(sign):
        if sign.done == 2:
            instruction.write_text("Something else.\n", encoding="utf-8")

    with pytest.raises(StudyError, match=r"'tea' changed after planning \(instruction.md\)"):
        run_study(study, out, progress=meddle)
    kept = identity(out)
    assert 2 <= len(kept) < 6
    instruction.write_text(text, encoding="utf-8")
    assert run_study(study, out).finished == 6
    assert kept.items() <= identity(out).items()


@pytest.fixture
def variants(finished):
    """The build's manifests, to be edited: (build.json, list of manifests)."""
    path = finished[1] / "variants/tea/build.json"
    return path, json.loads(path.read_text(encoding="utf-8"))["variants"]


def test_a_variant_that_failed_its_gates_is_not_run(finished, variants):
    edit_json(variants[0], variants=[one | {"verdict": "fail"} for one in variants[1]])
    with pytest.raises(GateError, match="'baseline' of task 'tea' failed its gates"):
        run_study(*finished)


@pytest.mark.parametrize(
    ("verdict", "told"), [("review", "waits for a person's review"), (None, "has no gate results")]
)
def test_a_variant_that_is_not_cleared_is_told(finished, variants, verdict, told):
    edit_json(variants[0], variants=[one | {"verdict": verdict} for one in variants[1]])
    assert [note for note in run_study(*finished).notes if told in note]


def test_a_variant_edited_after_its_build_is_not_run(finished, tmp_path):
    (finished[1] / "trials/tea__b__1").rename(tmp_path / "lost")
    root = next((finished[1] / "variants/tea/variants/baseline").rglob("SKILL.md"))
    root.write_text(SKILL.replace("4", "9"), encoding="utf-8")
    with pytest.raises(HarnessError, match="changed after its gates"):
        run_study(*finished)


def test_a_variant_that_was_not_built_is_named(finished, variants):
    edit_json(variants[0], variants=[])
    with pytest.raises(StudyError, match="has no variant 'baseline'"):
        run_study(*finished)


def test_a_task_that_needs_an_image_is_refused_unless_the_study_says_otherwise(tmp_path):
    study = make_study(tmp_path, trials=1, variants={"a": None})
    write_tree(tmp_path, {"tea/environment/Dockerfile": "FROM x\nRUN apt-get install tea\n"})
    with pytest.raises(
        HarnessError, match=r"1 of 1 tasks .* tea \(environment/Dockerfile: RUN apt-get"
    ):
        run_study(study, tmp_path / "out")
    edit_study(study, harness={"options": {"isolation": "none", "unsupported": "ignore"}})
    assert (
        run_study(study, tmp_path / "out").notes[0].startswith("ignored, as the study says: 1 of 1")
    )


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


@pytest.mark.parametrize(
    ("fault", "error", "said"),
    [("machine", HarnessError, "no sandbox today"), ("die", WorkerError, "died")],
    ids=["no sandbox", "a worker that dies"],
)
def test_a_broken_machine_stops_the_run_and_loses_nothing(tmp_path, fault, error, said):
    out = tmp_path / "out"
    with pytest.raises(error, match=said):
        run_study(faulty(tmp_path, fault), out)
    assert not [name for name in identity(out) if "faulty" in name]
    with pytest.raises(error, match=said):
        run_study(tmp_path / "study.yaml", out)
    assert len(list((out / "trials").glob(".*"))) <= 1


def test_two_runs_do_not_interleave(finished):
    holder = f"process {os.getpid()}"
    with exclusive_run(StudyFolder(finished[1])), pytest.raises(StudyError, match=holder):
        run_study(*finished)
    assert run_study(*finished).finished == 4


def test_a_trial_that_cannot_be_kept_stops_the_run(finished, tmp_path):
    (finished[1] / "trials/tea__a__1/trial.json").rename(tmp_path / "lost")
    with pytest.raises(HarnessError, match="cannot save trial 'tea__a__1'"):
        run_study(*finished)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Temporary files of started runs, seen apart from those of others."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_every_trial_is_told_with_the_time_that_is_left(tmp_path):
    told: list[Progress] = []
    run_study(make_study(tmp_path, trials=2), tmp_path / "out", progress=told.append)
    notes = [one.note for one in told if one.stage == "run" and one.done]
    assert len(notes) == 4
    assert all(re.search(r": scored, about \d+ s left$", note) for note in notes[:-1])
    assert notes[-1].endswith(": scored")


@pytest.mark.parametrize("start", ["1970-01-01T00:00:00+00:00", "soon", "2127-01-01T00:00:00Z"])
def test_a_trial_of_unknown_length_gives_no_estimate(finished, start):
    """Harbor's results may lack a start, and a harness of one's own may write anything."""
    record = read_record(TrialRecord, StudyFolder(finished[1]).trial_record("tea__a__1"))
    assert len(list(_seconds(record))) == 1
    assert list(_seconds(record.model_copy(update={"started_at": start}))) == []
