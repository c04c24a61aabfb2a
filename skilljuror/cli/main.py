"""The entry point, and the one place where an error becomes a line and an exit status.

Nothing but the standard library is imported before the guard is up: a Ctrl-C, or a broken
installation, is told like any other trouble.
"""

import errno
import os
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NoReturn, TextIO

from skilljuror.cli.terminal import guarded, json_text
from skilljuror.errors import SkilljurorError

STOPPED = 130
"""Exit status after Ctrl-C."""
INTERNAL_FAULT = 70
"""Exit status of a fault of skilljuror's own."""

DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""What the system says when nothing more can be written."""


def main() -> NoReturn:
    """Run the command line; never returns."""
    sys.excepthook = _on_fault
    sys.stdout = guarded(sys.stdout or _null_stream())
    sys.stderr = guarded(sys.stderr or _null_stream())
    status = _run_and_flush()
    if threading.active_count() > 1:
        _leave_at_once(status)
    sys.exit(status)


def _leave_at_once(status: int) -> NoReturn:
    """End beside a thread that nothing stops, such as a question inside one long function."""
    with suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


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
        return _report(error, message, STOPPED)
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is None:
            _close_stdout()
        return _report(error, _explain_os_error(error), 2, _file(error))
    return status


def _file(error: OSError) -> str | None:
    return str(error.filename) if error.filename else None


def _explain_os_error(error: OSError) -> str:
    """What the system refused, in one line."""
    name = _file(error)
    if error.errno in DISK_FULL:
        where = f" {name!r}" if name else ""
        return f"{error.strerror}: cannot write{where}; make room, then run the same command again"
    if name is None:
        return str(error.strerror or error)
    if isinstance(error, PermissionError):
        there = Path(name).exists() or Path(name).is_symlink()
        what = repr(name) if there else f"a file in {str(Path(name).parent)!r}"
        return f"no permission for {what}: give yourself access, or name another place"
    return f"{error.strerror or type(error).__name__}: {name!r}"


def _report(
    error: BaseException,
    message: str,
    status: int,
    file: str | None = None,
    field: str | None = None,
) -> int:
    """One line for a person on stderr, or one JSON object for a machine on stdout."""
    if "--debug" in sys.argv:
        traceback.print_exception(error)
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
