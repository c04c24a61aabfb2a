"""The headline of a report with its uncertainty, and the remarks before its tables; sentences.yaml has their words."""

import re
from typing import Any

from jinja2 import Environment, StrictUndefined
from msgspec import Struct

from skilljuror.base.results import unknown_tools_note
from skilljuror.measures.paired import PairedDelta, equivalence_interval, leave_one_out, verdict
from skilljuror.measures.power import detectable_effect, sign_flip, sign_test
from skilljuror.measures.rates import Interval
from skilljuror.report.computed import OUTCOMES, Answers, data, low_high, names, primary_contrast
from skilljuror.report.tables import format_count, format_points, format_value
from skilljuror.store.questions import CONTRAST

Row = dict[str, Any]
MethodRow = tuple[str, float | None, float | None, float | None]
"""(method, low, high, p) in percentage points."""
METHOD_COLUMNS = ("method", "low_pp", "high_pp", "p")
Remark = tuple[str, tuple[str, ...]]
"""A sentence or two, and commands to run in order."""


class Headline(Struct, frozen=True, kw_only=True):
    """Headline of a report."""

    title: str
    """The verdict in one sentence; for logs, a summary."""
    advice: str
    """How to read it."""
    observed: bool
    """Logs only, no trials."""
    scripted: bool
    """Whether a scripted policy ran in any trial."""
    overview: Row
    """Row of the query `overview`."""
    delta: PairedDelta | None = None
    """Treatment minus control in the primary outcome; None without two arms."""
    outcome: str = ""
    """Name of the mean primary outcome."""
    number: str = ""
    """The difference with its interval; "" if it must not be quoted."""
    meaning: str = ""
    """Meaning of the number in one sentence; "" if it must not be quoted."""
    quotable: bool = False
    """Whether a number may be quoted."""
    methods: tuple[MethodRow, ...] = ()
    """(method, low, high, p) in percentage points, the headline method first."""
    facts: tuple[tuple[str, str], ...] = ()
    """Further facts: name and words."""


def headline(answers: Answers) -> Headline:
    """Return the headline of a study or of logs."""
    overview = answers.single("overview")
    scripted = bool(overview["scripted"])
    if not overview["planned"]:
        skills = sum(bool(row["opened"]) for row in answers("skills_opened").records())
        runs = format_count(overview["trajectories"], "run")
        return Headline(
            title=f"{runs} read, {format_count(skills, 'skill')} opened",
            advice=say("observed", overview=overview), observed=True, scripted=scripted,
            overview=overview, facts=_facts("observed_facts", answers=answers),
        )  # fmt: skip
    setup, delta = answers.single("setup"), primary_contrast(answers)
    if delta is None or delta.delta is None:
        return Headline(
            title=f"{overview['finished']} of {overview['planned']} planned trials, no contrast",
            advice=say("no_contrast", setup=setup), observed=False, scripted=scripted, overview=overview,
        )  # fmt: skip
    margin, outcome = setup["margin"], OUTCOMES[setup["primary_outcome"]]
    effect = detectable_effect(delta.sd or 0.0, delta.tasks).effect
    values = [value for _, value in delta.by_task]
    wins, losses = sum(value > 0 for value in values), sum(value < 0 for value in values)
    known = {
        "overview": overview, "delta": delta, "outcome": outcome, "margin": margin, "verdict": verdict(delta, margin),
        "same_arms": answers.single("same_arms").get("same_arms"),
        "detectable": effect if effect is not None and 0 < effect <= 100 else None,
        "inner": equivalence_interval(delta) if margin else None,
    }  # fmt: skip
    facts = _facts(
        "facts", **known, answers=answers, setup=setup, spread=leave_one_out(delta),
        outcomes=(wins, len(values) - wins - losses, losses),
    )  # fmt: skip
    quotable, methods = not delta.refusal, list[MethodRow]()
    if quotable:
        flip, signs = sign_flip(values), sign_test(wins, losses)
        methods = [
            (f"paired task means, Student t({delta.tasks - 1}) (headline)", *low_high(delta.t), None),
            ("paired task means, normal (as papers print it)", *low_high(delta.z), None),
            (f"{flip.method} of task differences", None, None, flip.p),
            (f"{signs.method} of {wins} wins against {losses} losses", None, None, signs.p),
        ]  # fmt: skip
        if delta.clean is not None:
            clean = ("the same without contaminated trials", *low_high(delta.clean.t), None)
            methods.insert(1, clean)
    words = {name: say(name, **known) for name in ("title", "advice", "number", "meaning")}
    return Headline(
        **words, observed=False, scripted=scripted, overview=overview, delta=delta, outcome=outcome,
        quotable=quotable, methods=tuple(methods), facts=facts,
    )  # fmt: skip


def remarks(name: str, answers: Answers) -> list[Remark]:
    """Return the remarks of a name in `remarks` of sections.yaml."""

    def unknown_tools() -> str:
        rows = answers("unknown_tools").records()
        note = unknown_tools_note([(row["tool"], row["calls"], row["runs_unknown"]) for row in rows])  # fmt: skip
        return note if rows else ""

    words = say(
        name,
        answers=answers,
        unknown_tools_note=unknown_tools,
        differing=lambda: _differing(answers),
    )
    parts = [[part.strip() for part in remark.split("$")] for remark in words.split("¶")]
    return [(text, tuple(commands)) for text, *commands in parts if text]


def _differing(answers: Answers) -> list[tuple[str, list[tuple[str, str]]]]:
    """Setting of `provenance` that differs between the arms of the contrast, and is not compared -> arm, values."""
    setup, rows = answers.single("setup"), answers("provenance").records()
    varied = tuple(str(setup["vary"]).replace("model", "model, answered_by").split(", "))
    found = []
    for column in ("agent", "agent_version", "model", "answered_by", "effort", "harness", "isolation"):  # fmt: skip
        values = [
            (arm, ", ".join(sorted({str(row[column]) for row in rows if arm in names(row["conditions"]) and row[column]})))
            for arm in map(setup.get, CONTRAST) if arm
        ]  # fmt: skip
        if not column.startswith(varied) and len({said for _, said in values if said}) > 1:
            found.append((column.replace("_", " "), values))
    return found


def _facts(name: str, **values: Any) -> tuple[tuple[str, str], ...]:
    facts = (fact.partition("¦") for fact in say(name, **values).split("¶"))
    return tuple((title.strip(), words.strip()) for title, _, words in facts if title.strip())


def say(sentence: str, **values: Any) -> str:
    """Return a sentence of sentences.yaml in one line."""
    text = _WORDS.from_string(data("sentences")[sentence]).render(**values)
    return re.sub(r"[ \n]+", " ", text).strip()


def _between(interval: Interval) -> str:
    return f"{format_points(interval.low)} to {format_points(interval.high)}"


def _ranged(row: Row, name: str) -> str:
    value, low, high = (format_value(name, row[f"{name}{end}"]) for end in ("", "_low", "_high"))
    return value if row[name] is None else f"{value} ({low} to {high})"


_WORDS = Environment(
    undefined=StrictUndefined, autoescape=False,  # a page escapes it
    finalize=lambda value: re.sub("[¶¦$]", "", value) if isinstance(value, str) else value,
)  # fmt: skip
_WORDS.globals["say"] = say
_WORDS.filters |= {
    "points": format_points, "counted": format_count, "between": _between, "ranged": _ranged,
    "value": lambda value, column: format_value(column, value),
    "percent_points": lambda share: format_points(None if share is None else 100 * share),
}  # fmt: skip
