"""Real logs, where they are at hand: every file parses or is a known negative."""

import json
from collections import Counter
from functools import lru_cache

import pytest

from skilljuror.base.errors import TrajectoryError
from skilljuror.base.trajectory import Trajectory
from skilljuror.logs import FORMATS
from skilljuror.logs.base import FoundSource, Source
from skilljuror.logs.discovery import discover
from skilljuror.logs.read import claims, read
from skilljuror.logs.records import HEAD_BYTES
from tests.support import places
from tests.support.every import every

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(
        not places.CORPUS.is_dir(), reason="the corpus of real logs is not beside the checkout"
    ),
]
LOGS = {".jsonl", ".json", ".txt", ".traj", ".log"}
ABSENT = {
    "kimi",
    "opencode",
    "opencode-database",
    "openhands-v1",
    "qwen-code",
}
"""Formats without logs under a stated licence."""
UNREAD = {"skill-bundles", "swe-agent-traj", "benchflow-runs", "openhands-events"}
"""Folders of what no format reads."""
NOT_LOGS = {
    "metadata.json", "config.json", "lock.json", "result.json", "manifest.json", "job.log",
    "content_hash.txt", "prompt.txt", "stderr.txt", "stdout.txt", "telemetry.log", "last_message.txt",
    "all_preds.jsonl", "minimal-claude.jsonl", "github_issue.traj.json",
    "hello-world-no_function_calling.traces.json", "llm_trajectory.jsonl", "openhands_trajectory.json",
}  # fmt: skip
"""Files that no format claims, among those with a log's suffix and outside skill bundles."""
TRIALS_WITHOUT_LOG = 8
CHATS_OF_NOTHING = 1
"""A chat that holds a warning of a hook and no word of anybody."""
FORKS_OF_NOTHING = 1
"""A session that only repeats the older entries of the one that it branched from."""
STOPPED = {"claude-session": 3, "codex-rollout": 5, "gemini-chat": 1}
"""Runs whose log ends before the run did."""
LABELS = sorted(places.LABELS.glob("*.json")) if places.LABELS.is_dir() else []


@lru_cache(maxsize=1)
def found() -> tuple[FoundSource, ...]:
    return tuple(discover([places.CORPUS]))


@lru_cache(maxsize=1)
def runs() -> tuple[tuple[FoundSource, tuple[Trajectory, ...]], ...]:
    return tuple((one, _read(one)) for one in found() if one.format)


def _read(one: FoundSource) -> tuple[Trajectory, ...]:
    try:
        return tuple(read(one.source, str(one.format)))
    except TrajectoryError:
        return ()


def test_every_other_format_is_here():
    """terminus-2's own log lies inside a trial."""
    seen = {one.format for one in found()} | {run.format for _, parsed in runs() for run in parsed}
    assert seen - {None} == set(FORMATS) - ABSENT


def test_what_nothing_claims_is_no_log():
    odd = [
        str(one.source.path.relative_to(places.CORPUS))
        for one in found()
        if one.problem == "unsupported log format"
        and one.source.path.suffix in LOGS
        and one.source.path.name not in NOT_LOGS
        and not UNREAD & {*one.source.path.parts}
        and not one.source.path.name.endswith("meta.json")
        and not one.source.path.name.startswith("gemini-client-error-")
    ]
    assert odd == []


def test_everything_claimed_is_read():
    empty = [one.format for one, parsed in runs() if not parsed]
    nothing = {"gemini-chat": CHATS_OF_NOTHING, "pi": FORKS_OF_NOTHING}
    assert Counter(empty) == {"harbor-trial": TRIALS_WITHOUT_LOG, **nothing}


def test_only_runs_that_were_stopped_or_copied_midway_are_incomplete():
    """Counted by looking: each ends while a call waits for its result, or a result or a prompt for
    an answer; one is a trial whose agent ran out of time. No last record is cut."""
    stopped = [run for _, parsed in runs() for run in parsed if not run.complete]
    assert Counter(run.format for run in stopped) == STOPPED
    for run in stopped:
        steps = run.steps_of("main")
        assert not steps or steps[-1].calls


def test_steps_of_every_agent_are_numbered():
    for _, parsed in runs():
        for run in parsed:
            for agent in {step.agent for step in run.steps}:
                indices = [step.index for step in run.steps_of(agent)]
                assert indices == list(range(1, len(indices) + 1))


@pytest.mark.parametrize(
    ("folder", "total"),
    [
        ("codex-rollout-jsonl/loopback-0.169.0/skill", 69000),
        ("claude-session-jsonl/loopback-2.1.197/skill", 69000),
        ("gemini-cli-chat/loopback-0.61.0/skill", 69000),
        ("mini-swe-agent-traj/loopback-2.4.6/skill", 69000),
        ("claude-session-jsonl/loopback-2.1.197/sub", 49000),
        ("codex-rollout-jsonl/loopback-0.169.0/sub", 49000),
        ("gemini-cli-chat/loopback-0.61.0/sub", 73000),
    ],
)
def test_prompt_tokens_are_what_the_model_server_said(folder, total):
    best = min(
        (
            one
            for one in found()
            if one.format and places.CORPUS / folder in one.source.path.parents
        ),
        key=lambda one: one.format in {"atif", "claude-stream", "codex-exec", "gemini-stream"},
    )
    usage = next(read(best.source, str(best.format))).usage
    assert usage is not None
    assert (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0) == total


@every("label", LABELS)
def test_labelled_steps(label):
    """The labels were made by reading the raw records, apart from any parser."""
    truth = json.loads(label.read_text(encoding="utf-8"))
    shared = places.CORPUS.parent
    path = shared / truth["trajectory"]
    children = tuple(shared / child for child in (truth.get("sub_trajectories") or {}).values())
    source = Source(path, path.read_bytes()[:HEAD_BYTES], children)
    assert claims(source) == [truth["format"]]
    run = next(read(source, truth["format"]))
    steps = Counter(step.agent for step in run.steps)
    assert steps == {"main": truth["agent_steps"], **(truth.get("agent_steps_sub") or {})}


@every("label", LABELS)
def test_labelled_calls_have_their_line(label):
    truth = json.loads(label.read_text(encoding="utf-8"))
    shared = places.CORPUS.parent
    path = shared / truth["trajectory"]
    children = tuple(shared / child for child in (truth.get("sub_trajectories") or {}).values())
    source = Source(path, path.read_bytes()[:HEAD_BYTES], children)
    run = next(read(source, truth["format"]))
    lines = {call.call_id: call.line for step in run.steps for call in step.calls}
    for event in truth["events"]:
        if not event["call_id"]:
            continue
        place = lines[event["call_id"]]
        if path.suffix != ".json":
            assert place in {event["line"], *event.get("alt_lines", ())}
        elif "message_index" in event:  # the log is one document: its places are its elements
            assert place == event["message_index"] + 1
