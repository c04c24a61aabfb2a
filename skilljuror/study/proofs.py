"""Proofs of a task by further runs: the solution again, a run that only writes what the tests look for, and
which checks and criteria tell a solution from an empty run.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from skilljuror.base.results import CheckOutcome, CheckResult
from skilljuror.base.study import TrialRecord
from skilljuror.base.texts import texts_below
from skilljuror.harness.criteria import (
    Criterion,
    NamedTest,
    criteria_of,
    parsed,
    read_tests,
    strings_in,
)
from skilljuror.skill.units.critical_tokens import critical_tokens
from skilljuror.study.task_check import TaskRule

AGAIN = ("solution-2", "solution-3")
STUFFED = "stuffed"
_QUOTED = re.compile(r"\"([^\"\n]{1,500})\"|'([^'\n]{1,500})'")
_FILE = re.compile(r"(?:[\w@+.-]+/)*[\w@+-][\w@+.-]*\.[A-Za-z]\w{0,9}")
_MOST = 1_000_000
"""Most characters of strings in one file."""
_WORKDIR = "/app/"


class Attempt(Struct, frozen=True):
    """What one run left."""

    record: TrialRecord
    output: str | None
    """What the verifier printed."""
    said: str | None
    """What a solution printed."""
    checks: tuple[CheckResult, ...] = ()
    """What the verifier reported, test by test."""
    unread: str | None = None
    """Why its reports were not read."""

    @property
    def outcomes(self) -> dict[str, CheckOutcome]:
        """Check -> outcome; a check that two reports name has the source before its name."""
        names = [one.name for one in self.checks]
        return {
            one.name if names.count(one.name) == 1 else f"{one.source} {one.name}": one.outcome
            for one in self.checks
        }


class TraceRow(Struct, frozen=True):
    """A criterion and a test that names it; one of them is None for an orphan."""

    criterion: str | None
    text: str | None
    """Text of the criterion; None if the requirement does not have it."""
    test: str | None
    empty: CheckOutcome | None
    """Outcome in the empty run; None if it was not reported."""
    solution: CheckOutcome | None
    """Outcome with the solution; None if it was not reported."""


class TaskProof(Struct, frozen=True):
    """Proofs of one task."""

    rules: tuple[TaskRule, ...]
    """repeated, stuffed, checks and trace."""
    trace: tuple[TraceRow, ...]
    """Criteria in their order, then tests that name none; empty if no test names a criterion."""


def prove(task_dir: Path, runs: Mapping[str, Attempt]) -> TaskProof:
    """Judge the runs of a task: kind -> attempt."""
    empty, solution = runs["empty"], runs.get("solution")
    criteria, tests = requirement_of(task_dir)
    trace = tuple(_trace(criteria, tests, empty, solution))
    again = [solution, *(runs[kind] for kind in AGAIN)] if solution else []
    rules = (
        _repeated([one for one in again if one]),
        _stuffed(runs.get(STUFFED)),
        _checks(empty, solution),
        _traced(criteria, trace),
    )
    return TaskProof(rules, trace if any(row.criterion and row.test for row in trace) else ())


def _repeated(runs: Sequence[Attempt]) -> TaskRule:
    if not runs:
        return TaskRule("repeated", "unknown", "no solution to repeat")
    rewards = [one.record.reward for one in runs]
    if set(rewards) == {None}:
        return TaskRule("repeated", "unknown", "the solution gets no reward")
    if len({*rewards}) > 1:
        said = ", ".join("none" if reward is None else f"{reward:g}" for reward in rewards)
        return TaskRule(
            "repeated", "fail", f"the solution gets other rewards when repeated: {said}"
        )
    first = runs[0].outcomes
    for one in runs[1:]:
        other = one.outcomes
        for name in sorted({*first, *other}):
            if first.get(name) != other.get(name):
                outcomes = f"{first.get(name, 'missing')}, then {other.get(name, 'missing')}"
                return TaskRule("repeated", "fail", f"check {name!r} of the solution is {outcomes}")
    return TaskRule("repeated", "ok", f"{len(runs)} equal runs")


def _stuffed(run: Attempt | None) -> TaskRule:
    if run is None:
        return TaskRule("stuffed", "unknown", "the instruction names no file to write")
    reward = run.record.reward
    if reward is not None and reward < 1:
        return TaskRule("stuffed", "ok", f"reward {reward:g}")
    said = "no reward" if reward is None else f"reward {reward:g}"
    reason = f"a run that only writes the strings of the tests gets {said}; expected less than 1"
    return TaskRule("stuffed", "fail", reason)


def _checks(empty: Attempt, solution: Attempt | None) -> TaskRule:
    """At least one check tells the solution from the empty run."""
    unread = empty.unread or (solution and solution.unread)
    if solution is None or unread or not solution.checks:
        reason = (
            unread or "the verifier reports no checks" if solution else "no solution to compare"
        )
        return TaskRule("checks", "unknown", reason)
    passed = [name for name, outcome in solution.outcomes.items() if outcome == "passed"]
    told = [name for name in passed if empty.outcomes.get(name) != "passed"]
    said = f"{len(told)} of {len(solution.outcomes)} checks pass with the solution alone"
    return TaskRule("checks", "ok" if told else "fail", said)


def _traced(criteria: Sequence[Criterion], trace: Sequence[TraceRow]) -> TaskRule:
    linked = {row.criterion for row in trace if row.criterion and row.test}
    if not linked:
        return TaskRule("trace", "note", f"{len(criteria)} criteria, and no test names one")
    missing = [one.id for one in criteria if one.id not in linked]
    if missing:
        return TaskRule("trace", "fail", f"no test names {', '.join(missing)}")
    easy = [
        one.id
        for one in criteria
        if all(row.empty == "passed" for row in trace if row.criterion == one.id)
    ]
    said = f"; an empty run passes every test of {', '.join(easy)}" if easy else ""
    return TaskRule("trace", "ok", f"each of {len(criteria)} criteria has a test{said}")


def requirement_of(task_dir: Path) -> tuple[tuple[Criterion, ...], tuple[NamedTest, ...]]:
    """Return the criteria of a task's instruction and the test functions of its verifier."""
    text = (task_dir / "instruction.md").read_text(encoding="utf-8")
    files = texts_below(task_dir / "tests").items()
    tests = (one for path, code in files if path.endswith(".py") for one in read_tests(code) or ())
    return criteria_of(text), tuple(tests)


def _trace(
    criteria: Sequence[Criterion],
    tests: Sequence[NamedTest],
    empty: Attempt,
    solution: Attempt | None,
) -> Iterator[TraceRow]:
    """Rows for every criterion and its tests, then for tests whose criterion the requirement lacks or that
    name none."""
    before, after = empty.outcomes, solution.outcomes if solution else {}
    own = {one.name: one.criterion for run in (empty, solution) if run for one in run.checks}
    named = {name: {own.get(name)} - {None} for name in {**after, **before}}
    for test in tests:
        reported = [name for name in named if _is_of(name, test.name)]
        for name in reported or [test.name] * (bool(test.criteria) or not own):
            named.setdefault(name, set()).update(test.criteria)
    texts = {one.id: one.text for one in criteria}
    others = sorted({one for links in named.values() for one in links if one} - {*texts})
    for criterion in (*texts, *others):
        its: list[str | None] = [name for name, links in named.items() if criterion in links]
        for one in its or [None]:
            outcomes = (before.get(one), after.get(one)) if one else (None, None)
            yield TraceRow(criterion, texts.get(criterion), one, *outcomes)
    for name, links in named.items():
        if not links:
            yield TraceRow(None, None, name, before.get(name), after.get(name))


def _is_of(check: str, test: str) -> bool:
    """Whether a reported check is of a test function: its name without file, class and case."""
    plain = re.split(r"\[| #\d", check)[0]
    return plain == test or plain.endswith(f"::{test}") or test.endswith(f"::{plain}")


def stuffing(task_dir: Path, place: Path, *, sandboxed: bool) -> tuple[Path, ...]:
    """Write a script and its files into `place`: it fills every file that the instruction names with all string
    literals of the tests. Return them, the script first; empty if it names no file.

    Without a sandbox, files outside the task's folder are not written.
    """
    targets = list(_targets(task_dir, sandboxed=sandboxed))
    if not targets:
        return ()
    strings, left = list[str](), _MOST
    for text in dict.fromkeys(_literals(texts_below(task_dir / "tests"))):
        left -= len(text)
        strings += [text] if left > 0 else []
    place.mkdir(parents=True)
    files, lines = [], ["#!/bin/bash"]
    for number, target in enumerate(targets):
        file = place / f"stuffing-{number}"
        file.write_text(_stuffed_text(target, strings), encoding="utf-8", errors="replace")
        files.append(file)
        lines.append(
            f'mkdir -p -- "$(dirname -- "{target}")"; cat "${{0%/*}}/{file.name}" >> "{target}"'
        )
    script = place / "stuff.sh"
    script.write_text("\n".join([*lines, "true", ""]), encoding="utf-8")
    return (script, *files)


def _stuffed_text(target: str, strings: Iterable[str]) -> str:
    """All strings, in a form that programs can read."""
    suffix = PurePosixPath(target).suffix
    if suffix == ".json":
        return json.dumps({text: text for text in strings}, indent=0)
    return "\n".join(repr(text) if suffix == ".py" else text for text in strings) + "\n"


def _targets(task_dir: Path, *, sandboxed: bool) -> Iterator[str]:
    """Paths of files in the instruction, each once."""
    text = (task_dir / "instruction.md").read_text(encoding="utf-8")
    said = dict.fromkeys(
        token.partition(":")[2].strip().removeprefix("./")
        for token in critical_tokens(text)
        if token.startswith(("path:", "code:"))
    )
    for path in said:
        inside = path.removeprefix(_WORKDIR)
        outside = inside.startswith(("/", "~"))
        is_file = _FILE.fullmatch(inside.lstrip("/")) and ".." not in inside.split("/")
        if is_file and (sandboxed or not outside):
            yield path if sandboxed else inside


def _literals(files: Mapping[str, str]) -> Iterator[str]:
    """String literals of tests: by syntax tree in Python, by quotes elsewhere."""
    for path, text in files.items():
        if path.endswith(".py") and (tree := parsed(text)):
            yield from strings_in(tree)
        else:
            yield from (one or other for one, other in _QUOTED.findall(text))
