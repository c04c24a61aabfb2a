"""Read a source with its format, with one kind of error; name the logs that no format reads."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from inspect import isabstract
from typing import Any

from msgspec.structs import replace

from skilljuror.base.errors import SkilljurorError, UsageError, resolve
from skilljuror.base.trajectory import AgentTraits, Trajectory
from skilljuror.logs import FORMATS
from skilljuror.logs.base import Parser, SessionLink, Source
from skilljuror.logs.records import (
    as_dicts,
    nested,
    parse_head,
    unreadable,
)


@lru_cache(maxsize=64)
def parser(format: str) -> Parser:
    """Return the parser of a registered format or of `module:attribute`. Raises UsageError."""
    found = resolve(FORMATS, format, "format")
    if not (isinstance(found, type) and issubclass(found, Parser)) or isabstract(found):
        raise UsageError(
            f"format {format!r} must be a subclass of skilljuror.logs.base.Parser that defines"
            " sniff() and parse()"
        )
    return found(format)


def read(source: Source, format: str) -> Iterator[Trajectory]:
    """Yield the runs of a source. Raises TrajectoryError with file and reason, also if the parser
    itself fails.

    A format may yield nothing (a Harbor trial without a log). A run without messages and steps is
    incomplete; it is an error if all runs are. A log that only repeats another session has no run.
    """
    empty: list[Trajectory] = []
    count = 0
    with _parser_errors(source, format):
        for count, run in enumerate(parser(format).parse(source), 1):  # noqa: B007
            if not (run.steps or run.messages):
                empty.append(replace(run, complete=False))
                yield empty[-1]
            elif run.steps or not _repeats(run):
                yield run
    if empty and len(empty) == count:
        skipped = sum((Counter(run.skipped) for run in empty), Counter[str]())
        records = ", ".join(f"{name} ({number})" for name, number in skipped.most_common(3))
        problem = f"has no message, step or call in {format} format"
        problem += f"; most frequent records: {records}" if records else ""
        raise unreadable(source.path, problem)


def _repeats(run: Trajectory) -> bool:
    """Whether a run without steps only repeats another session: it adds no prompt."""
    own = [message.kind for message in run.messages if not message.inherited]
    return len(own) < len(run.messages) and "prompt" not in own


@contextmanager
def _parser_errors(source: Source, format: str) -> Iterator[None]:
    """Raise TrajectoryError where a parser fails on a file."""
    try:
        yield
    except OSError as error:
        problem = f"cannot be read as {format}: {error.strerror or error}"
        raise unreadable(source.path, problem) from error
    except SkilljurorError:
        raise
    except Exception as error:
        problem = f"made the {format} parser fail: {type(error).__name__}: {error}"
        raise unreadable(source.path, problem) from error


def claims(source: Source, formats: Sequence[str] = ()) -> list[str]:
    """Return the formats, of those given or all registered, that match a source.

    A known unsupported kind is left to formats of other packages. Raises TrajectoryError if a parser
    fails.
    """
    wanted = formats or FORMATS
    if unread_kind(source):
        wanted = [name for name in wanted if name not in FORMATS]
    found = []
    for name in wanted:
        with _parser_errors(source, name):
            found += [name] if parser(name).sniff(source) else []
    return found


def session_link(source: Source, format: str) -> SessionLink | None:
    """Return what joins a source to others. Raises TrajectoryError if the parser fails."""
    with _parser_errors(source, format):
        return parser(format).session_link(source)


@lru_cache(maxsize=64)
def traits_of(agent: str | None) -> AgentTraits:
    """Traits of an agent by the first word of its name (`codex`, `codex-cli`), as interchange
    formats log it; default traits for agents without a format."""
    for name in FORMATS:
        known = parser(name).agent
        if agent and known and agent.startswith(known.partition("-")[0]):
            return parser(name).traits
    return AgentTraits()


# Logs of other programs that a parser would claim although it reads hardly anything of them: an iFlow
# session has Claude Code's envelope.


def unread_kind(source: Source) -> str | None:
    """Return the unsupported kind of a file, by its first bytes, or None."""
    head = parse_head(source.head)
    for kind, needles, is_one in _RECORDS:
        if any(map(is_one, head.objects(*needles))):
            return kind
    return None


def _opens(record: dict[str, Any], *members: str) -> bool:
    """Whether it opens a stream like Claude Code's, with these members."""
    named = {record.get("type"), record.get("subtype")} == {"system", "init"}
    return named and record.keys() >= {*members}


_IsOne = Callable[[dict[str, Any]], object]

_RECORDS: tuple[tuple[str, tuple[bytes, ...], _IsOne], ...] = (
    ("Qwen Code chat", (b'"qwen"',),
     lambda record: any(one.get("type") == "qwen" for one in as_dicts(record, "messages"))),
    ("Qwen Code stream", (b'"qwen_code_version"',),
     lambda record: _opens(record, "qwen_code_version")),
    ("Cursor stream", (b'"init"', b'"apiKeySource"'),
     lambda record: _opens(record, "apiKeySource") and "tools" not in record),
    ("iFlow session", (b'"uuid"', b'"session-'),
     lambda record: "uuid" in record and str(record.get("sessionId")).startswith("session-")),
    ("TraeX session", (b'"session_meta"', b'"trae'),
     lambda record: nested(record, "payload", "model_provider") in ("trae", "traex")),
)  # fmt: skip
"""Kind, what the first bytes of a file contain, and whether one of its first records is of that kind."""
