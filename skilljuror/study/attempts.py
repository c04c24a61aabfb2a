"""Attempts at a trial: the last one counts, earlier ones stay as records.

To rerun a trial, its folder is moved to the earlier attempts; the trial is then pending, even if the run
is killed.
"""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path

from skilljuror.base.errors import StudyError, UsageError
from skilljuror.base.files import StudyFolder, append_jsonl, read_record, sync
from skilljuror.base.review import Acceptance
from skilljuror.base.review_rows import AcceptedTrials, login_name, now, record_digest
from skilljuror.base.study import NO_ANSWER, NO_VERIFIER, TrialRecord
from skilljuror.store.questions.run import run as ask

CONTAMINATED = "contaminated"
OUTCOMES = ("unscored", NO_ANSWER, CONTAMINATED, "error")
"""Ends of trials that may be rerun or accepted; unscored includes no_answer."""
_CONTAMINATED = """
SELECT t.trial, t.finished_at, t.trial IN (SELECT trial FROM contaminations) AS contaminated
FROM trials AS t
"""


def chosen_ends(text: str) -> frozenset[str]:
    """Parse a comma-separated list of ends. Raises UsageError for an unknown one."""
    ends = frozenset(word.strip() for word in text.split(","))
    if unknown := sorted(ends - set(OUTCOMES)):
        raise UsageError(
            f"--rerun: unknown outcome {unknown[0]!r} (choose {', '.join(OUTCOMES)}); an uncontaminated trial"
            " with a reward is never rerun",
            field="rerun",
        )
    return ends


def is_final(record: TrialRecord) -> bool:
    """Whether a trial has a reward, timed out, or is complete without a verifier."""
    return record.reward is not None or record.status == "timeout" or record.reason == NO_VERIFIER


def to_run_again(
    folder: StudyFolder, finished: Mapping[str, TrialRecord], ends: Collection[str]
) -> tuple[list[str], list[str]]:
    """Return the finished trials with these ends that nobody accepted, and notes.

    Raises StudyError for contaminated trials without a database.
    """
    chosen = {
        name
        for name, record in finished.items()
        if {record.status, record.end} & set(ends) and not is_final(record)
    }
    notes = []
    if CONTAMINATED in ends:
        contaminated, unknown = _contaminated(folder, finished)
        chosen |= contaminated
        if unknown:
            notes.append(
                f"{unknown} finished trials are not ingested, so contamination is unknown; ingest and"
                " rerun"
            )
    accepted = AcceptedTrials(folder)
    return sorted(name for name in chosen if not accepted.of(name)), notes


def _contaminated(folder: StudyFolder, finished: Mapping[str, TrialRecord]) -> tuple[set[str], int]:
    """The contaminated finished trials, and the number not ingested in their current state."""
    if not folder.database.is_file():
        raise StudyError(
            f"{str(folder.root)!r} has no database, so contaminated trials are unknown; create it with"
            f" skilljuror ingest --study {folder.root}",
            file=str(folder.database),
        )
    found, unknown = set(), set(finished)
    for trial, ended, contaminated in ask(folder.database, _CONTAMINATED).rows:
        if trial in finished and _same_time(finished[trial].finished_at, ended):
            unknown.discard(trial)
            found |= {trial} if contaminated else set()
    return found, len(unknown)


def _same_time(text: str, stored: datetime | None) -> bool:
    time = datetime.fromisoformat(text)
    utc = time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
    return stored is not None and utc == stored.replace(tzinfo=None)


def set_aside(folder: StudyFolder, trial: str) -> Path:
    """Move a finished trial to its earlier attempts atomically; return its new folder."""
    target = next_attempt(folder, trial)
    folder.trial(trial).rename(target)
    sync(folder.attempts)
    sync(folder.trials)
    return target


def next_attempt(folder: StudyFolder, trial: str) -> Path:
    """Return the next free folder for an earlier attempt, and create its parent."""
    folder.attempts.mkdir(exist_ok=True)
    number = 1
    while folder.attempt(trial, number).exists():
        number += 1
    return folder.attempt(trial, number)


def accept_trial(study: Path, trial: str, reason: str, by: str | None = None) -> Acceptance:
    """Accept a trial's result, so that it is not rerun; without a reward it counts as not passed.

    `by` defaults to the login name. Raises UsageError without a reason and for a trial that is final
    anyway, StudyError for an unfinished one.
    """
    folder = StudyFolder.existing(study)
    if not reason.strip():
        raise UsageError("an acceptance requires a reason: --reason '…'", field="reason")
    names = folder.finished_trials()
    if trial not in names:
        near = " or ".join(map(repr, get_close_matches(trial, names, n=2)))
        guess = f"; did you mean {near}?" if near else ""
        raise StudyError(
            f"no finished trial {trial!r} in {str(study)!r}{guess}", file=str(folder.trials)
        )
    record = read_record(TrialRecord, folder.trial_record(trial))
    if is_final(record) and not _is_contaminated(folder, record):
        raise UsageError(
            f"trial {trial!r} ({record.status}) is already final; only trials with the"
            f" outcome {', '.join(OUTCOMES)} can be accepted",
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
