"""Claude Code's stdout: totals of its processes, and what its harness puts in."""

import pytest

from tests.support import places
from tests.support.claude_logs import Row, runs, write_lines


def stated(*usages: tuple[int, int], extra: int = 0) -> list[Row]:
    """A stream of one answer per prompt: (prompt tokens of the answer, those that the result tells)."""
    rows: list[Row] = []
    for number, (seen, total) in enumerate(usages, 1):
        message = {"id": f"msg_{number}", "model": "claude-x", "content": [{"type": "text", "text": "ok"}],
                   "usage": {"input_tokens": 3, "cache_read_input_tokens": seen - 3, "output_tokens": 1}}  # fmt: skip
        model = {"inputTokens": 3 * number, "cacheReadInputTokens": total - 3 * number,
                 "cacheCreationInputTokens": 0, "outputTokens": 10 * number, "costUSD": 0.5 * number}  # fmt: skip
        rows += [
            {"type": "system", "subtype": "init", "session_id": "s", "model": "claude-x"},
            {"type": "assistant", "session_id": "s", "message": message},
            {"type": "result", "subtype": "success", "session_id": "s", "modelUsage": {"claude-x": model}},
        ]  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("usages", "prompt"),
    [
        (((9000, 9000), (10_000, 19_000), (11_000, 30_000)), 30_000),
        (((9000, 9200), (10_000, 19_500)), 19_500),
        (((9000, 9000), (10_000, 10_000)), 19_000),
        (((9000, 9000), (10_000, 10_000), (11_000, 21_000)), 30_000),
        (((9000, 9000), (3000, 3000)), 12_000),
    ],
    ids=[
        "three running totals",
        "side requests",
        "resumed once",
        "resumed, then running",
        "smaller than before",
    ],
)
def test_a_process_states_its_running_total_and_a_new_one_begins_anew(tmp_path, usages, prompt):
    (run,) = runs(write_lines(tmp_path / "stdout.jsonl", *stated(*usages)))
    assert run.usage is not None
    assert (run.usage.input or 0) + (run.usage.cache_read or 0) == prompt


def test_the_summary_in_a_stream_is_one(tmp_path):
    init = {"type": "system", "subtype": "init", "session_id": "s", "model": "claude-x"}
    texts = [{"type": "user", "isSynthetic": True, "message": {"content": text}} for text in ("Note", "So far", "Note")]  # fmt: skip
    boundary = {"type": "system", "subtype": "compact_boundary"}
    (run,) = runs(write_lines(tmp_path / "stdout.jsonl", init, texts[0], boundary, *texts[1:]))
    assert [one.kind for one in run.messages] == ["other", "summary", "other"]


REAL = places.CORPUS / "claude-session-jsonl"


@pytest.mark.shared
@pytest.mark.skipif(not REAL.is_dir(), reason="the corpus of real logs is not beside the checkout")
def test_real_streams_offer_one_skill_of_the_task():
    found = [run for run in runs(REAL) if run.format == "claude-stream"]
    named = {one.name for run in found for one in run.offered or () if not one.bundled}
    assert len(found) > 10
    assert named == {"csv-report"}
