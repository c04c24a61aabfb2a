"""`skilljuror doctor`: what is installed, what is missing, what each missing thing would enable."""

import typer

from skilljuror.cli.options import Debug, Json
from skilljuror.cli.output import emit, table


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("doctor")(doctor)


def doctor(json: Json = False, debug: Debug = False) -> None:
    """What is installed, what is missing, and what each missing thing would enable."""
    from skilljuror.pipeline.doctor import inspect_machine

    checks = inspect_machine()

    def human() -> None:
        rows = [
            (check.name, "yes" if check.found else "no", check.detail, check.enables)
            for check in checks
        ]
        table(("part", "found", "detail", "enables"), rows)
        missing = [check for check in checks if check.needed and not check.found]
        print("everything needed is here" if not missing else "a needed part is missing")

    emit({"checks": checks}, json, human)
    if any(check.needed and not check.found for check in checks):
        raise typer.Exit(1)
