import pytest

from skilljuror.base.errors import StudyError
from skilljuror.base.study import Condition, StudyConfig, TaskEntry
from skilljuror.harness.tasks import changed_substrate, copies_skills
from skilljuror.study.plan import changed_fields, freeze
from tests.support.harness_tasks import SKILL, make_task, write_tree
from tests.support.studies import edit, plan_of


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
