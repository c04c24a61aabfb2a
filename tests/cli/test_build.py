"""`build`: nothing of a user is lost, whatever folder is named."""

import re
import subprocess
import sys

import pytest

from tests.support.cli_process import call, complaint, write_skill


@pytest.fixture
def source(tmp_path):
    return write_skill(tmp_path / "home" / "csv-report")


def tree(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def names(folder):
    return sorted(path.name for path in folder.iterdir())


UNFIT = {
    "the source": ("home/csv-report", "holds the source"),
    "a folder that holds the source": ("home", "holds the source"),
    "a folder inside the source": ("home/csv-report/out", "is inside the source"),
    "a folder of somebody": ("mine", "'notes.txt', which is not part of a build"),
    "a file": ("mine/notes.txt", "is a file"),
    "the working directory": (".", "is the current folder"),
}


@pytest.mark.parametrize(("out", "told"), UNFIT.values(), ids=UNFIT.keys())
def test_a_build_refuses_to_replace_what_it_did_not_make(source, tmp_path, out, told):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    stand = tmp_path / "stand"
    stand.mkdir()
    before = tree(tmp_path)
    place = out if out == "." else tmp_path / out
    line = complaint(call("build", source, "--out", place, "--variants", "pd", cwd=stand))
    assert told in line
    assert "--out" in line
    assert tree(tmp_path) == before


@pytest.mark.slow
def test_a_build_replaces_an_earlier_build_and_an_empty_folder(source, tmp_path):
    out = tmp_path / "my out é"
    out.mkdir()
    assert call("build", source, "--out", out, "--variants", "baseline").returncode == 0
    assert call("build", source, "--out", out, "--variants", "origin").returncode == 0
    assert names(out / "variants") == ["origin"]
    (out / "notes.txt").write_text("mine")
    line = complaint(call("build", source, "--out", out, "--variants", "pd"))
    assert "'notes.txt'" in line


@pytest.mark.slow
def test_a_build_through_a_link_keeps_the_link(source, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for _ in range(2):
        assert call("build", source, "--out", tmp_path / "link", "--variants", "pd").returncode == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "build.json").is_file()
    assert names(tmp_path) == ["home", "link", "real"]


@pytest.mark.slow
def test_the_output_of_a_build_is_no_source(source, tmp_path):
    out = tmp_path / "many" / "one"
    assert call("build", source, "--out", out, "--variants", "origin").returncode == 0
    for place in (out, out / "variants", out.parent):
        line = complaint(call("build", place, "--out", tmp_path / "again"))
        assert "output of a build" in line
    again = call("build", out / "variants" / "origin", "--out", tmp_path / "again")
    assert again.returncode == 0


def test_what_is_wrong_with_a_source_is_told(source, tmp_path):
    (source / "SKILL.md").write_text("---\nname: [\n---\n# Report\n\nNever round.\n")
    done = call("build", source, "--out", tmp_path / "out", "--variants", "origin")
    assert "source: csv-report/SKILL.md:1: the frontmatter is not YAML" in done.stdout
    line = complaint(call("build", source, "--out", tmp_path / "out", "--variants", ","))
    assert "--variants is empty" in line


def test_a_full_disk_is_one_line_and_leaves_nothing_half_done(source, tmp_path):
    """A limit on the size of files stands for the disk: the system refuses in the same place."""
    command = f"ulimit -f 1; exec {sys.executable} -m skilljuror build {source} --out {tmp_path}/b"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "free disk space and rerun the command" in complaint(done)
    assert names(tmp_path) == ["home"]


def test_thousands_have_a_comma_and_their_columns_end_together(source, tmp_path):
    (source / "references").mkdir(exist_ok=True)
    (source / "references" / "long.md").write_text("# Long\n\n" + "A pot is dry.\n" * 1500)
    done = call("build", source, "--out", tmp_path / "out", "--variants", "origin,baseline")
    head, _, *rows = done.stdout.splitlines()[:4]
    end = head.index("  tokens") + len("  tokens")  # of the column of all tokens
    assert all(re.search(r" \d{1,2},\d{3}$", row[:end]) for row in rows), done.stdout
