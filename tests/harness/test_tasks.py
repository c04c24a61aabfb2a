"""Task folders: what of their environment is laid out, and what no sandbox does for them."""

import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.base.errors import HarnessError
from skilljuror.harness.tasks import copy_environment, read_recipe, tasks_requirement, unsupported
from tests.support.harness_tasks import make_task, write_tree

FILES = {"a.txt": "a", "b.csv": "b", "data/c.csv": "c", "skills/x/SKILL.md": "no"}


def placed(tmp_path, dockerfile=None):
    """Paths below the root after placing FILES by a Dockerfile."""
    files = FILES if dockerfile is None else {**FILES, "Dockerfile": dockerfile}
    environment, root = write_tree(tmp_path / "environment", files), tmp_path / "root"
    root.mkdir()
    copy_environment(environment, root)
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("dockerfile", "expected"),
    [
        (None, ["app/a.txt", "app/b.csv", "app/data/c.csv"]),
        ("FROM x\n", ["app/a.txt", "app/b.csv", "app/data/c.csv"]),
        ("WORKDIR /w\n", ["w/a.txt", "w/b.csv", "w/data/c.csv"]),
        ("COPY a.txt /x.txt\n", ["x.txt"]),
        ("COPY a.txt /in/\n", ["in/a.txt"]),
        ("WORKDIR /w\nCOPY a.txt .\n", ["w/a.txt"]),
        ("WORKDIR /w\nWORKDIR sub\nCOPY a.txt ./\n", ["w/sub/a.txt"]),
        ("COPY data /d\n", ["d/c.csv"]),
        ("copy --chown=1:1 a.txt \\\n  b.csv /in/\n", ["in/a.txt", "in/b.csv"]),
        ("COPY *.csv /in/\n", ["in/b.csv"]),
        ("COPY . /all\nCOPY skills /root/.agents/skills\n",
         ["all/a.txt", "all/b.csv", "all/data/c.csv"]),
        ("COPY ./skills/x /s\nCOPY a.txt /a\n", ["a"]),
        ("COPY s* /app/\nCOPY a.txt /a\n", ["a"]),
        ("COPY */*/SKILL.md [a-s]* /in/\n", ["in/a.txt", "in/b.csv", "in/c.csv"]),
        ("COPY data/../skills /k\nCOPY a.txt /a\n", ["a"]),
        ("COPY data/../ /d/\n", ["d/a.txt", "d/b.csv", "d/data/c.csv"]),
        ("COPY ../environment /e\n", ["e/a.txt", "e/b.csv", "e/data/c.csv"]),
        ("COPY --from=build /out /out\nCOPY a.txt /a\n", ["a"]),
        ("COPY a.txt /../../a\n", ["a"]),
        ("COPY a.txt /etc/a\n", ["etc/a"]),
    ],
)  # fmt: skip
def test_where_files_go(tmp_path, dockerfile, expected):
    assert placed(tmp_path, dockerfile) == expected


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("COPY a.txt /usr/local/bin/a", "'/usr/local/bin/a'"),
        ("WORKDIR /proc/self", "'/proc/self'"),
        ("COPY missing.txt /a", "'missing.txt'"),
        ("COPY ../task.toml /a", "'../task.toml'"),
    ],
)
def test_what_cannot_be_placed_stops_the_run(tmp_path, line, said):
    (tmp_path / "task.toml").write_text("", encoding="utf-8")
    with pytest.raises(HarnessError, match=said):
        placed(tmp_path, line + "\n")


@pytest.mark.parametrize(
    ("dockerfile", "expected"),
    [
        ("COPY l /l\nCOPY a.txt /l/folder/\n", "l/folder/a.txt"),
        ("COPY l /l\nCOPY a.txt /l/file\n", "l/file"),
        ("COPY l /l\nCOPY again /l\n", "l/folder/a.txt"),
    ],
)
def test_nothing_is_written_through_a_link_of_the_task(tmp_path, dockerfile, expected):
    host = write_tree(tmp_path / "host", {"kept": "kept"})
    files = {"a.txt": "a", "again/folder/a.txt": "a", "Dockerfile": dockerfile}
    environment, root = write_tree(tmp_path / "environment", files), tmp_path / "root"
    root.mkdir()
    (environment / "l").mkdir()
    (environment / "l/folder").symlink_to(host)
    (environment / "l/file").symlink_to(host / "kept")
    copy_environment(environment, root)
    assert [(path.name, path.read_text()) for path in host.iterdir()] == [("kept", "kept")]
    assert (root / expected).read_text(encoding="utf-8") == "a"


def test_lines_that_are_not_followed_are_told(tmp_path):
    lines = "FROM x\n# RUN no\nRUN pip install y\nENV A=1\nCMD run\nUSER me\n"
    recipe = read_recipe(write_tree(tmp_path, {"Dockerfile": lines}))
    assert recipe.left_out == ("RUN pip install y", "ENV A=1", "USER me")


@given(st.text(alphabet="COPYWRKDI /.ab\n\\'\"-*", max_size=60))
def test_any_dockerfile_stays_inside_the_root(tmp_path_factory, text):
    base = tmp_path_factory.mktemp("case")
    environment = write_tree(base / "environment", {"Dockerfile": text, "a": "a"})
    root = base / "root"
    root.mkdir()
    try:
        copy_environment(environment, root)
    except HarnessError as error:
        assert "Dockerfile" in error.message  # noqa: PT017
    assert sorted(path.name for path in base.iterdir()) == ["environment", "root"]


def test_add_unpacks_an_archive_and_copy_does_not(tmp_path):
    environment, root = tmp_path / "environment", tmp_path / "root"
    write_tree(environment, {"Dockerfile": "WORKDIR /app\nADD r.tar /app/\nCOPY r.tar /kept/\n"})
    with tarfile.open(environment / "r.tar", "w") as archive:
        archive.add(write_tree(tmp_path / "r", {"src/a.py": "1\n"}) / "src", "src")
    root.mkdir()
    copy_environment(environment, root)
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert files == {"app/src/a.py", "kept/r.tar"}


@pytest.mark.parametrize("name", ["../out", "/etc/out"])
def test_an_archive_that_leaves_its_folder_is_refused(tmp_path, name):
    environment, root = tmp_path / "environment", tmp_path / "root"
    write_tree(environment, {"Dockerfile": "ADD r.tar /app/\n"})
    with tarfile.open(environment / "r.tar", "w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, name
        archive.addfile(link)
    root.mkdir()
    with pytest.raises(HarnessError, match="cannot be unpacked"):
        copy_environment(environment, root)


VERIFIER = """#!/bin/bash
apt-get install -y curl > /dev/null
curl -LsSf https://astral.sh/uv/install.sh | sh
uvx --with pytest==8.4.1 pytest /tests/test_outputs.py
"""


@pytest.fixture
def task(tmp_path):
    return make_task(tmp_path / "tea")


@pytest.mark.parametrize(
    ("file", "text", "named"),
    [
        ("environment/Dockerfile", "FROM x\nRUN pip install y\n", ["environment/Dockerfile: RUN pip install y"]),
        ("environment/Dockerfile", "FROM x\nEXPOSE 80\nCMD sh\n", []),
        ("environment/docker-compose.yaml", "services: {}\n", ["environment/docker-compose.yaml"]),
        ("tests/test.sh", VERIFIER, ["apt-get install -y curl", "curl -LsSf https", "uvx --with"]),
        ("tests/test.sh", "curl http://localhost:8000/health\n# pip install x\npython3 check.py\n", []),
    ],
)  # fmt: skip
def test_each_line_that_is_not_followed_is_named(task, file, text, named):
    write_tree(task, {file: text})
    found = unsupported(task)
    assert [part in line for part, line in zip(named, found, strict=True)] == [True] * len(named)


def test_the_tasks_are_named_with_what_to_do(task, tmp_path):
    other = make_task(tmp_path / "coffee")
    write_tree(other, {"tests/test.sh": VERIFIER})
    refused = tasks_requirement([task, other], ignore=False)
    assert (refused.ready, "1 of 2 tasks" in refused.detail) == (False, True)
    assert "coffee (tests/test.sh, without a network: apt-get install" in refused.detail
    assert "unsupported: ignore" in refused.detail
    assert tasks_requirement([task, other], ignore=True).ready
