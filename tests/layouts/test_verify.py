"""What is proved of a build, by what, and what is not."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from skilljuror.base.files import read_jsonl, write_jsonl
from skilljuror.cli.app import app
from skilljuror.layouts.build.assay import AssaySettings, keep_assays
from skilljuror.layouts.build.build import build_source
from skilljuror.layouts.verify import verify_build
from tests.support.git_repositories import git
from tests.support.retold_builds import VARIANTS, read, seal, write, write_source

PD = "variants/pd/press"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a source and its build."""
    place = tmp_path_factory.mktemp("proof")
    write_source(place / "source")
    build_source(place / "source" / "press", place / "build", variants=VARIANTS)
    return place


@pytest.fixture
def build(place, tmp_path):
    """A copy of the build, to be changed."""
    return shutil.copytree(place / "build", tmp_path / "build")


def _replace(path, before, after):
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def _record(build, **fields):
    write(build, read(build) | fields)


def _lose_a_finding(build):
    rows = list(read_jsonl(build / "gates.jsonl"))
    next(row for row in rows if row["findings"])["findings"] = []
    write_jsonl(build / "gates.jsonl", rows)


def _another_source(build):
    shutil.copy(build / "source.tar", build.parent / "kept.tar")
    source = write_source(build.parent / "other", lambda text: text.replace("NEVER", "Never"))
    build_source(source, build.parent / "again", variants=VARIANTS)
    shutil.copy(build.parent / "again" / "source.tar", build)


CHANGES = {
    "a law softened": (
        lambda build: _replace(build / PD / "SKILL.md", "NEVER print", "Print"),
        f"{PD}/SKILL.md: line",
    ),
    "a page emptied": (
        lambda build: (build / PD / "references/ink.md").write_text(""),
        f"{PD}/references/ink.md: line 1: found '', the rebuild has",
    ),
    "a page taken away": (
        lambda build: (build / PD / "references/ink.md").unlink(),
        f"{PD}/references/ink.md: is missing",
    ),
    "a page added": (
        lambda build: (build / PD / "more.md").write_text("More.\n"),
        f"{PD}/more.md: is not part of the build",
    ),
    "a page behind a link": (
        lambda build: (
            (build / PD / "references/ink.md").unlink(),
            (build / PD / "references/ink.md").symlink_to("/dev/null"),
        ),
        f"{PD}/references/ink.md: is not a regular file",
    ),
    "a script that cannot run": (
        lambda build: (build / PD / "scripts/proof.py").chmod(0o644),
        f"{PD}/scripts/proof.py: its execute bit is missing",
    ),
    "a script with a set-id bit": (
        lambda build: (build / PD / "scripts/proof.py").chmod(0o4755),
        f"{PD}/scripts/proof.py: its set-id or sticky bit is set",
    ),
    "a page that all users may write": (
        lambda build: (build / PD / "references/ink.md").chmod(0o666),
        f"{PD}/references/ink.md: its write bit of all users is set",
    ),
    "a page that nobody may read": (
        lambda build: (build / PD / "references/ink.md").chmod(0o200),
        f"{PD}/references/ink.md: its read bit is missing",
    ),
    "a page with a second name": (
        lambda build: (build.parent / "other.md").hardlink_to(build / PD / "references/ink.md"),
        f"{PD}/references/ink.md: its second name, a hard link is set",
    ),
    "a folder that all users may write in": (
        lambda build: (build / PD / "references").chmod(0o777),
        f"{PD}/references/: its write bit of all users is set",
    ),
    "a folder that cannot be opened": (
        lambda build: (build / PD / "references").chmod(0o200),
        f"{PD}/references/: its read bit is missing",
    ),
    "an empty folder": (
        lambda build: (build / PD / "empty").mkdir(),
        f"{PD}/empty/: is not part of the build",
    ),
    "a finding taken out": (_lose_a_finding, "gates.jsonl: line"),
    "the knowledge map taken out": (
        lambda build: (build / "knowledge.jsonl").unlink(),
        "knowledge.jsonl: is missing",
    ),
    "a plan taken out": (lambda build: _record(build, plans={}), "build.json: line"),
    "nothing built": (lambda build: _record(build, variants=[]), "build.json: variants: empty"),
    "another source kept": (_another_source, f"{PD}/SKILL.md: line"),
    "the source taken out": (
        lambda build: (build / "source.tar").unlink(),
        "source.tar: cannot be read",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_noticed_also_where_the_record_agrees(build, name):
    change, problem = CHANGES[name]
    change(build)
    if name in {"a law softened", "a page added"}:
        seal(build)
    proof = verify_build(build)
    assert any(line.startswith(problem) for line in proof.problems), proof.problems
    assert all("\n" not in line for line in proof.problems)


def test_a_build_that_nobody_touched_is_proved(place, build):
    own = verify_build(build)
    assert own.proved
    assert "the source is the build's own copy" in own.grounds[0]
    assert verify_build(build, str(place / "source" / "press")).proved


def test_a_build_of_another_source_is_noticed_by_the_source(place, tmp_path):
    source = write_source(tmp_path / "other", lambda text: text.replace("NEVER print", "Print"))
    build_source(source, tmp_path / "build", variants=("pd",))
    assert verify_build(tmp_path / "build").proved
    (problem,) = verify_build(tmp_path / "build", str(place / "source" / "press")).problems
    assert problem.startswith("source: 'press/SKILL.md' differs in")


def test_a_build_is_the_same_wherever_it_is_made(place, tmp_path):
    source = shutil.copytree(place / "source" / "press", tmp_path / "elsewhere" / "press")
    (source / "__pycache__").mkdir()
    (source / "__pycache__" / "left.pyc").write_bytes(b"x")
    build_source(source, tmp_path / "build", variants=VARIANTS)
    assert [issue["rule"] for issue in read(tmp_path / "build")["issues"]] == ["skipped-file"]
    assert verify_build(tmp_path / "build", str(place / "source" / "press")).proved


def test_the_source_may_be_a_zip_or_a_revision(place, build, tmp_path, monkeypatch):
    archive = shutil.make_archive(str(tmp_path / "press"), "zip", place / "source" / "press")
    repository = shutil.copytree(place / "source", tmp_path / "repository")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "press")):
        git(repository, *words)
    (repository / "press" / "SKILL.md").unlink()
    monkeypatch.chdir(repository)
    for source in (archive, "HEAD:press"):
        proof = verify_build(build, source)
        assert (proof.problems, proof.grounds) == ((), (f"the source is {source}",))
    assert verify_build(build, "press").problems


def test_other_code_that_makes_the_same_is_as_good(build):
    _record(build, code_digest="0" * 64, skilljuror_version="0.0.9")
    assert verify_build(build).proved
    _replace(build / PD / "SKILL.md", "NEVER print", "Print")
    proof = verify_build(build)
    assert proof.problems == ()
    (line,) = proof.unproved
    assert line.startswith("not proved: built by skilljuror 0.0.9 with other code")
    assert f"{PD}/SKILL.md: line" in line


@pytest.mark.slow
def test_a_measured_power_is_measured_again(place, tmp_path):
    build_source(place / "source" / "press", tmp_path / "build", variants=("baseline",))
    keep_assays({tmp_path / "build": None}, AssaySettings(sites=1))
    assert verify_build(tmp_path / "build").proved
    record = read(tmp_path / "build")
    record["assay"]["rows"][0]["flagged"] += 1
    write(tmp_path / "build", record)
    (problem,) = verify_build(tmp_path / "build").problems
    assert '"flagged"' in problem


def test_code_of_another_package_is_not_loaded(build, tmp_path, monkeypatch):
    (tmp_path / "strange_gate.py").write_text(
        f"open({str(tmp_path / 'was-here')!r}, 'w').close()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    _record(build, gates=["strange_gate:Gate"])
    (line,) = verify_build(build).unproved
    assert "requires strange_gate:Gate of another package" in line
    assert not (tmp_path / "was-here").exists()


def command(*words):
    return CliRunner().invoke(app, ["verify", *map(str, words)])


def test_the_command_says_what_its_proof_rests_on(place, build):
    done = command(build)
    assert done.exit_code == 0
    assert "proved; the source is the build's own copy; name the original" in done.stdout
    done = command(build, "--source", place / "source" / "press")
    assert f"the source is {place / 'source' / 'press'}" in done.stdout


def test_the_command_tells_problems_and_what_it_cannot_prove(build):
    (build / "note.txt").write_text("x")
    done = command(build, "--json")
    assert (done.exit_code, json.loads(done.stdout)["proved"]) == (1, False)
    assert command(build).stdout.endswith(f"{build}: 1 problem\n")
    _record(build, code_digest="0" * 64)
    done = command(build)
    assert done.exit_code == 3
    assert f"{build}: not proved;" in done.stdout
