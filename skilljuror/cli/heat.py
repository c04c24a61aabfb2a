"""The command `heat`: coverage of a Skill by what runs were shown and used."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skilljuror.base.errors import UsageError
from skilljuror.cli.options import Debug, Json, Study
from skilljuror.cli.output import emit, record_table, table

if TYPE_CHECKING:
    from skilljuror.report.heat import Heat


class HeatFormat(StrEnum):
    """Output formats of `heat`."""

    table = "table"
    lcov = "lcov"


class HeatGrain(StrEnum):
    """Rows of `heat`."""

    file = "file"
    unit = "unit"


def heat(
    study: Study,
    condition: Annotated[
        str | None,
        typer.Option("--condition", metavar="NAME", help="Default: the contrast's treatment."),
    ] = None,
    by: Annotated[
        HeatGrain, typer.Option("--by", help="One row per file or unit.")
    ] = HeatGrain.file,
    form: Annotated[
        HeatFormat, typer.Option("--format", help="lcov: for genhtml, Codecov and editors.")
    ] = HeatFormat.table,
    figure: Annotated[
        Path | None,
        typer.Option("--figure", metavar="FILE", help="Write an SVG: files and lines, painted."),
    ] = None,
    fail_under: Annotated[
        str | None,
        typer.Option(
            "--fail-under",
            metavar="seen=N,used=N",
            help="Exit with 1 below these percentages of the units.",
        ),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Show which parts of a Skill its runs were shown and used, by file or unit."""
    from skilljuror.report import heat as reports

    bounds = _bounds(fail_under)
    found = reports.heat(study, condition)
    if form == HeatFormat.lcov:
        for line in reports.lcov(found):
            print(line)
    else:
        shares = {"units_seen": found.seen, "units_used": found.used}
        rows: Any = found.units if by == HeatGrain.unit else tuple(reports.by_file(found.units))
        emit(
            {"name": found.name, **shares, "rows": rows}, json, lambda: _print(found, rows, by)
        )  # fmt: skip
    if figure:
        from skilljuror.report import heat_figure

        heat_figure(found, figure)
        print(f"figure: {figure}", file=sys.stderr)
    _check(found, bounds)


def _print(found: "Heat", rows: Any, by: HeatGrain) -> None:
    if by == HeatGrain.unit:
        cells = [
            (one.task, f"{one.file}:{one.start}", one.seen, one.ran, one.used_low, one.used_high, one.runs,
             one.at_most, one.tokens_per_run, one.remark, one.text[:60])
            for one in rows
        ]  # fmt: skip
        columns = "task line seen ran used_low used_high runs at_most tokens_per_run remark text"
        table(columns.split(), cells)
    else:
        columns = "task file units seen used ran runs mean_share tokens_per_run"
        record_table(rows, *columns.split())
    known = "" if found.used is None else f", {found.used:.1%} used with proof"
    print(f"{found.name}: {found.seen:.1%} of {len(found.units)} units were shown to a run{known}")


def _bounds(text: str | None) -> dict[str, float]:
    """`seen=60,used=20` as numbers. Raises UsageError for another form."""
    found: dict[str, float] = {}
    for part in text.split(",") if text else ():
        name, _, number = part.strip().partition("=")
        percent = float(number) if number.replace(".", "", 1).isdecimal() else -1.0
        if name not in {"seen", "used"} or not 0 <= percent <= 100:
            raise UsageError(
                f"--fail-under {text!r}: write seen=N, used=N or both with a comma, N from 0 to 100",
                field="fail_under",
            )
        found[name] = percent
    return found


def _check(found: "Heat", bounds: dict[str, float]) -> None:
    """Exit with 1 under a bound. Raises UsageError for uses that nobody judged."""
    shares = {"seen": found.seen, "used": found.used}
    failed = False
    for name, bound in bounds.items():
        share = shares[name]
        if share is None:
            raise UsageError(
                "--fail-under used: uses are not judged yet; run `skilljuror judge STUDY`"
            )
        if 100 * share < bound:
            words = "shown to a run" if name == "seen" else "used in a run"
            print(
                f"skilljuror: {100 * share:.1f} % of the units were {words}, under {bound:g}",
                file=sys.stderr,
            )
            failed = True
    if failed:
        raise typer.Exit(1)
