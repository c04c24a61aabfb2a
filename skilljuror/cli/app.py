"""The application: the commands with their options of commands.toml, and typer's errors as UsageError."""

import functools
import inspect
import os
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer
from typer.core import TyperGroup
from typer.main import get_command

from skilljuror.base import __version__
from skilljuror.base.errors import UsageError
from skilljuror.cli import build, results, review, study
from skilljuror.cli.output import Answer, Debug, Json, print_answer

EXIT_STATUS = (
    "0 success · 1 check failed · 2 invalid input or usage · 3 decision by a person needed ·"
    " 70 internal error · 75 database in use, retry · 130 stopped by Ctrl-C · 143 by SIGTERM"
)

COMMANDS: tuple[Callable[..., Any], ...] = (
    build.build, build.audit, build.advise, build.verify, build.waive, build.assay, build.rubric,
    study.generate, study.demo, study.init, study.check, study.plan, study.run, study.ingest,
    study.events, review.judge, review.review, results.usage, results.query, results.show,
    results.report, results.heat, review.view,
)  # fmt: skip
PANELS: dict[str, dict[str, dict[str, str]]] = tomllib.loads(
    (Path(__file__).parent / "commands.toml").read_text(encoding="utf-8")
)
"""Panel of the help -> command -> its parameters with their texts, and the example at the end of its help."""
COMPLETION_REQUEST = "_SKILLJUROR_COMPLETE"
"""Environment variable with which a shell asks for completions."""
HELP = ("--help",)


class _Panels(TyperGroup):
    """Commands by panel, in plain text."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """One section per panel."""
        width = max(map(len, self.commands))
        for panel, names in PANELS.items():
            with formatter.section(panel):
                formatter.write_dl([
                    (f"{name:{width}}", self.commands[name].get_short_help_str(100))
                    for name in names
                ])


app = typer.Typer(
    cls=_Panels,
    name="skilljuror",
    help="Find out how the organisation of an Agent Skill changes what agents do.",
    epilog="Start: skilljuror demo   Your own logs: skilljuror usage"
    f"\n\nExit status: {EXIT_STATUS}",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "color": False},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _parameter(parameter: inspect.Parameter, texts: dict[str, str]) -> inspect.Parameter:
    """Take the next text for a parameter; options that commands share bring their own."""
    if get_origin(parameter.annotation) is Annotated:
        return parameter
    key = next(iter(texts))
    info: Any = typer.Argument(metavar=key, help=texts[key])
    if key.startswith("-"):
        flag, *words = key.split(" ")
        bounds = words.pop().strip("[]").split("..") if ".." in key else ["", ""]
        least, most = (int(bound) if bound else None for bound in bounds)
        metavar = " ".join(words) or None
        info = typer.Option(flag, metavar=metavar, min=least, max=most, help=texts[key])
    del texts[key]
    return parameter.replace(annotation=Annotated[parameter.annotation, info])


def _register(command: Callable[..., Answer | None], texts: dict[str, str]) -> None:
    """Add a command, with --json and --debug; its answer is printed, and decides the exit status."""

    @functools.wraps(command)
    def run(json: bool = False, debug: bool = False, **given: Any) -> None:
        if status := print_answer(lambda: command(**given), json, given.get("whole")):
            raise typer.Exit(status)

    example = texts.pop("example")
    parameters = [_parameter(one, texts) for one in inspect.signature(command).parameters.values()]
    if texts:
        raise ValueError(f"commands.toml: {command.__name__} has no parameter for {[*texts]}")
    parameters += [
        inspect.Parameter(
            name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=False, annotation=kind
        )
        for name, kind in (("json", Json), ("debug", Debug))
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    app.command(epilog=f"Example: skilljuror {example}")(run)


for commands in PANELS.values():
    for name, texts in commands.items():
        (command,) = (one for one in COMMANDS if one.__name__ == name)
        _register(command, dict(texts))


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


CLICK_ERROR: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


def run(words: Sequence[str]) -> int:
    """Run one command, or print the help; return the exit status.

    Raises UsageError for invalid usage, KeyboardInterrupt for an aborted prompt, and the errors of
    the command.
    """
    command = get_command(app)
    if COMPLETION_REQUEST in os.environ:
        command.main(prog_name="skilljuror")
    try:
        with command.make_context("skilljuror", list(words or HELP)) as context:
            command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except CLICK_ERROR as error:
        message = str(getattr(error, "format_message", error.__str__)())
        path = getattr(getattr(error, "ctx", None), "command_path", "skilljuror")
        reason = message.replace("Value error, ", "").rstrip(".")
        raise UsageError(f"{reason} (see {path} --help)") from error
    return 0
