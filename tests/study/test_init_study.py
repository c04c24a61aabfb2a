"""Study files that `init` writes: each is one that `plan` takes."""

import pytest
import yaml

from skilljuror.base.errors import UsageError
from skilljuror.base.study import StudyConfig
from skilljuror.harness.base import time_limit
from skilljuror.layouts.build.given_skills import GivenSkills
from skilljuror.study.init_study import StudySource, init_study
from skilljuror.study.plan import freeze
from skilljuror.study.study_file import load_study
from tests.support.git_repositories import git
from tests.support.harness_tasks import SKILL, make_task, write_tree

SETTINGS = "[agent]\ntimeout_sec = 1200.0\n[verifier]\ntimeout_sec = 90.5\n"
ASKS = '[verifier.env]\nOPENAI_API_KEY = "${OPENAI_API_KEY}"\nMODE = "fast"\n'
ARMS = ("no_skill", "flat-files", "pd")


def written(source, out):
    """(what was said, the study file as it is read, its plan)."""
    new = init_study(source, out)
    config = load_study(out)
    return new, config, freeze(config, out.parent, find_skill=GivenSkills(out.parent))


@pytest.fixture
def place(tmp_path):
    """A Skill, and a folder of tasks of which some cannot be run."""
    write_tree(tmp_path / "skills", {"Tea: brew/SKILL.md": SKILL})
    tasks = tmp_path / "bench" / "tasks"
    baked = {"environment__skills__brew__SKILL.md": SKILL}
    make_task(tasks / "tea", **baked, **{"task.toml": SETTINGS})
    make_task(tasks / "asks", **baked, **{"task.toml": ASKS})
    make_task(tasks / "bare")
    make_task(tasks / "empty", environment__skills__README="nothing\n")
    make_task(tasks / "spilt", **baked, **{"environment__SKILL.md": SKILL})
    write_tree(tasks, {"README.md": "# Tasks\n", "shared/data.txt": "tea\n"})
    return tmp_path


def test_one_skill_and_its_tasks(place):
    tasks = place / "bench" / "tasks"
    source = StudySource(tasks=(tasks / "tea", tasks / "bare"), skill=place / "skills/Tea: brew")
    (place / "mine").mkdir()
    new, config, plan = written(source, place / "mine" / "study.yaml")
    assert (new.tasks, new.excluded, new.conditions, new.trials) == (2, {}, ARMS, 30)
    assert config.name == "tea-brew"
    assert config.contrast
    assert config.contrast.model_dump() == {"treatment": "pd", "control": "flat-files"}
    assert [(task.path, task.skills) for task in plan.tasks] == [
        ("../bench/tasks/tea", "../skills/Tea: brew"),
        ("../bench/tasks/bare", "../skills/Tea: brew"),
    ]
    harness = config.harness
    assert (harness.name, harness.timeouts) == ("local", "task")
    folders = [place / "mine" / task.path for task in plan.tasks]
    assert [time_limit(harness, one, "agent") for one in folders] == [1200, 600]
    assert [time_limit(harness, one, "verifier") for one in folders] == [90.5, 600]


def test_a_checkout_of_skillsbench_has_the_settings_of_the_paper(place):
    new, config, plan = written(StudySource(skillsbench=place / "bench"), place / "study.yaml")
    assert new.excluded == {"no Skill": 2, "external credential": 1, "refused by the plan": 1}
    assert [task.name for task in plan.tasks] == ["tea"]
    reasons = {one.name: (one.category, one.reason) for one in plan.excluded}
    assert reasons["asks"] == ("external credential", "its verifier requires OPENAI_API_KEY")
    assert reasons["empty"] == ("no Skill", "environment/skills has no SKILL.md")
    assert "environment/SKILL.md is visible to condition 'no_skill'" in reasons["spilt"][1]
    assert tuple(arm.variant for arm in config.conditions) == (None, "baseline", "pd")
    assert config.contrast
    assert config.contrast.model_dump() == {
        "treatment": "pd",
        "control": "baseline",
    }
    assert (config.trials_per_cell, config.disclosure) == (5, "silent")
    assert config.exclude_rules.model_dump() == {"max_tokens": 100_000, "pd_worth": None}
    agent = config.agent
    assert (config.harness.name, agent.name, agent.effort) == ("harbor", "codex", "high")


def test_a_folder_of_tasks_with_their_own_skills_or_one_of_mine(place):
    tasks = place / "bench" / "tasks"
    new, config, plan = written(StudySource(tasks_dir=tasks), place / "own.yaml")
    assert new.excluded == {"no Skill": 2, "refused by the plan": 1}
    assert [task.name for task in plan.tasks] == ["asks", "tea"]
    assert (config.exclude_rules.max_tokens, config.agent.effort) == (None, None)
    source = StudySource(tasks_dir=tasks, skill=place / "skills")
    new, _, plan = written(source, place / "mine.yaml")
    assert new.excluded == {"refused by the plan": 1}
    assert {task.skills for task in plan.tasks} == {"skills"}


def test_each_section_of_a_skill_is_an_arm(place):
    page = "".join(
        f"\n## {name}\n\n" + f"Steep the {name} leaves. " * 40
        for name in ("Green", "Black", "Grün", "C#", "C++")
    )
    skill = place / "skills/Tea: brew/SKILL.md"
    skill.write_text(SKILL + page)
    source = StudySource(tasks=(place / "bench/tasks/bare",), skill=skill.parent, sections=True)
    new, config, _ = written(source, place / "study.yaml")
    arms = {one.name: one.variant for one in config.conditions}
    assert new.conditions == tuple(arms)
    assert arms["without-green"] == "without:Green"
    assert {*arms.values()} >= {f"without:{name}" for name in ("Black", "Grün", "C#", "C++")}
    assert (arms["sham"], arms["baseline"]) == ("placebo-irrelevant", "baseline")
    assert (config.contrast.treatment, config.contrast.control) == ("baseline", "sham")


def test_two_revisions_of_a_skill(place):
    skill = place / "skills" / "Tea: brew" / "SKILL.md"
    git(place, "init", "-q")
    for tag in ("v1", "v2"):
        skill.write_text(f"{SKILL}\nThis is {tag}.\n")
        git(place, "add", "skills")
        git(place, "commit", "-qm", tag)
        git(place, "tag", tag)
    source = StudySource(
        tasks=(place / "bench/tasks/bare",), skill=skill.parent, revisions=("v1", "v2")
    )
    new, config, plan = written(source, place / "study.yaml")
    assert (new.conditions, new.trials) == (("old", "new"), 10)
    assert config.contrast
    assert config.contrast.treatment == "new"
    given = plan.tasks[0].given
    assert given["old"].path == given["new"].path == "skills/Tea: brew"
    assert given["old"].tree_digest != given["new"].tree_digest
    with pytest.raises(UsageError, match="v9"):
        written(StudySource(source.tasks, skill=skill.parent, revisions=("v1", "v9")), place / "x")
    assert not (place / "x").exists()


def test_the_same_again_is_no_harm_and_another_file_stays(place):
    out = place / "study.yaml"
    source = StudySource(skillsbench=place / "bench")
    init_study(source, out)
    text = out.read_text()
    init_study(source, out)
    assert out.read_text() == text
    out.write_text(text + "# mine\n")
    with pytest.raises(UsageError, match=r"already exists; move it away, or name another file"):
        init_study(source, out)
    assert out.read_text() == text + "# mine\n"


def test_every_field_has_a_comment(place):
    """Each top field of the file stands below a comment, or before one on its line."""
    init_study(StudySource(skillsbench=place / "bench"), place / "study.yaml")
    lines = (place / "study.yaml").read_text().splitlines()
    fields = [number for number, line in enumerate(lines) if line[:1].isalpha()]
    bare = [lines[one] for one in fields if "  # " not in lines[one] and lines[one - 1][:1] != "#"]
    assert len(fields) > 12
    assert not bare
    assert set(yaml.safe_load("\n".join(lines))) <= set(StudyConfig.model_fields)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "name the tasks in one way"),
        ({"tasks": ("tea",), "tasks_dir": "tasks"}, "name the tasks in one way"),
        ({"skillsbench": "..", "skill": "tea"}, "name the tasks folder with --tasks"),
        ({"tasks": ("tea",), "revisions": ("a", "b")}, "requires --skill"),
        ({"tasks": ("tea",), "sections": True}, "--sections requires --skill"),
        ({"tasks": ("tea",), "skill": "shared"}, "has no SKILL.md"),
        ({"tasks": ("bare",)}, "'bare': it has no Skill under environment/skills; .*--skill"),
        ({"tasks": ("gone",)}, "folder .* not found"),
        ({"tasks_dir": "tea"}, "has no task"),
        ({"tasks_dir": "none"}, "none of the 1 tasks can be run; task 'bare'"),
    ],
)
def test_what_makes_no_study_is_refused_in_one_line(place, more, said):
    tasks = place / "bench" / "tasks"
    make_task(tasks / "none" / "bare")
    source = StudySource(
        tasks=tuple(tasks / one for one in more.get("tasks", ())),
        revisions=more.get("revisions"),
        sections=more.get("sections", False),
        **{
            name: tasks / more[name]
            for name in ("tasks_dir", "skillsbench", "skill")
            if name in more
        },
    )
    with pytest.raises(UsageError, match=said) as refused:
        init_study(source, place / "study.yaml")
    assert "\n" not in refused.value.message
    assert not (place / "study.yaml").exists()


def test_a_file_in_no_folder_is_refused(place):
    with pytest.raises(UsageError, match="not found; create it first"):
        init_study(StudySource(skillsbench=place / "bench"), place / "gone" / "study.yaml")
