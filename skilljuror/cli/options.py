"""Options that many commands share."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines, errors too.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Study = Annotated[Path, typer.Argument(help="Folder of the study.", metavar="STUDY")]
Jobs = Annotated[int, typer.Option("-j", "--jobs", min=1, help="Worker processes.")]
