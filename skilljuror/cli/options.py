"""Options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON, errors included.")]
Debug = Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")]
Study = Annotated[Path, typer.Argument(help="Study folder.", metavar="STUDY")]
Build = Annotated[Path, typer.Argument(help="Build folder.", metavar="DIR")]
Logs = Annotated[list[Path], typer.Argument(help="Log files or folders.", metavar="PATH")]
Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Log format or parser (package.module:Class); repeatable.",
    ),
]
Gates = Annotated[
    list[str] | None,
    typer.Option("--gate", metavar="NAME", help="Extra gate, package.module:Class; repeatable."),
]
Jobs = Annotated[int, typer.Option("-j", "--jobs", min=1, help="Worker processes.")]
ApiBase = Annotated[
    str | None, typer.Option("--api-base", metavar="URL", help="Server of the model.")
]
Budget = Annotated[
    float | None, typer.Option("--budget-usd", min=0, help="Maximum cost in US dollars.")
]
Threads = Annotated[int, typer.Option("--threads", min=1, help="Concurrent model calls.")]
Reason = Annotated[str, typer.Option("--reason", help="Reason for accepting it.")]
By = Annotated[
    str | None, typer.Option("--by", metavar="NAME", help="Person who accepts it; default: you.")
]
