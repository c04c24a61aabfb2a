"""How fast questions go through the door to models, as a share of what the model's own speed allows.

    python -m benchmarks.model_calls [--seconds N] [--json]

A model on the loopback device answers every question after 200 ms, in a process of its own; another
process asks, with 16 and with 64 questions in flight, and logs every answer. The ideal rate is that
of callers who do nothing but wait. What starting takes, which is litellm, is told apart.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

ANSWER_SECONDS = 0.2
AT_ONCE = (16, 64)
LEAST = 0.9
"""Share of the ideal rate, with the smaller number in flight."""
MOST_MB = 300
"""Memory that the process which asks may take."""
ITEM = "A line of a trajectory as it is shown to a judge, with the file that it came from. " * 100
"""8 KB of a prompt that are new in each question."""

Row = dict[str, float]


class _Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # an answer is one packet
    answer = json.dumps({
        "id": "r",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": '{"label": "yes", "quote": "x"}'},
            }
        ],
        "usage": {"prompt_tokens": 2000, "completion_tokens": 100, "total_tokens": 2100},
    }).encode()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(ANSWER_SECONDS)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.answer)))
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *args: object) -> None:
        """Quiet."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def serve() -> None:
    """Be the model; tells its port."""
    server = _Server(("127.0.0.1", 0), _Model)
    print(server.server_port, flush=True)
    server.serve_forever()


def ask(port: int, at_once: int, count: int) -> Row:
    """Ask `count` questions, `at_once` in flight."""
    from skilljuror.base.llm import ModelChoice, ModelClient, in_flight

    choice = ModelChoice(
        "openai/gpt-5.4", f"http://127.0.0.1:{port}/v1", {"api_key": "none-is-needed"}
    )
    with TemporaryDirectory(prefix="skilljuror-bench-") as folder:
        client = ModelClient(choice, Path(folder) / "calls.jsonl", budget_usd=1e6)

        def one(number: int) -> str:
            asked = f"{ITEM}\nquestion {number}"
            return client.ask([{"role": "user", "content": asked}]).text

        begun = time.perf_counter()
        list(in_flight(range(-at_once, 0), one, at_once))
        started, processor = time.perf_counter(), time.process_time()
        done = sum(1 for _ in in_flight(range(count), one, at_once))
        seconds = time.perf_counter() - started
    return {
        "start_seconds": started - begun,
        "count": done,
        "share": done / seconds / (at_once / ANSWER_SECONDS),
        "rate": done / seconds,
        "processor_ms": 1000 * (time.process_time() - processor) / done,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    }


def measure(seconds: float) -> dict[int, Row]:
    """Questions in flight -> what was measured."""
    here = [sys.executable, "-W", "ignore", "-m", "benchmarks.model_calls"]
    with subprocess.Popen([*here, "--serve"], stdout=subprocess.PIPE, text=True) as server:
        try:
            port = (server.stdout or sys.stdin).readline().strip()
            found = {}
            for at_once in AT_ONCE:
                count = str(round(seconds * at_once / ANSWER_SECONDS))
                words = [*here, "--ask", port, str(at_once), count]
                done = subprocess.run(words, check=True, capture_output=True, text=True)
                found[at_once] = json.loads(done.stdout)
        finally:
            server.kill()
    return found


def judge(found: dict[int, Row]) -> dict[str, tuple[float, str, bool]]:
    """(number, what was asked, whether it is reached) of every requirement."""
    row = found[AT_ONCE[0]]
    return {
        "share of the ideal rate": (row["share"], f"at least {LEAST}", row["share"] >= LEAST),
        "memory, MB": (row["peak_mb"], f"at most {MOST_MB}", row["peak_mb"] <= MOST_MB),
    }


def main() -> int:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.model_calls", description=__doc__)
    options.add_argument("--seconds", type=float, default=10.0, help="that an ideal caller takes")
    options.add_argument("--json", action="store_true", help="print the numbers as JSON")
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--ask", nargs=3, type=int, help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.serve:
        serve()
    if asked.ask:
        print(json.dumps(ask(*asked.ask)))
        return 0
    found = measure(asked.seconds)
    if asked.json:
        print(json.dumps(found))
    else:
        print(f"{'in flight':>9}{'calls/s':>9}{'of ideal':>10}{'cpu ms':>8}{'MB':>6}{'start s':>9}")
        for at_once, row in found.items():
            print(
                f"{at_once:>9}{row['rate']:>9.0f}{row['share']:>10.0%}{row['processor_ms']:>8.1f}"
                f"{row['peak_mb']:>6.0f}{row['start_seconds']:>9.1f}"
            )
        for name, (number, wanted, reached) in judge(found).items():
            print(f"{name}: {number:.2f} ({wanted}){'' if reached else '  NOT REACHED'}")
    return 0 if all(reached for _, _, reached in judge(found).values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
