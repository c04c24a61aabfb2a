"""Tasks that `init` makes of a Skill's own evals, of task.md packages and of a repository at a commit."""

import json
import re
import subprocess
import tarfile

import pytest
import yaml

from skilljuror.base.errors import UsageError
from skilljuror.harness.tasks import task_settings
from skilljuror.study.init_study import StudySource, init_study, repository
from skilljuror.study.run import run_study
from skilljuror.study.study_file import load_study
from tests.support.cli_process import call, complaint
from tests.support.git_repositories import git
from tests.support.harness_tasks import SKILL, write_tree
from tests.support.studies import PROGRAMS, edit_study

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
