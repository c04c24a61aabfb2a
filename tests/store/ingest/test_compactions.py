"""Compactions of logs as agents write them: the Skill text in the context before, and what stayed."""

import json
from typing import Any

import pytest

from skilljuror.store.logs import ingest_logs
from skilljuror.store.questions import run
from tests.support.claude_logs import assistant, parsed, row, tool_result, tool_use, user
from tests.support.fabricated_studies import rows
from tests.support.parsed_logs import read_one, write_json
from tests.support.places import GOLDENS

BODY = "Base directory for this skill: /w/.claude/skills/tide\n\n# Tides\nUse lag 3.2.\n"


@pytest.fixture(scope="module")
def goldens(tmp_path_factory):
    """A database of golden logs with compactions, of six formats."""
    folder = tmp_path_factory.mktemp("compactions")
    ingest_logs(folder, [GOLDENS])
    return folder / "study.duckdb"


@pytest.mark.parametrize(
    ("case", "line", "after_step", "had", "kept"),
    [
        ("claude-session/slash-and-compaction", 13, 2, [0], []),
        ("claude-session/twice-loaded", 13, 4, [0, 3], []),
        ("openhands-v1/list", 9, 3, [0], [0]),
        ("pi/tree", 11, 3, [0], []),
    ],
)
def test_what_a_compaction_had_and_kept(goldens, case, line, after_step, had, kept):
    sql = """
        SELECT c.line, c.after_step, c.had, c.kept
        FROM compactions AS c JOIN trajectories AS t USING (trajectory)
        WHERE contains(t.source, $folder)
    """
    assert run(goldens, sql, folder=f"/{case}/").rows == [(line, after_step, had, kept)]


def test_text_that_the_harness_shows_again_after_a_compaction_arrives_anew(goldens):
    """Record 18 of the golden log restores references/stations.md, which only the sub-agent had read."""
    sql = """
        SELECT s.agent, s.resource, s.step, s.until, s.compaction
        FROM stays AS s JOIN trajectories AS t USING (trajectory)
        WHERE contains(t.source, '/slash-and-compaction/') AND s.agent = 'main' ORDER BY s.ordinal
    """
    assert run(goldens, sql).rows == [
        ("main", "SKILL.md", 0, 2, 0),
        ("main", "references/stations.md", 2, 3, None),
    ]


def boundary(number, **metadata):
    return row(number, "system", subtype="compact_boundary", compactMetadata=metadata)


def session(*between):
    """A Skill that is called, and a compaction."""
    return (
        row(1, "attachment", attachment={"type": "skill_listing", "content": "- tide: x"}),
        user(2, "Tides?"),
        assistant(3, tool_use("t1", "Skill", skill="tide")),
        user(4, [tool_result("t1", "Launching skill: tide")]),
        user(5, [{"type": "text", "text": BODY}], isMeta=True, sourceToolUseID="t1"),
        *between,
    )


@pytest.mark.parametrize(
    ("metadata", "kept"),
    [
        ({}, ()),
        ({"preservedSegment": {"headUuid": "u3"}, "preservedMessages": {"uuids": ["u3", "u4", "u5"]}},
         ((3, 3), (4, 4), (5, 5))),
        ({"preservedSegment": {"headUuid": "u3"}}, None),
        ({"preservedMessages": {"uuids": ["of another file"]}}, None),
    ], ids=["none stays", "named messages stay", "an unnamed segment stays", "not in this log"],
)  # fmt: skip
def test_messages_that_claude_code_preserves(tmp_path, metadata, kept):
    (found,) = parsed(tmp_path, *session(boundary(6, **metadata))).compactions
    assert (found.step, found.line, found.kept) == (1, 6, kept)


def test_a_log_without_attachments_does_not_say_what_was_restored(tmp_path):
    """Claude Code 2.0 and 2.1 up to about 40 write none, and restore files all the same."""
    (found,) = parsed(tmp_path, *session(boundary(6))[1:]).compactions
    assert found.kept is None


def codex(*payloads):
    meta = {"id": "01b00000-0000-7000-8000-0000000000aa", "cwd": "/w"}
    records = [{"timestamp": "2026-03-01T09:00:00Z", "type": "session_meta", "payload": meta}]
    return [*records, *({"timestamp": "2026-03-01T09:00:01Z", **one} for one in payloads)]


def said(role, text):
    content = [{"type": "input_text", "text": text}]
    return {"type": "message", "role": role, "content": content}


@pytest.mark.parametrize(
    ("history", "kept"),
    [
        (None, None),
        ([], ()),
        ([said("user", "Tides?")], ((2, 2),)),
        ([said("user", "<skill>\n<name>tide</name>\n<path>/w/SKILL.md</path>\nLag 3.2.\n</skill>")], ((3, 3),)),
        ([said("user", "Summary: lag 3.2."), {"type": "compaction", "encrypted_content": "x"}], ()),
    ], ids=["no history", "empty", "a prompt", "a Skill", "new text"],
)  # fmt: skip
def test_messages_that_codex_repeats(tmp_path, history, kept):
    skill = "<skill>\n<name>tide</name>\n<path>/w/SKILL.md</path>\nLag 3.2.\n</skill>"
    records = codex(
        {"type": "response_item", "payload": said("user", "Tides?")},
        {"type": "response_item", "payload": said("user", skill)},
        {"type": "response_item", "payload": {**said("assistant", "At noon."), "id": "m"}},
        {"type": "compacted", "payload": {"message": "", "replacement_history": history}},
    )
    path = write_json(tmp_path / "rollout-1.jsonl", "\n".join(map(json.dumps, records)) + "\n")
    (found,) = read_one(path, "codex-rollout").compactions
    assert (found.step, found.line, found.kept) == (1, 5, kept)


@pytest.mark.parametrize(
    ("named", "kept"),
    [({"firstKeptEntryIndex": 2}, ((3, 4),)), ({"firstKeptEntryId": "e3"}, ((3, 4),)), ({}, None),
     ({"firstKeptEntryId": "gone"}, None)],
)  # fmt: skip
def test_the_entries_that_pi_keeps(tmp_path, named, kept):
    """Entry 2 of version 1 is the third line: entries count from 0, the head included."""
    ids = [{}, *({"id": f"e{n}", "parentId": f"e{n - 1}"} for n in range(2, 6))]
    message = {"role": "assistant", "content": [{"type": "text", "text": "a"}]}
    entries: list[dict[str, Any]] = [
        {"type": "session", "id": "aa000000-0000-4000-8000-000000000002", "cwd": "/w", "version": 3},
        {"type": "message", "message": {"role": "user", "content": "Tides?"}},
        {"type": "message", "message": message},
        {"type": "message", "message": message},
        {"type": "compaction", "summary": "s", **named},
    ]  # fmt: skip
    records = [
        {"timestamp": "2026-03-06T09:00:00Z", **one, **own}
        for one, own in zip(entries, ids, strict=True)
    ]
    path = write_json(tmp_path / "session.jsonl", "\n".join(map(json.dumps, records)) + "\n")
    (found,) = read_one(path, "pi").compactions
    assert (found.step, found.line, found.kept) == (2, 5, kept)


def test_residency_of_the_golden_logs(goldens):
    """Of seven runs of Claude Code six were shown a file. In slash-and-compaction SKILL.md is lost and
    another file restored; in twice-loaded one of two is restored: (4 + 1/2 + 1/2) / 6 at the end."""
    columns = ("agent", "compacted", "showed", "unknown", "resident_share", "lost", "came_back")
    found = {one[0]: one[1:] for one in rows(goldens, "residency", *columns)}
    assert found["claude-code"] == (2, 6, 0, pytest.approx(5 / 6), 2, 0)
    assert found["openhands"][3:] == (1.0, 0, 0)  # the events that went were no Skill's


def test_files_that_compactions_took_from_the_golden_logs(goldens):
    """SKILL.md of tide-table: restored in twice-loaded, lost in slash-and-compaction and in Codex'
    family, unknown in qwen-code/rewound."""
    columns = ("skill", "resource", "held", "stayed", "lost", "unknown", "came_back")
    found = rows(goldens, "compacted_files", *columns, skill="tide-table")
    assert found == [("tide-table", "SKILL.md", 4, 1, 2, 1, 0)]
