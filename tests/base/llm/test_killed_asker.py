"""kill -9 while hundreds of questions are asked at 16 in flight: nothing that was logged is paid again."""

import json
import subprocess
import sys
from collections import Counter

import pytest

from skilljuror.base.files import read_jsonl
from tests.support.loopback import Reply, completion, model_server

QUESTIONS, AT_ONCE = 500, 16
ASKER = """
import json, sys
from pathlib import Path
from skilljuror.base.llm import ModelChoice, ModelClient, in_flight

address, calls, table = sys.argv[1:4]
choice = ModelChoice("openai/gpt-4o", address, {"api_key": "dummy-key"}, 20)
client = ModelClient(choice, Path(calls), budget_usd=1000)

def ask(n):
    return client.ask([{"role": "user", "content": f"question {n}"}])

told = dict(in_flight(range(%d), ask, %d))
rows = [[n, told[n].key, told[n].text, told[n].cost_usd] for n in sorted(told)]
Path(table).write_text(json.dumps(rows))
""" % (QUESTIONS, AT_ONCE)  # noqa: UP031  braces all over


class Killer:
    """Answers after 50 ms, and kills whoever asks when the question number `at` has come."""

    def __init__(self, at):
        self.at = at
        self.askers: list[subprocess.Popen[bytes]] = []

    def __call__(self, body, n):
        if n == self.at:
            self.askers[-1].kill()
        asked = body["messages"][0]["content"]
        return Reply(json.dumps(completion(f"answer to {asked}")).encode(), wait=0.05)

    def run(self, address, calls, table):
        words = [sys.executable, "-W", "ignore", "-c", ASKER, address, str(calls), str(table)]
        self.askers.append(subprocess.Popen(words))
        return self.askers[-1].wait(120)


def questions(requests):
    return [body["messages"][0]["content"] for body in requests]


@pytest.mark.slow
def test_killed_and_started_again_it_pays_nothing_twice(tmp_path):
    calls, table, whole = tmp_path / "calls.jsonl", tmp_path / "table.json", tmp_path / "whole.json"
    killer = Killer(at=240)
    with model_server(killer) as (address, requests):
        assert killer.run(address, calls, table) == -9
        logged = {row["text"].removeprefix("answer to ") for row in read_jsonl(calls)}
        before = len(requests)
        assert before - AT_ONCE <= len(logged) < before
        assert killer.run(address, calls, table) == 0
        assert not logged & set(questions(requests[before:]))
        asked = Counter(questions(requests))
        assert killer.run(address, tmp_path / "other.jsonl", whole) == 0
    assert len(asked) == QUESTIONS
    assert asked.total() <= QUESTIONS + AT_ONCE
    assert table.read_bytes() == whole.read_bytes()
    assert (
        len({row["key"] for row in read_jsonl(calls)}) == len(list(read_jsonl(calls))) == QUESTIONS
    )
