"""Options that many commands share."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines, errors too.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Study = Annotated[Path, typer.Argument(help="Folder of the study.", metavar="STUDY")]
Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Look for this format alone, or a parser of yours: package.module:Class; repeatable.",
    ),
]
Gates = Annotated[
    list[str] | None,
    typer.Option(
        "--gate",
        metavar="NAME",
        help="Judge by a gate of yours, too: package.module:Class; repeatable.",
    ),
]
Jobs = Annotated[int, typer.Option("-j", "--jobs", min=1, help="Worker processes.")]
