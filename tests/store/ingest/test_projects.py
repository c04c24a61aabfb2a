"""Names of projects and persons: stored only where asked for, and never without quotes."""

import pytest

from skilljuror.base.trajectory import Trajectory
from skilljuror.store.questions import run
from skilljuror.store.rows import person_of, project_of
from tests.support.cli_process import call, complaint
from tests.support.ingested import CALL, READ


@pytest.mark.parametrize(
    ("cwd", "home", "project", "person"),
    [
        ("/home/ann/work/shop/", "/home/ann", "shop", "ann"),
        ("/Users/ann/shop", None, "shop", "ann"),
        ("C:\\Users\\ann\\shop", None, "shop", "ann"),
        ("/home/ann", "/home/ann", None, "ann"),
        ("/home/ann/", None, None, "ann"),
        ("/root", "/root", None, "root"),
        ("/app", None, "app", None),
        ("/rootless/shop", None, "shop", None),
        ("/", None, None, None),
        (None, None, None, None),
    ],
)
def test_names_are_the_last_folder_and_the_home(cwd, home, project, person):
    made = Trajectory("t", "codex-rollout", ("a",), (), cwd=cwd, home=home)
    assert (project_of(made), person_of(made)) == (project, person)


def names(study):
    sql = "SELECT count(project), count(person) FROM trajectories"
    return run(study / "study.duckdb", sql).rows[0]


@pytest.mark.slow
def test_they_are_stored_only_where_asked_for(tmp_path):
    study = tmp_path / "s"
    assert call("ingest", READ, CALL, "--study", study).returncode == 0
    assert names(study) == (0, 0)
    by_project = ("usage", study, "--by", "project", "--since", "2026-01-01")
    assert "--projects" in call(*by_project).stderr
    assert call("ingest", READ, CALL, "--study", study, "--projects").returncode == 0
    assert names(study)[0] == 2
    found = call(*by_project)
    assert "--projects" not in found.stderr
    assert {line.split()[1] for line in found.stdout.splitlines()[3:5]} == {"harbour"}, found.stdout
    assert call("ingest", READ, CALL, "--study", study, "--no-quotes").returncode == 0
    assert names(study) == (0, 0)


def test_a_folder_without_quotes_refuses_them(tmp_path):
    study = tmp_path / "s"
    both = call("ingest", READ, "--study", study, "--no-quotes", "--projects")
    assert "because of --no-quotes" in complaint(both)
    assert call("ingest", READ, "--study", study, "--no-quotes").returncode == 0
    later = call("ingest", READ, "--study", study, "--projects")
    assert (later.returncode, names(study)) == (2, (0, 0))
