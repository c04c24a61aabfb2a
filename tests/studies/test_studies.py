from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.errors import StudyError
from skilljuror.models.study import Condition, Contrast, StudyConfig, TaskEntry
from skilljuror.studies import changed_fields, copies_skills, freeze, load_study, substrate_digest
from tests.support.harness_tasks import SKILL, make_task, write_tree
from tests.support.places import ROOT

STUDY = """\
name: tea
seed: 3
trials_per_cell: 2
tasks:
  - path: kettle
    skills: brew
    attributes: {domain: garden}
conditions:
  - name: no_skill
  - name: baseline
    variant: baseline
contrast: {treatment: baseline, control: no_skill}
"""


@pytest.fixture
def base(tmp_path):
    make_task(tmp_path / "kettle")
    return write_tree(tmp_path, {"study.yaml": STUDY, "brew/SKILL.md": SKILL})


def plan_of(base):
    return freeze(load_study(base / "study.yaml"), base)


def edit(base, before, after):
    text = (base / "study.yaml").read_text(encoding="utf-8")
    assert before in text
    (base / "study.yaml").write_text(text.replace(before, after), encoding="utf-8")


def test_a_study_file_becomes_a_plan(base):
    plan = plan_of(base)
    assert [task.name for task in plan.tasks] == ["kettle"]
    assert plan.tasks[0].skills == "brew"
    assert len(plan.trials) == 4
    assert plan.config.seed == 3


def test_attributes_of_the_study_override_those_of_the_task(base):
    assert plan_of(base).tasks[0].attributes == {"domain": "garden", "difficulty": "2"}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("seed: 3", "seed: many", "field 'seed': Input should be a valid integer"),
        ("name: tea", "nome: tea", "field 'name': Field required; add it"),
        ("seed: 3", "seeds: 3", "field 'seeds': .*known fields: format_version, name, seed"),
        ("path: kettle", "folder: kettle", r"field 'tasks\.0\.path': Field required"),
        ("skills: brew", "skill: brew", r"field 'tasks\.0\.skill': .*path, skills, attributes"),
        ("name: tea", "name: Tea time", "field 'name': 'Tea time' is no short name; use"),
        ("seed: 3", "seeed: 3", "field 'seeed': unknown; did you mean 'seed'"),
        ("seed: 3", "format_version: 2", "reads 1, got 2; upgrade skilljuror"),
        ("seed: 3", "harness: {timeout_sec: .inf}", "field 'harness.timeout_sec': .*finite"),
        ("conditions:", "conditions: all\nx:", "field 'conditions': must be a list"),
        ("seed: 3", "seed: 3\nseed: 4", "'seed' is given twice"),
        ("seed: 3", "seed: [", "not YAML"),
        ("seed: 3", "agent: &a {options: {b: *a}}", "aliases are not taken.*, line 2"),
        ("seed: 3", "? [a]\n: 1", "not YAML|field"),
        ("path: kettle", "path: pot", "task 'pot': no folder"),
        ("skills: brew", "skills: steep", "no skills source at 'steep', needed by baseline"),
        ("control: no_skill", "control: nothing", "unknown condition 'nothing'; choose one of"),
        ("control: no_skill", "control: baseline", "compared with itself"),
        ("name: no_skill", "name: baseline", "two conditions are called 'baseline'"),
        (
            "path: kettle",
            "path: kettle\n    skills: brew\n  - path: kettle/",
            "two tasks are called 'kettle'",
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


@pytest.mark.parametrize("part", ["task.toml", "instruction.md", "tests/test.sh"])
def test_an_incomplete_task_is_refused(base, part):
    (base / "kettle" / part).unlink()
    with pytest.raises(StudyError, match=f"lacks {part}"):
        plan_of(base)


def test_a_broken_task_toml_is_named(base):
    write_tree(base, {"kettle/task.toml": "a ="})
    with pytest.raises(StudyError, match=r"task\.toml: not TOML"):
        plan_of(base)


@pytest.mark.parametrize("name", ["two__parts", "-x", "blank space", "ümlaut"])
def test_task_names_that_cannot_name_trials_are_refused(base, name):
    make_task(base / name)
    edit(base, "path: kettle", f'path: "{name}"')
    with pytest.raises(StudyError, match="cannot name trials"):
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
    with pytest.raises(StudyError, match=r"environment/docs/skill.md would reach the arm"):
        plan_of(base)


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
        ("brew/SKILL.md", "source_digest"),
    ],
)
def test_every_part_of_a_task_is_under_a_digest(base, file, field):
    before = plan_of(base)
    (base / file).write_text("changed\n", encoding="utf-8")
    after = plan_of(base)
    assert after.config_digest != before.config_digest
    assert changed_fields(before, after) == [f"task kettle: {field}"]


def test_baked_skills_are_no_part_of_the_substrate(base):
    before = substrate_digest(base / "kettle")
    write_tree(base, {"kettle/environment/skills/brew/SKILL.md": SKILL})
    assert substrate_digest(base / "kettle") == before == plan_of(base).tasks[0].substrate_digest


def test_changed_fields_are_named(base):
    before = plan_of(base)
    edit(base, "trials_per_cell: 2", "trials_per_cell: 3\nharness: {timeout_sec: 9}")
    after = plan_of(base)
    assert changed_fields(before, after) == ["harness.timeout_sec", "trials_per_cell"]
    assert changed_fields(before, before) == []


def test_comments_and_order_of_keys_change_nothing(base):
    before = plan_of(base).config_digest
    edit(base, "name: tea\nseed: 3", "seed: 3 # lucky\nname: tea")
    assert plan_of(base).config_digest == before


def test_the_plan_does_not_depend_on_the_place(base, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    make_task(other / "kettle")
    write_tree(other, {"study.yaml": STUDY, "brew/SKILL.md": SKILL})
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


def test_the_default_contrast_is_left_open(base):
    edit(base, "contrast: {treatment: baseline, control: no_skill}\n", "")
    assert plan_of(base).config.contrast is None
    assert Contrast(treatment="a", control="b") == Contrast(treatment="a", control="b")


def test_packaged_study_can_be_frozen():
    examples = ROOT / "examples"
    if not (examples / "study.yaml").is_file():
        pytest.skip("the checkout has no examples")
    plan = freeze(load_study(examples / "study.yaml"), examples)
    assert len(plan.trials) == len(plan.tasks) * 3 * 5
