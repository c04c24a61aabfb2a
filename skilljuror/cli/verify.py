"""`skilljuror verify`: whether a build matches its source and its files."""

from pathlib import Path
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
    signers: Annotated[
        Path | None,
        typer.Option("--allowed-signers", metavar="FILE", help="SSH allowed-signers file."),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option("--sign", metavar="KEY", help="SSH key to sign a proved build.json with."),
    ] = None,
    plugins: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin", metavar="NAME", help="Plugin allowed to run, module:Class; repeatable."
        ),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Rebuild variants from their source and compare the files on disk."""
    from skilljuror.layouts.verify.verification import Grounds, sign_build, verify_build

    proof = verify_build(build, Grounds(source, signers, tuple(plugins or ())))
    signature = sign_build(build, sign) if sign and not proof.problems else None
    payload = {"proved": proof.proved, **to_plain(proof), "signature": to_plain(signature)}
    emit(payload, json, lambda: _print_proof(build, proof, signature))
    raise typer.Exit(1 if proof.problems else 3 if proof.unproved else 0)


def _print_proof(build: Path, proof: Any, signature: Path | None) -> None:
    for line in (*proof.problems, *proof.unproved):
        print(f"  {line}")
    if proof.problems:
        count = len(proof.problems)
        print(f"{build}: {count} problem{'s' if count > 1 else ''}")
        return
    result = "proved, except as listed above" if proof.unproved else "proved"
    if not proof.made_again:
        result = "not proved; the files match build.json"
    print(f"{build}: {result}; {'; '.join(proof.grounds)}")
    if signature:
        print(f"signed: {signature}")
