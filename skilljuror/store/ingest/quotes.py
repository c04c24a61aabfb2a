"""Studies without quotes: no text of a log is stored or shown."""

from pathlib import Path

from msgspec.structs import replace

from skilljuror.base.errors import UsageError
from skilljuror.base.files import StudyFolder, write_atomic
from skilljuror.base.results import Ingested, LocalEffect, Verdict
from skilljuror.base.trajectory import ResourceEvent, Step, ToolCall, Trajectory
from skilljuror.store.ingest.analysis import MeasureOptions

_NOTE = (
    "This study was ingested with --no-quotes: ingest, judge and show neither store nor print texts of"
    " its logs. Delete this file and rerun `skilljuror ingest` to store them.\n"
)


def keeps_quotes(study: Path) -> bool:
    """Whether a study may store and show texts of its logs."""
    return not StudyFolder(study).no_quotes.exists()


def resolve_quotes(study: Path, options: MeasureOptions) -> MeasureOptions:
    """Apply a study's earlier choice to the options: once ingested without quotes it stays so, and
    stored quotes are removed. Raises UsageError for names of projects without quotes."""
    folder = StudyFolder(study)
    if options.projects and not (options.quotes and keeps_quotes(study)):
        raise UsageError(
            f"--projects: {str(study)!r} stores no names of projects and persons, because of --no-quotes;"
            f" leave out one of both, or use another folder",
            field="projects",
        )
    if keeps_quotes(study) and not options.quotes:
        _remove_quotes(folder.database)
        write_atomic(folder.no_quotes, _NOTE)
    return replace(options, quotes=keeps_quotes(study))


def _remove_quotes(database: Path) -> None:
    """Remove quotes from a database of this version; other versions are regenerated anyway."""
    if not database.is_file():
        return
    from skilljuror.store import open_write  # a first ingest loads it later
    from skilljuror.store.connect import is_current

    if is_current(database):
        with open_write(database) as store:
            store.remove_quotes()


def without_quotes(run: Ingested) -> Ingested:
    """Remove previews and quotes from the rows of a run."""
    steps = tuple([replace(step, preview="") for step in run.steps])
    leaks = tuple([replace(leak, excerpt="") for leak in run.leaks])
    return replace(run, steps=steps, events=tuple(map(unquoted_event, run.events)), leaks=leaks)


def unquoted_event(event: ResourceEvent) -> ResourceEvent:
    """Remove quote and note."""
    return replace(event, quote="", note="")


def unquoted_verdict(verdict: Verdict) -> Verdict:
    """Remove both quotes and the note."""
    return replace(verdict, source_quote=None, action_quote=None, note="", used=())


def unquoted_effect(effect: LocalEffect) -> LocalEffect:
    """Remove the quoted line."""
    return replace(effect, quote=None)


def without_texts(run: Trajectory) -> Trajectory:
    """Remove all text from a run's steps, calls and messages."""
    messages = tuple(replace(message, text="") for message in run.messages)
    return replace(run, steps=tuple(map(_without_text, run.steps)), messages=messages, warnings=())


def _without_text(step: Step) -> Step:
    return replace(step, text="", reasoning="", calls=tuple(map(_unworded, step.calls)))


def _unworded(call: ToolCall) -> ToolCall:
    result = call.result and replace(call.result, text="", clean=None)
    return replace(
        call, command=call.name, path=None, pattern=None, written=None, workdir=None, arguments={},
        result=result,
    )  # fmt: skip
