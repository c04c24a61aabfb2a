"""Read what a trial's verifier reported, test by test.

Reports are CTRF (*.json), JUnit XML (*.xml), `reward-details.json` (Harbor's Reward Kit) and `checks.json`
(`{"checks": [{"id", "outcome", "points", "criterion", "said"}]}`) directly in the verifier's folder; other files
there are ignored. Of a traceback only the lines of the assertion are kept, never the verifier's source.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser

from msgspec import Meta, Raw, Struct, ValidationError, field
from msgspec.json import decode
from msgspec.structs import replace

from skilljuror.base.files import path_text
from skilljuror.base.results import CheckOutcome, CheckResult, FailureLabel, SourceRow
from skilljuror.harness.artifacts import plain_folder
from skilljuror.harness.criteria import MARK

MAX_FILE = 20_000_000
"""Bytes of a report."""
MAX_ROWS = 10_000
"""Rows of a trial."""
MAX_TEXT = 300
"""Characters of a name or text."""
_HEAD = 4_096
"""First bytes, in which a report that is too large differs from other large files."""
_ORIGIN = 120
"""Characters of a line that explains a value."""
_MAX_ELEMENTS = 20 * MAX_ROWS
_Points = Annotated[float, Meta(ge=0, le=1e9)]


class _Test(Struct):
    name: str
    status: Literal["passed", "failed", "skipped", "pending", "other"]
    raw_status: str | None = None
    trace: str | None = None
    message: str | None = None
    retries: int | None = None


class _Tool(Struct):
    name: str | None = None


class _Tests(Struct):
    tests: list[_Test]
    tool: _Tool = field(default_factory=_Tool)


class _Ctrf(Struct):
    results: _Tests


class _Check(Struct):
    id: str
    outcome: Literal["passed", "failed", "error", "skipped"]
    points: _Points = 1.0
    criterion: str | None = None
    said: str | None = None


class _Checks(Struct):
    checks: list[_Check]


class _Criterion(Struct):
    name: str
    value: Annotated[float, Meta(ge=0, le=1)]
    weight: _Points = 1.0
    error: str | None = None
    reasoning: str | None = None


class _Criteria(Struct):
    criteria: list[_Criterion]


class _Refused(Exception):
    """A report that is not read; its text is the reason."""


def read_checks(raw: Path, trial: str) -> tuple[tuple[CheckResult, ...], tuple[SourceRow, ...]]:
    """Return the rows of a trial's reports, and why some were not used. One that cannot be read leaves the
    trial without rows, because a share of the others would be wrong. A row's source is its file, after
    steps/NAME/ in a step of a multi-step task."""
    reports: dict[str, list[CheckResult]] = {}
    left: list[SourceRow] = []
    try:
        files = [*_files(raw)]
    except OSError as error:
        reason = f"test reports: cannot be read: {error.strerror}"
        return (), (SourceRow(path_text(raw / "verifier"), "error", reason=reason),)
    for source, path in files:
        try:
            rows = _read(path)
            if sum(map(len, reports.values())) + len(rows) > MAX_ROWS:
                raise _Refused(f"more than {MAX_ROWS} tests in a trial")
        except _Refused as error:
            left.append(SourceRow(path_text(path), "error", reason=f"test report: {error}"))
            continue
        twins = [one for one, others in reports.items() if _functions(rows) == _functions(others)]
        if twins and path.suffix == ".xml":
            reason = f"test report: the same tests as {twins[0]}"
            left.append(SourceRow(path_text(path), "duplicate", reason=reason))
        elif rows:
            reports[source] = [replace(row, trial=trial, source=source) for row in rows]
    if any(row.status == "error" for row in left):
        reports.clear()
    return tuple(row for rows in reports.values() for row in rows), tuple(left)


def _functions(rows: Sequence[CheckResult]) -> set[str]:
    """Names of tests without the parameters of their cases, which some reporters join."""
    return {re.split(r"\[| #\d", row.name)[0] for row in rows}


def _files(raw: Path) -> Iterator[tuple[str, Path]]:
    """(source, path) of every *.json, then every *.xml, in the verifier's folders."""
    steps = plain_folder(raw, "steps")
    parts = ["", *(f"steps/{step.name}/" for step in sorted(steps.iterdir() if steps else ()))]
    for part in parts:
        folder = plain_folder(raw, f"{part}verifier")
        paths = [
            one
            for one in sorted(folder.iterdir() if folder else ())
            if one.is_symlink() or not one.is_dir()
        ]
        for suffix in (".json", ".xml"):
            yield from ((part + path.name, path) for path in paths if path.suffix == suffix)


def _read(path: Path) -> list[CheckResult]:
    """Rows of a file; none if it is no report. A name that is repeated gets " #2" and so on."""
    mark, reader = _JUNIT if path.suffix == ".xml" else _NAMED.get(path.name, _CTRF)
    data = _bytes(path, mark)
    try:
        rows = reader(data) if mark.search(data) else []
    except ValidationError as error:
        if not re.search(r"(?:tests|checks|criteria)\[", str(error)):
            return []  # JSON of another kind
        raise _Refused(str(error)) from None
    except (ValueError, RecursionError, ParseError) as error:
        raise _Refused(str(error)) from None
    seen: Counter[str] = Counter()
    for number, row in enumerate(rows):
        seen[row.name] += 1
        if (count := seen[row.name]) > 1:
            rows[number] = replace(row, name=f"{row.name} #{count}")
    return rows


def _bytes(path: Path, mark: re.Pattern[bytes]) -> bytes:
    """Content of a regular file; none of one that is too large and no report."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise _Refused("a link" if path.is_symlink() else error.strerror) from None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise _Refused("not a regular file")
        if status.st_size <= MAX_FILE:
            return file.read(MAX_FILE)
        if mark.search(file.read(_HEAD)):
            raise _Refused(f"{status.st_size} bytes are more than {MAX_FILE}")
        return b""


_BROKEN = ("setup_", "teardown_")
_STATUSES: dict[str, CheckOutcome] = {
    "passed": "passed", "failed": "failed", "skipped": "skipped", "pending": "skipped",
    "failure": "failed", "error": "error", "other": "error",
}  # fmt: skip
"""Words of CTRF, and elements of JUnit below a test."""


def _ctrf(data: bytes) -> list[CheckResult]:
    rows = []
    report = decode(data, type=_Ctrf).results
    for test in report.tests:
        phase = test.raw_status or ""
        if not phase and report.tool.name == "pytest" and test.retries == 0:
            phase = (
                "setup_"  # pytest-json-ctrf drops it there (and for cases that it joins as retries)
            )
        broken = test.status == "failed" and phase.startswith(_BROKEN)
        outcome = "error" if broken else _STATUSES[test.status]
        rows.append(_row(test.name, outcome, *_assertion(outcome, test.trace, test.message)))
    return rows


def _own(data: bytes) -> list[CheckResult]:
    rows = []
    for one in decode(data, type=_Checks).checks:
        row = _row(one.id, one.outcome, one.said, points=one.points)
        rows.append(replace(row, criterion=_short(one.criterion) or row.criterion))
    return rows


def _reward_kit(data: bytes) -> list[CheckResult]:
    """One row per criterion; a part of a criterion is a failure that earned some points."""
    rows = []
    for reward, block in decode(data, type=dict[str, Raw]).items():
        if b'"criteria"' not in bytes(block):
            continue  # a remark beside the rewards
        found = decode(block, type=_Criteria | list[_Criteria])
        for one in (
            one
            for part in ([found] if isinstance(found, _Criteria) else found)
            for one in part.criteria
        ):
            outcome: CheckOutcome = "passed" if one.value == 1 else "failed"
            outcome = "error" if one.error else outcome
            row = _row(
                f"{reward}.{one.name}", outcome, one.error or one.reasoning, points=one.weight
            )
            label = row.label if one.error else None  # a judge's prose is no assertion
            rows.append(replace(row, award=one.value * one.weight, label=label))
    return rows


class _Bounded(TreeBuilder):
    """Builds a small tree without a DTD, and so without entities."""

    left = _MAX_ELEMENTS

    def doctype(self, *_: object) -> None:
        raise _Refused("it has a DOCTYPE")

    def start(self, tag: str, attrs: dict[str, str]) -> Element:
        self.left -= 1
        if not self.left:
            raise _Refused(f"more than {_MAX_ELEMENTS} elements")
        return super().start(tag, attrs)


def _junit(data: bytes) -> list[CheckResult]:
    parser = XMLParser(target=_Bounded())
    parser.feed(data)
    rows = []
    for suite in parser.close().iter("testsuite"):
        for case in suite.findall("testcase"):
            found = next((one for one in case if one.tag in _STATUSES), None)
            outcome = "passed" if found is None else _STATUSES[found.tag]
            group, name = case.get("classname", ""), case.get("name", "")
            name = _node(group, name) if suite.get("name") == "pytest" else f"{group}::{name}"
            text, message = (None, None) if found is None else (found.text, found.get("message"))
            rows.append(_row(name.removeprefix("::"), outcome, *_assertion(outcome, text, message)))
    return rows


def _node(group: str, name: str) -> str:
    """Node id of pytest's test: its modules begin in lower case, its classes do not."""
    parts = group.split(".")
    end = next((at for at, part in enumerate(parts) if part[:1].isupper()), len(parts))
    return "::".join(("/".join(parts[:end]) + ".py", *parts[end:], name))


_Reader = tuple[re.Pattern[bytes], Callable[[bytes], list[CheckResult]]]
_JUNIT: _Reader = re.compile(rb"<testsuites?[\s>]"), _junit
_CTRF: _Reader = re.compile(rb'"tests"\s*:\s*\['), _ctrf
_NAMED: dict[str, _Reader] = {
    "checks.json": (re.compile(rb'"checks"\s*:\s*\['), _own),
    "reward-details.json": (re.compile(rb'"criteria"\s*:\s*\['), _reward_kit),
}
"""A mark in the file of every kind of report, and its reader."""


def _assertion(outcome: CheckOutcome, trace: str | None, message: str | None) -> tuple[str, str]:
    """What a failed test said: the first line of the last assertion in a traceback of pytest, and its
    comparison; the report's own message without one. And where the values come from, as pytest explains."""
    if outcome not in {"failed", "error"}:
        return "", ""
    blocks: list[list[str]] = [[]]
    for line in (trace or "").splitlines():
        if line == "E" or line.startswith("E "):
            blocks[-1].append(re.sub("^AssertionError: (?=assert )", "", line[1:].strip()))
        elif blocks[-1]:
            blocks.append([])
    lines = next(filter(None, reversed(blocks)), [message or ""])
    compared = [line for line in lines[1:] if line.startswith("assert ")][:1]
    origin = [line[:_ORIGIN] for line in lines if re.match(r"\+ +(?:where|and) ", line)][:3]
    said = [lines[0][: MAX_TEXT // 2], *compared] if compared else lines[:1]
    return "\n".join(said), "\n".join(origin)


def _row(
    name: str, outcome: CheckOutcome, said: str | None, origin: str = "", *, points: float = 1.0
) -> CheckResult:
    """A row without trial and source."""
    mark = MARK.search(name)
    return CheckResult(
        trial="",
        source="",
        name=_short(name) or "unnamed",
        outcome=outcome,
        points=points,
        award={"passed": points, "failed": 0.0, "error": 0.0}.get(outcome),
        label=failure_label(outcome, f"{_short(said) or ''}\n{origin}"),
        said=_short(said),
        criterion=mark and f"AC-{int(mark[1])}",
    )


def _short(text: str | None) -> str | None:
    """At most MAX_TEXT characters; None for no text."""
    return (text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…") if text else None


_NUMBER = r"(?:np\.\w+\()?[-+(]*(?:\d[\d_]*(?:\.\d*)?(?:e[-+]?\d+)?|\.\d+|nan|inf)\)*"
_PATH = r"(?:(?:^|[\s'\"(])~?/\w|[\w-](?-i:\.[a-z][a-z0-9]{1,4})\b(?![\[(]))"
_GONE = r"\b(?:missing|not found|not created|no\b.{0,40}\bfound)\b"
_THING = r"\b(?:column|key|field|argument|attribute)s?\b"
_LABELS: tuple[tuple[FailureLabel, re.Pattern[str]], ...] = (
    ("asset", re.compile(
        r"FileNotFoundError|No such file|(?:does|did) ?n[o']t exist|EmptyDataError"
        rf"|^(?=.*(?:{_GONE}|\bis empty\b)).*{_PATH}"
    , re.IGNORECASE | re.MULTILINE)),
    ("runtime", re.compile(
        r"ModuleNotFoundError|ImportError|SyntaxError|IndentationError|command not found|CalledProcessError"
        r"|\bexit(?:ed)?\b.{0,12}\b(?:status|code)|return ?code|CompletedProcess\(|time(?:d ?)?out|MemoryError"
    , re.IGNORECASE)),
    ("interface", re.compile(
        r"^(?:KeyError|TypeError|AttributeError)\b|unexpected keyword|isinstance\(|\b(?:shape|type) mismatch"
        rf"|^(?=.*{_GONE}).*{_THING}|^assert \S+ in \{{(?:'[^']*'|\d+): "
    , re.IGNORECASE | re.MULTILINE)),
    ("numeric", re.compile(
        rf"^assert {_NUMBER} (?:[=!<>]=|[<>]) (?:approx\(|{_NUMBER}(?:$|[\s,]))|Not equal to tolerance"
        rf"|^AssertionError: {_NUMBER} (?:!=|not (?:less|greater) than(?: or equal to)?) {_NUMBER}(?:$|\s)"
        rf"|[Ee]xpected:? {_NUMBER},? (?:but )?(?:got|found|was):? {_NUMBER}(?:$|[\s,.])"
    , re.MULTILINE)),
    ("rule", re.compile(
        r"^assert .* (?:[=!<>]=|[<>]|(?:not )?in|is(?: not)?) "
        r"|^AssertionError: (?:(?:Lists|Sets|Tuples|Sequences) differ|.* (?:!=|(?:not|unexpectedly) found in) )"
    , re.MULTILINE)),
)  # fmt: skip
"""Kinds of failure, the first that fits counts."""


def failure_label(outcome: CheckOutcome, said: str) -> FailureLabel | None:
    """Return the kind of a failure by the words of its assertion; None if none fits."""
    if outcome not in {"failed", "error"}:
        return None
    found = next((label for label, signs in _LABELS if signs.search(said)), None)
    return "runtime" if outcome == "error" and found != "asset" else found
