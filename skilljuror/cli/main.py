"""The entry point, and the one place where an error becomes a line and an exit status.

Nothing but the standard library is imported before the guard is up: a Ctrl-C, or a broken
installation, is told like any other trouble.
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

from skilljuror.cli.terminal import guarded, json_text
from skilljuror.errors import SkilljurorError
from skilljuror.redaction import redact

STOPPED = 130
"""Exit status after Ctrl-C."""
TERMINATED = 143
"""Exit status after SIGTERM."""
INTERNAL_FAULT = 70
"""Exit status of a fault of skilljuror's own."""

DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""What the system says when nothing more can be written."""
OUT_OF_MEMORY = ("can't start new thread", "failed to map segment", "Cannot allocate memory")
"""What threads and libraries say that find no memory."""

UNSTOPPABLE = "answer"
"""Name of the thread of a question that may be inside one long function, where nothing stops it."""

_SIGTERMS: list[int] = []
"""The SIGTERMs that came, each of which stops a command as Ctrl-C does."""


def main() -> NoReturn:
    """Run the command line; never returns."""
    sys.excepthook = _on_fault
    signal.signal(signal.SIGTERM, _on_sigterm)
    sys.stdout = guarded(sys.stdout or _null_stream())
    sys.stderr = guarded(sys.stderr or _null_stream())
    status = _run_and_flush()
    if any(one.name == UNSTOPPABLE for one in threading.enumerate()):
        _leave_at_once(status)
    sys.exit(status)


def _leave_at_once(status: int) -> NoReturn:
    """End without a look at what still runs."""
    with suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _on_sigterm(number: int, frame: FrameType | None) -> NoReturn:
    _SIGTERMS.append(number)
    raise KeyboardInterrupt


def _null_stream() -> TextIO:
    """What a closed stream prints to."""
    return Path(os.devnull).open("w", encoding="utf-8")


def _run_and_flush() -> int:
    """The status once everything is printed; a reader that went away is no error."""
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
        message = "stopped; what was finished is kept, and the same command goes on from there"
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
    """Which limit of the machine was reached, in one line; None for another error."""
    if isinstance(error, RecursionError):
        return "something that was read is nested too deeply; leave it out (--debug shows where)"
    if isinstance(error, MemoryError) or any(words in str(error) for words in OUT_OF_MEMORY):
        return "the machine ran out of memory; read less at one time, with -j 1 or fewer files"
    return None


def _close_stdout_if_broken() -> None:
    """What is left in it would fail again at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        _close_stdout()


def _file(error: OSError) -> str | None:
    """The file that is told of: where a copy found no room, the copy."""
    name = error.filename2 if error.errno in DISK_FULL and error.filename2 else error.filename
    return os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else None


def _explain_os_error(error: OSError) -> str:
    """What the system refused, in one line."""
    name = _file(error)
    if error.errno in DISK_FULL:
        where = f" {name!r}" if name else ""
        return f"{error.strerror}: cannot write{where}; make room, then run the same command again"
    if name is None:
        return str(error.strerror or error)
    if isinstance(error, PermissionError):
        what = repr(name) if _is_there(name) else f"a file in {str(Path(name).parent)!r}"
        return f"no permission for {what}: give yourself access, or name another place"
    return f"{error.strerror or type(error).__name__}: {name!r}"


def _is_there(name: str) -> bool:
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
    """One line for a person on stderr, or one JSON object for a machine on stdout."""
    if "--debug" in sys.argv:
        print(redact("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    message = redact(message)
    if "--json" in sys.argv:
        body = {"kind": type(error).__name__, "message": message, "file": file, "field": field}
        print(json_text({"error": {**body, "exit_code": status}}))
    else:
        print(f"skilljuror: {' '.join(message.split())}", file=sys.stderr)
    return status


def _on_fault(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> NoReturn:
    """What no code foresaw: a fault of ours, told in one line, with an exit status of its own."""
    message = f"{kind.__name__}: {error}"
    mend = "this is a fault of skilljuror; --debug shows where, please report it"
    status = _report(error, f"{message[:500]}; {mend}", INTERNAL_FAULT)
    _leave_at_once(status)


if __name__ == "__main__":
    main()
