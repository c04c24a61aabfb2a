"""Writing without loss, reading without guessing."""

import os
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.base.build import GateResult
from skilljuror.base.errors import StudyError, UsageError
from skilljuror.base.files import (
    append_jsonl,
    data_dir,
    digest_tree,
    fresh_dir,
    parse_time,
    read_jsonl,
    read_record,
    read_rows,
    write_atomic,
    write_jsonl,
    write_record,
)  # fmt: skip
from skilljuror.base.skill import Blob, tree_digest
from skilljuror.base.study import StudyConfig
from tests.support.harness_tasks import write_tree


class Span(msgspec.Struct):
    lines: int


def gate(**more):
    return GateResult(
        gate="layout", variant="pd", parent="source", policy="strict", verdict="pass", **more
    )


def test_a_record_survives_its_file(tmp_path):
    write_record(tmp_path / "r.json", gate(checked={"files": 3}))
    assert read_record(GateResult, tmp_path / "r.json") == gate(checked={"files": 3})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"gate": "layout"}', "variant"),
        ("{", "is damaged: "),
        (gate().model_dump_json().replace('"pass"', '"maybe"'), "verdict"),
    ],
)
def test_a_wrong_record_is_one_line_naming_file_and_field(tmp_path, text, named):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(StudyError) as caught:
        read_record(GateResult, path)
    assert named in caught.value.message
    assert caught.value.file == str(path)
    assert "\n" not in caught.value.message


def test_a_missing_record_is_named(tmp_path):
    with pytest.raises(StudyError, match="gone"):
        read_record(GateResult, tmp_path / "gone.json")


@pytest.mark.parametrize("kind", [GateResult, Span])
def test_a_row_of_another_form_is_named(tmp_path, kind):
    path = tmp_path / "rows.jsonl"
    rows = {GateResult: gate(), Span: Span(1)}
    write_jsonl(path, [rows[kind], {"odd": 1}])
    found = read_rows(kind, path)
    assert next(found) == rows[kind]
    with pytest.raises(StudyError, match=rf"rows\.jsonl': row 2 is not a {kind.__name__}"):
        next(found)


def test_a_torn_line_loses_nothing_else(tmp_path, caplog):
    log = tmp_path / "calls.jsonl"
    append_jsonl(log, {"n": 1})
    with log.open("ab") as torn:
        torn.write(b'{"n": 2, "text": "cut o')
    append_jsonl(log, {"n": 3})
    assert [row["n"] for row in read_jsonl(log)] == [1, 3]
    assert "skipped" in caplog.text


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    write_jsonl(path, [{"n": 1}])

    def rows():
        yield {"n": 2}
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_jsonl(path, rows())
    assert list(read_jsonl(path)) == [{"n": 1}]
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.jsonl"]


def test_a_failed_build_leaves_the_old_folder(tmp_path):
    target = tmp_path / "build"
    with fresh_dir(target) as staging:
        write_atomic(staging / "a", "old")

    def fail():
        with fresh_dir(target) as staging:
            write_atomic(staging / "a", "new")
            (staging / "a" / "b").mkdir()

    with pytest.raises(NotADirectoryError):
        fail()
    assert (target / "a").read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["build"]


def test_a_kill_between_the_two_renames_is_put_right(tmp_path):
    target = tmp_path / "build"
    aside = tmp_path / ".build.old"
    aside.mkdir()
    (aside / "a").write_text("old")
    with pytest.raises(KeyError), fresh_dir(target):
        raise KeyError("planted")
    assert (target / "a").read_text() == "old"


def test_data_folders_are_found_and_others_refused():
    assert (data_dir("examples") / "study.yaml").is_file()
    with pytest.raises(UsageError, match="not installed"):
        data_dir("secrets")


def test_every_field_of_a_study_file_is_documented():
    schema = StudyConfig.model_json_schema()
    for record in (schema, *schema["$defs"].values()):
        assert [
            f"{record['title']}.{name}"
            for name, field in record["properties"].items()
            if "description" not in field
        ] == []


#


NAMES = st.sampled_from(["a", "b.md", "A", "ä", "c/d", "c/e/f", "c-d", "z/SKILL.md"])
FILES = st.dictionaries(NAMES, st.builds(Blob, st.binary(max_size=9), st.booleans()))


@given(FILES)
def test_a_folder_has_the_digest_of_the_bundle_it_holds(tmp_path_factory, files):
    folder = tmp_path_factory.mktemp("tree")
    for name, blob in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(blob.data)
        path.chmod(0o755 if blob.executable else 0o644)
    assert digest_tree(folder) == tree_digest(files)


def test_skipped_names_count_only_at_the_top(tmp_path):
    write_tree(tmp_path, {"a": "1", "b/skills/x": "2"})
    before = digest_tree(tmp_path, skip={"skills"})
    write_tree(tmp_path, {"skills/x": "3"})
    assert digest_tree(tmp_path, skip={"skills"}) == before != digest_tree(tmp_path)
    write_tree(tmp_path, {"b/skills/x": "4"})
    assert digest_tree(tmp_path, skip={"skills"}) != before


def test_a_link_counts_by_its_target_and_is_not_followed(tmp_path):
    host = write_tree(tmp_path / "host", {"secret": "1"})
    tree = write_tree(tmp_path / "tree", {"a": "1"})
    (tree / "link").symlink_to(host)
    before = digest_tree(tree)
    write_tree(host, {"secret": "2"})
    assert digest_tree(tree) == before
    (tree / "link").unlink()
    (tree / "link").symlink_to("elsewhere")
    assert digest_tree(tree) != before


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StudyError, match="not a regular file"):
        digest_tree(tmp_path)


def test_a_missing_folder_is_not_an_empty_one(tmp_path):
    with pytest.raises(StudyError, match="is not a folder"):
        digest_tree(tmp_path / "absent")


#


NOW = datetime(2026, 3, 8, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("7d", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("12h", datetime(2026, 3, 8, 0, tzinfo=UTC)),
        (" 2 w ", datetime(2026, 2, 22, 12, tzinfo=UTC)),
        ("0d", NOW),
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        ("2026-01-31T12:00", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("2026-01-31T12:00+02:00", datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=2)))),
    ],
)
def test_a_moment_is_a_date_a_time_or_how_long_ago(text, meant):
    assert parse_time(text, NOW) == meant


@pytest.mark.parametrize(
    "text", ["", "yesterday", "7", "7m", "d", "-7d", "999999w", "2026-13-01", "7d ago"]
)
def test_anything_else_is_told_the_forms(text):
    with pytest.raises(ValueError, match=r"is not a date; use 2026-01-31.*7d"):
        parse_time(text, NOW)
