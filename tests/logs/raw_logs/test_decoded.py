"""Compressed logs are read like the logs in them, up to a size."""

import gzip
import shutil
from collections.abc import Callable

import pytest
from backports import zstd
from msgspec.structs import replace

from skilljuror.base.errors import TrajectoryError
from skilljuror.logs.discovery.deduplication import capture_of, deduplicate
from skilljuror.logs.discovery.find_logs import discover
from skilljuror.logs.raw_logs import decoded
from skilljuror.logs.raw_logs.decoded import name_of_log, read_start
from skilljuror.logs.read import read
from tests.support import goldens
from tests.support.claude_logs import assistant, user, write_lines
from tests.support.places import GOLDENS

COMPRESS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstd.compress}
CASES = [case for case in goldens.cases() if list((GOLDENS / case).rglob("*.jsonl"))]


def runs(folder):
    """What is read of a folder, without the names of files."""
    return [
        replace(run, files=())
        for one in discover([folder])
        if one.format is not None
        for run in read(one.source, one.format)
    ]


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("case", CASES)
def test_compressed_lines_are_read_like_plain_ones(case, suffix, tmp_path):
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    shutil.copytree(GOLDENS / case, plain)
    shutil.copytree(GOLDENS / case, packed)
    for path in sorted(packed.rglob("*.jsonl")):
        path.with_name(path.name + suffix).write_bytes(COMPRESS[suffix](path.read_bytes()))
        path.unlink()
    assert runs(packed) == runs(plain) != []


@pytest.fixture
def session(tmp_path):
    """A session of Claude Code."""
    text = {"type": "text", "text": "Done."}
    return write_lines(tmp_path / "plain.jsonl", user(1, "Read."), assistant(2, text))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_plain_log_beside_its_compressed_copy_counts(session, suffix):
    packed = session.with_name(session.name + suffix)
    packed.write_bytes(COMPRESS[suffix](session.read_bytes()))
    logs = [one.source for one in discover([session.parent])]
    captures = [
        capture_of(str(log.path), run) for log in logs for run in read(log, "claude-session")
    ]
    kept = {one.capture.source: one.kept for one in deduplicate(captures)}
    assert kept == {str(session): True, str(packed): False}


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_log_that_decodes_to_too_much_is_an_error(session, suffix, monkeypatch):
    size = len(session.read_bytes())
    packed = session.with_name(session.name + suffix)
    packed.write_bytes(COMPRESS[suffix](session.read_bytes() * 9000))
    session.unlink()
    monkeypatch.setattr(decoded, "MAX_DECODED", 4 << 20)
    assert size * 9000 > 4 << 20 > 100 * packed.stat().st_size
    (found,) = discover([session.parent])
    with pytest.raises(TrajectoryError, match="decodes to more than 4 MiB; decompress and divide"):
        list(read(found.source, "claude-session"))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_compressed_log_that_is_cut_off_is_read_to_there(session, suffix):
    whole = session.read_bytes()
    packed = session.with_name(session.name + suffix)
    packed.write_bytes(COMPRESS[suffix](whole)[:-20])
    session.unlink()
    start = read_start(packed, 1 << 20)
    assert whole.startswith(start)
    assert start != whole


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_damaged_compressed_log_is_named(session, suffix):
    data = bytearray(COMPRESS[suffix](session.read_bytes()))
    data[9:40] = b"\xff" * 31
    session.with_name(session.name + suffix).write_bytes(bytes(data))
    session.unlink()
    (found,) = discover([session.parent])
    assert found.format is None
    assert found.broken
    assert str(found.problem).startswith("cannot be read: damaged: ")


def test_several_frames_are_one_log(tmp_path):
    for suffix, compress in COMPRESS.items():
        path = tmp_path / f"log.jsonl{suffix}"
        path.write_bytes(compress(b"{}\n") + compress(b"[]\n"))
        assert read_start(path, 100) == b"{}\n[]\n"


def test_a_log_keeps_its_name_when_it_is_compressed(tmp_path):
    names = [name_of_log(tmp_path / f"a.b.jsonl{suffix}") for suffix in ("", *COMPRESS)]
    assert names == ["a.b"] * 3
