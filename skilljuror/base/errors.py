"""The errors of skilljuror, one class per boundary.

    SkilljurorError                 anything we raise on purpose
      UsageError                    the caller's request is invalid (exit 2)
        BundleError                 a Skill bundle that cannot be read safely
        StudyError                  a study file, plan or folder that is wrong
        TransformError              a variant that cannot be built from this source
        GateError                   a gate that cannot be run on this pair
        TrajectoryError             a log that a format claims and that cannot be read
        QueryError                  an unknown question or SQL that fails
      HarnessError                  the machine could not run a trial (stops the run)
      WorkerError                   a worker process that died
      JudgeError                    a judge that gave no usable verdict
      ModelError                    a language model that could not be reached or paid
        UnusableAnswer              a model that answered in no form that can be used
        QuestionRefused             a server that does not take this one question
      StoreError                    the database is foreign or damaged
        InUseError                  another process has the database open (exit 75)
      MissingDependency             an optional part that is not installed
      NeedsDecision                 a person must decide before going on (exit 3)

A message names the thing (with its repr), says what was tried, lists the valid
choices and ends with the fix. `file` and `field` are kept apart so that `--json`
output can carry them.
"""


class SkilljurorError(Exception):
    """Anything we raise on purpose; `exit_code` is what the command line exits with."""

    exit_code = 2

    def __init__(self, message: str, *, file: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.field = field

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.file, self.field))


def _rebuild(
    kind: type[SkilljurorError], message: str, file: str | None, field: str | None
) -> SkilljurorError:
    return kind(message, file=file, field=field)


class UsageError(SkilljurorError):
    """The caller's request is invalid."""


class BundleError(UsageError):
    """A Skill bundle that cannot be read safely."""


class StudyError(UsageError):
    """A study file, plan or folder that is wrong."""


class TransformError(UsageError):
    """A variant that cannot be built from this source."""


class GateError(UsageError):
    """A gate that cannot be run on this pair."""


class TrajectoryError(UsageError):
    """A log that a format claims and that cannot be read."""


class QueryError(UsageError):
    """An unknown question or SQL that fails."""


class HarnessError(SkilljurorError):
    """The machine could not run a trial; the run stops rather than recording a false failure."""


class WorkerError(SkilljurorError):
    """A worker process that died, so that its share of the work is missing."""


class JudgeError(SkilljurorError):
    """A judge that gave no usable verdict."""


class ModelError(SkilljurorError):
    """A language model that could not be reached or paid."""


class UnusableAnswer(ModelError):
    """A model answered, and in no form that can be used."""


class QuestionRefused(ModelError):
    """A server does not take this one question: it is too long, or against a policy. Others it may."""


class StoreError(SkilljurorError):
    """The database is foreign or damaged."""


class InUseError(StoreError):
    """Another process has the database open: the same command does its work later."""

    exit_code = 75


class MissingDependency(SkilljurorError):
    """An optional part that is not installed; the message carries the install line."""


class NeedsDecision(SkilljurorError):
    """A person must decide before going on."""

    exit_code = 3
