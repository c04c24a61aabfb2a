"""The application: commands by panel, and typer's errors as UsageError."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from skilljuror.base import __version__
from skilljuror.base.errors import UsageError
from skilljuror.cli import build, results, review, study
from skilljuror.cli.output import printing

EXIT_STATUS = (
    "0 success · 1 check failed · 2 invalid input or usage · 3 decision by a person needed ·"
    " 70 internal error · 75 database in use, retry · 130 stopped by Ctrl-C · 143 by SIGTERM"
)

PANELS: dict[str, dict[Callable[..., Any], str]] = {
    "Variants": {
        build.build: "build my-skill --out out/my-skill",
        build.audit: "audit HEAD~1:my-skill my-skill --format markdown",
        build.advise: "advise my-skill",
        build.verify: "verify out/my-skill --source my-skill",
        build.waive: "waive out/my-skill",
        build.assay: "assay out/my-skill --keep",
        build.rubric: "rubric out/my-skill",
        study.generate: "generate my-skill --by outline --tokens 2000 --out gen",
    },
    "Studies": {
        study.demo: "demo --out out/demo",
        study.init: "init --task my-task --skill my-skill --out study.yaml",
        study.check: "check study.yaml",
        study.plan: "plan study.yaml --sd 30 --minutes 5",
        study.run: "run study.yaml --out out/study --jobs 2",
    },
    "Logs": {
        study.ingest: "ingest ~/.claude/projects --study out/mine",
        study.events: "events ~/.claude/projects",
    },
    "Results": {
        review.judge: "judge out/mine",
        review.review: "review out/mine --list",
        results.query: "query out/mine skills_opened",
        results.show: "show out/study my-task__pd__1",
        results.report: "report out/mine",
        results.heat: "heat out/study --condition pd --by unit",
    },
    "Housekeeping": {},
}
"""Panel of the help -> its commands, each with the example at the end of its help."""
COMPLETION = ("install_completion", "show_completion")
COMPLETION_REQUEST = "_SKILLJUROR_COMPLETE"
"""Environment variable with which a shell asks for completions."""
HELP = ("--help",)


class _Panels(TyperGroup):
    """Commands by panel, in plain text."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """List the options of shell completion with Housekeeping only."""
        for option in self.params:
            if option.name in COMPLETION:
                option.hidden = True  # type: ignore[attr-defined]
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """One section per panel."""
        width = max(map(len, self.commands))
        for panel, commands in PANELS.items():
            rows = [
                (f"{one.__name__:{width}}", self.commands[one.__name__].get_short_help_str(100))
                for one in commands
            ]
            if panel == "Housekeeping":
                rows.append(("--install-completion", "Install completion for this shell."))
            with formatter.section(panel):
                formatter.write_dl(rows)


app = typer.Typer(
    cls=_Panels,
    name="skilljuror",
    help="Find out how the organisation of an Agent Skill changes what agents do.",
    epilog="Start: skilljuror demo   Your own logs: skilljuror ingest --study out/mine"
    f"\n\nExit status: {EXIT_STATUS}",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "color": False},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for panel, commands in PANELS.items():
    for command, example in commands.items():
        register = app.command(rich_help_panel=panel, epilog=f"Example: skilljuror {example}")
        register(printing(command))


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
