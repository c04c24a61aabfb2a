"""`advise`: what would leave the root and when, what would break, what a study would cost."""

import pytest

from skilljuror.base.errors import BundleError, UsageError
from skilljuror.base.texts import count
from skilljuror.layouts.build.build import build_source
from skilljuror.report.advise import LAYOUTS, advise
from tests.support.git_repositories import git
from tests.support.harness_tasks import write_tree

HEAD = "---\nname: csv-report\ndescription: How to write a report from a CSV file.\n---\n# CSV report\n"
FORMAT = "# Format\n\n" + "Write the header first, and use 2 decimals for every amount.\n" * 60
SECTIONS = "".join(
    f"\n## {title}\n\n" + f"A report for {title} holds the name of one shop.\n" * 30
    for title in ("Postgres", "SQLite")
)
FILES = {
    "csv-report/SKILL.md": HEAD
    + "\nRun `python scripts/sums.py in.csv`. Before you write, read [the format](references/format.md).\n"
    + SECTIONS,
    "csv-report/references/format.md": FORMAT,
    "csv-report/scripts/sums.py": "print(1)\n" * 40,
}


@pytest.fixture(scope="module")
def skill(tmp_path_factory):
    return write_tree(tmp_path_factory.mktemp("skill"), FILES) / "csv-report"


@pytest.fixture(scope="module")
def advice(skill):
    return advise(str(skill))


def test_what_leaves_comes_with_its_condition_and_the_pages_of_the_author_follow(advice):
    assert advice.decision == "study"
    assert [(page.path, page.condition) for page in advice.pages] == [
        ("references/postgres.md", "Postgres"),
        ("references/sqlite.md", "SQLite"),
        ("references/format.md", None),
    ]
    assert advice.root_tokens == count(FILES["csv-report/SKILL.md"])
    assert advice.pd_root_tokens < advice.root_tokens
    assert advice.breaks == {}
    assert advice.answer[0].startswith("Test pd: 2 sections with ")
    assert "15 runs of your agent for each task (3 conditions, 5 trials each)" in advice.answer[2]


def test_the_tokens_are_those_of_a_build(advice, skill, tmp_path):
    built = build_source(skill, tmp_path / "built", variants=LAYOUTS)
    tokens = {one.variant: one.root_tokens for one in built.variants}
    assert (advice.root_tokens, advice.pd_root_tokens) == (tokens["origin"], tokens["pd"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "\nSay hello.\n", "there is nothing to disclose"),
        (HEAD + "\nSay hello, see references/format.md.\n", "1 page of yours is on demand already"),
    ],
)
def test_a_root_without_conditions_is_left_as_it_is(text, said, tmp_path):
    files = {"csv-report/SKILL.md": text}
    if "format" in said or "format" in text:
        files["csv-report/references/format.md"] = FORMAT
    found = advise(str(write_tree(tmp_path, files) / "csv-report"))
    assert found.decision == "keep"
    assert said in found.answer[0]
    assert len(found.answer) == 2


def test_a_page_with_text_for_the_loader_breaks_no_layout(tmp_path):
    page = "# Format\n\nRun `sh ${CLAUDE_SKILL_DIR}/sums.sh`.\n"
    files = FILES | {"csv-report/references/format.md": page, "csv-report/sums.sh": "ls\n"}
    assert advise(str(write_tree(tmp_path, files) / "csv-report")).breaks == {}


def test_of_several_skills_one_is_asked_about(tmp_path):
    other = {
        name.replace("csv-report/", "csv-total/"): text.replace("csv-report", "csv-total")
        for name, text in FILES.items()
    }
    both = write_tree(tmp_path / "both", FILES | other)
    found = advise(str(both))
    assert found.decision == "several"
    assert f"such as skilljuror advise {both}/csv-report." in found.answer[0]


def test_a_revision_is_read_from_git_and_its_study_names_the_folder(tmp_path, monkeypatch):
    write_tree(tmp_path, FILES)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "a report")):
        git(tmp_path, *words)
    monkeypatch.chdir(tmp_path)
    assert "--skill csv-report --out study.yaml" in advise("HEAD:csv-report").answer[-1]


def test_folders_that_are_no_skill(skill, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BundleError, match=r"no SKILL\.md"):
        advise(str(tmp_path / "empty"))
    build_source(skill, tmp_path / "built", variants=["origin"])
    with pytest.raises(UsageError, match="output of a build"):
        advise(str(tmp_path / "built"))
