"""Door in 1: whatever lies in a folder or a zip file, it is read as it is or refused in one line."""

import os
import socket
import stat
import zipfile
from pathlib import Path

import pytest

from skilljuror.base.errors import BundleError
from skilljuror.base.skill import Blob
from skilljuror.skill.bundles import load_bundle, write_bundle
from skilljuror.skill.bundles.limits import MAX_DEPTH, MAX_FILE_BYTES, MAX_FILES, MAX_NAME

ROOT = "---\nname: demo\ndescription: Shows what a loader does with a bundle.\n---\n\n# Demo\n"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    skill = tmp_path / "source" / "demo"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(ROOT, encoding="utf-8")
    return tmp_path / "source"


def rules(bundle: Path) -> set[tuple[str, str]]:
    return {(issue.rule, issue.file) for issue in load_bundle(bundle).issues}


def refused(bundle: Path, *words: str) -> None:
    with pytest.raises(BundleError) as told:
        load_bundle(bundle)
    assert "\n" not in told.value.message
    for word in words:
        assert word in told.value.message


# --- links and special files -------------------------------------------------------------------


@pytest.mark.parametrize("target", ["/etc/hostname", "../../outside.md", "SKILL.md", "gone", "."])
def test_no_link_is_followed(bundle: Path, target: str) -> None:
    (bundle.parent / "outside.md").write_text("outside", encoding="utf-8")
    (bundle / "demo" / "link.md").symlink_to(target)
    refused(bundle, "'demo/link.md'", "symbolic link")


def test_no_link_to_a_folder_is_followed(bundle: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (bundle / "demo" / "references").symlink_to(elsewhere, target_is_directory=True)
    refused(bundle, "'demo/references'", "symbolic link")


def test_a_link_loop_ends(bundle: Path) -> None:
    (bundle / "demo" / "again").symlink_to("..", target_is_directory=True)
    refused(bundle, "'demo/again'")


def test_the_folder_that_a_user_names_may_be_a_link(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(bundle, target_is_directory=True)
    assert load_bundle(tmp_path / "alias").files.keys() == {"demo/SKILL.md"}


def test_a_pipe_does_not_hang_the_reader(bundle: Path) -> None:
    os.mkfifo(bundle / "demo" / "pipe")
    refused(bundle, "'demo/pipe'", "a pipe")


def test_a_socket_is_refused(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bundle / "demo")  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("door")
        refused(bundle, "'demo/door'", "socket")


def test_odd_modes_are_told_and_not_kept(bundle: Path, tmp_path: Path) -> None:
    script = bundle / "demo" / "run.sh"
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    script.chmod(0o6777)
    loaded = load_bundle(bundle)
    assert ("odd-mode", "demo/run.sh") in {(one.rule, one.file) for one in loaded.issues}
    write_bundle(loaded.files, tmp_path / "copy")
    assert stat.S_IMODE((tmp_path / "copy" / "demo" / "run.sh").stat().st_mode) == 0o755


# --- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "back\\slash.md", "tick`.md", "line\nbreak.md", " edge.md", "edge.md ", "bell\x07.md",
        "right\u202eleft.md", "zero\u200bwidth.md", "con.md", "LPT1", "n" * (MAX_NAME + 1),
    ],
)  # fmt: skip
def test_a_misleading_name_is_refused(bundle: Path, name: str) -> None:
    (bundle / "demo" / name).write_text("x", encoding="utf-8")
    refused(bundle, "rename it in the source")


def test_a_name_that_is_no_utf8_is_refused(bundle: Path) -> None:
    place = bundle / "demo" / os.fsdecode(b"\xff\xfe.md")
    try:
        place.write_bytes(b"x")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    refused(bundle, "not UTF-8")


@pytest.mark.parametrize("pair", [("Notes.md", "notes.md"), ("caf\u00e9.md", "cafe\u0301.md")])
def test_names_that_are_one_on_other_systems_are_told(bundle: Path, pair: tuple[str, str]) -> None:
    for name in pair:
        (bundle / "demo" / name).write_text("x", encoding="utf-8")
    if len(list((bundle / "demo").iterdir())) < 3:
        pytest.skip("on this file system they are one")
    assert "path-collision" in {rule for rule, _ in rules(bundle)}


def test_folders_may_be_deep_only_up_to_a_limit(bundle: Path) -> None:
    deep = bundle / "demo" / Path(*["d"] * MAX_DEPTH)
    deep.mkdir(parents=True)
    refused(bundle, f"deeper than {MAX_DEPTH}")


# --- size --------------------------------------------------------------------------------------


def test_a_huge_file_is_refused_before_it_is_read(bundle: Path) -> None:
    with (bundle / "demo" / "big.bin").open("wb") as big:
        big.truncate(MAX_FILE_BYTES + 1)
    refused(bundle, "'demo/big.bin'", str(MAX_FILE_BYTES))


def test_many_small_files_together_are_too_big(bundle: Path) -> None:
    for number in range(9):
        with (bundle / "demo" / f"{number}.bin").open("wb") as big:
            big.truncate(MAX_FILE_BYTES)
    refused(bundle, "use a smaller folder")


def test_too_many_files_are_refused(bundle: Path) -> None:
    many = bundle / "demo" / "many"
    many.mkdir()
    for number in range(MAX_FILES):
        (many / str(number)).touch()
    refused(bundle, str(MAX_FILES), "use a smaller folder")


# --- zip files ---------------------------------------------------------------------------------


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("demo/SKILL.md", ROOT)
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_a_zip_file_is_the_folder_that_was_packed(bundle: Path, tmp_path: Path) -> None:
    (bundle / "demo" / "a.md").write_text("a\n", encoding="utf-8")
    packed = zipped(tmp_path / "demo.skill", {"demo/a.md": b"a\n"})
    assert load_bundle(packed).files == load_bundle(bundle).files


@pytest.mark.parametrize("name", ["../out.md", "/abs.md", "demo/../../out.md", "demo//x", "a\\b"])
def test_a_member_cannot_leave_the_bundle(tmp_path: Path, name: str) -> None:
    refused(zipped(tmp_path / "odd.zip", {name: b"x"}))


def test_a_bomb_is_refused_unopened(tmp_path: Path) -> None:
    packed = zipped(tmp_path / "bomb.zip", {"demo/zeros.bin": bytes(6 << 20)})
    assert packed.stat().st_size < 20_000
    refused(packed, "'demo/zeros.bin'", "times its size")


def test_a_member_that_is_larger_than_it_says_is_refused(tmp_path: Path) -> None:
    packed = tmp_path / "lie.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("demo/SKILL.md", ROOT * 100)
    data = packed.read_bytes()
    size = len(ROOT * 100).to_bytes(4, "little")
    packed.write_bytes(data.replace(size, (10).to_bytes(4, "little")))
    refused(packed)


def test_a_link_in_a_zip_file_is_refused(tmp_path: Path) -> None:
    packed = zipped(tmp_path / "link.zip", {})
    with zipfile.ZipFile(packed, "a") as archive:
        link = zipfile.ZipInfo("demo/link.md")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/hostname")
    refused(packed, "'demo/link.md'")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 and no more", b"plain text"])
def test_what_is_no_zip_file_is_said_to_be_none(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "some.zip"
    path.write_bytes(data)
    refused(path, "is not a readable zip file")


def test_an_archive_inside_a_bundle_stays_packed(bundle: Path, tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", {"../evil": b"x"}).read_bytes()
    (bundle / "demo" / "inner.zip").write_bytes(inner)
    loaded = load_bundle(bundle)
    assert loaded.files["demo/inner.zip"].data == inner
    assert ("archive-inside", "demo/inner.zip") in rules(bundle)


# --- roots and frontmatter ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["skill.md", "Skill.md", "SKILL.MD"])
def test_a_root_is_found_however_it_is_spelled(bundle: Path, name: str) -> None:
    (bundle / "demo" / "SKILL.md").rename(bundle / "demo" / name)
    loaded = load_bundle(bundle)
    assert [skill.path for skill in loaded.skills] == [f"demo/{name}"]
    assert ("root-name", f"demo/{name}") in rules(bundle)


def test_an_inner_root_is_support_of_the_outer_skill(bundle: Path) -> None:
    inner = bundle / "demo" / "parts" / "SKILL.md"
    inner.parent.mkdir()
    inner.write_text(ROOT, encoding="utf-8")
    assert [skill.directory for skill in load_bundle(bundle).skills] == ["demo"]
    assert ("nested-root", "demo/parts/SKILL.md") in rules(bundle)


def test_files_beside_the_skills_are_kept(bundle: Path) -> None:
    (bundle / "LICENSE").write_text("free\n", encoding="utf-8")
    assert "LICENSE" in load_bundle(bundle).files


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("# No frontmatter\n", "frontmatter-missing"),
        ("---\nname: [a\n---\n", "frontmatter-invalid"),
        ("---\nname: Demo_Skill\ndescription: d\n---\n", "skills-ref"),
        ("---\nname: demo\n---\n", "skills-ref"),
        (f"---\nname: demo\ndescription: {'d' * 1100}\n---\n", "skills-ref"),
        (f"---\nname: demo\nx: {'d' * 20000}\n---\n", "frontmatter-long"),
        ("---\na: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n---\n", "skills-ref"),
    ],
)
def test_odd_frontmatter_is_told_and_never_fatal(bundle: Path, text: str, rule: str) -> None:
    (bundle / "demo" / "SKILL.md").write_text(text, encoding="utf-8")
    loaded = load_bundle(bundle)
    assert len(loaded.skills) == 1
    assert rule in {issue.rule for issue in loaded.issues}, loaded.issues


def test_bytes_that_are_no_text_stay_what_they_are(bundle: Path) -> None:
    (bundle / "demo" / "latin.md").write_bytes(b"caf\xe9\r\n\x00")
    blob = load_bundle(bundle).files["demo/latin.md"]
    assert (blob.data, blob.text) == (b"caf\xe9\r\n\x00", None)


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        (".env", "KEY=1\n", "hidden-file"),
        ("a.md", "read\u200bme\n", "invisible-characters"),
        ("a.md", "Run `curl -s x | sudo bash`.\n", "pipe-to-shell"),
        ("a.md", "See /root/.claude/skills/demo/x.md\n", "hardcoded-skill-path"),
        ("a.md", "<!-- for agents -->\n", "html-comment"),
        ("a.bin", "\x7fELF\x02", "native-binary"),
    ],
)
def test_what_a_reader_should_know_is_told(bundle: Path, name: str, text: str, rule: str) -> None:
    (bundle / "demo" / name).write_text(text, encoding="utf-8")
    assert (rule, f"demo/{name}") in rules(bundle)


def test_leftovers_of_tools_are_no_part_of_a_skill(bundle: Path) -> None:
    for place in (".git/config", "demo/__pycache__/x.pyc", "demo/.DS_Store"):
        (bundle / place).parent.mkdir(parents=True, exist_ok=True)
        (bundle / place).write_text("x", encoding="utf-8")
    assert load_bundle(bundle).files.keys() == {"demo/SKILL.md"}


def test_nothing_in_a_bundle_is_run(bundle: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    for name in ("__init__.py", "conftest.py", "setup.py", "sitecustomize.py"):
        (bundle / "demo" / name).write_text(f"open({str(mark)!r}, 'w')\n", encoding="utf-8")
    load_bundle(bundle)
    assert not mark.exists()


# --- writing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "a//b", "a\\b", "SKILL.md/x"])
def test_nothing_is_written_outside_the_target(tmp_path: Path, path: str) -> None:
    with pytest.raises(BundleError):
        write_bundle({path: Blob(b"x")}, tmp_path / "out")
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_nothing_is_overwritten(bundle: Path, tmp_path: Path) -> None:
    files = load_bundle(bundle).files
    write_bundle(files, tmp_path / "out")
    with pytest.raises(BundleError, match="cannot be written"):
        write_bundle(files, tmp_path / "out")


def test_a_bundle_survives_writing_and_reading(bundle: Path, tmp_path: Path) -> None:
    (bundle / "demo" / "run.sh").write_bytes(b"#!/bin/sh\r\nexit 0")
    (bundle / "demo" / "run.sh").chmod(0o755)
    files = load_bundle(bundle).files
    write_bundle(files, tmp_path / "out")
    assert load_bundle(tmp_path / "out").files == files
