"""The command advise: which layout should I ship?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.base.errors import UsageError
from skilljuror.cli.options import Debug, Json
from skilljuror.cli.output import command_line, emit, print_indented, table

MAX_FILES = 12
"""Most files on demand to print; JSON has all."""
MAX_HEADINGS = 12
"""Most headings of the main path to print."""
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
    from skilljuror.base.models.study import StudyConfig
    from skilljuror.report.advise import advise as compare
    from skilljuror.study.init_study import LAYOUTS

    per_cell = StudyConfig.model_fields["trials_per_cell"].default
    advice = compare(skill, study, trials_per_task=len(LAYOUTS) * per_cell)
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
    for sentence in advice.answer:
        print_indented(sentence, "", "")
    _print_table(advice)
    pd = next((one for one in advice.layouts if one.layout == "pd"), None)
    if pd and pd.on_demand and advice.decision != "nothing":
        _print_pd(pd, {one.path for layout in advice.layouts[:1] for one in layout.on_demand})
    _print_breaks(advice)
    _print_list("observed", advice.evidence)
    _print_list("problems in your text, in every layout", advice.problems)
    if advice.decision != "nothing":
        _print_cost(advice.cost)


def _print_table(advice: Any) -> None:
    from skilljuror.report.advise import SHARES

    observed = any(one.expected for one in advice.layouts)
    rows: list[tuple[Any, ...]] = []
    for one in advice.layouts:
        name = f"{one.layout} (yours)" if one.layout == "origin" else one.layout
        demand = f"{one.demand_tokens:,} in {len(one.on_demand)}" if one.on_demand else None
        cells = [f"{tokens:,.0f}" for tokens in one.at_share]
        seen = [_ends(one.expected)] if observed else []
        rows.append((
            name,
            f"{one.root_tokens:,}",
            demand,
            *cells,
            *seen,
            one.cheaper or None,
            one.verdict,
        ))
    shares = [f"{100 * share:.0f} %" for share in SHARES]
    seen = ["observed"] if observed else []
    columns = ("layout", "root", "on demand", *shares, *seen, "cheaper than yours", "gates")
    print()
    table(columns, rows)
    print_indented(
        "root, on demand: tokens of instructions, and number of files. 0 % to 100 %: mean tokens that a run reads"
        " if each file is opened in this share of runs. Scripts and data are not counted.",
        "",
        "",
    )
    for name, why in advice.not_built.items():
        print_indented(f"{name} cannot be built: {why}", "", "")


def _ends(ends: tuple[float, float]) -> str:
    low, high = (f"{end:,.0f}" for end in ends)
    return low if low == high else f"{low}–{high}"


def _print_pd(pd: Any, own: set[str]) -> None:
    more = len(pd.main_path) - MAX_HEADINGS
    kept = " · ".join(pd.main_path[:MAX_HEADINGS]) + (f" · {more} more" if more > 0 else "")
    print("\npd")
    print_indented(kept or "no heading", "  main path: ", "    ")
    print("  on demand:")
    largest = sorted(pd.on_demand, key=lambda one: (-one.tokens, one.path))
    for one in largest[:MAX_FILES]:
        new = "" if own & {one.path, one.path.partition("/")[2]} else ", new"
        opened = "" if one.runs is None else f", opened in {one.opened} of {one.runs} runs"
        print_indented(f"{one.path}: {one.tokens:,} tokens{new}{opened}", "    ", "      ")
    if len(largest) > MAX_FILES:
        print(f"    {len(largest) - MAX_FILES} smaller files; --json lists them")


def _print_breaks(advice: Any) -> None:
    broken = [one for one in advice.layouts if one.breaks]
    print("\nwhat breaks" + ("" if broken else ": no findings of the gates"))
    for one in broken:
        for text in one.breaks:
            print_indented(text, f"  {one.layout}: ", "    ")


def _print_list(title: str, lines: tuple[str, ...]) -> None:
    if lines:
        print(f"\n{title}")
    for line in lines:
        print_indented(line, "  ", "    ")


def _print_cost(cost: Any) -> None:
    print("\nonly a study can tell whether agents open the right files, and pass")
    for words in cost.commands:
        print(f"  {command_line(*words)}")
    minutes, dollars = cost.minutes_per_trial, cost.dollars_per_trial
    size = f"{cost.trials_per_task} trials per task"
    if minutes is not None:
        size += f", {cost.trials_per_task * minutes / 60:.1f} hours of the agent"
    if dollars is not None:
        size += f", ${cost.trials_per_task * dollars:.2f}"
    if minutes is not None or dollars is not None:
        size += f" (means of {cost.measured_trials} trials)"
    unknown = [name for name, value in (("hours", minutes), ("dollars", dollars)) if value is None]
    if unknown:
        size += f"; {' and '.join(unknown)} unknown: run one task first, and name its study with --study"
    print_indented(size, "  ", "    ")
