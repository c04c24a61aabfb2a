"""The entry point: turns errors into one line and an exit status, and guards what is written.

Only the standard library is imported before the streams are guarded, so that a Ctrl-C or a broken
installation during import is reported like any other error.
"""

import errno
import os
import re
import signal
import sys
import threading
import traceback
from contextlib import suppress
from types import FrameType, TracebackType
from typing import NoReturn

from skilljuror.base.errors import SkilljurorError, redact
from skilljuror.cli.terminal import guarded, json_text

STOPPED = 130
"""Exit status after Ctrl-C."""
TERMINATED = 143
"""Exit status after SIGTERM."""
INTERNAL_ERROR = 70
"""Exit status of an internal error."""

DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Error numbers of a full disk or quota."""
OUT_OF_MEMORY = re.compile("can't start new thread|failed to map segment|Cannot allocate memory")
"""Messages of threads and libraries that ran out of memory."""

_SIGTERMS: list[int] = []
"""Received SIGTERMs; each stops a command like Ctrl-C."""


def main() -> NoReturn:
    """Run the command line; never returns."""
    sys.excepthook = _on_unexpected
    signal.signal(signal.SIGTERM, _on_sigterm)
    null = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")  # in place of a closed stream
    sys.stdout, sys.stderr = guarded(sys.stdout or null), guarded(sys.stderr or null)
    try:
        status = _run()
        print(end="", flush=True)
    except BrokenPipeError:  # a reader that went away is no error
        _close_stdout()
        status = 0
    if threading.active_count() > 1:  # a long question, or a call that waits for its server
        _exit_now(status)
    sys.exit(status)


def _exit_now(status: int) -> NoReturn:
    """Exit without waiting for running threads."""
    with suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _on_sigterm(number: int, frame: FrameType | None) -> NoReturn:
    _SIGTERMS.append(number)
    raise KeyboardInterrupt


def _close_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run() -> int:
    """Run the command, and report its errors; return the exit status."""
    try:
        from skilljuror.cli.app import run

        status = run(sys.argv[1:])
        print(end="", flush=True)
    except SkilljurorError as error:
        return _report(error, error.message, error.exit_code, error.file, error.field)
    except KeyboardInterrupt as error:
        message = "stopped; finished work is saved, run the same command to resume"
        return _report(error, message, TERMINATED if _SIGTERMS else STOPPED)
    except BrokenPipeError:
        raise
    except OSError as error:
        try:
            sys.stdout.flush()
        except OSError:  # its remaining text cannot be written
            _close_stdout()
        return _report(error, *_explain_os_error(error))
    except (MemoryError, RuntimeError, ImportError) as error:
        message = "out of memory; use -j 1 or fewer files"
        if isinstance(error, RecursionError):
            message = "the input is nested too deeply; leave it out (--debug shows where)"
        elif not isinstance(error, MemoryError) and not OUT_OF_MEMORY.search(str(error)):
            raise
        return _report(error, message, 2)
    return TERMINATED if _SIGTERMS and status == STOPPED else status


def _explain_os_error(error: OSError) -> tuple[str, int, str | None]:
    """Message, exit status and file of an error of the operating system."""
    full = error.errno in DISK_FULL  # a copy to a full disk is named by its target
    name = error.filename2 if full and error.filename2 else error.filename
    file = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else None
    if full:
        where = f" {file!r}" if file else ""
        return (
            f"{error.strerror}: cannot write{where}; free disk space and rerun the command",
            2,
            file,
        )
    if file is None:
        return str(error.strerror or error), 2, None
    if isinstance(error, PermissionError):
        return f"no permission for {file!r}; grant access or use another path", 2, file
    return f"{error.strerror or type(error).__name__}: {file!r}", 2, file


def _report(
    error: BaseException,
    message: str,
    status: int,
    file: str | None = None,
    field: str | None = None,
) -> int:
    """Print one line on stderr, or with --json one object on stdout."""
    if "--debug" in sys.argv:
        print(redact("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    message = redact(message)
    if "--json" in sys.argv:
        body = {"kind": type(error).__name__, "message": message, "file": file, "field": field}
        print(json_text({"error": {**body, "exit_code": status}}))
    else:
        print(f"skilljuror: {' '.join(message.split())}", file=sys.stderr)
    return status


def _on_unexpected(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> NoReturn:
    """Report an unexpected exception in one line, with its own exit status."""
    message = f"{kind.__name__}: {error}"
    fix = "internal error of skilljuror; please report it with the output of --debug"
    status = _report(error, f"{message[:500]}; {fix}", INTERNAL_ERROR)
    _exit_now(status)


if __name__ == "__main__":
    main()
