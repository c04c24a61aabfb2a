"""`plan` tells what a study needs before it is paid for."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.base.errors import HarnessError, StudyError
from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.study import Condition, StudyConfig, StudyPlan, TaskEntry
from skilljuror.harness.harbor import engine_requirements, refuse_too_many, require_engine
from skilljuror.harness.tasks import changed_substrate, copies_skills
from skilljuror.report.forecast import forecast
from skilljuror.store.questions import run
from skilljuror.store.trials import ingest_trials
from skilljuror.store.writer import headline
from skilljuror.study.plan import changed_fields, freeze, load_study, prepared
from skilljuror.study.run import run_study
from tests.support.cli_process import call
from tests.support.harness_tasks import SKILL, make_task, write_tree
from tests.support.loopback import model_server
from tests.support.places import ROOT
from tests.support.studies import KETTLE, edit, edit_study, make_study, plan_of


def test_a_study_file_becomes_a_plan(base):
    plan = plan_of(base)
    assert [task.name for task in plan.tasks] == ["kettle"]
    assert plan.tasks[0].skills == "brew"
    assert len(plan.trials) == 4
    assert plan.config.seed == 3


def test_changed_fields_are_named(base):
    before = plan_of(base)
    edit(base, "trials_per_cell: 2", "trials_per_cell: 3\nharness: {timeout_sec: 9}")
    after = plan_of(base)
    assert changed_fields(before, after) == ["harness.timeout_sec", "trials_per_cell"]
    assert changed_fields(before, before) == []


def test_the_plan_does_not_depend_on_the_place(base, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    make_task(other / "kettle")
    write_tree(other, {"study.yaml": KETTLE, "brew/SKILL.md": SKILL})
    assert plan_of(other).model_dump() == plan_of(base).model_dump()


def test_a_trial_name_that_is_too_long_is_refused(base):
    edit(base, "name: no_skill", "name: " + "a" * 220)
    edit(base, "contrast: {treatment: baseline, control: no_skill}\n", "")
    with pytest.raises(StudyError, match="more than 200"):
        plan_of(base)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    base = tmp_path_factory.mktemp("tasks")
    for name in ("a", "b", "c"):
        make_task(base / name)
    return base


def many(tasks, seed, arms, trials):
    entries = tuple(TaskEntry(path=name) for name in ("a", "b", "c"))
    conditions = tuple(Condition(name=f"arm{number}") for number in range(arms))
    config = StudyConfig(
        name="s", seed=seed, trials_per_cell=trials, tasks=entries, conditions=conditions
    )
    return freeze(config, tasks)


sizes = st.tuples(st.integers(), st.integers(1, 4), st.integers(1, 6))


@given(sizes)
def test_every_block_holds_every_cell_once(tasks, size):
    seed, arms, trials = size
    plan = many(tasks, seed, arms, trials)
    assert [trial.order for trial in plan.trials] == list(range(3 * arms * trials))
    assert [trial.block for trial in plan.trials] == sorted(trial.block for trial in plan.trials)
    cells = Counter((trial.block, trial.task, trial.condition) for trial in plan.trials)
    assert set(cells.values()) == {1}
    assert len(cells) == 3 * arms * trials
    assert all(trial.number == trial.block + 1 for trial in plan.trials)
    assert len({trial.trial for trial in plan.trials}) == len(plan.trials)


@given(sizes)
def test_seeds_are_shared_by_conditions_and_by_nothing_else(tasks, size):
    plan = many(tasks, *size)
    seeds = {(trial.task, trial.number): trial.seed for trial in plan.trials}
    assert all(trial.seed == seeds[trial.task, trial.number] for trial in plan.trials)
    assert len(set(seeds.values())) == len(seeds)
    assert all(0 <= seed < 2**31 for seed in seeds.values())


@given(sizes)
def test_a_plan_is_the_same_every_time(tasks, size):
    assert many(tasks, *size) == many(tasks, *size)


def test_order_and_seeds_stay_as_they_are_across_versions(tasks):
    plan = many(tasks, 7, 2, 1)
    order = [f"{trial.task}{trial.condition[-1]}" for trial in plan.trials]
    assert order == ["b0", "a1", "c1", "a0", "b1", "c0"]
    assert {trial.seed for trial in plan.trials if trial.task == "a"} == {1493542731}


def test_the_shuffle_is_fair(tasks):
    """Over 300 blocks each of 2 arms goes first about half the time: 150 +- 5 sd."""
    plan = many(tasks, 1, 2, 300)
    first: dict[tuple[int, str], str] = {}
    for trial in plan.trials:
        first.setdefault((trial.block, trial.task), trial.condition)
    for task in ("a", "b", "c"):
        wins = sum(first[block, task] == "arm0" for block in range(300))
        assert abs(wins - 150) < 44


def test_a_condition_may_have_some_of_the_tasks(tasks):
    entries = tuple(TaskEntry(path=name) for name in ("a", "b", "c"))

    def planned(*patterns):
        conditions = (Condition(name="all"), Condition(name="some", tasks=patterns))
        config = StudyConfig(name="s", tasks=entries, conditions=conditions, trials_per_cell=2)
        return Counter((one.task, one.condition) for one in freeze(config, tasks).trials)

    everywhere = {(name, "all"): 2 for name in "abc"}
    assert planned("a", "[cd]") == {**everywhere, ("a", "some"): 2, ("c", "some"): 2}
    with pytest.raises(
        StudyError, match="condition 'some': tasks: 'aa' matches no task; did you mean 'a'"
    ):
        planned("aa")


def test_the_default_contrast_is_left_open(base):
    edit(base, "contrast: {treatment: baseline, control: no_skill}\n", "")
    assert plan_of(base).config.contrast is None


def arms(*rows):
    return tuple(Condition(name=name, **fields) for name, fields in rows)


@pytest.mark.parametrize(
    ("conditions", "contrast"),
    [
        (arms(("a", {}), ("b", {"variant": "pd"})), ("b", "a")),
        (arms(("a", {"variant": "pd"}), ("b", {"variant": "pd"})), ("b", "a")),  # A/A
        (
            arms(("a", {"model": "x"}), ("b", {}), ("c", {"variant": "pd", "model": "x"})),
            ("c", "a"),
        ),
        (arms(("a", {}), ("b", {"variant": "pd", "model": "x"})), (None, None)),
        (
            arms(
                ("a", {}),
            ),
            (None, None),
        ),
    ],
)
def test_the_default_contrast_is_of_arms_that_differ_in_one_setting(base, conditions, contrast):
    config = plan_of(base).config.model_copy(update={"contrast": None, "conditions": conditions})
    assert headline(config) == contrast


def test_arms_whose_agents_have_other_options_differ(base):
    edit(base, "variant: baseline\n", "agent: {name: codex, options: {config: [a=1]}}\n")
    edit(base, "seed: 3", "seed: 3\nagent: {name: codex}")
    with pytest.raises(StudyError, match=r"differ in agent \(codex, codex .*a=1"):
        plan_of(base)


def test_packaged_study_can_be_frozen():
    examples = ROOT / "examples"
    plan = freeze(load_study(examples / "study.yaml"), examples)
    assert len(plan.trials) == len(plan.tasks) * 5 * 5


def test_what_the_study_lets_vary_may_differ(base):
    edit(base, "variant: baseline\n", "model: large\n    disclosure: named\n")
    edit(base, "seed: 3", "seed: 3\nvary: [model, disclosure]")
    config = plan_of(base).config
    assert [config.settings(arm)["model"] for arm in config.conditions] == [None, "large"]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("seed: 3", "seed: many", "field 'seed': Input should be a valid integer"),
        ("name: tea", "nome: tea", "field 'name': Field required; add it"),
        ("seed: 3", "seeds: 3", "field 'seeds': .*known fields: format_version, name, seed"),
        ("path: kettle", "folder: kettle", r"field 'tasks\.0\.path': Field required"),
        ("skills: brew", "skill: brew", r"field 'tasks\.0\.skill': .*path, skills, attributes"),
        ("name: tea", "name: Tea time", "field 'name': invalid name 'Tea time'; use"),
        ("seed: 3", "seeed: 3", "field 'seeed': unknown; did you mean 'seed'"),
        ("variant: baseline", "variant: baseline\n    skill: brew", "both a variant and a skill"),
        (
            "name: no_skill",
            "name: pd\n    skill: brew\n  - name: b\n    variant: pd",
            "'pd' offers an unchanged Skill but has the name of a variant",
        ),
        ("path: kettle", 'path: "pots/*"', r"no folder matches 'pots/\*'"),
        (
            "variant: baseline",
            "variant: baseline\n    effort: high",
            r"'no_skill' and 'baseline' differ in effort \(none, high\).* but the study varies skill; make",
        ),
        (
            "seed: 3",
            "vary: [model]",
            r"differ in skill \(none, baseline\).* but the study varies model; make",
        ),
        ("seed: 3", "margin: 0", "field 'margin'"),
        ("variant: baseline", "skill: {path: b, revison: v1}", "did you mean 'revision'"),
        ("variant: baseline", "skill: {path: b, revision: 1.2}", "got 1.2; write it in quotes"),
        ("seed: 3", "harness: {timeout_sec: .inf}", "field 'harness.timeout_sec': .*finite"),
        ("conditions:", "conditions: all\nx:", "field 'conditions': must be a list"),
        ("seed: 3", "seed: 3\nseed: 4", "duplicate key 'seed'"),
        ("seed: 3", "seed: [", "invalid YAML"),
        ("seed: 3", "agent: &a {options: {b: *a}}", "aliases are unsupported.*, line 2"),
        ("seed: 3", "? [a]\n: 1", "invalid YAML|field"),
        ("path: kettle", "path: pot", "task 'pot': folder '.*' not found"),
        (
            "skills: brew",
            "skills: steep",
            r"skills source 'steep' not found \(needed by baseline\)",
        ),
        ("control: no_skill", "control: nothing", "unknown condition 'nothing'; choose one of"),
        ("control: no_skill", "control: baseline", "compared with itself"),
        ("name: no_skill", "name: baseline", "duplicate condition 'baseline'"),
        (
            "path: kettle",
            "path: kettle\n    skills: brew\n  - path: kettle/",
            "duplicate task 'kettle'",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_line(base, before, after, said):
    edit(base, before, after)
    with pytest.raises(StudyError, match=said) as caught:
        plan_of(base)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("content", [b"", b"- a", b"\xff\xfe", b"name: !!python/object:os.x {}"])
def test_a_file_that_is_no_study_is_refused(tmp_path, content):
    (tmp_path / "study.yaml").write_bytes(content)
    with pytest.raises(StudyError, match=r"study\.yaml: "):
        load_study(tmp_path / "study.yaml")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(StudyError, match="no such file"):
        load_study(tmp_path / "absent.yaml")


def test_comments_and_order_of_keys_change_nothing(base):
    before = plan_of(base).config_digest
    edit(base, "name: tea\nseed: 3", "seed: 3 # lucky\nname: tea")
    assert plan_of(base).config_digest == before


def test_attributes_of_the_study_override_those_of_the_task(base):
    assert plan_of(base).tasks[0].attributes == {"domain": "garden", "difficulty": "2"}


@pytest.mark.parametrize("part", ["task.toml", "instruction.md", "tests/test.sh"])
def test_an_incomplete_task_is_refused(base, part):
    (base / "kettle" / part).unlink()
    with pytest.raises(StudyError, match=f"missing {part}"):
        plan_of(base)


def test_a_broken_task_toml_is_named(base):
    write_tree(base, {"kettle/task.toml": "a ="})
    with pytest.raises(StudyError, match=r"task\.toml: invalid TOML"):
        plan_of(base)


@pytest.mark.parametrize("name", ["two__parts", "-x", "blank space", "ümlaut"])
def test_task_names_that_cannot_name_trials_are_refused(base, name):
    make_task(base / name)
    edit(base, "path: kettle", f'path: "{name}"')
    with pytest.raises(StudyError, match="invalid name of task folder"):
        plan_of(base)


def test_a_source_may_be_one_file(base):
    (base / "brew.skill").write_bytes(b"zipped")
    edit(base, "skills: brew", "skills: brew.skill")
    before = plan_of(base).tasks[0]
    assert before.skills == "brew.skill"
    (base / "brew.skill").write_bytes(b"zipped anew")
    assert plan_of(base).tasks[0].source_digest != before.source_digest


def test_skills_of_the_task_itself_are_the_default_and_are_stripped(base):
    docker = "FROM x\nCOPY --chown=1 ./skills /root/.agents/skills\nCOPY input.txt /app/\n"
    write_tree(
        base / "kettle",
        {
            "environment/skills/brew/SKILL.md": SKILL,
            "environment/Dockerfile": docker,
            "task.toml": '[environment]\nskills_dir = "/skills"\n',
        },
    )
    edit(base, "    skills: brew\n", "")
    task = plan_of(base).tasks[0]
    assert task.skills == "kettle/environment/skills"
    assert task.stripped == (
        "environment/skills",
        "Dockerfile: COPY --chown=1 ./skills /root/.agents/skills",
        "task.toml: environment.skills_dir",
    )


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("COPY skills /s", True),
        ("copy ./skills/brew /s", True),
        ("ADD a skills /s", True),
        ("COPY a/../skills /s", True),
        ("COPY /skills /s", True),
        ("COPY skillset /s", False),
        ("COPY a skills", False),
        ("# COPY skills /s", False),
        ("RUN cp skills /s", False),
        ('COPY "skills /s', False),
    ],
)
def test_which_lines_bake_a_skill_in(line, answer):
    assert copies_skills(line) is answer


def test_a_skill_elsewhere_in_the_environment_contaminates_the_no_skill_arm(base):
    write_tree(base, {"kettle/environment/docs/skill.md": "leak"})
    with pytest.raises(StudyError, match=r"environment/docs/skill.md is visible to condition"):
        plan_of(base)


PAGE = " ".join(
    f"Steep leaf {number} for {number + 3} minutes at {number + 60} degrees, then fill cup {number + 200}."
    for number in range(1, 30)
)
PROGRAM = "\n".join(
    f"assert cup{number} == {number * 7}, 'fill it to mark {number + 50}'"
    for number in range(1, 30)
)


@pytest.mark.parametrize(
    ("protected", "text", "held", "said"),
    [
        (
            "brew/SKILL.md",
            PAGE,
            "docs/guide.md",
            r"guide\.md has the text of 'SKILL.md' of the Skill",
        ),
        ("brew/references/tea.md", PAGE, "a.txt", r"a\.txt has the text of 'references/tea.md'"),
        (
            "kettle/tests/check.py",
            PROGRAM,
            "util.py",
            r"util\.py has the text of 'check.py' of tests",
        ),
    ],
)
def test_a_copy_under_another_name_in_the_environment_is_refused(base, protected, text, held, said):
    write_tree(base, {"kettle/tests/test.sh": "python3 /tests/check.py"})
    write_tree(base, {protected: f"---\nname: brew\ndescription: tea\n---\n{text}\n"})
    write_tree(base, {f"kettle/environment/{held}": f"Read this first.\n{text.upper()}\n"})
    with pytest.raises(StudyError, match=said) as refused:
        plan_of(base)
    assert refused.value.file == str(base / "kettle" / "environment" / held)


@pytest.mark.parametrize("held", ["kettle/environment/skills/tea.md", "kettle/instruction.md"])
def test_a_skill_where_it_belongs_is_not_refused(base, held):
    write_tree(base, {"brew/SKILL.md": f"---\nname: brew\ndescription: tea\n---\n{PAGE}\n"})
    write_tree(base, {held: PAGE})
    assert plan_of(base)


@pytest.mark.parametrize("name", ["data.csv", "library.py"])
def test_a_verifiers_copy_of_what_the_environment_has_is_not_refused(base, name):
    write_tree(base, {f"kettle/tests/{name}": PROGRAM, f"kettle/environment/{name}": PROGRAM})
    assert plan_of(base)


def test_without_a_skill_arm_no_source_is_needed(base):
    config = StudyConfig(
        name="s", tasks=(TaskEntry(path="kettle"),), conditions=(Condition(name="a"),)
    )
    task = freeze(config, base).tasks[0]
    assert (task.skills, task.source_digest) == ("", "")


@pytest.mark.parametrize(
    ("file", "field"),
    [
        ("kettle/instruction.md", "instruction_digest"),
        ("kettle/environment/input.txt", "environment_digest"),
        ("kettle/tests/test.sh", "verifier_digest"),
        ("kettle/task.toml", "settings_digest"),
        ("brew/SKILL.md", "source_digest"),
    ],
)
def test_every_part_of_a_task_is_under_a_digest(base, file, field):
    before = plan_of(base)
    (base / file).write_text("# changed\n" + (base / file).read_text(encoding="utf-8"))
    after = plan_of(base)
    assert after.config_digest != before.config_digest
    assert changed_fields(before, after) == [f"task kettle: {field}"]


def test_baked_skills_are_no_part_of_the_substrate(base):
    (task,) = plan_of(base).tasks
    write_tree(base, {"kettle/environment/skills/brew/SKILL.md": SKILL})
    assert changed_substrate(task, base / "kettle") == []
    assert plan_of(base).tasks[0].substrate_digest == task.substrate_digest


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("instruction.md", "instruction.md"),
        ("environment/input.txt", "environment/"),
        ("tests/test.sh", "tests/"),
        ("task.toml", "task.toml"),
    ],
)
def test_one_byte_of_a_task_is_enough_and_its_part_is_named(base, file, part):
    (task,) = plan_of(base).tasks
    path = base / "kettle" / file
    path.write_bytes(path.read_bytes() + b"\n")
    assert changed_substrate(task, base / "kettle") == [part]


def test_a_glob_stands_for_every_folder_it_fits_in_order_of_their_names(base):
    for name in ("b", "B", "a"):
        make_task(base / "tasks" / name)
        write_tree(base, {f"skills/{name}/SKILL.md": SKILL})
    write_tree(base, {"tasks/notes.md": "Not a task."})
    edit(base, "path: kettle\n    skills: brew", 'path: "tasks/*"\n    skills: "skills/{task}"')
    before = plan_of(base)
    assert [task.path for task in before.tasks] == ["tasks/B", "tasks/a", "tasks/b"]
    assert [task.skills for task in before.tasks] == ["skills/B", "skills/a", "skills/b"]
    (base / "tasks" / "B").rename(base / "tasks" / "c")
    write_tree(base, {"skills/c/SKILL.md": SKILL})
    assert changed_fields(before, plan_of(base)) == ["task c: new", "task B: removed"]


def test_a_folder_that_is_no_task_is_named_though_a_glob_fits_it(base):
    make_task(base / "tasks" / "a")
    (base / "tasks" / "drafts").mkdir()
    edit(base, "path: kettle", 'path: "tasks/*"')
    with pytest.raises(StudyError, match=r"task 'tasks/drafts': missing task\.toml"):
        plan_of(base)


LONG = f"{SKILL}\n## If the pot is large\n\n" + "\n".join(
    f"{n}. Pour {n} ml of water over the leaves." for n in range(90)
)


@pytest.fixture
def study(tmp_path):
    """Four tasks: tea; one with a long Skill; two that a person may leave out, one of them no task."""
    study = make_study(tmp_path, trials=1, variants={"bare": None, "flat": "baseline", "pd": "pd"})
    for name, text in (("tea", SKILL), ("pot", LONG), ("cup", SKILL)):
        make_task(tmp_path / "tasks" / name)
        write_tree(tmp_path, {f"skills/{name}/SKILL.md": text})
    (tmp_path / "tasks" / "drafts").mkdir()
    drafts = {"task": "drafts", "category": "no task", "reason": "Not finished."}
    cup = {"task": "cup", "category": "credential", "reason": "Needs a key."}
    edit_study(
        study,
        tasks=[{"path": "tasks/*", "skills": "skills/{task}"}],
        exclude=[drafts, cup],
    )
    return study


@pytest.mark.slow
def test_an_excluded_task_is_a_row_without_trials(study, tmp_path):
    out = tmp_path / "out"
    arms = [{"name": "bare"}, {"name": "flat", "variant": "baseline"}]
    edit_study(study, exclude_rules={"max_tokens": 400}, conditions=arms)
    assert any("after the variants are built" in note for note in forecast(study).notes)
    assert run_study(study, out).statuses == {"scored": 2}
    plan = read_record(StudyPlan, out / "plan.json")
    assert [task.name for task in plan.tasks] == ["tea"]
    assert [(one.name, one.decided_by) for one in plan.excluded] == [
        ("cup", "person"),
        ("drafts", "person"),
        ("pot", "max_tokens"),
    ]
    assert run_study(study, out).ran == 0
    ingest_trials(out)
    database = StudyFolder(out).database
    assert run(database, "task_set").rows == [
        ("found", 4, "tasks"),
        ("left out: credential", 1, "tasks"),
        ("left out: no task", 1, "tasks"),
        ("left out: over the token limit", 1, "tasks"),
        ("in the study", 1, "tasks"),
        ("planned", 2, "trials"),
    ]
    rows = run(database, "excluded_tasks").records()
    assert rows[0] == {
        "task": "cup", "category": "credential", "reason": "Needs a key.", "decided_by": "person",
    }  # fmt: skip
    assert rows[2]["reason"].endswith("tokens, more than 400")


@pytest.mark.slow
@pytest.mark.parametrize("worth", ["none", "small"])
def test_a_pd_with_nothing_to_open_may_be_left_out(study, tmp_path, worth):
    edit_study(study, exclude_rules={"pd_worth": worth})
    run_study(study, tmp_path / "out")
    plan = read_record(StudyPlan, tmp_path / "out" / "plan.json")
    assert [task.name for task in plan.tasks] == ["pot"]
    assert [one.decided_by for one in plan.excluded] == ["person", "person", "pd_worth"]
    assert plan.excluded[-1].reason.startswith("nothing to disclose: ")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"exclude": [{"task": "cups", "category": "c", "reason": "r"}]}, "did you mean 'cup'"),
        ({"exclude": [{"task": "cup", "category": "c"}]}, r"'exclude\.0\.reason': Field required"),
        ({"exclude_rules": {"max_token": 3}}, "did you mean 'max_tokens'"),
        ({"exclude_rules": {"pd_worth": "small"}, "conditions": [{"name": "a"}]}, "condition with the variant pd"),
        ({"exclude_rules": {"max_tokens": 3}, "conditions": [{"name": "a"}]}, "condition with a Skill"),
    ],
)  # fmt: skip
def test_what_leaves_nothing_out_is_named(study, tmp_path, more, said):
    edit_study(study, **more)
    with pytest.raises(StudyError, match=said):
        prepared(study, tmp_path / "out")


def test_somebody_must_stay(study, tmp_path):
    edit_study(study, exclude_rules={"max_tokens": 1, "pd_worth": "none"})
    with pytest.raises(StudyError, match="every task is excluded; include at least one"):
        run_study(study, tmp_path / "out")


ENGINE = """#!/bin/sh
case "$1 $2" in
  "info --format") printf '%s' '{info}';;
  "network ls") printf 'a\\nb\\n';;
esac
"""


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """A scripted `docker` on PATH, and what it says of itself."""
    programs = tmp_path / "programs"

    def says(**info):
        """Answer so from now on."""
        write_tree(programs, {"docker": ENGINE.format(info=json.dumps(info))})
        (programs / "docker").chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")

    return says


def rows(study, **kwargs):
    return {one.name: one for one in forecast(study, **kwargs).requirements}


def test_a_study_that_can_run_says_so(tmp_path):
    found = rows(make_study(tmp_path))
    assert {name: one.ready for name, one in found.items()} == {
        "harness local": True, "tasks": True, "disk": True, "agent shell": True,
    }  # fmt: skip
    assert found["harness local"].detail == "isolation none"


def test_what_is_missing_is_told_and_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    study = make_study(tmp_path)
    write_tree(tmp_path, {"tea/environment/Dockerfile": "FROM x\nRUN pip install y\n"})
    options = {"program": str(tmp_path / "none"), "environment": "docker"}
    edit_study(
        study, harness={"name": "harbor", "options": options},
        agent={"name": "codex", "model": "openai/gpt-5.4", "options": {"keys": ["OPENAI_API_KEY"]}},
    )  # fmt: skip
    done = call("plan", study)
    assert done.returncode == 0
    assert "harness harbor" in done.stdout
    assert "uv tool install" in done.stdout
    assert "OPENAI_API_KEY, which is not" in done.stdout


def test_a_model_is_asked_once(tmp_path, monkeypatch):
    study = make_study(tmp_path)
    edit_study(study, agent={"name": "command", "model": "openai/m", "options": {"argv": ["true"]}})
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with model_server(lambda body, number: "ready") as (address, asked):
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        assert "model openai/m" not in rows(study)
        assert "it answered 'ready'" in rows(study, live=True)["model openai/m"].detail
        assert len(asked) == 1
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert not rows(study, live=True)["model openai/m"].ready


def test_as_many_trials_as_docker_has_networks(engine):
    engine(ServerVersion="20", DefaultAddressPools=[{"Base": "172.20.0.0/22", "Size": 24}])
    refuse_too_many(2)
    with pytest.raises(HarnessError, match=r"--jobs 3: each trial needs a network, .* for 2 more"):
        refuse_too_many(3)
    engine(ServerVersion="20", DefaultAddressPools=None)
    refuse_too_many(29)
    with pytest.raises(HarnessError, match="use --jobs 29, or add default-address-pools"):
        refuse_too_many(30)


def test_tasks_with_more_cpus_than_docker_has_are_named(engine, tmp_path):
    engine(ServerVersion="20", DockerRootDir="/nowhere", NCPU=2)
    write_tree(tmp_path, {"tea/task.toml": "[environment]\ncpus = 2\n"})
    write_tree(tmp_path, {"soup/task.toml": "[environment]\ncpus = 4\n"})
    tasks = [tmp_path / "tea", tmp_path / "soup"]

    def cpus(override=None):
        return {one.name: one for one in engine_requirements(tasks, override)}["cpus"]

    assert cpus().ready is False
    assert cpus().detail.startswith(
        "2 CPUs; 1 of 2 tasks ask for more, and Docker will not start them: soup;"
    )
    assert cpus(1).ready is True


def test_an_engine_that_does_not_answer_is_named(engine, monkeypatch, tmp_path):
    engine(ServerErrors=["Cannot connect to the Docker daemon"])
    with pytest.raises(
        HarnessError, match=r"Docker does not answer: Cannot connect .* DOCKER_HOST"
    ):
        require_engine()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HarnessError, match="no program `docker` on PATH"):
        require_engine()
