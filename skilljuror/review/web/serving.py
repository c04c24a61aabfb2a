"""Serve the review page on the loopback device."""

import os
import socket
import sys
import webbrowser
from collections.abc import Callable
from threading import Thread

from skilljuror.base.errors import UsageError
from skilljuror.review.web.questions import Reviewing

HOST = "127.0.0.1"


def serve(
    reviewing: Reviewing, announce: Callable[[Callable[[], str]], None], port: int = 0
) -> None:
    """Serve the desk's questions to one reviewer until Ctrl-C or SIGTERM (KeyboardInterrupt).

    `announce` is called once the port is open, with a function that creates single-use addresses. Port
    0 selects a free port. Raises UsageError for an unavailable port.
    """
    import uvicorn

    from skilljuror.review.web.guard import Guard
    from skilljuror.review.web.pages import review_app

    with _listening(port) as listener:
        guard = Guard(review_app(reviewing), listener.getsockname()[1])
        config = uvicorn.Config(
            guard, log_config=None, access_log=False,
            server_header=False, proxy_headers=False,
            lifespan="off", ws="none", timeout_graceful_shutdown=2,
        )  # fmt: skip
        announce(guard.address)
        uvicorn.Server(config).run(sockets=[listener])


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise UsageError(
            f"port {port} is unavailable ({error}); choose another, or omit --port for a free one",
            field="--port",
        ) from error


def open_browser(address: str) -> bool:
    """Open an address in the desktop's browser; return False without a desktop. Terminal browsers are
    not used, because they would take over the terminal."""
    desktop = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    if sys.platform.startswith("linux") and not any(map(os.environ.get, desktop)):
        return False
    Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    return True
