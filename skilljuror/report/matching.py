"""What is the same in several studies, and what differs, so that their numbers can be read side by side."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from skilljuror.base.errors import UsageError
from skilljuror.base.texts import model_date, plain_model
from skilljuror.report.answers import Answers
from skilljuror.report.headline import format_count

_SETUP = ("harness", "agent", "disclosure", "primary_outcome", "margin")
"""Settings of a study that are compared."""
_ARMS = ("model", "answered_by", "effort")
"""Settings of its conditions that are compared."""
_FOREIGN = (
    "has logs and no planned trials; compare such logs with `skilljuror query {} skills_opened`"
)


class Matching(NamedTuple):
    """What several studies share."""

    tasks: tuple[str, ...]
    """Tasks that all of them have, with equal contents where these are known."""
    words: str
    """What is the same and what differs, in a line."""


def matching(studies: Mapping[str, Answers]) -> Matching:
    """Return what the studies share. Raises UsageError for logs without a plan, and without a common task."""
    cells = {}
    for name, answers in studies.items():
        cells[name] = answers("cells").records()
        if not cells[name]:
            raise UsageError(f"{name!r} {_FOREIGN.format(' '.join(studies))}")
    tasks, words = _tasks(cells)
    if not tasks:
        raise UsageError(f"no task is the same in {' and '.join(map(repr, studies))}: {words}")
    common = {name: [row for row in rows if row["task"] in tasks] for name, rows in cells.items()}
    same: list[str] = [words]
    differs: list[str] = []
    unknown: list[str] = []
    for label, values in _settings(studies, common).items():
        if len({*values.values()}) == 1:
            (value,) = {*values.values()}
            same += [f"{label} {value}"] if value else []
        else:
            told = "; ".join(f"{name}: {value or 'none'}" for name, value in values.items())
            found = unknown if label == "answered by" and _may_be_same(values) else differs
            found.append(f"{label} ({told})")
    for verdict, words in _variants(common):
        {True: same, False: differs, None: unknown}[verdict].append(words)
    parts = (("Same in all", same), ("Different", differs), ("Not known", unknown))
    return Matching(
        tasks, " ".join(f"{name}: {', '.join(found)}." for name, found in parts if found)
    )


def _tasks(cells: Mapping[str, list[dict[str, Any]]]) -> tuple[tuple[str, ...], str]:
    """The common tasks in order of the first study, and what was left out."""
    digests: dict[str, dict[str, str | None]] = defaultdict(dict)
    for name, rows in cells.items():
        for row in rows:
            digests[row["task"]][name] = row["substrate_digest"]
    everywhere = [task for task, found in digests.items() if len(found) == len(cells)]
    known = {task: {*digests[task].values()} - {None} for task in everywhere}
    common = tuple(task for task in everywhere if len(known[task]) < 2)
    parts = []
    if lacking := len(digests) - len(everywhere):
        parts.append(f"{format_count(lacking, 'task')} that not every study has")
    if changed := len(everywhere) - len(common):
        parts.append(
            f"{format_count(changed, 'task')} whose instruction, environment or verifier differs"
        )
    unknown = sum(None in digests[task].values() for task in common)
    by_name = f" ({unknown} by name alone, their contents are not known)" if unknown else ""
    left_out = f" (left out: {' and '.join(parts)})" if parts else ""
    return common, f"{format_count(len(common), 'task')}{by_name}{left_out}"


def _settings(
    studies: Mapping[str, Answers], cells: Mapping[str, list[dict[str, Any]]]
) -> dict[str, dict[str, str]]:
    """Setting -> study -> its value as text."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for name, answers in studies.items():
        setup, rows = answers.single("setup"), cells[name]
        found["conditions"][name] = ", ".join(dict.fromkeys(row["condition"] for row in rows))
        counts = sorted({row["trials"] for row in rows})
        found["trials per cell"][name] = " to ".join(
            map(str, dict.fromkeys([counts[0], counts[-1]]))
        )
        for label in _SETUP:
            found[label.replace("_", " ")][name] = _text(setup[label])
        versions = (row["agent_version"] for row in answers("provenance").records())
        found["agent version"][name] = ", ".join(sorted({*filter(None, versions)}))
        for label in _ARMS:
            values = {row[label] for row in rows}
            found[label.replace("_", " ")][name] = ", ".join(sorted({*map(_text, values)}))
        contrast = f"{setup['treatment']} minus {setup['control']}"
        found["contrast"][name] = contrast if setup["treatment"] else ""
        found["judge"][name] = _text(answers.single("overview")["judges"])
    return found


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else str(value)


def _may_be_same(models: Mapping[str, str]) -> bool:
    """Whether a log names no model, or the names differ in provider, punctuation or a missing date alone."""
    names = [{*value.split(", ")} for value in models.values()]
    plain = {tuple(sorted({*map(plain_model, found)})) for found in names}
    dates = {date for found in names for name in found if (date := model_date(name))}
    return any("" in found for found in names) or (len(plain) == 1 and len(dates) < 2)


def _variants(cells: Mapping[str, list[dict[str, Any]]]) -> list[tuple[bool | None, str]]:
    """(same, words) of the variants of conditions that several studies have; None: not known."""
    offered: dict[tuple[str, str], set[tuple[Any, Any]]] = defaultdict(set)
    for rows in cells.values():
        for row in rows:
            offered[row["condition"], row["task"]].add((row["variant"], row["tree_digest"]))
    other: dict[str, int] = defaultdict(int)
    unknown: dict[str, int] = defaultdict(int)
    for (condition, _), variants in offered.items():
        digests = {digest for variant, digest in variants if variant is not None}
        skills = {variant is None for variant, _ in variants}
        if len(digests - {None}) > 1 or len(skills) > 1:
            other[condition] += 1
        elif None in digests:
            unknown[condition] += 1
    told = [
        (same, f"text of {name} in {format_count(count, 'task')}")
        for same, counts in ((False, other), (None, unknown))
        for name, count in counts.items()
    ]
    return told or [(True, "the text of every variant")]
