"""The entry point: turns errors into one line and an exit status, and guards what is written.

Only the standard library is imported before the streams are guarded, so that a Ctrl-C or a broken
installation during import is reported like any other error.
"""

import errno
import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import NoReturn, TextIO

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
OUT_OF_MEMORY = ("can't start new thread", "failed to map segment", "Cannot allocate memory")
"""Messages of threads and libraries that ran out of memory."""

_SIGTERMS: list[int] = []
"""Received SIGTERMs; each stops a command like Ctrl-C."""


def main() -> NoReturn:
    """Run the command line; never returns."""
    sys.excepthook = _on_unexpected
    signal.signal(signal.SIGTERM, _on_sigterm)
    sys.stdout = guarded(sys.stdout or _null_stream())
    sys.stderr = guarded(sys.stderr or _null_stream())
    status = _run_and_flush()
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


def _null_stream() -> TextIO:
    """Replacement of a closed stream."""
    return Path(os.devnull).open("w", encoding="utf-8")


def _run_and_flush() -> int:
    """Return the status after printing everything; a closed pipe is not an error."""
    try:
        status = _run_guarded()
        print(end="", flush=True)
    except BrokenPipeError:
        _close_stdout()
        return 0
    return status


def _close_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run_guarded() -> int:
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
        _close_stdout_if_broken()
        return _report(error, _explain_os_error(error), 2, _file(error))
    except (MemoryError, RuntimeError, ImportError) as error:
        if (limit := _explain_limit(error)) is None:
            raise
        return _report(error, limit, 2)
    return TERMINATED if _SIGTERMS and status == STOPPED else status


def _explain_limit(error: Exception) -> str | None:
    """Message for a limit of the machine that was reached; None for another error."""
    if isinstance(error, RecursionError):
        return "the input is nested too deeply; leave it out (--debug shows where)"
    if isinstance(error, MemoryError) or any(words in str(error) for words in OUT_OF_MEMORY):
        return "out of memory; use -j 1 or fewer files"
    return None


def _close_stdout_if_broken() -> None:
    """Close a stdout whose remaining text cannot be written."""
    try:
        sys.stdout.flush()
    except OSError:
        _close_stdout()


def _file(error: OSError) -> str | None:
    """The file to name in the message; for a copy to a full disk, its target."""
    name = error.filename2 if error.errno in DISK_FULL and error.filename2 else error.filename
    return os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else None


def _explain_os_error(error: OSError) -> str:
    """Message for an error of the operating system."""
    name = _file(error)
    if error.errno in DISK_FULL:
        where = f" {name!r}" if name else ""
        return f"{error.strerror}: cannot write{where}; free disk space and rerun the command"
    if name is None:
        return str(error.strerror or error)
    if isinstance(error, PermissionError):
        what = repr(name) if _exists(name) else f"a file in {str(Path(name).parent)!r}"
        return f"no permission for {what}; grant access or use another path"
    return f"{error.strerror or type(error).__name__}: {name!r}"


def _exists(name: str) -> bool:
    try:
        Path(name).lstat()
    except OSError:
        return False
    return True


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
