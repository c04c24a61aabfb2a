"""`skilljuror events`: a command that needs no study."""

import json
import shutil

import pytest

from skilljuror.cli.study import EVENT_FIELDS
from tests.support.cli_process import call
from tests.support.places import GOLDENS

READ = GOLDENS / "codex-rollout" / "skill-read" / "raw.jsonl"
FAMILY = GOLDENS / "claude-session" / "subagent" / "raw"


def events(*words, status=0):
    done = call("events", *words)
    assert done.returncode == status, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def read():
    return events(READ)


def test_every_line_has_the_fields_of_an_event(read):
    assert {tuple(row) for row in read} == {EVENT_FIELDS}
    assert {row["source"] for row in read} == {str(READ)}


def test_events_are_told_in_order_with_place_class_and_witness(read):
    told = [(row["line"], row["kind"], row["resource"], row["class"], row["ok"]) for row in read]
    assert told[:3] == [
        (11, "read", "SKILL.md", "root", True),
        (12, "read", "references/stations.md", "support", True),
        (17, "exec", "scripts/fetch.py", "code", False),
    ]
    assert {row["witness"] for row in read} <= {"content", "command", "both"}


def test_a_sub_agents_file_beside_a_named_session_is_read_with_it():
    (session,) = FAMILY.glob("projects/*/*.jsonl")
    rows = [row for row in events(session) if row["agent"] == "ab12cd"]
    assert [row["resource"] for row in rows] == ["SKILL.md", "references/stations.md"]
    assert all(row["file"].endswith("agent-ab12cd.jsonl") for row in rows)


def test_a_bundle_that_lacks_a_path_makes_it_a_phantom(tmp_path):
    skill = tmp_path / "tide-table"
    skill.mkdir()
    skill.joinpath("SKILL.md").write_text("---\nname: tide-table\ndescription: d\n---\nbody\n")
    rows = {row["resource"]: row["phantom"] for row in events(READ, "--bundle", tmp_path)}
    assert rows["SKILL.md"] is False
    assert rows["references/stations.md"] is True


def test_captures_in_a_folder_are_told_once_and_named_ones_always(tmp_path, read):
    for name in ("a.jsonl", "b.jsonl"):
        shutil.copy(READ, tmp_path / name)
    assert len(events(tmp_path)) == len(read)
    assert len(events(tmp_path / "a.jsonl", tmp_path / "b.jsonl")) == 2 * len(read)


def test_a_named_file_that_cannot_be_read_is_one_line_and_the_rest_goes_on(tmp_path, read):
    stray = tmp_path / "notes.txt"
    stray.write_text("no log\n")
    done = call("events", stray, READ, tmp_path / "gone.jsonl")
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == len(read)
    problems = done.stderr.splitlines()
    assert [name in line for name, line in zip(("notes.txt", "gone.jsonl"), problems, strict=True)]


def test_machines_get_the_problem_in_the_stream(tmp_path):
    (row,) = events(tmp_path / "gone.jsonl", "--json", status=1)
    assert row["error"]["file"].endswith("gone.jsonl")


def test_stray_files_in_a_folder_are_no_errors(tmp_path):
    tmp_path.joinpath("notes.txt").write_text("no log\n")
    assert events(tmp_path) == []
