"""Attempts at a trial: the last one decides, earlier ones are kept as records.

A trial is run again by moving its folder to the earlier attempts: then it is one of those that are
to be run, for this run or for the next one, whenever it may be killed.
"""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path

from skilljuror.errors import StudyError, UsageError
from skilljuror.files import StudyFolder, append_jsonl, read_record, sync
from skilljuror.models.review import Acceptance
from skilljuror.models.study import TrialRecord
from skilljuror.pipeline.review_rows import AcceptedTrials, login_name, now, record_digest
from skilljuror.queries.run import run as ask

CONTAMINATED = "contaminated"
ENDS = ("unscored", CONTAMINATED, "error")
"""Ends of trials that may be run again, or be taken as final by a person."""
_CONTAMINATED = """
SELECT t.trial, t.finished_at, t.trial IN (SELECT trial FROM contaminations) AS contaminated
FROM trials AS t
"""


def chosen_ends(text: str) -> frozenset[str]:
    """The ends in a list with commas. Raises UsageError for one that there is not."""
    ends = frozenset(word.strip() for word in text.split(","))
    if unknown := sorted(ends - set(ENDS)):
        raise UsageError(
            f"--rerun {unknown[0]!r}: choose of {', '.join(ENDS)}; a trial with a reward that belongs"
            " to its arm is never run again",
            field="rerun",
        )
    return ends


def is_settled(record: TrialRecord) -> bool:
    """Whether the outcome is final by itself: a reward, or the time ran out."""
    return record.reward is not None or record.status == "timeout"


def to_run_again(
    folder: StudyFolder, finished: Mapping[str, TrialRecord], ends: Collection[str]
) -> tuple[list[str], list[str]]:
    """The finished trials of these ends that nobody took as final, and what is to be said of it.

    Raises StudyError for contaminated ones where no database tells which they are.
    """
    chosen = {
        name
        for name, record in finished.items()
        if record.status in ends and not is_settled(record)
    }
    notes = []
    if CONTAMINATED in ends:
        contaminated, unknown = _contaminated(folder, finished)
        chosen |= contaminated
        if unknown:
            notes.append(
                f"of {unknown} finished trials nobody knows yet whether they are contaminated:"
                " ingest, and run again"
            )
    accepted = AcceptedTrials(folder)
    return sorted(name for name in chosen if not accepted.of(name)), notes


def _contaminated(folder: StudyFolder, finished: Mapping[str, TrialRecord]) -> tuple[set[str], int]:
    """The contaminated among the finished trials, and the number of those that were not ingested as
    they are now."""
    if not folder.database.is_file():
        raise StudyError(
            f"{str(folder.root)!r} has no database, which alone tells contaminated trials: make it with"
            f" skilljuror ingest --study {folder.root}",
            file=str(folder.database),
        )
    found, unknown = set(), set(finished)
    for trial, ended, contaminated in ask(folder.database, _CONTAMINATED).rows:
        if trial in finished and _same_moment(finished[trial].finished_at, ended):
            unknown.discard(trial)
            found |= {trial} if contaminated else set()
    return found, len(unknown)


def _same_moment(text: str, stored: datetime | None) -> bool:
    moment = datetime.fromisoformat(text)
    utc = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    return stored is not None and utc == stored.replace(tzinfo=None)


def set_aside(folder: StudyFolder, trial: str) -> Path:
    """Move a finished trial to its earlier attempts, whole or not at all; its new folder."""
    target = next_attempt(folder, trial)
    folder.trial(trial).rename(target)
    sync(folder.attempts)
    sync(folder.trials)
    return target


def next_attempt(folder: StudyFolder, trial: str) -> Path:
    """The folder that the next one of a trial's earlier attempts gets; the folder around it is made."""
    folder.attempts.mkdir(exist_ok=True)
    number = 1
    while folder.attempt(trial, number).exists():
        number += 1
    return folder.attempt(trial, number)


def accept_trial(study: Path, trial: str, reason: str, by: str | None = None) -> Acceptance:
    """Take the end of a trial as final: it is not run again, and counts as it stands, without a
    reward as not passed.

    `by` is the login name where nobody is named. Raises UsageError without a reason and for a trial
    whose outcome is final by itself, StudyError for one that has not finished.
    """
    folder = StudyFolder.existing(study)
    if not reason.strip():
        raise UsageError("an acceptance needs a reason: --reason '…'", field="reason")
    names = folder.finished_trials()
    if trial not in names:
        near = " or ".join(map(repr, get_close_matches(trial, names, n=2)))
        guess = f"; did you mean {near}?" if near else ""
        raise StudyError(
            f"no finished trial {trial!r} in {str(study)!r}{guess}", file=str(folder.trials)
        )
    record = read_record(TrialRecord, folder.trial_record(trial))
    if is_settled(record) and not _is_contaminated(folder, record):
        raise UsageError(
            f"the outcome of trial {trial!r} ({record.status}) is final by itself; only trials that"
            f" ended {', '.join(ENDS)} are accepted",
            field="trial",
        )
    acceptance = Acceptance(
        trial=trial, seen=record_digest(folder, trial), reason=reason.strip(),
        by=by or login_name(), at=now(),
    )  # fmt: skip
    append_jsonl(folder.reviews, acceptance)
    return acceptance


def _is_contaminated(folder: StudyFolder, record: TrialRecord) -> bool:
    if not folder.database.is_file():
        return False
    return bool(_contaminated(folder, {record.trial: record})[0])
