"""The review page as a process: its port, its end, the browser that it opens, what it needs."""

import signal
import socket
import sys

import pytest

from skilljuror.base.errors import UsageError
from skilljuror.review.page import open_browser, serve
from skilljuror.review.reviewing import Reviewing
from tests.support.jsonl_desk import JsonlDesk, desk_page, item, write_desk
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


def test_without_a_desktop_no_browser_takes_the_terminal(monkeypatch):
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert not open_browser("http://127.0.0.1:9/")
