"""The yardstick of policy `edited`: the readers' table, and the command on a repository of its own."""

from pathlib import Path

import pytest

from benchmarks.revisions import COLUMNS, main, read_table
from skilljuror.base.errors import UsageError
from tests.support.git_repositories import git

SKILL = "---\nname: kiln\ndescription: Fire a kiln.\n---\n# Kiln\n\nOpen the vent.\n\nHold the heat for {} minutes.\n\nWrite down the cone.\n\n## Glaze\n\n{}\n"
GLAZE = "Never sieve a glaze that has dried."


def _table(folder: Path, *lines: str) -> Path:
    path = folder / "revisions.tsv"
    text = ("\t".join(COLUMNS), *(line.replace("|", "\t") for line in lines))
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return path


def test_the_readers_table_has_thirty_commits_and_eleven_splits():
    revisions = read_table()
    assert sum(one.commit != "-" for one in revisions) == 30
    assert sum(one.commit == "-" for one in revisions) == 11
    assert len({one.name for one in revisions}) == len(revisions)
    points = [point for one in revisions for point in one.points]
    assert len([point for point in points if point.verdict == "red"]) == 66
    assert all(point.what and (point.before or point.after) for point in points)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a/b|-|kiln|split|red|number|SKILL.md:x|-|heat", "2: place 'SKILL.md:x'"),
        ("a/b|-|kiln|split|orange|number|-|-|heat", "2: verdict 'orange'"),
        ("a/b|-|kiln", "2: 3 columns"),
    ],
)
def test_an_invalid_line_is_named(tmp_path, line, message):
    with pytest.raises(UsageError, match=message):
        read_table(_table(tmp_path, line))


def test_a_commit_is_judged_and_its_points_are_looked_up(tmp_path, capsys):
    repository = tmp_path / "potter+skills" / "repo"
    work = tmp_path / "work"
    for folder in (repository, work / "skills" / "kiln", work / "skills" / "glaze"):
        folder.mkdir(parents=True)
    git(repository, "init", "-q", "--bare", "-b", "main")
    git(work, "init", "-q", "-b", "main")
    root = work / "skills" / "kiln" / "SKILL.md"
    root.write_text(SKILL.format(30, GLAZE), encoding="utf-8")
    git(work, "add", ".")
    git(work, "commit", "-qm", "kiln")
    root.write_text(SKILL.format(45, "See the Skill glaze."), encoding="utf-8")
    beside = SKILL.replace("kiln", "glaze").format(30, GLAZE)
    (work / "skills" / "glaze" / "SKILL.md").write_text(beside, encoding="utf-8")
    git(work, "add", ".")
    git(work, "commit", "-qm", "split")
    git(work, "push", "-q", repository, "main")
    commit = (repository / "refs" / "heads" / "main").read_text(encoding="utf-8").strip()
    table = _table(
        tmp_path,
        f"potter/skills|{commit}|skills/kiln|split|red|number|SKILL.md:9|SKILL.md:9|30 to 45 minutes",
        f"potter/skills|{commit}|skills/kiln|split|yellow|statement|SKILL.md:2|-|name",
        "weaver/skills|0000000|skills/loom|split|green|-|-|-|-",
    )
    assert main(["--repos", str(tmp_path), "--table", str(table), "--points"]) == 0
    out, err = capsys.readouterr()
    assert f"| kiln@{commit[:7]} | red | red | 1 | 0 |" in out
    assert "1 of 2 changes judged under policy edited." in out
    assert "| number | 1 of 1 | 1 of 1 | – |" in out
    assert (
        "| all | 1 of 1 (100%, 21%–100%) | 1 of 1 (100%, 21%–100%) | 0 of 1 (0%, 0%–79%) |" in out
    )
    # a finding at line 9 shows the lines 6 to 12 of 16
    assert "| all, at random lines of the same files | 0.4 of 1 | 0.4 of 1 | 0.0 of 1 |" in out
    assert "shown  red    number     kiln@" in out
    assert "missed yellow statement  kiln@" in out
    assert "loom@0000000: left out: no git repository at" in err


def test_without_texts_nothing_is_judged(capsys):
    assert main([]) == 2
    assert "error: no change of the table was found" in capsys.readouterr().err
