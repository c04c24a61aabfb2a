"""Kimi Code's log, protocol 1.4, which succeeds Kimi CLI's."""

import json

from skilljuror.events.attribute import attribute
from skilljuror.logs.discovery.find_logs import discover
from skilljuror.logs.read import read

SKILL = "/home/kim/.kimi-code/skills/kiln/SKILL.md"


def loop(type, **more):
    return {"type": "context.append_loop_event", "event": {"type": type, **more}}


def used(given, made):
    return {"inputOther": given, "output": made, "inputCacheRead": 5, "inputCacheCreation": 0}


def test_a_session_of_kimi_code_is_read_with_its_sub_agents(tmp_path):
    shown = "1\t---\n2\tname: kiln\n3\t---\n4\tCone 6 is 1222 C.\n"
    records = [
        {"type": "config.update", "modelAlias": "kimi-k3"},
        {"type": "turn.prompt", "input": [{"type": "text", "text": "Fire it."}]},
        loop("step.begin", uuid="s1"),
        loop("tool.call", toolCallId="c1", name="Read", args={"path": SKILL}),
        loop("tool.result", toolCallId="c1", result={"output": shown}),
        loop("step.end", uuid="s1", usage=used(90, 6)),
        {"type": "usage.record", "usage": used(90, 6)},
        loop("step.begin", uuid="s2"),
        loop("content.part", part={"type": "text", "text": "Done."}),
        loop("step.end", uuid="s2", usage=used(10, 2)),
    ]
    begun = {"type": "metadata", "protocol_version": "1.4"}
    lines = [begun, *({**one, "time": 1_772_440_000_000 + n} for n, one in enumerate(records))]
    for agent in ("main", "helper"):
        path = tmp_path / "wd_a" / "session_01ab" / "agents" / agent / "wire.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    (found,) = discover([tmp_path])
    (run,) = read(found.source, "kimi")
    assert (run.session, run.model, run.complete) == ("session_01ab", "kimi-k3", True)
    assert [(step.agent, step.text) for step in run.steps] == [
        ("main", ""), ("main", "Done."), ("helper", ""), ("helper", "Done."),
    ]  # fmt: skip
    assert run.usage is not None
    assert (run.usage.input, run.usage.cache_read, run.usage.output) == (200, 20, 16)
    assert [(one.agent, one.kind, one.content_exposed) for one in attribute(run, None).events] == [
        ("main", "read", "full"), ("helper", "read", "full"),
    ]  # fmt: skip
