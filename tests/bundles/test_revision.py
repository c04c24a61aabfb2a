"""Bundles as they stood in a revision of a git repository."""

import pytest

from skilljuror.bundles.revision import load_named
from skilljuror.errors import BundleError
from tests.support.cli_process import write_skill
from tests.support.git_repositories import git


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Two commits: a skill, then another rounding in it."""
    skill = write_skill(tmp_path / "skills" / "csv-report")
    git(tmp_path, "init", "-q")
    for text in ("0.01", "0.05"):
        root = skill / "SKILL.md"
        root.write_text(root.read_text().replace("0.01", text))
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def root_of(bundle):
    (skill,) = bundle.skills
    return bundle.files[skill.path].text


@pytest.mark.parametrize(
    "name",
    ["HEAD~1:skills/csv-report", "HEAD~1:./skills/csv-report", "HEAD~1:skills"],
    ids=["from the top", "from here", "the folder of skills"],
)
def test_a_revision_is_read_as_it_stood(repository, name):
    before, now = load_named(name), load_named("skills/csv-report")
    assert "below 0.01" in root_of(before)
    assert "below 0.05" in root_of(now)
    assert set(before.files) == {f"csv-report/{p}" for p in ("SKILL.md", "references/format.md")}


def test_a_folder_on_disk_goes_before_a_revision(repository):
    write_skill(repository / "HEAD~1:skills")
    assert "SKILL.md" in {path.rpartition("/")[2] for path in load_named("HEAD~1:skills").files}
    assert len(load_named("HEAD~1:skills").files) == 2


@pytest.mark.parametrize(
    "name",
    ["HEAD~9:skills", "HEAD:nowhere", "HEAD:skills/csv-report/SKILL.md", "--output=x:skills"],
    ids=["no such revision", "no such folder", "a file", "an option"],
)
def test_what_git_does_not_know_is_one_line(repository, name):
    with pytest.raises(BundleError, match="REVISION:PATH"):
        load_named(name)
    assert not (repository / "x").exists()


def test_a_link_in_a_revision_is_refused(repository):
    (repository / "skills" / "csv-report" / "leak.md").symlink_to("/etc/passwd")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "a link")
    with pytest.raises(BundleError, match="link"):
        load_named("HEAD:skills/csv-report")
