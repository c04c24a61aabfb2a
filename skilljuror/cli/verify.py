"""`skilljuror verify`: whether a build matches its source and its files."""

from typing import Annotated, Any

import typer

from skilljuror.cli.options import Build, Debug, Json
from skilljuror.cli.output import emit, to_plain


def verify(
    build: Build,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="PATH", help="Trusted source: folder, zip or REV:PATH."),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Rebuild variants from their source and compare the files on disk."""
    from skilljuror.layouts.verify import verify_build

    proof = verify_build(build, source)
    emit({"proved": proof.proved, **to_plain(proof)}, json, lambda: _print_proof(build, proof))
    raise typer.Exit(1 if proof.problems else 3 if proof.unproved else 0)


def _print_proof(build: Any, proof: Any) -> None:
    for line in (*proof.problems, *proof.unproved):
        print(f"  {line}")
    if proof.problems:
        count = len(proof.problems)
        print(f"{build}: {count} problem{'s' if count > 1 else ''}")
        return
    result = "proved, except as listed above" if proof.unproved else "proved"
    print(f"{build}: {result if proof.made_again else 'not proved'}; {'; '.join(proof.grounds)}")
