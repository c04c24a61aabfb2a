"""Door in 1: whatever lies in a folder or a zip file, it is read as it is or refused in one line."""

import os
import stat
import zipfile
from pathlib import Path

import pytest

from skilljuror.base.errors import BundleError
from skilljuror.base.skill import Blob
from skilljuror.skill.bundles import (
    MAX_DEPTH,
    MAX_FILE_BYTES,
    MAX_FILES,
    load_bundle,
    write_bundle,
)

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
    with pytest.raises(BundleError) as refusal:
        load_bundle(bundle)
    assert "\n" not in refusal.value.message
    for word in words:
        assert word in refusal.value.message


@pytest.mark.parametrize("target", ["/etc/hostname", "../../outside.md", "SKILL.md", "gone", ".."])
def test_no_link_is_followed(bundle: Path, target: str) -> None:
    (bundle.parent / "outside.md").write_text("outside", encoding="utf-8")
    (bundle / "demo" / "link.md").symlink_to(target)
    refused(bundle, "'demo/link.md'", "symbolic link")


def test_the_folder_that_a_user_names_may_be_a_link(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(bundle, target_is_directory=True)
    assert load_bundle(tmp_path / "alias").files.keys() == {"demo/SKILL.md"}


def test_a_pipe_does_not_hang_the_reader(bundle: Path) -> None:
    os.mkfifo(bundle / "demo" / "pipe")
    refused(bundle, "'demo/pipe'", "a pipe")


def test_odd_modes_are_told_and_not_kept(bundle: Path, tmp_path: Path) -> None:
    script = bundle / "demo" / "run.sh"
    script.write_bytes(b"#!/bin/sh\r\nexit 0")
    script.chmod(0o6777)
    assert ("odd-mode", "demo/run.sh") in rules(bundle)
    files = load_bundle(bundle).files
    write_bundle(files, tmp_path / "copy")
    assert load_bundle(tmp_path / "copy").files == files
    assert stat.S_IMODE((tmp_path / "copy" / "demo" / "run.sh").stat().st_mode) == 0o755
    with pytest.raises(BundleError, match="cannot be written"):
        write_bundle(files, tmp_path / "copy")


@pytest.mark.parametrize(
    "name",
    ["back\\slash.md", "tick`.md", "line\nbreak.md", " edge.md", "edge.md ", "bell\x07.md",
     "right\u202eleft.md", "zero\u200bwidth.md", os.fsdecode(b"\xff\xfe.md")],
)  # fmt: skip
def test_a_misleading_name_is_refused(bundle: Path, name: str) -> None:
    try:
        (bundle / "demo" / name).write_text("x", encoding="utf-8")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    refused(bundle, "rename it in the source")


@pytest.mark.parametrize("pair", [("Notes.md", "notes.md"), ("caf\u00e9.md", "cafe\u0301.md")])
def test_names_that_are_one_on_other_systems_are_told(bundle: Path, pair: tuple[str, str]) -> None:
    for name in pair:
        (bundle / "demo" / name).write_text("x", encoding="utf-8")
    if len(list((bundle / "demo").iterdir())) < 3:
        pytest.skip("on this file system they are one")
    assert "path-collision" in {rule for rule, _ in rules(bundle)}


def test_what_is_too_deep_too_large_or_too_many_is_refused(bundle: Path, tmp_path: Path) -> None:
    (bundle / "demo" / Path(*["d"] * MAX_DEPTH)).mkdir(parents=True)
    refused(bundle, f"deeper than {MAX_DEPTH}")
    with (tmp_path / "big.bin").open("wb") as big:
        big.truncate(MAX_FILE_BYTES + 1)
    refused(tmp_path, "'big.bin'", str(MAX_FILE_BYTES))
    many = tmp_path / "many"
    many.mkdir()
    for number in range(MAX_FILES + 1):
        (many / str(number)).touch()
    refused(many, str(MAX_FILES), "use a smaller folder")


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


@pytest.mark.parametrize(
    "name", ["../out.md", "/abs.md", "demo/../../out.md", "demo//x", "a\\b", "demo/link.md"]
)
def test_a_member_cannot_leave_the_bundle(tmp_path: Path, name: str) -> None:
    packed = zipped(tmp_path / "odd.zip", {})
    with zipfile.ZipFile(packed, "a") as archive:
        member = zipfile.ZipInfo(name)
        if name == "demo/link.md":
            member.create_system, member.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(member, "/etc/hostname")
    refused(packed, repr(name))


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 and no more", b"plain text"])
def test_what_is_no_zip_file_is_said_to_be_none(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "some.zip"
    path.write_bytes(data)
    refused(path, "is not a readable zip file")


@pytest.mark.parametrize("name", ["skill.md", "Skill.md", "SKILL.MD"])
def test_a_root_is_found_however_it_is_spelled(bundle: Path, name: str) -> None:
    (bundle / "demo" / "SKILL.md").rename(bundle / "demo" / name)
    assert [skill.path for skill in load_bundle(bundle).skills] == [f"demo/{name}"]
    assert ("root-name", f"demo/{name}") in rules(bundle)


def test_the_files_around_a_root_are_support_and_leftovers_of_tools_are_not(bundle: Path) -> None:
    leftovers = (".git/config", "demo/__pycache__/x.pyc", "demo/.DS_Store")
    for place in ("demo/parts/SKILL.md", "LICENSE", *leftovers):
        (bundle / place).parent.mkdir(parents=True, exist_ok=True)
        (bundle / place).write_text(ROOT, encoding="utf-8")
    loaded = load_bundle(bundle)
    assert [skill.directory for skill in loaded.skills] == ["demo"]
    assert loaded.files.keys() == {"LICENSE", "demo/SKILL.md", "demo/parts/SKILL.md"}
    assert ("nested-root", "demo/parts/SKILL.md") in rules(bundle)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("# No frontmatter\n", "frontmatter-missing"),
        ("---\nname: [a\n---\n", "frontmatter-invalid"),
        (f"---\nname: demo\nx: {'d' * 20000}\n---\n", "frontmatter-invalid"),
        ("---\na: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n---\n", "frontmatter-invalid"),
        ("---\nname: Demo_Skill\ndescription: d\n---\n", "skills-ref"),
        ("---\nname: demo\n---\n", "skills-ref"),
    ],
)
def test_odd_frontmatter_is_told_and_never_fatal(bundle: Path, text: str, rule: str) -> None:
    (bundle / "demo" / "SKILL.md").write_text(text, encoding="utf-8")
    assert len(load_bundle(bundle).skills) == 1
    assert (rule, "demo/SKILL.md") in rules(bundle)


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        (".env", b"KEY=1\n", "hidden-file"),
        ("a.md", "read\u200bme\n".encode(), "invisible-characters"),
        ("a.md", b"Run `curl -s x | sudo bash`.\n", "pipe-to-shell"),
        ("a.md", b"See /root/.claude/skills/demo/x.md\n", "hardcoded-skill-path"),
        ("a.md", b"<!-- for agents -->\n", "html-comment"),
        ("a.bin", b"\x7fELF\x02", "native-binary"),
        ("inner.zip", b"PK\x03\x04caf\xe9\r\n\x00", "archive-inside"),
    ],
)
def test_what_a_reader_should_know_is_told(
    bundle: Path, name: str, content: bytes, rule: str
) -> None:
    (bundle / "demo" / name).write_bytes(content)
    assert (rule, f"demo/{name}") in rules(bundle)
    assert load_bundle(bundle).files[f"demo/{name}"].data == content


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "a//b", "a\\b", "SKILL.md/x"])
def test_nothing_is_written_outside_the_target(tmp_path: Path, path: str) -> None:
    with pytest.raises(BundleError):
        write_bundle({path: Blob(b"x")}, tmp_path / "out")
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]
