"""The command advise: which layout should I ship?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.base.errors import UsageError
from skilljuror.cli.options import Debug, Json
from skilljuror.cli.output import emit, print_indented, table

MAX_LINE = 120
"""Most characters of a Skill's line to print."""


def advise(
    skill: Annotated[
        str, typer.Argument(metavar="SKILL", help="Skill: folder, zip or REV:PATH in git.")
    ],
    study: Annotated[
        Path | None,
        typer.Option("--study", metavar="STUDY", help="Study with runs that opened the Skill."),
    ] = None,
    checks: Annotated[
        bool, typer.Option("--checks", help="Static checks of the text, without layouts.")
    ] = False,
    source: Annotated[
        str | None,
        typer.Option(
            "--source", metavar="DIR", help="With --checks: what the Skill was made from."
        ),
    ] = None,
    task: Annotated[
        Path | None,
        typer.Option("--task", metavar="DIR", help="With --checks: a task that the Skill is for."),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Say which layout of a Skill to ship, and what only a study can tell.

    Builds the layouts in a temporary folder and compares the tokens that a run reads. With --checks: score eight
    checks and six axes of the text, each with the line behind it and what would raise it.
    """
    if checks and study:
        raise UsageError("--checks does not read a study; drop --study")
    if not checks and (source or task):
        raise UsageError("--source and --task need --checks")
    if checks:
        from skilljuror.audit.skill_checks import check_skill

        checked = check_skill(skill, source, task)
        emit(checked, json, lambda: _print_checks(checked))
        return
    from skilljuror.report.advise import advise as compare

    advice = compare(skill, study)
    emit(advice, json, lambda: _print_advice(advice))


def _print_checks(checked: Any) -> None:
    from skilljuror.audit.skill_checks import AXES

    with_basis = f" (with {' and '.join(checked.basis)})" if checked.basis else ""
    print_indented(
        f"{checked.skill} has {checked.words:,} words and scores {checked.overall:.0f} of 100{with_basis}, the mean of six"
        " axes; longer Skills score higher, and the score says nothing about outcomes.",
        "",
        "",
    )
    table(
        ("axis", "score", "checks"),
        [
            (
                axis,
                f"{score:.0f}",
                ", ".join(f"{one} {checked.checks[one]:.0f}" for one in AXES[axis]),
            )
            for axis, score in checked.axes.items()
        ],
    )
    for check in checked.checks:
        short = [
            one for one in checked.signals
            if one.check == check and one.met is not None and one.met < 1
        ]  # fmt: skip
        if short:
            print(f"\n{check}")
        for one in short:
            _print_signal(one)
    print("\nevery signal with the line behind it: --json")


def _print_signal(one: Any) -> None:
    text = one.found if len(one.found) <= MAX_LINE else f"{one.found[:MAX_LINE]}…"
    place = f"{one.place}: " if one.place else ""
    fix = f"; to raise it: {one.fix}" if one.fix else ""
    print_indented(f"{place}{text}{fix}", f"  {100 * one.met:3.0f} {one.signal}: ", "      ")


def _print_advice(advice: Any) -> None:
    from skilljuror.report.advise import SHARES, tokens_between

    for sentence in advice.answer:
        print_indented(sentence, "", "")
    observed = ["observed"] if any(one.expected for one in advice.layouts) else []
    shares = [f"{100 * share:.0f} %" for share in SHARES]
    rows = [
        (
            f"{one.layout} (yours)" if one.layout == "origin" else one.layout,
            f"{one.root_tokens:,}",
            f"{one.demand_tokens:,} in {len(one.on_demand)}" if one.on_demand else None,
            *(f"{tokens:,.0f}" for tokens in one.at_share),
            *([tokens_between(one.expected)] if observed else []),
            one.cheaper or None,
            one.verdict,
        )
        for one in advice.layouts
    ]
    print()
    table(("layout", "root", "on demand", *shares, *observed, "cheaper than yours", "gates"), rows)
    print_indented(
        "root, on demand: tokens of instructions, and number of files. 0 % to 100 %: mean tokens that a run reads"
        " if each file is opened in this share of runs. Scripts and data are not counted.",
        "",
        "",
    )
    for name, why in advice.not_built.items():
        print_indented(f"{name} cannot be built: {why}", "", "")
