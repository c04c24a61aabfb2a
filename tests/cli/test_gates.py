"""`assay`: what the gates would catch, asked of builds, and kept where a report finds it."""

import pytest

from tests.support.bundle_corpus import write
from tests.support.cli_process import call, complaint


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the builds `my builds/code` and `my builds/report`, as rows in its database."""
    folder = tmp_path_factory.mktemp("place")
    sources = [write(name, folder / "src") for name in ("code", "report")]
    done = call("build", *sources, "--out", "my builds", "--variants", "baseline", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "skilljuror query 'my builds' builds" in done.stdout
    return folder


def rows(place, question):
    asked = call("query", "my builds", question, "--format", "csv", cwd=place)
    return asked.stdout.splitlines()[1:], asked.stderr


@pytest.mark.slow
def test_unmeasured_builds_have_no_rows_and_a_word_on_how_to_get_some(place):
    for question in ("gate_power", "assay"):
        found, told = rows(place, question)
        assert found == []
        assert "Use `skilljuror assay 'my builds' --keep`" in told
    assert rows(place, "gates")[1] == ""
    assert call("query", "my builds", "SELECT 1 WHERE false", cwd=place).stderr == ""


@pytest.mark.slow
def test_what_is_measured_is_told_and_kept_on_demand_alone(place):
    told = call("assay", "my builds", "--sites", 1, cwd=place)
    assert told.returncode == 0, told.stderr
    assert "this audit caught " in told.stdout
    assert told.stdout.splitlines()[-1].endswith("skilljuror assay 'my builds' --sites 1 --keep")
    assert rows(place, "gate_power")[0] == []
    kept = call("assay", "my builds", "--sites", 1, "--keep", "-j", 2, cwd=place)
    assert "stored in build.json" in kept.stdout
    found, told = rows(place, "gate_power")
    assert [row.split(",")[:6] for row in found] == [
        ["strict", "True", "drift", "2", "2", "2"],
        ["strict", "True", "harmless", "2", "2", "2"],
    ]
    assert told == ""
    again = call("assay", "my builds", "--sites", 1, cwd=place).stdout
    assert again.splitlines()[:-1] == kept.stdout.splitlines()[:-1]


@pytest.mark.slow
def test_a_folder_without_a_build_is_one_line(place, tmp_path):
    assert "create one with skilljuror build" in complaint(call("assay", tmp_path, cwd=place))
