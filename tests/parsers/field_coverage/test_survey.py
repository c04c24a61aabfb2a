"""What a parser reads, found by changing logs: classes, bounds, and that no content leaks."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skilljuror.errors import TrajectoryError, UsageError
from skilljuror.models.trajectory import Step, Trajectory, Usage
from skilljuror.parsers import FORMATS
from skilljuror.parsers.base import Parser, Source
from skilljuror.parsers.field_coverage.log_copy import WHOLE
from skilljuror.parsers.field_coverage.mutation import (
    fields_of,
)
from skilljuror.parsers.field_coverage.survey import READINGS, Coverage, coverage
from tests.support import places


class Toy(Parser):
    """A format of which it is known what is read: that is what coverage must find."""

    def sniff(self, source: Source) -> bool:
        return b"toy" in source.head

    def parse(self, source: Source) -> Iterator[Trajectory]:
        rows = [json.loads(line) for line in source.path.read_text("utf-8").splitlines()]
        if not rows or rows[0].get("magic") is None:
            raise TrajectoryError("no magic")
        seen: dict[str | None, None] = {}
        steps: list[Step] = []
        for number, row in enumerate(rows, 1):
            if row.get("type") != "say" or row.get("once") in seen:
                continue
            seen[row.get("once")] = None
            usage = Usage(output=row.get("tokens")) if row.get("paid") else None
            words = row.get("words", "")[:8]
            steps.append(Step("main", len(steps) + 1, number, words, usage=usage))
        yield Trajectory("t", self.format, (str(source.path),), tuple(steps))


TOY = f"{__name__}:Toy"


def toy_log(tmp_path: Path) -> Path:
    said = {"type": "say", "words": "a secret", "once": "x1", "tokens": 5, "paid": True, "at": None}
    rows: list[dict[str, Any]] = [
        {"type": "toy", "magic": "m", "model": "vast"},
        said | {"extra": {"/home/someone": 1}},
        said | {"extra": {"/srv/other": 2}},
    ]
    path = tmp_path / "toy.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return path


def readings(found: Coverage) -> dict[tuple[str, str], str]:
    return {(one.record, one.field): one.reading for one in found.fields}


def test_each_field_is_what_the_parser_makes_of_it(tmp_path):
    found = coverage([toy_log(tmp_path)], TOY)
    assert readings(found) == {
        ("toy", "magic"): "routes",
        ("toy", "model"): "ignored",
        ("toy", "type"): "routes",
        ("say", "at"): "empty",
        ("say", "extra.*"): "ignored",
        ("say", "once"): "observed",
        ("say", "paid"): "routes",
        ("say", "tokens"): "observed",
        ("say", "type"): "routes",
        ("say", "words"): "observed",
    }
    assert {one.field: one.occurrences for one in found.fields}["extra.*"] == 2
    assert (found.logs, found.left, found.count("untried")) == (1, 0, 0)


KNOWN = {
    "codex-rollout": {
        ("response_item/function_call", "payload.arguments"): "observed",
        ("response_item/function_call_output", "payload.call_id"): "routes",
        ("event_msg/agent_message", "payload.message"): "ignored",
        ("event_msg/token_count", "payload.info.total_token_usage.input_tokens"): "observed",
        ("event_msg/token_count", "payload.info.last_token_usage.input_tokens"): "ignored",
        ("session_meta", "payload.id"): "observed",
    },
    "claude-session": {
        ("user", "uuid"): "observed",
        ("user/user/tool_result", "message.content[].tool_use_id"): "routes",
        ("assistant/message", "message.usage.output_tokens"): "observed",
        ("api-request-blob/user", "message.content"): "ignored",
    },
    "harbor-trial": {
        ("", "task_name"): "observed",
        ("", "trial_name"): "routes",
        ("", "agent_info.version"): "observed",
        ("", "verifier.started_at"): "ignored",
    },
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_can_be_covered(name):
    found = coverage([places.GOLDENS / name], name)
    assert found.left == found.count("untried") == 0
    assert sum(map(found.count, READINGS)) == len(found.fields)
    assert found.count("observed") > 0
    assert found.count("routes") > 0 or {one.field for one in found.fields} == {WHOLE}
    assert KNOWN.get(name, {}).items() <= readings(found).items()
    told = msgspec.json.encode(found).decode()
    assert not [text for text in contents(name) if text in told]


def contents(name: str) -> set[str]:
    """Texts of a format's goldens that only content has: several words."""
    found: set[str] = set()
    for path in (places.GOLDENS / name).glob("*/raw*/**/*"):
        found |= texts_of(path) if path.is_file() else set()
    return found | {
        text for path in (places.GOLDENS / name).glob("*/raw*.*") for text in texts_of(path)
    }


def texts_of(path: Path) -> set[str]:
    texts = set()
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        leaves = [leaf for _, _, leaf in fields_of(value)] if isinstance(value, dict) else []
        texts |= {leaf for leaf in leaves if isinstance(leaf, str) and " " in leaf.strip()}
    return texts


def test_files_of_a_trial_are_told_apart():
    found = coverage([places.GOLDENS / "harbor-trial" / "codex"], "harbor-trial")
    whole = {one.file: one.reading for one in found.fields if one.field == WHOLE}
    assert whole == {
        "agent/codex.txt": "ignored",
        "agent/sessions/*/rollout-*.jsonl": "observed",
        "agent/trajectory.json": "ignored",
        "verifier/reward.txt": "ignored",
    }


def test_originals_stay_as_they_are():
    folder = places.GOLDENS / "codex-rollout" / "family"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    coverage([folder], "codex-rollout")
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_time_is_bounded_and_what_was_not_tried_is_said():
    found = coverage([places.GOLDENS / "claude-session"], "claude-session", seconds=0)
    assert found.logs == 1
    assert found.left == len(list((places.GOLDENS / "claude-session").iterdir())) - 1
    assert found.count("untried") > 0
    assert {one.reading for one in found.fields} == {"empty", "untried"}


def test_a_long_log_becomes_a_short_one(tmp_path):
    rows = [json.loads(line) for line in toy_log(tmp_path).read_text("utf-8").splitlines()]
    said = [rows[1] | {"once": f"n{number}"} for number in range(2000)]
    path = tmp_path / "long.jsonl"
    path.write_text("\n".join(map(json.dumps, [rows[0], *said])) + "\n", encoding="utf-8")
    found = coverage([path], TOY, seconds=10)
    assert readings(found)["say", "tokens"] == "observed"
    assert {one.field: one.occurrences for one in found.fields}["tokens"] == 2000
    assert found.count("untried") == 0


def test_refusals_name_what_there_is(tmp_path):
    with pytest.raises(UsageError, match=r"unknown format 'nope'.*codex-rollout"):
        coverage([tmp_path], "nope")
    with pytest.raises(UsageError, match=r"gone.*does not exist"):
        coverage([tmp_path / "gone"], "atif")
    with pytest.raises(UsageError, match=r"no atif log.*opencode"):
        coverage([places.GOLDENS / "opencode"], "atif")
    broken = tmp_path / "t.jsonl"
    broken.write_text('{"type": "toy"}\n', encoding="utf-8")
    with pytest.raises(TrajectoryError, match="no magic"):
        coverage([broken], TOY)
