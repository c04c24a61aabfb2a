"""Study files that `init` writes: each is one that `plan` takes."""

import json
import re
import subprocess
import tarfile

import pytest
import yaml

from skilljuror.base.errors import UsageError
from skilljuror.base.study import StudyConfig
from skilljuror.harness.base import time_limit
from skilljuror.harness.tasks import task_settings
from skilljuror.layouts.build.given_skills import GivenSkills
from skilljuror.study.init_study import StudySource, init_study, repository
from skilljuror.study.plan import freeze, load_study
from skilljuror.study.run import run_study
from tests.support.cli_process import call, complaint
from tests.support.git_repositories import git
from tests.support.harness_tasks import SKILL, make_task, write_tree
from tests.support.studies import PROGRAMS, edit_study

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


EVALS = {
    "skill_name": "brew",
    "evals": [
        {
            "id": 1,
            "prompt": "Brew the tea of data/tea.csv; write `plan.txt`.",
            "expected_output": "A plan",
            "files": ["evals/files/tea.csv", "SKILL.md"],
            "assertions": ["`plan.txt` exists", "Steeps for 4 minutes", "Is polite"],
        },
        {
            "id": "cold",
            "prompt": "Brew it cold.",
            "files": [],
            "expectations": [{"name": "ice", "check": "Uses ice"}],
        },
        {"id": 3, "prompt": "Which tea?", "expected_output": "Names a tea"},
        {"id": 4, "prompt": "Read it", "expected_output": "Says it", "files": ["gone.md"]},
        {"query": "What is tea?", "should_trigger": False},
    ],
}
TRIGGERS = [{"query": "Brew tea", "should_trigger": True}]
SPLIT = {"should_trigger": ["Make tea"], "should_not_trigger": ["Make coffee"]}


def make_skill(folder, evals=EVALS, **more):
    """A Skill with evals; `more` maps paths (with __ for /) to text."""
    files = {
        "SKILL.md": SKILL,
        "evals/evals.json": evals if isinstance(evals, str) else json.dumps(evals),
        "evals/files/tea.csv": "leaf\n",
        **{name.replace("__", "/"): text for name, text in more.items()},
    }
    return write_tree(folder, files)


def of(task, name):
    return json.loads((task / name).read_text())


def test_the_evals_of_a_skill_become_tasks_that_a_rubric_judges(tmp_path):
    triggers = {"evals/triggers.json": json.dumps(TRIGGERS), "evals/more.json": json.dumps(SPLIT)}
    make_skill(tmp_path / "brew", **triggers, **{"evals/notes.json": "[1]"})
    (tmp_path / "mine").mkdir()
    new = init_study(StudySource(evals=tmp_path / "brew"), tmp_path / "mine/study.yaml")
    assert (new.tasks, new.excluded, new.harness) == (8, {"missing input": 1}, "local")
    tasks = tmp_path / "mine/tasks"
    first = tasks / "brew-eval-1"
    assert (
        first / "instruction.md"
    ).read_text() == "Brew the tea of data/tea.csv; write `plan.txt`.\n"
    assert not (first / "tests/test.sh").exists()
    items = of(first, "tests/rubric.json")["items"]
    assert [(one["text"], one.get("group", "goal")) for one in items] == [
        ("`plan.txt` exists", "goal"), ("Steeps for 4 minutes", "following"), ("Is polite", "goal"),
    ]  # fmt: skip
    assert (first / "environment/tea.csv").read_text() == "leaf\n"
    origin = of(first, "source.json")
    assert (origin["kind"], origin["path"]) == ("evals", "../brew/evals/evals.json")
    assert (origin["item"], origin["of_skill"]) == ("evals[0]", ["SKILL.md"])
    assert not (first / "environment/SKILL.md").exists()
    texts = {
        name: of(tasks / f"brew-eval-{name}", "tests/rubric.json")["items"][0]["text"]
        for name in ("cold", "3")
    }
    assert texts == {"cold": "Uses ice", "3": "Names a tea"}
    asked = {
        (path / "instruction.md").read_text().strip(): of(path, "tests/trigger.json")
        for path in tasks.glob("brew-trigger-*")
    }
    assert {query: one["should_trigger"] for query, one in asked.items()} == {
        "Brew tea": True, "Make tea": True, "Make coffee": False, "What is tea?": False,
    }  # fmt: skip
    assert {one["skill"] for one in asked.values()} == {"brew"}
    config = load_study(new.file)
    assert config.primary_outcome == "checks"
    assert config.exclude[0].reason == "evals[3].files: gone.md not found in the Skill"
    assert {task.skills for task in config.tasks} == {"skills/brew"}
    assert not (tmp_path / "mine/skills/brew/evals").exists(), "an agent would read its rubric"


def test_the_same_again_changes_nothing_and_other_tasks_stay(tmp_path):
    make_skill(tmp_path / "src/brew")
    source, out = StudySource(evals=tmp_path / "src/brew"), tmp_path / "study.yaml"
    init_study(source, out)
    before = sorted((path, path.is_file() and path.read_bytes()) for path in tmp_path.rglob("*"))
    init_study(source, out)
    after = sorted((path, path.is_file() and path.read_bytes()) for path in tmp_path.rglob("*"))
    assert after == before
    (tmp_path / "tasks/brew-eval-3/instruction.md").write_text("Mine.\n")
    with pytest.raises(UsageError, match=r"brew-eval-3' already exists; move it away"):
        init_study(source, tmp_path / "other.yaml")
    assert (tmp_path / "tasks/brew-eval-3/instruction.md").read_text() == "Mine.\n"


BAD = {
    "no json": ("{", r"evals\.json': \(whole file\): is not JSON"),
    "other shape": ({"cases": []}, r"evals: is not a list; the file has: cases"),
    "a list": ([["x"]], r"evals: is not a list; the file has: list"),
    "row": ({"evals": ["x"]}, r"evals\[0\]: is a str"),
    "prompt": ({"evals": [{"prompt": 3}]}, r"evals\[0\]\.prompt: is a int; write a text"),
    "NUL": ({"evals": [{"prompt": "a\0"}]}, r"evals\[0\]\.prompt: has a NUL"),
    "nothing judges": ({"evals": [{"prompt": "a"}]}, r"evals\[0\]: has neither assertions nor"),
    "assertion": (
        {"evals": [{"prompt": "a", "assertions": [{"type": "x"}]}]},
        r"evals\[0\]\.assertions\[0\]: is a NoneType",
    ),
    "items": ({"evals": [{"prompt": "a", "assertions": "x"}]}, r"assertions: is not a list"),
    "absolute": (
        {"evals": [{"prompt": "a", "expected_output": "b", "files": ["/etc/passwd"]}]},
        r"files\[0\]: '/etc/passwd' is not inside the Skill",
    ),
    "out": (
        {"evals": [{"prompt": "a", "expected_output": "b", "files": ["evals/../../x"]}]},
        r"files\[0\]: 'evals/\.\./\.\./x' is not inside",
    ),
    "files": ({"evals": [{"prompt": "a", "expected_output": "b", "files": "x"}]}, r"files: is a str"),
    "ids": (
        {"evals": [{"id": 1, "prompt": "a", "expected_output": "b"}] * 2},
        r"evals\[1\]: has the same id as evals\[0\]",
    ),
    "deep": ("[" * 100_000, r"is not JSON"),
    "empty": ({"evals": []}, r"has neither evals\.json"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_evals_that_are_none_are_refused_in_one_line(tmp_path, name):
    evals, said = BAD[name]
    make_skill(tmp_path / "brew", evals)
    with pytest.raises(UsageError, match=said) as refused:
        init_study(StudySource(evals=tmp_path / "brew"), tmp_path / "study.yaml")
    assert "\n" not in refused.value.message
    assert [path.name for path in tmp_path.iterdir()] == ["brew"], "nothing is half-written"


@pytest.mark.parametrize("what", ["link", "huge"])
def test_a_skill_with_a_link_or_a_huge_file_is_refused(tmp_path, what):
    skill = make_skill(tmp_path / "brew")
    if what == "link":
        (skill / "evals/files/x").symlink_to("/etc/passwd")
    else:
        with (skill / "evals/evals.json").open("wb") as file:
            file.truncate(100_000_000)
    told = complaint(call("init", "--evals", "brew", cwd=tmp_path))
    assert "evals/files/x" in told or "evals/evals.json" in told
    assert [path.name for path in tmp_path.iterdir()] == ["brew"]


MD = """---
schema_version: "1.3"
metadata: {category: tea, tags: [a, "b\\x7f"], since: 2026-01-02}
agent: {timeout_sec: 30}
SETTINGS
---
BODY
"""
SANDBOX = "sandbox: {memory_mb: 512, env: {MODE: fast}}"
PACKAGE = {
    "verifier/test.sh": '#!/bin/bash\necho 1 > "$LOGS_DIR/verifier/reward.txt"\n',
    "oracle/solve.sh": "true\n",
    "environment/in.txt": "tea\n",
    "environment/skills/brew/SKILL.md": SKILL,
    "README.md": "x\n",
}


def package(folder, settings=SANDBOX, body="# Tea\n\n## prompt\n\nBrew.\n"):
    text = MD.replace("SETTINGS", settings).replace("BODY", body)
    return write_tree(folder, {**PACKAGE, "task.md": text})


def test_task_md_packages_of_both_spellings_become_the_same_task(tmp_path):
    package(tmp_path / "in/one")
    package(tmp_path / "in/two", SANDBOX.replace("sandbox", "environment"), "Brew.")
    new = init_study(StudySource(tasks_dir=tmp_path / "in"), tmp_path / "study.yaml")
    assert (new.tasks, new.excluded) == (2, {})
    one, two = (tmp_path / "tasks" / name for name in ("one", "two"))
    assert (one / "instruction.md").read_text() == "Brew.\n"
    for path in ("instruction.md", "task.toml", "tests/test.sh", "solution/solve.sh"):
        assert (one / path).read_bytes() == (two / path).read_bytes()
    settings = task_settings(one)
    assert settings["environment"] == {"memory_mb": 512, "env": {"MODE": "fast"}}
    assert settings["metadata"]["tags"] == ["a", "b\x7f"]
    assert of(one, "source.json")["left_out"] == ["README.md"]


REFUSED = {
    "unknown": ("sandbxo: {}", r"sandbxo: is unknown; choose one of"),
    "both": (f"{SANDBOX}\nenvironment: {{}}", r"sandbox: both 'sandbox' and 'environment'"),
    "hosts": ("sandbox: {network_mode: allowlist}", r"allowed_hosts: is missing"),
    "roles": ("agents: {roles: {a: {}}}", r"agents: several agents, turns or steps"),
    "judge": ("verifier: {type: llm-judge}", r"verifier\.type: 'llm-judge' does not run"),
    "table": ("sandbox: big", r"environment: is a str; write a mapping"),
    "bomb": ("a: &a [x, x]\nb: [*a, *a]", r"front matter: .*aliases"),
    "long": ("x: " + "y" * 40_000, r"front matter: .*longer than"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_package_that_cannot_run_is_excluded_by_name(tmp_path, name):
    settings, said = REFUSED[name]
    package(tmp_path / "in/good")
    package(tmp_path / "in/odd", settings)
    new = init_study(StudySource(tasks_dir=tmp_path / "in"), tmp_path / "study.yaml")
    assert new.excluded == {"refused by the plan": 1}
    (row,) = yaml.safe_load(new.file.read_text())["exclude"]
    assert row["task"] == "odd"
    assert re.search(said, row["reason"])
    assert not (tmp_path / "tasks/odd").exists()


@pytest.fixture
def repo(tmp_path):
    """(folder, commit) of a repository with a Skill of its own, a link and export rules."""
    folder = write_tree(
        tmp_path / "repo",
        {
            ".claude/skills/own/SKILL.md": SKILL, "src/a.py": "print(1)\n", "run.sh": "true\n",
            ".gitattributes": "src export-ignore\nrun.sh export-subst\n",
        },
    )  # fmt: skip
    (folder / "link.py").symlink_to("src/a.py")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    write_tree(tmp_path, {"Print two.md": "Make a.py print 2.\n", "brew/SKILL.md": SKILL})
    return folder, head(folder)


def head(folder):
    words = ["git", "rev-parse", "HEAD"]
    return subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_repository_at_a_commit_is_a_task_that_runs(repo, tmp_path):
    folder, commit = repo
    test = 'grep -q "print(2)" src/a.py link.py && r=1 || r=0\necho $r > "$LOGS_DIR/verifier/reward.txt"\n'
    write_tree(tmp_path, {"tests/test.sh": f"#!/bin/bash\n{test}"})
    (folder / "src/a.py").write_text("not committed\n")
    chosen = repository(folder, commit, tmp_path / "Print two.md", tmp_path / "tests")
    source = StudySource(repository=chosen, skill=tmp_path / "brew")
    new = init_study(source, tmp_path / "study.yaml")
    task = tmp_path / "tasks/print-two"
    origin = of(task, "source.json")
    assert (origin["kind"], origin["commit"], origin["path"]) == ("repository", commit, "repo")
    assert origin["stripped"] == [".claude/skills"]
    with tarfile.open(task / "environment/repo.tar") as archive:
        assert archive.getnames() == [".gitattributes", "link.py", "run.sh", "src/a.py"]
        assert {one.mtime for one in archive} == {0}
    init_study(source, tmp_path / "study.yaml")
    agent = {"name": f"{PROGRAMS}:shell", "options": {"script": "echo 'print(2)' > src/a.py"}}
    edit_study(new.file, agent=agent, trials_per_cell=1, harness={"options": {"isolation": "none"}})
    conditions = [{"name": "a"}, {"name": "b"}]
    edit_study(new.file, conditions=conditions, contrast={"treatment": "b", "control": "a"})
    assert run_study(new.file, tmp_path / "out").outcomes[0].rewards == {"1": 2}


def test_a_repository_without_tests_is_judged_by_a_rubric(repo, tmp_path):
    folder, commit = repo
    chosen = repository(folder, commit, tmp_path / "Print two.md", None)
    source = StudySource(repository=chosen, skill=tmp_path / "brew")
    assert load_study(init_study(source, tmp_path / "study.yaml").file).primary_outcome == "checks"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"commit": "abc1234"}, "is not a full hash"),
        ({"commit": ""}, "is not a full hash"),
        ({"commit": "1" * 40}, "commit 111111111111 cannot be read"),
        ({"folder": "https://example.org/x"}, "is an address; clone it"),
        ({"requirement": "none.md"}, "none.md.*name a text file"),
        ({"tests": "brew"}, "neither test.sh nor a test_"),
        ({"requirement": None}, "go together"),
        ({"add": "docs/SKILL.md"}, "docs/SKILL.md at .* would be visible to an arm"),
        ({"link": "/etc/passwd"}, "'out' at .* is a link out of the repository"),
    ],
)
def test_a_repository_that_is_none_is_refused_in_one_line(repo, tmp_path, more, said):
    folder, commit = repo
    if "add" in more or "link" in more:
        write_tree(folder, {more["add"]: SKILL} if "add" in more else {})
        if "link" in more:
            (folder / "out").symlink_to(more["link"])
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "two")
        commit = head(folder)
    given = {
        "folder": folder,
        "commit": commit,
        "requirement": "Print two.md",
        "tests": None,
    } | more
    options = {
        "--repo": given["folder"], "--commit": given["commit"], "--tests": given["tests"],
        "--requirement": given["requirement"], "--skill": "brew",
    }  # fmt: skip
    words = [str(part) for pair in options.items() if pair[1] is not None for part in pair]
    assert re.search(said, complaint(call("init", *words, cwd=tmp_path)))
    assert not (tmp_path / "tasks").exists()
    assert not (tmp_path / "study.yaml").exists()
