"""The commands put together, and the translation of what typer raises into our own errors."""

from collections.abc import Sequence

import typer
from typer.main import get_command

from skilljuror import __version__
from skilljuror.cli import build, gates, logs, query, read, review, rubric, study, trials
from skilljuror.errors import UsageError

EXIT_STATUS = (
    "0 done · 1 the check says no · 2 bad input or usage · 3 a person must decide · 70 a fault of"
    " skilljuror · 75 the database is in use, try again · 130 stopped by Ctrl-C · 143 by SIGTERM."
)

app = typer.Typer(
    name="skilljuror",
    help="Find out how the organisation of an Agent Skill changes what agents do.",
    epilog="Start with: skilljuror demo   ·   your own logs: skilljuror ingest --study out/mine"
    f"\n\nExit status: {EXIT_STATUS}",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    study.demo, trials.init, trials.plan, trials.check, trials.run, trials.accept, study.adopt, study.ingest, study.judge, build.build, gates.audit, gates.waive, rubric.rubric, review.review, gates.verify,
    gates.diff, gates.assay, gates.explain, read.show, read.report, query.query, logs.events,
    logs.coverage, logs.doctor,
):  # fmt: skip
    app.command()(command)


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


HELP = ("--help",)


def _usage_message(error: Exception) -> str:
    message = str(getattr(error, "format_message", error.__str__)())
    path = getattr(getattr(error, "ctx", None), "command_path", "skilljuror")
    return f"{message.replace('Value error, ', '').rstrip('.')} (see {path} --help)"


def run(words: Sequence[str]) -> int:
    """Run one command, or print the help; the exit status.

    Raises UsageError for words that are no command, KeyboardInterrupt for a prompt that a person
    broke off, and whatever the command raises.
    """
    command = get_command(app)
    try:
        with command.make_context("skilljuror", list(words or HELP)) as context:
            command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except CLICK_ERROR as error:
        raise UsageError(_usage_message(error)) from error
    return 0
