"""Finding logs, and joining the files of one session."""

import json
import os
import shutil

from skilljuror.logs.discovery import discover
from skilljuror.logs.read import read
from tests.support import places
from tests.support.parsed_logs import write_json


def shown(found):
    return [(one.source.path.name, one.format, one.named) for one in found]


def test_a_folder_is_walked_in_order(tmp_path):
    write_json(tmp_path / "b.txt", "words")
    write_json(tmp_path / "a" / "z.json", {"schema_version": "ATIF-v1.7", "steps": []})
    assert shown(discover([tmp_path])) == [("b.txt", None, False), ("z.json", "atif", False)]


def test_unclaimed_files_say_so(tmp_path):
    found = discover([write_json(tmp_path / "notes.md", "# Notes")])
    assert (found[0].named, found[0].format, found[0].problem) == (
        True,
        None,
        "unsupported log format",
    )


def test_a_missing_path_is_a_problem(tmp_path):
    found = discover([tmp_path / "gone"])
    assert found[0].named
    assert found[0].problem == f"{str(tmp_path / 'gone')!r} does not exist"


def test_two_claims_name_both(tmp_path):
    both = {"sessionId": "s", "projectHash": "h", "schema_version": "ATIF-v1.7", "steps": []}
    found = discover([write_json(tmp_path / "both.json", both)])
    assert found[0].format is None
    assert "matches several formats (atif, gemini-chat)" in str(found[0].problem)


def test_since_leaves_old_files_out(tmp_path):
    for name, moment in (("old.txt", 1000), ("new.txt", 3000)):
        os.utime(write_json(tmp_path / name, "x"), (moment, moment))
    assert shown(discover([tmp_path], since=2000)) == [("new.txt", None, False)]
    assert len(discover([tmp_path / "old.txt"], since=2000)) == 1


def test_links_are_not_followed_out(tmp_path):
    outside = write_json(tmp_path / "outside" / "x.txt", "x")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link.txt").symlink_to(outside)
    (tmp_path / "in" / "folder").symlink_to(outside.parent)
    found = discover([tmp_path / "in"])
    assert [one.problem for one in found] == ["link to a file outside the folder"]


def test_a_large_first_record_is_looked_at_again(tmp_path):
    first = {"type": "file-history-snapshot", "snapshot": "x" * 100_000}
    second = {"type": "user", "sessionId": "s", "uuid": "u", "message": {"content": "hi"}}
    path = write_json(tmp_path / "s.jsonl", json.dumps(first) + "\n" + json.dumps(second) + "\n")
    assert discover([path])[0].format == "claude-session"


def test_a_job_folder_is_walked(tmp_path):
    trial = tmp_path / "job" / "tides__Abc1234"
    shutil.copytree(places.GOLDENS / "harbor-trial" / "codex" / "raw", trial)
    write_json(tmp_path / "job" / "result.json", {"id": "j", "stats": {}, "n_total_trials": 1})
    assert shown(discover([tmp_path]))[-1] == ("tides__Abc1234", "harbor-trial", False)


CODEX = places.GOLDENS / "codex-rollout" / "family" / "raw"
CLAUDE = places.GOLDENS / "claude-session" / "subagent" / "raw" / "projects" / "-w-harbour"
SESSION = "5e551000-0000-4000-8000-000000000002"


def test_threads_of_threads_are_read_with_the_first():
    found = discover([CODEX])
    assert len(found) == 1
    assert [path.name[-8:] for path in found[0].source.siblings] == ["bb.jsonl", "cc.jsonl"]


def test_a_named_session_brings_its_kin():
    by_name = discover([next(CODEX.glob("*aa.jsonl")), CLAUDE / f"{SESSION}.jsonl"])
    assert [len(one.source.siblings) for one in by_name] == [2, 1]
    assert all(one.named for one in by_name)


def test_copies_of_a_family_stay_apart(tmp_path):
    for name in ("one", "two"):
        shutil.copytree(CODEX, tmp_path / name)
    found = discover([tmp_path])
    assert len(found) == 2
    for one in found:
        assert {path.parent for path in one.source.siblings} == {one.source.path.parent}


def test_a_child_captured_twice_is_read_once(tmp_path):
    shutil.copytree(CODEX, tmp_path / "logs")
    child = next((tmp_path / "logs").glob("*bb.jsonl"))
    longer = tmp_path / "more" / child.name
    longer.parent.mkdir()
    longer.write_bytes(child.read_bytes() + b"\n")
    assert len(discover([tmp_path])[0].source.siblings) == 2
    assert longer in discover([tmp_path])[0].source.siblings


def atif(path):
    """A document of one step."""
    step = {"step_id": 1, "source": "agent", "message": path.stem}
    return write_json(path, {"schema_version": "ATIF-v1.8", "agent": {}, "steps": [step]})


def told(paths):
    """The texts of every run below the paths, in order."""
    return [
        [step.text for step in run.steps]
        for one in discover(paths)
        if one.format
        for run in read(one.source, one.format)
    ]


def test_continuations_go_by_their_number(tmp_path):
    for number in (10, 2, 1):
        atif(tmp_path / f"t.cont-{number}.json")
    atif(tmp_path / "t.json")
    assert told([tmp_path]) == [["t", "t.cont-1", "t.cont-2", "t.cont-10"]]
