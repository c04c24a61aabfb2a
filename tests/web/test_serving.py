"""The review page as a process: its port, its end, the browser that it opens, what it needs."""

import signal
import socket
import subprocess
import sys

import pytest

from skilljuror.errors import UsageError
from skilljuror.web.questions import Reviewing
from skilljuror.web.serving import open_browser, serve
from tests.support.jsonl_desk import JsonlDesk, desk_page, item, write_desk
from tests.support.places import ROOT
from tests.support.review_client import ReviewClient


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_at_once_though_a_page_is_open(tmp_path, number):
    with desk_page(write_desk(tmp_path, [item(1)])) as (address, served):
        with ReviewClient(address) as client:
            client.post("/decide", id="uptake:trial/1", answer="yes")
            served.send_signal(number)
            served.wait(10)
        assert served.returncode in {1, -number, 128 + number}
    assert [row["answer"] for row in JsonlDesk(tmp_path).rows()] == ["yes"]


def test_a_port_that_another_program_has(tmp_path):
    desk = JsonlDesk(write_desk(tmp_path, [item(1)]))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} .*in use"):
            serve(Reviewing(desk, "ann", blind=False), print, port)


@pytest.mark.parametrize("library", ["starlette", "uvicorn"])
def test_a_library_that_is_not_installed_is_named(tmp_path, library):
    program = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from skilljuror.errors import MissingDependency\n"
        "from skilljuror.web.serving import serve\n"
        "try: serve(None, print)\n"
        "except MissingDependency as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert f"needs '{library}'" in done.stdout
    assert "pip install 'skilljuror[review]'" in done.stdout
    assert "--list" in done.stdout


def test_without_a_desktop_no_browser_takes_the_terminal(monkeypatch):
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert not open_browser("http://127.0.0.1:9/")
