"""What conditions of a study differ in reaches their trials, their records and the database."""

import json
import os
import shutil
import signal
import tempfile
from datetime import date
from uuid import uuid4

import pytest
from msgspec.structs import replace

from skilljuror.base.build import AssayReport, BuildRecord
from skilljuror.base.errors import GateError, HarnessError, StudyError, UsageError, WorkerError
from skilljuror.base.files import (
    StudyFolder,
    digest_tree,
    read_jsonl,
    read_record,
)
from skilljuror.base.study import (
    AgentProgram,
    Budget,
    StudyConfig,
    StudyPlan,
    TrialRecord,
)
from skilljuror.harness.base import trial_record
from skilljuror.harness.local import LocalHarness
from skilljuror.harness.sandbox import bwrap_problem
from skilljuror.layouts.build.assay import AssaySettings, assay
from skilljuror.layouts.build.build import load_build
from skilljuror.layouts.build.manifests import offered_by
from skilljuror.report import report_study
from skilljuror.report.forecast import forecast
from skilljuror.store.questions import run as ask
from skilljuror.store.trials import ingest_trials
from skilljuror.study.plan import agent_digest, freeze, load_study
from skilljuror.study.run import (
    Spending,
    count_outcomes,
    exclusive_run,
    run_in_batch,
    run_study,
    save_stopped,
    uniform_rewards,
    workers_lock,
)
from skilljuror.study.trial import RunSetup, set_aside
from tests.support import fabricated_records as fake
from tests.support.bundle_corpus import write
from tests.support.harness_tasks import SKILL, alive, make_job, make_task, needs_bwrap, write_tree
from tests.support.places import GOLDENS
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
    study = make_study(tmp_path, script=script, variants={"a": "baseline", "b": "origin"}, trials=1)
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


@pytest.mark.slow
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
        (
            {"harness": {"options": {"isolation": "x"}}},
            "harness.options: unknown isolation 'x'; choose from auto, bwrap",
        ),
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


def test_the_digest_of_an_agent_tells_every_field():
    plain = AgentProgram("a", "1", (), ("run",), keys=("K",))
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_module_in_the_working_directory_breaks_nothing(tmp_path):
    study = make_study(tmp_path / "study")
    here = write_tree(tmp_path / "here", {"struct.py": "raise SystemExit('shadowed')\n"})
    run = start(study, tmp_path / "out", cwd=here)
    said, errors = run.communicate(timeout=60)
    assert (said.split(), errors) == (["4", "False"], "")


@pytest.mark.slow
@needs_bwrap
def test_two_versions_of_a_skill_are_a_study(tmp_path):
    """Each arm gets its own, and ingest knows what each could open."""
    study = make_study(tmp_path, trials=1)
    write_tree(tmp_path, {"new/brew/SKILL.md": SKILL, "new/brew/cups.md": "# Cups\n\nTwo.\n"})
    arms = [{"name": "old", "skill": "brew"}, {"name": "new", "skill": "new"}]
    edit_study(study, conditions=arms, tasks=[{"path": "tea"}])
    out = tmp_path / "out"
    summary = run_study(study, out)
    assert summary.statuses == {"scored": 2}
    assert any("old, new: the Skill's knowledge is not matched" in note for note in summary.notes)
    records = [
        read_record(TrialRecord, out / f"trials/tea__{arm}__1/trial.json") for arm in ("old", "new")
    ]
    assert [record.variant for record in records] == ["old", "new"]
    assert records[1].variant_digest == digest_tree(tmp_path / "new")
    offered = offered_by(StudyFolder(out), records[1])
    assert offered is not None
    assert [resource.path for resource in offered.resources] == ["SKILL.md", "cups.md"]
    ingest_trials(out)
    rows = ask(StudyFolder(out).database, "given_skills").records()
    assert [(row["condition"], row["files"], row["compared_with"]) for row in rows] == [
        ("old", 1, None),
        ("new", 2, "old"),
    ]
    assert rows[1]["shared_rate"] == 1
    assert ask(StudyFolder(out).database, "SELECT * FROM contaminations").rows == []
    assert run_study(study, out).ran == 0


def test_the_prompt_names_the_skills_of_the_arms_that_have_any(tmp_path):
    study = make_study(
        tmp_path, script='cp "$1" "$2/seen.txt"; echo done > out.txt', trials=1,
        variants={"bare": None, "flat": "baseline"}, disclosure="named",
    )  # fmt: skip
    out = tmp_path / "out"
    run_study(study, out)
    seen = {
        arm: (out / f"trials/tea__{arm}__1/raw/agent/seen.txt").read_text()
        for arm in ("bare", "flat")
    }
    sentence = "Skills available for this task: brew."
    assert seen == {"bare": "Write done to out.txt.\n", "flat": f"{seen['bare']}\n{sentence}\n"}
    record = read_record(TrialRecord, out / "trials/tea__flat__1/trial.json")
    assert record.disclosed == sentence
    assert read_record(TrialRecord, out / "trials/tea__bare__1/trial.json").disclosed is None


@pytest.mark.slow
def test_a_condition_may_name_another_agent(tmp_path):
    study = make_study(tmp_path, trials=1)
    other = {"name": f"{PROGRAMS}:echo", "model": "large", "effort": "high"}
    arms = [{"name": "one"}, {"name": "two", "agent": other}]
    edit_study(study, conditions=arms, agent={"name": "scripted"})
    with pytest.raises(UsageError, match="differ in agent"):
        run_study(study, tmp_path / "out")
    edit_study(study, vary=["agent", "model", "effort"])
    out = tmp_path / "out"
    assert run_study(study, out).finished == 2
    records = {
        arm: read_record(TrialRecord, out / f"trials/tea__{arm}__1/trial.json")
        for arm in ("one", "two")
    }
    assert (records["one"].agent, records["one"].model) == ("scripted", None)
    assert (records["two"].agent, records["two"].model) == ("echo", "large")
    ingest_trials(out)
    database = StudyFolder(out).database
    cells = {row["condition"]: row for row in ask(database, "cells").records()}
    assert cells["one"]["agent"] == "scripted"
    assert (cells["two"]["agent"], cells["two"]["model"]) == (f"{PROGRAMS}:echo", "large")
    (setup,) = ask(database, "setup").records()
    assert setup["agent"] == f"scripted, {PROGRAMS}:echo"
    assert ask(database, "SELECT * FROM contaminations").rows == []


@pytest.mark.slow
def test_model_and_effort_of_a_condition_reach_its_agent_and_its_records(tmp_path):
    study = make_study(tmp_path, trials=1)
    arms = [{"name": "low", "model": "small", "effort": "low"}, {"name": "high", "model": "large"}]
    agent = {"name": f"{PROGRAMS}:echo", "effort": "high"}
    edit_study(study, conditions=arms, vary=["model", "effort"], agent=agent)
    out = tmp_path / "out"
    run_study(study, out)
    told = {}
    for arm in ("low", "high"):
        record = read_record(TrialRecord, out / f"trials/tea__{arm}__1/trial.json")
        said = (out / f"trials/tea__{arm}__1/raw/agent-stdout.txt").read_text().strip()
        told[arm] = said, record.model, record.effort
    assert told == {"low": ("small low", "small", "low"), "high": ("large high", "large", "high")}
    ingest_trials(out)
    rows = ask(StudyFolder(out).database, "provenance").records()
    assert {(row["model"], row["effort"], row["conditions"]) for row in rows} == {
        ("small", "low", "low"),
        ("large", "high", "high"),
    }


@pytest.mark.parametrize("name", ["effort", "reasoning_effort"])
@pytest.mark.parametrize("also", [{}, {"effort": "high"}], ids=["alone", "beside agent.effort"])
def test_an_effort_among_the_agents_options_is_refused_with_its_mend(tmp_path, name, also):
    agent = {"name": f"{PROGRAMS}:echo", "options": {name: "low"}} | also
    study = make_study(tmp_path, trials=1, agent=agent)
    with pytest.raises(UsageError, match=f"agent.options.{name}: .*use agent.effort: low") as told:
        run_study(study, tmp_path / "out")
    assert told.value.file == str(study)
    assert not (tmp_path / "out").exists()


def trials(**cells):
    """Trials of tasks: "task__condition" -> rewards."""
    found = []
    for cell, rewards in cells.items():
        task, _, condition = cell.partition("__")
        for number, reward in enumerate(rewards, 1):
            status = "unscored" if reward is None else "scored"
            found.append(fake.trial(task, condition, number, reward=reward, status=status))
    return found


MIXED = trials(tea__a=[0.0, 0.0], tea__b=[1.0, None], ink__a=[0.0, 0.0], ink__b=[0.0, 0.0])


def test_rewards_are_told_by_task_and_only_on_demand_by_condition():
    blind = count_outcomes(MIXED)
    assert [(one.task, one.condition, one.rewards) for one in blind] == [
        ("ink", None, {"0": 4}),
        ("tea", None, {"0": 2, "1": 1, "none": 1}),
    ]
    open_ = count_outcomes(MIXED, unblind=True)
    assert [(one.condition, one.rewards) for one in open_ if one.task == "tea"] == [
        ("a", {"0": 2}),
        ("b", {"1": 1, "none": 1}),
    ]


def test_exceptions_are_counted():
    ends = [fake.trial("tea", "a", 1, exception="AgentTimeoutError"), fake.trial("tea", "b")]
    assert count_outcomes(ends)[0].exceptions == {"AgentTimeoutError": 1}


def test_tasks_and_conditions_with_one_reward_are_told_without_naming_the_condition():
    blind = uniform_rewards(MIXED)
    assert blind[0].startswith("on 1 of 2 tasks all trials have the same reward")
    assert blind[0].endswith(": ink (0)")
    assert blind[1] == "in 1 conditions all trials have the same reward: --unblind shows which"
    assert uniform_rewards(MIXED, unblind=True)[1].endswith("same reward: a (0)")
    assert uniform_rewards(trials(tea__a=[0.0, 1.0], tea__b=[1.0, 0.0])) == []
    assert uniform_rewards(trials(tea__a=[1.0])) == []


def test_a_verifier_that_always_says_the_same_is_one_line(tmp_path):
    study = make_study(tmp_path, trials=1, script="exit 3")
    summary = run_study(study, tmp_path / "out")
    assert summary.warnings == ("all 2 trials with a reward have reward 0",)
    (counts,) = summary.outcomes
    assert counts.condition is None
    assert counts.exceptions == {"NonZeroAgentExitCodeError": 2}


TRIALS = ("tea__a__1", "tea__b__1")


class Stumbling(LocalHarness):
    """Hands out what is in its list of ends for a trial, one after the other."""

    def __init__(self, ends):
        super().__init__()
        self.ends = {name: list(given) for name, given in ends.items()}
        self.batches = []
        self.kept = []
        self.broken_off = []

    def own_agent(self, choice):
        return None

    def stopped(self, batch):
        for name in self.broken_off:
            job = next(job for job in batch.jobs if job.trial.trial == name)
            yield job, lambda raw, job=job: self.collect(job, raw)
        self.broken_off = []

    def run_batch(self, batch):
        self.batches.append([job.trial.trial for job in batch.jobs])
        self.kept.append(batch.kept)
        for job in batch.jobs:
            yield job, lambda raw, job=job: self.collect(job, raw)

    def collect(self, job, raw):
        end = self.ends[job.trial.trial].pop(0)
        status, reward = ("scored", 1.0) if end is None else ("error", None)
        return trial_record(
            job, status=status, reward=reward, exception=end, harness="stumbling", isolation="none",
            variant_digest=None, skill_root=None, started_at=f"{len(self.batches)}", finished_at="9",
            agent_seconds=1.0, verifier_seconds=None,
        )  # fmt: skip


@pytest.fixture
def batch_of(tmp_path):
    """Runs two trials with ends of their own: (records that were told, the harness, its study)."""
    job, folder = make_job(make_task(tmp_path / "tea")), StudyFolder(tmp_path / "out")
    folder.trials.mkdir(parents=True)
    jobs = [
        replace(job, trial=job.trial.model_copy(update={"trial": name, "condition": name[5]}))
        for name in TRIALS
    ]

    def go(retries, *ends):
        harness = Stumbling(dict(zip(TRIALS, ends, strict=True)))
        setup = RunSetup(folder.root, tmp_path, workers_lock(folder), job.choice, retries)
        told = run_in_batch(harness, setup, jobs, jobs=1)
        return list(told), harness, folder

    return go


def test_what_the_machine_broke_runs_again_with_every_attempt_kept(batch_of):
    told, harness, folder = batch_of(2, ["OSError", None], [None])
    assert harness.batches == [list(TRIALS), [TRIALS[0]]]
    assert [(record.trial, record.reward) for record in told] == [
        (TRIALS[1], 1.0), (TRIALS[0], 1.0),
    ]  # fmt: skip
    assert harness.kept == [frozenset(), {(TRIALS[0], "1")}]
    assert folder.earlier_attempts() == [(TRIALS[0], 1)]
    first = read_record(TrialRecord, folder.attempt(TRIALS[0], 1) / "trial.json")
    assert first.exception == "OSError"


def test_the_last_attempt_stands_and_a_failing_agent_has_no_other(batch_of):
    told, harness, folder = batch_of(1, ["OSError", "OSError"], ["NonZeroAgentExitCodeError"])
    assert harness.batches == [list(TRIALS), [TRIALS[0]]]
    assert [record.exception for record in told] == ["NonZeroAgentExitCodeError", "OSError"]
    assert folder.finished_trials() == list(TRIALS)
    _, harness, _ = batch_of(0, [None], [None])
    assert harness.kept == [{(TRIALS[0], "1"), (TRIALS[0], "2"), (TRIALS[1], "1")}]


def test_what_a_stop_broke_off_is_an_earlier_attempt_and_the_trial_still_to_be_run(tmp_path):
    job, folder = make_job(make_task(tmp_path / "tea")), StudyFolder(tmp_path / "out")
    folder.trials.mkdir(parents=True)
    name = job.trial.trial
    harness = Stumbling({name: [None, None]})
    setup = RunSetup(folder.root, tmp_path, workers_lock(folder), job.choice)
    harness.broken_off = [name]
    save_stopped(harness, setup, [job])
    ended: list[TrialRecord] = []
    told = run_in_batch(harness, setup, [job], jobs=1, ended=ended.append)
    assert [record.reward for record in told] == [1.0]
    assert (len(ended), folder.earlier_attempts()) == (1, [(name, 1)])
    record = read_record(TrialRecord, folder.attempt(name, 1) / "trial.json")
    assert (record.status, record.reward, record.exception) == ("error", None, "RunStoppedError")
    assert Spending(folder, Budget(minutes=1)).minutes == pytest.approx(2 / 60)


PRICED = GOLDENS / "claude-stream"
"""A log that says what its run cost."""
UNPRICED = GOLDENS / "codex-rollout"
"""One that does not."""


@pytest.mark.slow
def test_a_reached_budget_stops_and_a_raised_one_goes_on(tmp_path):
    study = make_study(
        tmp_path, trials=2, script="sleep 0.2; echo done > out.txt", budget={"minutes": 0.003}
    )
    out = tmp_path / "out"
    first = run_study(study, out)
    assert first.finished == 1
    assert first.stopped == "budget.minutes: 0.0 of 0.003 are used"
    assert run_study(study, out).ran == 0
    edit_study(study, budget={"minutes": 10})
    last = run_study(study, out)
    assert (last.finished, last.ran, last.stopped) == (4, 3, None)


@pytest.mark.slow
def test_an_attempt_that_was_run_again_counts_once(tmp_path):
    study, folder = make_study(tmp_path, trials=1), StudyFolder(tmp_path / "out")
    run_study(study, folder.root)
    spent = Spending(folder, Budget(minutes=1))
    trial = folder.finished_trials()[0]
    set_aside(folder, trial)
    assert run_study(study, folder.root).ran == 1
    spent.count(trial)
    again = Spending(folder, Budget(minutes=1))
    assert spent.minutes == pytest.approx(again.minutes)


def test_a_budget_that_keeps_trials_from_running_again_is_said(tmp_path):
    study, out = make_study(tmp_path, trials=1), tmp_path / "out"
    write_tree(tmp_path / "tea", {"tests/test.sh": "#!/bin/bash\n"})
    assert run_study(study, out).statuses == {"unscored": 2}
    edit_study(study, budget={"minutes": 0.00001})
    last = run_study(study, out, rerun={"unscored"})
    assert (last.ran, last.finished) == (0, 2)
    assert "budget.minutes" in str(last.stopped)


def test_neither_budget_nor_retries_change_the_plan(tmp_path):
    study = make_study(tmp_path)
    plain = freeze(load_study(study), tmp_path)
    edit_study(study, budget={"dollars": 3}, retries=4)
    config = load_study(study)
    assert (config.budget, config.retries) == (Budget(dollars=3), 4)
    assert freeze(config, tmp_path).config_digest == plain.config_digest
    assert "budget" not in config.planned
    assert StudyConfig.model_validate_json(config.model_dump_json()) == config


@pytest.fixture
def talking(tmp_path, monkeypatch):
    """Makes the study of an agent with a model, which leaves a copy of a log."""
    monkeypatch.setenv(KEY, "of no worth")

    def make(log, dollars):
        script = f"cp -r {log} $2/; echo done > out.txt"
        agent = {"name": f"{PROGRAMS}:talkative", "options": {"script": script}}
        budget = {"dollars": dollars}
        return make_study(tmp_path, trials=1, agent=agent, budget=budget), tmp_path / "out"

    return make


@pytest.mark.slow
def test_dollars_are_read_from_the_logs_of_finished_trials(talking):
    study, out = talking(PRICED, 0.0001)
    first = run_study(study, out)
    assert first.finished == 1
    assert "budget.dollars: " in str(first.stopped)
    edit_study(study, budget={"dollars": 100})
    assert run_study(study, out).finished == 2


def test_what_an_agent_used_counts_also_where_its_trial_broke_off(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY, "of no worth")
    script = f"mv {tmp_path}/tea/tests/test.sh {tmp_path}; cp -r {PRICED} $2/"
    agent = {"name": f"{PROGRAMS}:talkative", "options": {"script": script}}
    study, out = make_study(tmp_path, trials=1, variants={"a": None}, agent=agent), tmp_path / "out"
    assert run_study(study, out).statuses == {"error": 1}
    spent = Spending(StudyFolder(out), Budget(minutes=1, dollars=1))
    assert (spent.minutes > 0, spent.dollars > 0, spent.notes()) == (True, True, [])
    shutil.rmtree(out / "trials/tea__a__1/raw/agent")
    spent = Spending(StudyFolder(out), Budget(dollars=1))
    assert (spent.dollars, spent.notes()) == (
        0.0,
        [
            "budget.dollars: the cost of 1 attempts is unknown (no_trajectory 1); each is counted as 0,"
            " because no other is known"
        ],
    )


def test_an_unknown_cost_is_said_and_is_no_zero(talking):
    summary = run_study(*talking(UNPRICED, 0.0001))
    assert (summary.finished, summary.stopped) == (2, None)
    (note,) = [note for note in summary.notes if note.startswith("budget.dollars")]
    assert "the cost of 2 attempts is unknown (no_usage 2)" in note
    assert "as 0, because no other is known" in note


def test_a_scripted_policy_costs_nothing(tmp_path):
    summary = run_study(make_study(tmp_path, trials=1, budget={"dollars": 1}), tmp_path / "out")
    assert not [note for note in summary.notes if "budget" in note]


def cost_of(out):
    ingest_trials(out)
    rows = ask(
        StudyFolder(out).database, "SELECT DISTINCT value FROM measures WHERE metric = 'cost_usd'"
    )
    return [value for (value,) in rows.rows]


@pytest.mark.slow
def test_prices_of_the_study_go_before_the_packaged_ones(talking):
    """They are no part of the plan: what is changed counts for the next ingest."""
    study, out = talking(PRICED, 100)
    run_study(study, out)
    assert cost_of(out) == [None]
    price = {"model": "tea-1", "input": 1, "cache_write": 0, "cache_read": 0, "output": 0}
    price |= {"as_of": date(2026, 11, 1)}
    edit_study(study, prices=[price])
    assert run_study(study, out).ran == 0
    (first,) = cost_of(out)
    assert first > 0
    edit_study(study, prices=[price | {"input": 3}])
    run_study(study, out)
    assert cost_of(out) == [pytest.approx(3 * first)]


@pytest.mark.slow
def test_what_an_attempt_spent_that_was_stopped_counts(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY, "of no worth")
    mark, folder = f"mark-{uuid4().hex}", StudyFolder(tmp_path / "out")
    name = f"{mark[:4]}''{mark[4:]}"  # the mark itself shows once the log is copied
    script = f"cp -r {PRICED} $2/; exec -a {name} sleep 60"
    agent = {"name": f"{PROGRAMS}:talkative", "options": {"script": script}}
    run = start(make_study(tmp_path, trials=1, variants={"a": None}, agent=agent), folder.root)
    until(lambda: alive(mark))
    os.killpg(run.pid, signal.SIGINT)
    assert run.communicate(timeout=60)[0].split() == ["0", "True"]
    assert not alive(mark)
    ((trial, number),) = folder.earlier_attempts()
    record = read_record(TrialRecord, folder.attempt(trial, number) / "trial.json")
    assert (record.status, record.exception) == ("error", "RunStoppedError")
    spent = Spending(folder, Budget(minutes=1, dollars=1))
    assert (spent.minutes > 0, spent.dollars > 0, spent.notes()) == (True, True, [])


@pytest.mark.slow
def test_an_attempt_that_was_killed_is_of_unknown_length_and_cost(talking):
    study, out = talking(PRICED, 100)
    run_study(study, out)
    folder = StudyFolder(out)
    known = Spending(folder, Budget(minutes=1, dollars=1))
    trial = folder.finished_trials()[0]
    path = set_aside(folder, trial) / "trial.json"
    killed = {"status": "error", "reward": None, "exception": "RunStoppedError"}
    record = read_record(TrialRecord, path)
    path.write_text(record.model_copy(update=killed | {"agent_seconds": None}).model_dump_json())
    shutil.rmtree(path.parent / "raw")
    spent = Spending(folder, Budget(minutes=1, dollars=1))
    (other,) = folder.finished_trials()
    longest = read_record(TrialRecord, folder.trial_record(other)).agent_seconds or 0.0
    assert spent.minutes == pytest.approx(2 * longest / 60)
    assert spent.dollars == pytest.approx(known.dollars)
    minutes, dollars = spent.notes()
    assert "duration of 1 stopped attempts is unknown; each is counted as the longest" in minutes
    assert "(no_trajectory 1); each is counted as the most expensive" in dollars


ARMS = {"a": None, "b": "baseline"}


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory):
    base = tmp_path_factory.mktemp("original")
    told = []
    skills = write("report", base / "skills").relative_to(base)
    tasks = [{"path": "tea", "skills": str(skills)}]
    study = make_study(base, variants=ARMS, trials=1, build={"assay": 1}, tasks=tasks)
    run_study(study, base / "out", progress=lambda sign: told.append(sign.stage))
    return base, told


def page(out):
    ingest_trials(out)
    return report_study(out).path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_builds_are_measured_before_the_trials_run_and_the_report_says_so(
    unchanged,
):
    base, told = unchanged
    assert told.index("assay") < told.index("run")
    record = load_build(StudyFolder(base / "out").build("tea"))
    assert AssayReport.model_validate(record.assay).sites == 1
    assert "origin" not in {one.variant for one in record.variants}
    said = (
        "Under policy strict, which judged these variants, this audit would have caught 100.0 % of "
    )
    assert said in page(base / "out")


def test_a_misspelt_field_is_guessed(tmp_path):
    study = make_study(tmp_path, variants=ARMS, build={"asay": 1})
    with pytest.raises(StudyError, match=r"build\.asay: unknown option; did you mean 'assay'\?"):
        run_study(study, tmp_path / "out")
