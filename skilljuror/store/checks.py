"""Read what a trial's verifier reported, test by test.

Reports are CTRF (*.json), `reward-details.json` (Harbor's Reward Kit), and, without one of these, JUnit XML (*.xml)
directly in the verifier's folder; other files there are ignored. Of a traceback only the lines of the assertion are kept, never the verifier's source.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal
from xml.etree.ElementTree import ParseError, fromstring

from msgspec import Meta, Raw, Struct, ValidationError, field
from msgspec.json import decode
from msgspec.structs import replace

from skilljuror.base.files import path_text
from skilljuror.base.results import CheckOutcome, CheckResult, FailureLabel, SourceRow
from skilljuror.harness.artifacts import plain_folder
from skilljuror.harness.tasks import MARK

MAX_FILE = 20_000_000
"""Bytes of a report."""
MAX_ROWS = 10_000
"""Rows of a trial."""
MAX_TEXT = 300
"""Characters of a name or text."""
_ORIGIN = 120
"""Characters of a line that explains a value."""
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
    steps/NAME/ in a step of a multi-step task. A name that a report repeats gets " #2" and so on."""
    rows: list[CheckResult] = []
    refused: list[SourceRow] = []
    try:
        steps = plain_folder(raw, "steps")
        parts = ["", *(f"steps/{step.name}/" for step in sorted(steps.iterdir() if steps else ()))]
        folders = [(part, plain_folder(raw, f"{part}verifier")) for part in parts]
        files = [(part, path) for part, folder in folders if folder for path in [*sorted(folder.glob("*.json")), *sorted(folder.glob("*.xml"))]]  # fmt: skip
    except OSError as error:
        reason = f"test reports: cannot be read: {error.strerror}"
        return (), (SourceRow(path_text(raw / "verifier"), "error", reason=reason),)
    for part, path in files:
        seen: Counter[str] = Counter()
        if path.suffix == ".xml" and rows:
            continue  # the same tests again
        try:
            for row in _read(path):
                seen[row.name] += 1
                name = f"{row.name} #{seen[row.name]}" if seen[row.name] > 1 else row.name
                rows.append(replace(row, trial=trial, source=part + path.name, name=name))
            if len(rows) > MAX_ROWS:
                raise _Refused(f"more than {MAX_ROWS} tests in a trial")
        except _Refused as error:
            reason = f"test report: {error}"
            refused.append(SourceRow(path_text(path), "error", reason=reason))
    return () if refused else tuple(rows), tuple(refused)


def _read(path: Path) -> list[CheckResult]:
    """Rows of a file; none if it is no report."""
    if path.is_symlink():
        raise _Refused("a link")
    if not path.is_file():
        return []
    if (size := path.stat().st_size) > MAX_FILE:
        raise _Refused(f"{size} bytes are more than {MAX_FILE}")
    try:
        data = path.read_bytes()
        mark, reader = _READERS.get(path.name) or _READERS[path.suffix]
        return reader(data) if mark.search(data) else []
    except OSError as error:
        raise _Refused(error.strerror) from None
    except ValidationError as error:
        if not re.search(r"(?:tests|criteria)\[", str(error)):
            return []  # JSON of another kind
        raise _Refused(str(error)) from None
    except (ValueError, RecursionError, ParseError) as error:
        raise _Refused(str(error)) from None


_BROKEN = ("setup_", "teardown_")
_STATUSES: dict[str, CheckOutcome] = {
    "passed": "passed", "failed": "failed", "skipped": "skipped", "pending": "skipped",
    "failure": "failed", "error": "error", "other": "error",
}  # fmt: skip


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


def _junit(data: bytes) -> list[CheckResult]:
    rows = []
    for suite in fromstring(data).iter("testsuite"):
        for case in suite.findall("testcase"):
            end = next((part for part in case if part.tag in _STATUSES), None)
            outcome = "passed" if end is None else _STATUSES[end.tag]
            group, name = case.get("classname", ""), case.get("name", "")
            name = _node(group, name) if suite.get("name") == "pytest" else f"{group}::{name}"
            text, message = (None, None) if end is None else (end.text, end.get("message"))
            rows.append(_row(name.removeprefix("::"), outcome, *_assertion(outcome, text, message)))
    return rows


def _node(group: str, name: str) -> str:
    """Node id of pytest's test: its modules begin in lower case, its classes do not."""
    parts = group.split(".")
    end = next((at for at, part in enumerate(parts) if part[:1].isupper()), len(parts))
    return "::".join(("/".join(parts[:end]) + ".py", *parts[end:], name))


_READERS = {
    ".json": (re.compile(rb'"tests"\s*:\s*\['), _ctrf),
    ".xml": (re.compile(rb"<testsuites?[\s>]"), _junit),
    "reward-details.json": (re.compile(rb'"criteria"\s*:\s*\['), _reward_kit),
}
"""A mark in the file of a kind of report, and its reader."""


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
