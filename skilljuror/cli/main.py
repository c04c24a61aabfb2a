"""The entry point, and the one place where an error becomes a line and an exit status."""

import json
import os
import sys
import traceback
from typing import NoReturn

import typer

from skilljuror import __version__
from skilljuror.cli import check, construct, doctor, logs, proof, read, study
from skilljuror.errors import SkilljurorError

STOPPED = 130

app = typer.Typer(
    name="skilljuror",
    help="Find out how the organisation of an Agent Skill changes what agents do.",
    epilog="Start with: skilljuror demo   ·   your own logs: skilljuror ingest --study out/mine",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for group in (study, construct, check, proof, read, logs, doctor):
    group.register(app)


def _version(value: bool) -> None:
    if value:
        print(f"skilljuror {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Find out how the organisation of an Agent Skill changes what agents do."""


USAGE_ERROR: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


def main() -> NoReturn:
    """Run the command line; never returns."""
    sys.exit(_guarded())


def _guarded() -> int:
    try:
        status = app(standalone_mode=False)
        sys.stdout.flush()
    except SkilljurorError as error:
        return _tell(error, error.message, error.exit_code, error.file, error.field)
    except USAGE_ERROR as error:
        message = getattr(error, "format_message", error.__str__)()
        return _tell(error, f"{message} (skilljuror --help)", 2)
    except (KeyboardInterrupt, typer.Abort) as error:
        return _tell(error, str(error) or "stopped; what was finished is kept", STOPPED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        named = str(error.filename) if error.filename else None
        return _tell(error, f"{error.strerror or error}: {named or 'no file named'}", 2, named)
    return status if isinstance(status, int) else 0


def _tell(
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
        print(json.dumps({"error": {**body, "exit_code": status}}))
    else:
        print(f"skilljuror: {' '.join(message.split())}", file=sys.stderr)
    return status


if __name__ == "__main__":
    main()
