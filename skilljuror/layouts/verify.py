"""Prove a build: build it again from its source and compare every file.

The folder must equal the rebuild and hold nothing else. What models and people contributed cannot be proved, and is told.
"""

import hashlib
import os
import stat
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from msgspec import Struct, structs

from skilljuror.audit.gates import GATES
from skilljuror.audit.gates.rubric import (
    line_of,
    load_rubric,
    messages,
    prompt_digest,
    rubric_digest,
)
from skilljuror.audit.plans.verify import first_problems
from skilljuror.base.build import AssayReport, BuildRecord
from skilljuror.base.errors import BundleError, SkilljurorError, StudyError
from skilljuror.base.files import read_rows, write_record
from skilljuror.base.llm import ModelAnswer, ModelChoice, RecordedModel
from skilljuror.base.review import RubricVerdict
from skilljuror.base.skill import Bundle, BundleIssue
from skilljuror.base.texts import tokenizer_name
from skilljuror.layouts import TRANSFORMS
from skilljuror.layouts.build.build import (
    PlanEngine,
    code_digest,
    load_build,
    make_build,
)
from skilljuror.layouts.build.folder import (
    CALLS,
    JUDGED,
    RECORD,
    REVIEWS,
    RUBRIC,
    SOURCE,
    VARIANTS,
    saved_source,
)
from skilljuror.layouts.build.model_build import SKILLS, Writer
from skilljuror.layouts.build.reviews import rubric_verdicts
from skilljuror.layouts.controls import PREFIX
from skilljuror.skill.bundles import is_skipped, load_bundle, odd_mode, skipped_file, submodule
from skilljuror.skill.revision import load_named

_SHOWN_CHARS = 80
_DAMAGED = (msgspec.MsgspecError, ValueError, TypeError, LookupError)
"""Errors that a malformed record causes in a rebuild."""


class Proof(Struct, frozen=True):
    """Result of verifying a build."""

    problems: tuple[str, ...]
    """Differences from the rebuild, and from the source that was named."""
    unproved: tuple[str, ...]
    """Parts that cannot be proved, and why."""
    grounds: tuple[str, ...]
    """Evidence for the rest."""
    made_again: bool
    """The whole build was rebuilt and is equal."""

    @property
    def proved(self) -> bool:
        """The build has no problem and no unproved part."""
        return not self.problems and not self.unproved


class Entry(Struct, frozen=True):
    """What stands at a path of a build."""

    sha256: str | None
    """Digest of a regular file, "" for a folder and for a file that cannot be read; None for a link or a pipe."""
    bits: frozenset[str] = frozenset()
    """Names of the mode bits that are set, and of a hard link."""


def verify_build(build: Path, source: str | None = None) -> Proof:
    """Rebuild a build from its source and compare it with every file of the folder.

    `source` is a source that the reader trusts, as a folder, a zip or REVISION:PATH; by default the build's own
    copy counts. Nothing of the build is run. Raises StudyError for a missing build, BundleError for an invalid `source`.
    """
    record = load_build(build)
    problems = (
        []
        if record.variants or record.not_built
        else [f"{RECORD}: variants: empty, so there is nothing to prove"]
    )
    kept: Bundle | None = None
    try:
        kept = saved_source(build, record)
    except BundleError as error:
        problems.append(f"{SOURCE}: cannot be read: {error.message}")
    if source is not None:
        problems += _differences_of_source(record, source)
    foreign = [
        name
        for name in dict.fromkeys((*record.transforms, *record.gates))
        if name not in TRANSFORMS and name not in GATES and not name.startswith(PREFIX)
    ]
    unproved = []
    differing = None if foreign or kept is None else _differences(build, record, kept)
    if foreign:
        unproved.append(
            f"not proved: requires {', '.join(foreign)} of another package, which verify does not load"
        )
    elif differing and not _is_same_code(record):
        unproved.append(
            f"not proved: built by skilljuror {record.skilljuror_version} with other code or another tokenizer,"
            f" and the rebuild differs: {'; '.join(first_problems(differing))}; build it again"
        )
    else:
        problems += differing or ()
    unproved += _judged(build, record)
    if kept is not None:
        rubric_problems, rubric_unproved = _rubric(build, record, kept)
        problems += rubric_problems
        unproved += rubric_unproved
    rests_on = (
        "the source is the build's own copy; name the original with --source"
        if source is None
        else f"the source is {source}"
    )
    return Proof(tuple(problems), tuple(unproved), (rests_on,), made_again=differing == [])


def _is_same_code(record: BuildRecord) -> bool:
    return (record.code_digest, record.tokenizer) == (code_digest(), tokenizer_name())


def _differences_of_source(record: BuildRecord, source: str) -> list[str]:
    recorded = {file.path: (file.sha256, file.executable) for file in record.source.files}
    tops = {path.partition("/")[0] for path in recorded}
    given = load_named(source, under=tops.pop() if len(tops) == 1 else None)
    files = {path: (blob.sha256, blob.executable) for path, blob in given.files.items()}
    return first_problems(
        f"source: {path!r} differs in {source!r}"
        for path in sorted(files.keys() | recorded.keys())
        if files.get(path) != recorded.get(path)
    )


def _differences(build: Path, record: BuildRecord, source: Bundle) -> list[str]:
    """How a build differs from its rebuild. The record comes last: the other differences explain most of its own."""
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder)
        try:
            _make_again(build, record, source, again)
        except (SkilljurorError, *_DAMAGED) as error:
            return [f"{RECORD}: cannot be rebuilt: {' '.join(str(error).split())[:300]}"]
        here, expected = listing(build), listing(again)
        usual = expected[RECORD].bits
        expected |= {name: Entry(here[name].sha256, usual) for name in JUDGED if name in here}
        paths = sorted(
            _told(here, expected), key=lambda path: (path == RECORD, "/" not in path, path)
        )
        lines = [
            line
            for path in paths
            for line in first_problems(
                _entry_differences(path, here.get(path), expected.get(path), build, again)
            )
        ]
        recorded = {_answer(verdict) for verdict in read_rows(RubricVerdict, build / RUBRIC)}
        return lines + [
            f"{RUBRIC}: {verdict.variant}/{verdict.item}: the recorded answer {verdict.answer!r} is missing"
            for verdict in read_rows(RubricVerdict, again / RUBRIC)
            if _answer(verdict) not in recorded
        ]


def _told(here: Mapping[str, Entry], expected: Mapping[str, Entry]) -> set[str]:
    """All paths but folders that one side lacks with all that is in them."""
    paths = {*here, *expected}
    above = {f"{up.as_posix()}/" for path in paths for up in PurePosixPath(path).parents}
    return paths - (above & (here.keys() ^ expected.keys()))


def _answer(verdict: RubricVerdict) -> tuple[str, ...]:
    return verdict.variant, verdict.item, verdict.answer, verdict.model, verdict.prompt_sha256


def _make_again(build: Path, record: BuildRecord, source: Bundle, folder: Path) -> None:
    """Build again, with the values that only the record holds: the surroundings of the source, and reviews."""
    recorded = dict.fromkeys(msgspec.convert(list(record.issues), list[BundleIssue]))
    issues = {issue for issue in source.issues if not is_around(issue, source.files)}
    issues |= {issue for issue in recorded if is_around(issue, source.files)}
    ordered = sorted(
        issues, key=lambda issue: (issue.file, issue.line or 0, issue.rule, issue.message)
    )
    source = structs.replace(source, issues=tuple(ordered))
    rebuilt = make_build(source, folder, _engine(build, record), record.transforms, record.gates)
    if record.assay is not None:
        from skilljuror.layouts.build.assay import keep_assays, settings_of

        report = AssayReport.model_validate(record.assay)
        rebuilt = keep_assays({folder: None}, settings_of(report, folder))[folder]
    judged = {name: record.parts[name] for name in JUDGED if name in record.parts}
    copied: dict[str, Any] = {"parts": rebuilt.parts | judged}
    if not _is_same_code(record):
        copied["code_digest"] = record.code_digest
        copied["skilljuror_version"] = record.skilljuror_version
    write_record(folder / RECORD, rebuilt.model_copy(update=copied))


def _engine(build: Path, record: BuildRecord) -> PlanEngine:
    if record.engine in {"plan", "assign"}:
        name = {"name": record.name} if "name" in record.options else {}
        return PlanEngine(record.options | name, record.engine)
    if record.engine != Writer.name:
        raise StudyError(f"no engine {record.engine!r} is known", field="engine")
    params = record.options["params"]
    answers = tuple(read_rows(ModelAnswer, build / CALLS))
    writing = RecordedModel(ModelChoice(record.options["model"], params=params), answers)
    asked = record.options.get("rubric")
    judging = RecordedModel(ModelChoice(asked, params=params), answers) if asked else None
    rounds = int(record.options["rounds"]["most"])
    return Writer(writing, record.options["of_transforms"], rounds, judging)


def listing(folder: Path) -> dict[str, Entry]:
    """What stands at every path of a folder; the path of a folder ends with a slash."""
    entries = {}
    for base, folders, names in os.walk(folder):
        for place in (Path(base, name) for name in (*folders, *names)):
            is_folder = place.is_dir() and not place.is_symlink()
            entries[place.relative_to(folder).as_posix() + "/" * is_folder] = _entry(place)
    return entries


def _entry(place: Path) -> Entry:
    status = place.lstat()
    mode, is_folder = status.st_mode, stat.S_ISDIR(status.st_mode)
    if not stat.S_ISREG(mode) and not is_folder:
        return Entry(None)
    special = stat.S_ISUID | stat.S_ISVTX | (0 if is_folder else stat.S_ISGID)
    found = {
        "read bit": not ~mode & (0o500 if is_folder else 0o400),
        "execute bit": not is_folder and mode & stat.S_IXUSR,
        "set-id or sticky bit": mode & special,
        "write bit of all users": mode & stat.S_IWOTH,
        "second name, a hard link": not is_folder and status.st_nlink > 1,
    }
    bits = frozenset(name for name, is_set in found.items() if is_set)
    if is_folder or "read bit" not in bits:
        return Entry("", bits)
    with place.open("rb") as data:
        return Entry(hashlib.file_digest(data, "sha256").hexdigest(), bits)


def _entry_differences(
    path: str, here: Entry | None, expected: Entry | None, build: Path, again: Path
) -> Iterator[str]:
    if expected is None:
        yield f"{path}: is not part of the build"
    elif here is None:
        yield f"{path}: is missing"
    elif here.sha256 is None:
        yield f"{path}: is not a regular file"
    else:
        for name in sorted(here.bits ^ expected.bits):
            yield f"{path}: its {name} is {'set' if name in here.bits else 'missing'}"
        if here.sha256 and here.sha256 != expected.sha256:
            yield from _line_differences(path, build / path, again / path)


def _line_differences(path: str, here: Path, there: Path) -> Iterator[str]:
    lines = zip_longest(here.read_bytes().split(b"\n"), there.read_bytes().split(b"\n"))
    for number, (found, rebuilt) in enumerate(lines, 1):
        if found != rebuilt:
            yield f"{path}: line {number}: found {_shown(found)}, the rebuild has {_shown(rebuilt)}"


def _shown(line: bytes | None) -> str:
    text = "nothing" if line is None else repr(line.decode(errors="replace"))
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"


def _judged(build: Path, record: BuildRecord) -> Iterator[str]:
    """Contributions of models and people, which cannot be proved."""
    for entry in record.variants:
        if record.engine == Writer.name and entry.variant in SKILLS:
            yield f"judged, not proved: {entry.variant}: a model wrote its text; see its gates"
    judges = Counter(scope["by"] for scope in record.options.get("scopes", {}).values())
    for judge, count in judges.items():
        sections = f"{count} section{'s' * (count > 1)}"
        yield f"judged, not proved: pd: the scope of {sections}, by {judge}"
    if (build / REVIEWS).is_file():
        yield f"judged, not proved: {REVIEWS}: people's decisions on findings"


def _bundles(build: Path, record: BuildRecord) -> Iterator[tuple[str, Bundle]]:
    """The variants that can be read; what stands in the way of the others is a difference."""
    for entry in record.variants:
        with suppress(BundleError):
            folder = build / VARIANTS / entry.variant
            yield entry.variant, load_bundle(folder, record.name, inspect=False)


def _rubric(build: Path, record: BuildRecord, source: Bundle) -> tuple[list[str], list[str]]:
    """Problems of the rubric verdicts of a build, and what of them is not proved: verdicts on another question or
    with a missing quote are problems, those on texts of before are stale."""
    rubric = load_rubric()
    current: dict[str, list[RubricVerdict]] = {}
    stale: dict[str, list[RubricVerdict]] = {}
    variants = dict(_bundles(build, record))
    for verdict in rubric_verdicts(build).values():
        variant = variants.get(verdict.variant)
        digests = (verdict.rubric_digest, verdict.source_digest, verdict.variant_digest)
        texts = variant and (rubric_digest(rubric), source.digest, variant.digest)
        (current if digests == texts else stale).setdefault(verdict.variant, []).append(verdict)
    problems = []
    for name, verdicts in current.items():
        digest = prompt_digest(messages(rubric, rubric.items_of(name), source, variants[name]))
        for verdict in verdicts:
            where = f"{RUBRIC}: {name}/{verdict.item}"
            if verdict.prompt_sha256 != digest:
                problems.append(f"{where}: answers a different question")
            problems += [
                f"{where}: its quote is not at {quote.file}:{quote.line}"
                for quote in verdict.quotes
                if line_of(
                    quote.text, quote.file, source if quote.side == "source" else variants[name]
                )
                != quote.line
            ]
    unproved = [
        f"judged, not proved: {RUBRIC}: {name}: {len(verdicts)} items by"
        f" {', '.join(sorted({verdict.model for verdict in verdicts}))}"
        for name, verdicts in current.items()
    ]
    unproved += [
        f"stale: {RUBRIC}: {name}: the texts or the rubric changed for"
        f" {', '.join(verdict.item for verdict in verdicts)}; rerun skilljuror rubric"
        for name, verdicts in stale.items()
    ]
    return problems, unproved


def is_around(issue: BundleIssue, files: Collection[str]) -> bool:
    """Whether an issue describes the place that `files` were read from, not their content."""
    path = issue.file
    if path in files:
        return issue == odd_mode(path)
    named = any(is_skipped(part) for part in path.split("/"))
    return issue == submodule(path) or (named and issue == skipped_file(path))
