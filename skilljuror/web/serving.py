"""The review page as a process: a socket on this machine alone, an address with a token, a server."""

import os
import socket
import sys
import webbrowser
from collections.abc import Callable
from threading import Thread

from skilljuror.errors import MissingDependency, UsageError
from skilljuror.web.questions import Reviewing

HOST = "127.0.0.1"


def serve(
    reviewing: Reviewing, announce: Callable[[Callable[[], str]], None], port: int = 0
) -> None:
    """Show the desk's questions to one reviewer, until Ctrl-C or SIGTERM (KeyboardInterrupt).

    `announce` is called as soon as the page answers, with what makes addresses to open, each good for one
    browser; port 0 (of 0 to 65535) is any free one.

    Raises UsageError for a port that is not to be had, MissingDependency without the libraries.
    """
    try:
        import uvicorn

        from skilljuror.web.guard import Guard
        from skilljuror.web.pages import review_app
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library == "skilljuror":
            raise
        raise MissingDependency(
            f"the review page needs {library!r}, which is not installed: pip install"
            " 'skilljuror[review]', or review without a browser (skilljuror review STUDY --list)"
        ) from error
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
            f"port {port} of {HOST} is not to be had ({error}); name another, or leave --port out"
            " for a free one",
            field="--port",
        ) from error


def open_browser(address: str) -> bool:
    """Have the desktop's browser open an address; False where there is no desktop. A browser of the
    terminal would take the keyboard from the command, so none is looked for."""
    desktop = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    if sys.platform.startswith("linux") and not any(map(os.environ.get, desktop)):
        return False
    Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    return True
