"""OpenCode's database: what its write-ahead log adds, and that nothing beside it changes."""

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from skilljuror.base.errors import TrajectoryError
from skilljuror.logs.discovery import discover
from skilljuror.logs.read import read
from tests.support.places import GOLDENS

GOLDEN = GOLDENS / "opencode-database" / "recorded" / "raw" / "opencode.db"


@pytest.fixture
def place(tmp_path):
    """A copy of the recorded database under another name."""
    return shutil.copy(GOLDEN, tmp_path / "sessions.db")


def runs(folder):
    """What is read of a folder."""
    return [
        run
        for found in discover([folder])
        if found.format is not None
        for run in read(found.source, found.format)
    ]


def prompts(run):
    """Messages to the main agent."""
    return [message.text for message in run.messages if message.agent == "main"]


def digests(folder):
    """File -> digest and time of every file of a folder."""
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.iterdir())
    }


def add_prompt(database, session, text):
    """Add a message of the user."""
    database.execute(
        "INSERT INTO message VALUES ('msg_z', ?, 1e15, 1e15, ?)", (session, '{"role": "user"}')
    )
    part = json.dumps({"type": "text", "text": text})
    database.execute(
        "INSERT INTO part VALUES ('prt_z', 'msg_z', ?, 1e15, 1e15, ?)", (session, part)
    )
    database.commit()


def test_what_is_only_in_the_write_ahead_log_is_read_and_no_file_changes(place, tmp_path):
    (before,) = runs(tmp_path)
    with closing(sqlite3.connect(place)) as writer:
        writer.execute("PRAGMA journal_mode = wal")
        add_prompt(writer, before.session, "One more.")
        files = digests(tmp_path)
        assert {"sessions.db", "sessions.db-wal", "sessions.db-shm"} == set(files)
        (after,) = runs(tmp_path)
        assert digests(tmp_path) == files
    assert prompts(after)[-1] == "One more."
    assert len(after.messages) == len(before.messages) + 1
    assert after.complete is False  # nothing answers it


def test_a_database_named_alone_is_read_with_its_log(place, tmp_path):
    (before,) = runs(tmp_path)
    with closing(sqlite3.connect(place)) as writer:
        writer.execute("PRAGMA journal_mode = wal")
        add_prompt(writer, before.session, "One more.")
        (after,) = runs(place)
    assert len(after.files) == 2
    assert prompts(after)[-1] == "One more."


def test_a_damaged_database_is_an_error(place, tmp_path):
    data = bytearray(place.read_bytes())
    data[4096 * 3 : 4096 * 9] = b"\x55" * (4096 * 6)
    place.write_bytes(bytes(data))
    with pytest.raises(TrajectoryError, match="is not a whole database"):
        runs(tmp_path)


def test_a_database_of_another_program_is_left_alone(tmp_path):
    with closing(sqlite3.connect(tmp_path / "opencode.db")) as other:
        other.execute("CREATE TABLE session (id text)")
        other.commit()
    (found,) = discover([tmp_path])
    assert (found.format, found.problem) == (None, "unsupported log format")
