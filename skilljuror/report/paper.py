"""The tables of the SkillJuror paper (arXiv 2606.11543), by its names, as Markdown, LaTeX and CSV."""

import re
from pathlib import Path
from typing import NamedTuple

from skilljuror.base.files import write_atomic
from skilljuror.report.answers import Answers
from skilljuror.report.canvas import SCRIPTED
from skilljuror.report.computed import answer
from skilljuror.report.headline import headline
from skilljuror.report.markdown import table_lines
from skilljuror.report.sections import Panel
from skilljuror.report.views import TableView, table_view
from skilljuror.store.connect import open_read
from skilljuror.store.questions import csv_text

LIMIT = 1000
"""Rows of a table in Markdown and LaTeX; the CSV has them all."""


class PaperTable(NamedTuple):
    """One table, or the numbers of one figure."""

    name: str
    """Name in the paper."""
    title: str
    """What it shows."""
    question: str
    """Question, or computed table, that it is made of; "" if it is not made."""
    columns: tuple[str, ...] = ()
    """Columns shown; empty means all."""
    note: str = ""
    """How it differs from the printed one."""


_UPTAKE = ("condition", "judge", "trajectories", "events")
TABLES = (
    PaperTable("T1", "Runtime setup", "setup"),
    PaperTable("T2", "Construction reliability", "gates"),
    PaperTable(
        "T3", "Pass outcomes and use per strict pass", "yields",
        note="Intervals over tasks are added. Per-pass figures recompute within the rounding of the printed inputs.",
    ),
    PaperTable("T4", "Three views of efficiency", "efficiency", (
        "condition", "resource", "unit", "attempt", "success", "yield",
    ), "29.76 minutes per pass are printed; 8.64 minutes × 410 / 119 passes are 29.77."),
    PaperTable("T5", "Signals of the layout", "process", (
        "condition", "skill_step_share", "skill_token_share", "support_read_trials", "script_trials",
        "helper_trials", "fanout",
    ), "The rules for support, script and helper are ours: compare contrasts, not levels."),
    PaperTable("T5 (thirds)", "Skill steps by third of the run", "timing"),
    PaperTable("T6", "Routing of resources", "uptake", (
        *_UPTAKE, "eru_low", "eru_high", "mean_events", "mean_yes_low", "mean_yes_high", "ge2_yes_low",
        "ge2_yes_high", "ge5_yes_low", "ge5_yes_high",
    ), "Rates are bounds while uses are open."),
    PaperTable(
        "T7", "Translation patterns", "patterns",
        note="By stated thresholds; the paper's groups were chosen by reading.",
    ),
    PaperTable("T8", "Task-set accounting", "task_set"),
    PaperTable("T9", "Excluded tasks", "excluded_tasks"),
    PaperTable("T10", "Rubric items", "rubric_counts", ("variant", "item", "asks", "items", "accepted")),
    PaperTable("T11", "Construction gates in detail", "gates"),
    PaperTable("T12", "Construction audit", "rubric_counts", (
        "variant", "item", "items", "yes", "negative", "overridden", "rejected", "unresolved", "accepted",
    )),
    PaperTable("T13", "Raw counts of uptake", "uptake", (
        *_UPTAKE, "yes", "no", "unknown", "open", "eru_low", "eru_high", "mean_events", "mean_yes_low",
        "mean_yes_high",
    )),
    PaperTable("T14", "Trajectories with uptake", "uptake", (
        *_UPTAKE, "ge1_yes_low", "ge1_yes_high", "ge2_yes_low", "ge2_yes_high", "ge5_yes_low", "ge5_yes_high",
    )),
    PaperTable(
        "T15", "Reliability of the uptake labels", "judge_card",
        note="People's labels are counted; the paper left them to later work.",
    ),
    PaperTable("T16", "Sensitivity to the source's layout", "outcomes", (
        "condition", "tasks", "planned", "broad_passes", "broad_rate", "strict_passes", "runtime_successes",
    ), "`tasks` of a condition names a subset; the paper's has 56 tasks."),
    PaperTable(
        "T17", "Accounting of origin-flat", "",
        note="The observed view is T3. The imputed view shares trials with the control, so it is not made.",
    ),
    PaperTable("T18", "Kinds of task", "strata"),
    PaperTable(
        "T19", "Kinds of task without a pattern", "patterns", ("attribute", "value", "tasks", "pattern_reason"),
        "Rows with a reason.",
    ),
    PaperTable("F3", "A source and its variants in size", "variants", (
        "build", "variant", "files", "support_files", "code_files", "tokens", "root_tokens",
    ), "The paper shows one task."),
    PaperTable("F4", "Difference in strict passes by task", "task_deltas"),
    PaperTable("F5", "Skill steps by twentieth of the run", "timing_bins"),
    PaperTable("F6", "Kinds of task", "strata", ("attribute", "value", "tasks")),
    PaperTable("F7", "Uptake against success by kind of task", "strata"),
)  # fmt: skip
"""In the paper's order; its F1 and F2 show no data."""


def write_paper(database: Path, target: Path) -> tuple[list[str], list[str]]:
    """Write `target`/tables.md, and a CSV and a LaTeX file for each table; nothing from a log is quoted.

    Returns the names of the tables with rows, and of those without. Raises StoreError.
    """
    with open_read(database) as reader:
        answers = Answers(reader, quotes=False)
        scripted = [f"> {SCRIPTED}"] if headline(answers).scripted else []
        parts, made, empty = ["# Tables of the paper", *scripted], [], []
        for table in TABLES:
            parts.append(f"## {table.name} · {table.title}")
            if table.note:
                parts.append(table.note)
            if not table.question:
                empty.append(table.name)
                continue
            view = table_view(answers, Panel(table.question, table.columns, LIMIT))
            if not view.rows:
                parts.append(f"No data. {view.empty}")
                empty.append(table.name)
                continue
            made.append(table.name)
            parts.append("\n".join(table_lines(view)))
            stem = re.sub(r"\W+", "-", table.name).strip("-")
            write_atomic(target / f"{stem}.csv", csv_text(answer(answers, table.question)))
            write_atomic(
                target / f"{stem}.tex", latex(view, table.title, stem, scripted=bool(scripted))
            )
        write_atomic(target / "tables.md", "\n\n".join(parts) + "\n")
    return made, empty


def latex(view: TableView, title: str, label: str, *, scripted: bool = False) -> str:
    """Return a table with booktabs; numbers are set flush right."""
    head = " & ".join(_escaped(column.label) for column in view.columns)
    lines = [
        *([f"% {SCRIPTED}"] if scripted else []),
        r"\begin{table}",
        rf"\caption{{{_escaped(title)}.{' ' + _escaped(SCRIPTED) if scripted else ''}}}\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{{''.join('r' if column.number else 'l' for column in view.columns)}}}",
        r"\toprule",
        rf"{head} \\",
        r"\midrule",
        *(" & ".join(_escaped(cell.text) for cell in row) + r" \\" for row in view.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\N{MINUS SIGN}": "$-$",
    "\N{NARROW NO-BREAK SPACE}": r"\,", "–": "--", "≥": r"$\geq$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


def _escaped(text: str) -> str:
    """Text of a cell on one line, with the characters that LaTeX gives a meaning escaped."""
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))
