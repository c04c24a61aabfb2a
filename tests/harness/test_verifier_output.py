"""The end of what a verifier printed, whatever lies where its output should be."""

import os

from skilljuror.harness.verifier_output import OUTPUT, last_lines, verifier_output


def printed(folder, data):
    (folder / OUTPUT).parent.mkdir()
    (folder / OUTPUT).write_bytes(data)
    return folder


def test_the_end_is_kept_from_the_beginning_of_a_line(tmp_path):
    raw = printed(tmp_path, b"first line\nsecond \xff line\nlast\n")
    assert verifier_output(raw, 1000) == "first line\nsecond � line\nlast\n"
    assert verifier_output(raw, 22) == "…\nsecond � line\nlast\n"


def test_what_is_no_file_is_nothing(tmp_path):
    assert verifier_output(tmp_path, 10) is None
    raw = printed(tmp_path, b"")
    (raw / OUTPUT).unlink()
    (raw / OUTPUT).symlink_to("/etc/hostname")
    assert verifier_output(raw, 10) is None
    (raw / OUTPUT).unlink()
    os.mkfifo(raw / OUTPUT)
    assert verifier_output(raw, 10) is None


def test_earlier_lines_are_left_out_with_a_mark():
    assert last_lines("a\nb\nc\n", 2) == "…\nb\nc"
    assert last_lines("a\nb\n", 2) == "a\nb"
