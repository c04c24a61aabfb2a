#!/usr/bin/env python3
"""A small agent with a model, as somebody might write one: it asks over HTTP, and runs what it is told.

BASE_URL and ASKING_KEY are in its environment; its arguments are its prompt and the folder of its log.
"""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

prompt, logs = sys.argv[1:]
messages = [{"role": "user", "content": prompt}]
steps = [{"step_id": 1, "source": "user", "message": prompt}]
while len(steps) < 10:
    asked = {"model": "scripted", "messages": messages, "tools": [{"type": "function"}]}
    key = {"Authorization": "Bearer " + os.environ["ASKING_KEY"]}
    request = urllib.request.Request(
        os.environ["BASE_URL"] + "/v1/chat/completions", json.dumps(asked).encode(), key
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        said = json.load(answer)
    message, used = said["choices"][0]["message"], said["usage"]
    messages.append(message)
    calls, results = [], []
    for call in message.get("tool_calls", []):
        given = json.loads(call["function"]["arguments"])
        done = subprocess.run(
            ["bash", "-c", given["command"]], capture_output=True, text=True, check=False
        )
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout})
        calls.append({"tool_call_id": call["id"], "function_name": "bash", "arguments": given})
        results.append({"source_call_id": call["id"], "content": done.stdout})
    steps.append({
        "step_id": len(steps) + 1, "source": "agent", "message": message["content"],
        "tool_calls": calls, "observation": {"results": results},
        "metrics": {
            "prompt_tokens": used["prompt_tokens"], "completion_tokens": used["completion_tokens"],
        },
    })  # fmt: skip
    if not calls:
        break
log = {
    "schema_version": "ATIF-v1.7", "session_id": "asking", "steps": steps,
    "agent": {"name": "asking", "version": "1", "model_name": "scripted"},
}  # fmt: skip
Path(logs).expanduser().mkdir(parents=True, exist_ok=True)
Path(logs, "trajectory.json").expanduser().write_text(json.dumps(log), encoding="utf-8")
