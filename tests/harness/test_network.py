"""An agent with a model reaches the hosts that its study lists, and nothing else."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from msgspec.structs import replace

from skilljuror.base.errors import HarnessError, UsageError
from skilljuror.harness.local import LocalHarness
from tests.support.harness_tasks import make_job, make_task, needs_bwrap, shell_agent
from tests.support.serving import serving
from tests.support.studies import until

pytestmark = needs_bwrap
ASK = """
import os, socket, sys, urllib.request
from urllib.error import URLError
for address in sys.argv[1:]:
    try:
        said = urllib.request.urlopen(address, timeout=5).read().decode()
    except URLError as error:
        said = str(error)
    print(said)
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1].split(":")[2].split("/")[0])), 2)
    print("a way around")
except OSError as error:
    print(type(error).__name__)
"""


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        data = f"it is {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        """Quiet."""


@pytest.fixture
def servers():
    with (
        serving(ThreadingHTTPServer(("127.0.0.1", 0), Answers)) as one,
        serving(ThreadingHTTPServer(("127.0.0.1", 0), Answers)) as other,
    ):
        yield one, other


@pytest.fixture
def run(tmp_path):
    def go(script, hosts, **options):
        raw = tmp_path / "raw"
        raw.mkdir()
        agent = replace(shell_agent(script), scripted=False)
        harness = LocalHarness({"isolation": "bwrap", "network": hosts, **options})
        record = harness.run(make_job(make_task(tmp_path / "task"), agent=agent, timeout=30), raw)
        assert (raw / "agent-stderr.txt").read_text() == ""
        return record, (raw / "agent-stdout.txt").read_text().splitlines()

    return go


def test_a_listed_host_answers_another_and_a_way_around_do_not(run, servers):
    one, other = servers
    record, said = run(
        f"cat > ask.py <<'E'\n{ASK}\nE\npython3 ask.py {one}/tea {other}/milk", [one[7:]]
    )
    assert record.network == "allowlist"
    assert said == [
        "it is /tea", "HTTP Error 403: Host is not in harness.options.network", "ConnectionRefusedError",
    ]  # fmt: skip


def test_a_tunnel_is_opened_to_listed_hosts_alone(run, servers):
    one, other = (address[7:] for address in servers)
    tunnel = "python3 - <<'E'\nimport http.client\nfor at in ({!r}, {!r}):\n" \
        "    way = http.client.HTTPConnection('127.0.0.1', 3128, timeout=5)\n    way.set_tunnel(at)\n" \
        "    try:\n        way.request('GET', '/tea'); print(way.getresponse().read().decode())\n" \
        "    except OSError as error:\n        print(error)\nE\n"  # fmt: skip
    _, said = run(tunnel.format(one, other), [one])
    assert said == [
        "it is /tea",
        "Tunnel connection failed: 403 Host is not in harness.options.network",
    ]


def test_no_host_is_no_network_and_the_verifier_finds_no_socket(run):
    record, said = run("python3 -c 'print(1)'; ls /run/proxy", [])
    assert (record.network, said) == ("allowlist", ["1", "/run/proxy"])
    assert not [path for path in record.left_out if "proxy" in path]


def test_many_connections_and_odd_requests_end_nothing(run, servers):
    one, _ = servers
    script = (
        "python3 - <<'E'\nimport socket, urllib.request\n"
        "held = [socket.create_connection(('127.0.0.1', 3128)) for _ in range(100)]\n"
        "for line in (b'\\0' * 70000, b'CONNECT x:99999 HTTP/1.1\\r\\n\\r\\n', b'GET / HTTP/1.1\\r\\n\\r\\n'):\n"
        "    way = socket.create_connection(('127.0.0.1', 3128)); way.sendall(line); print(way.recv(12)[:12])\n"
        f"print(urllib.request.urlopen('{one}/tea', timeout=10).read().decode())\nE\n"
    )
    _, said = run(script, [one[7:]])
    assert said[-1] == "it is /tea"
    assert [line[2:10] for line in said[:-1]] == ["HTTP/1.1"] * 3


def test_letters_of_a_host_do_not_matter(run, servers):
    one = servers[0].replace("127.0.0.1", "localhost")
    _, said = run(f"cat > ask.py <<'E'\n{ASK}\nE\npython3 ask.py {one}/tea", [one[7:].upper()])
    assert said[0] == "it is /tea"


def test_a_connection_that_nobody_ends_ends_with_the_trial(run):
    before = set(threading.enumerate())
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        ask = (
            f"way.set_tunnel('127.0.0.1', {silent.getsockname()[1]}); way.connect(); print('open')"
        )
        script = f"python3 -c \"import http.client; way = http.client.HTTPConnection('127.0.0.1', 3128); {ask}\""
        assert run(script, [host])[1] == ["open"]
        until(lambda: set(threading.enumerate()) <= before)


@pytest.mark.parametrize(
    "given", [["https://api.openai.com"], ["a b"], "", [3], ["host:0"], ["host:99999"]]
)
def test_what_is_no_host_is_refused(given):
    with pytest.raises(UsageError, match=r"is not a host|Expected `"):
        LocalHarness({"network": given})


def test_without_a_sandbox_it_is_refused():
    with pytest.raises(HarnessError, match="network requires a sandbox"):
        LocalHarness({"isolation": "none", "network": ["a.example"]}).prepare()
