#!/usr/bin/env python3
"""A small agent with a model whose log is mini-swe-agent's: rewritten at every step, with the error that
ended it.

BASE_URL is in its environment; its arguments are its prompt, the folder of its log, and how often it asks
again after an error.
"""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

prompt, logs, retries = sys.argv[1], sys.argv[2], int(sys.argv[3])
messages: list[dict[str, object]] = []


def keep(message=None, end=""):
    """Write the log, with one more message, or with its end."""
    if message:
        messages.append(message | {"extra": {"timestamp": time.time()}})
    log = {
        "info": {"mini_version": "2", "exit_status": end},
        "messages": messages, "trajectory_format": "mini-swe-agent-1.1",
    }  # fmt: skip
    Path(logs, "trajectory.json").write_text(json.dumps(log), encoding="utf-8")


def ask():
    """The model's next message."""
    asked = {"model": "scripted", "messages": messages, "tools": [{"type": "function"}]}
    request = urllib.request.Request(
        os.environ["BASE_URL"] + "/v1/chat/completions", json.dumps(asked).encode()
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["choices"][0]["message"]


keep({"role": "user", "content": prompt})
while True:
    try:
        said = ask()
    except urllib.error.HTTPError as error:
        if retries:
            retries -= 1
            continue
        keep(
            end={429: "RateLimitError", 500: "InternalServerError", 400: "BadRequestError"}[
                error.code
            ]
        )
        sys.exit(1)
    keep(said)
    if not said.get("tool_calls"):
        break
    for call in said["tool_calls"]:
        command = json.loads(call["function"]["arguments"])["command"]
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        keep({"role": "tool", "tool_call_id": call["id"], "content": done.stdout})
