"""Bundles as they stood in a revision of a git repository."""

import subprocess

import pytest
from typer.testing import CliRunner

from skilljuror.base.errors import BundleError
from skilljuror.cli.app import app
from skilljuror.skill.revision import load_at, load_named
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


REFERENCE = "csv-report/references/format.md"


def commit_all(repository):
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "more")


def said_by_git(repository, *words):
    return subprocess.run(
        ["git", *words], cwd=repository, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_file_that_archives_leave_out_is_compared(repository):
    (repository / "skills" / "csv-report" / ".gitattributes").write_text(
        "references export-ignore\n"
    )
    commit_all(repository)
    (repository / "skills" / REFERENCE).unlink()
    done = CliRunner().invoke(app, ["audit", "HEAD:skills/csv-report", "skills/csv-report"])
    assert done.exit_code == 1, done.output
    assert "format.md is gone, and this text still leads to it" in done.output


def test_no_attribute_changes_the_bytes_and_no_filter_is_run(repository):
    page = repository / "skills" / REFERENCE
    page.write_text("# Format\n\n$Format:%H$ $Id$\n")
    commit_all(repository)
    for name in ("smudge", "process"):
        git(repository, "config", f"filter.x.{name}", f"touch {repository / 'ran'}; cat")
    git(repository, "config", "core.autocrlf", "true")
    attributes = "* filter=x text eol=crlf ident export-subst working-tree-encoding=UTF-16\n"
    (repository / ".git" / "info" / "attributes").write_text(attributes)
    kept = load_named("HEAD:skills").files[REFERENCE]
    assert (kept.data, kept.executable) == (b"# Format\n\n$Format:%H$ $Id$\n", False)
    assert not (repository / "ran").exists()


def test_a_repository_that_names_programs_runs_none(repository):
    blob = said_by_git(repository, "rev-parse", f"HEAD:skills/{REFERENCE}")
    run = repository / ".git" / "run"
    run.write_text(f"#!/bin/sh\ntouch {repository / 'ran'}\n")
    run.chmod(0o755)
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{run}",
        "protocol.ext.allow": "always",
        "core.fsmonitor": run,
        "core.sshCommand": run,
        "core.pager": run,
        "diff.external": run,
    }.items():
        git(repository, "config", name, str(value))
    load_named("HEAD:skills")
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(BundleError, match=r"object [0-9a-f]{40} is missing or damaged; fetch it"):
        load_named("HEAD:skills")
    assert not (repository / "ran").exists()


def test_the_object_that_was_committed_is_read(repository, monkeypatch, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    git(other, "init", "-q")
    committed = load_named("HEAD:skills").files[REFERENCE].data
    blob = said_by_git(repository, "rev-parse", f"HEAD:skills/{REFERENCE}")
    (repository / "other.md").write_text("Other.\n")
    git(repository, "replace", blob, said_by_git(repository, "hash-object", "-w", "other.md"))
    git(repository, "config", "core.worktree", str(other))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert load_named("HEAD:skills").files[REFERENCE].data == committed
    commit, given = load_at(repository / "skills" / "csv-report", "HEAD")
    assert (len(commit), given.files[REFERENCE].data) == (40, committed)


def test_a_submodule_is_told_and_an_execute_bit_kept(repository):
    (repository / "skills" / REFERENCE).chmod(0o755)
    commit_all(repository)
    head = said_by_git(repository, "rev-parse", "HEAD")
    inside = "skills/csv-report/more"
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{head},{inside}")
    git(repository, "commit", "-qm", "a submodule")
    bundle = load_named("HEAD:skills")
    assert bundle.files[REFERENCE].executable
    told = {one.file: one.message for one in bundle.issues if one.rule == "skipped-file"}
    assert told == {"csv-report/more": "is a submodule, of another repository; not read"}
