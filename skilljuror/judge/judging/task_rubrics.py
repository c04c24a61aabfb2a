"""Judge the work of a study's trials by rubrics: code first, then a model, then people.

The verdicts are rows of judged-items.jsonl; the database's rows are made from it. What code decides is asked of
nobody; an item that two models answer differently, or that nobody decides, waits for a person.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from skilljuror.base.errors import StudyError, UsageError
from skilljuror.base.files import StudyFolder, digest_json, read_record, read_rows, write_jsonl
from skilljuror.base.item_rows import CODE, grouped, item_key, item_results, judged_states
from skilljuror.base.llm import THREADS, Message, ModelClient, in_flight
from skilljuror.base.review import RUBRIC_FILE, JudgedItem, TaskRubric, TaskRubricItem
from skilljuror.base.review_rows import record_digest
from skilljuror.base.study import StudyPlan
from skilljuror.base.workers import Listener, Progress, silent
from skilljuror.harness.tasks import changed_substrate
from skilljuror.judge.judging.rubric_question import (
    UNUSABLE,
    ModelSaid,
    ask,
    commands_of,
    question,
    shown_work,
)
from skilljuror.store import open_write
from skilljuror.store.ingest.quotes import keeps_quotes
from skilljuror.store.ingest.trials import ReadTrial, read_trial
from skilljuror.study.rubric_work import has_rubric, inputs_of, work_of
from skilljuror.study.task_rubric import Decided, decide, read_rubric

Rubrics = Mapping[str, Sequence[TaskRubric]]
"""Task -> its rubrics."""


class RubricRow(Struct, frozen=True):
    """How the items of a rubric were decided."""

    rubric: str
    trials: int
    items: int
    """Items of all trials."""
    points: tuple[float, ...]
    """Sums of the points, of each of its versions."""
    code: int
    """Items that code decided."""
    model: int
    """Items that models decided."""
    people: int
    """Items that people decided."""
    unjudged: int
    """Items that nobody decided, or that two models answer differently."""


class RubricSummary(Struct, frozen=True):
    """The result of judging by rubrics."""

    rubrics: tuple[RubricRow, ...]
    unread: tuple[tuple[str, str], ...]
    """(trial, reason) of every trial that cannot be read, or whose log cannot."""
    spent_usd: float | None
    """Cost of the model's answers, US dollars; None without a model, and if its price is unknown."""


class _Question(Struct, frozen=True):
    """The items of one group of one trial that code did not decide."""

    trial: str
    rubric: TaskRubric
    items: tuple[TaskRubricItem, ...]
    messages: list[Message]
    shown: dict[str, str]


def tasks_folder(study: Path, plan: StudyPlan, study_file: Path | None) -> Path:
    """Return the folder that the paths of a plan's tasks are relative to. Raises StudyError if the tasks
    are not there, or not as they ran: instruction and environment must be the same."""
    near = [Path.cwd(), *study.resolve().parents[:3]]
    for base in [study_file.parent] if study_file else near:
        if all(_unchanged(base, task) for task in plan.tasks):
            return base
    where = repr(str(study_file)) if study_file else f"the folders around {str(study)!r}"
    raise StudyError(
        f"the tasks of {plan.config.name!r} as they ran were not found from {where}; name the study file of"
        " the run with --tasks",
        field="tasks",
    )


def _unchanged(base: Path, task: Any) -> bool:
    folder = base / task.path
    if not (folder / "instruction.md").is_file():
        return False
    try:
        return not {"instruction.md", "environment/"} & {*changed_substrate(task, folder)}
    except OSError:
        return False


def find_rubrics(plan: StudyPlan, base: Path, files: Sequence[Path] = ()) -> Rubrics:
    """Return each task's rubrics: tests/rubric.json of its folder, or the given files. A file that is named
    like a task is of that task, any other of all. Raises StudyError if there are none."""
    names = [task.name for task in plan.tasks]
    found: dict[str, list[TaskRubric]] = {name: [] for name in names}
    for file in files:
        rubric = read_rubric(file)
        for name in [file.stem] if file.stem in names else names:
            found[name].append(rubric)
    for task in plan.tasks if not files else ():
        if has_rubric(base / task.path):
            found[task.name].append(read_rubric(base / task.path / "tests" / RUBRIC_FILE))
    for name, rubrics in found.items():
        labels = [one.name for one in rubrics]
        if len({*labels}) < len(labels):
            raise StudyError(f"task {name!r} has two rubrics with one name; rename one")
    if not any(found.values()):
        raise StudyError(
            f"no task of the study has a tests/{RUBRIC_FILE}; write one, or name a file after --rubric"
        )
    return found


def judge_rubrics(
    study: Path,
    study_file: Path | None = None,
    files: Sequence[Path] = (),
    client: ModelClient | None = None,
    threads: int = THREADS,
    progress: Listener = silent,
) -> RubricSummary:
    """Judge all finished trials by their tasks' rubrics; earlier verdicts by these are replaced, but for
    those of other models on unchanged work.

    Raises StudyError for changed tasks and invalid rubrics, ModelError if the model is unavailable or the
    budget is spent; verdicts so far are stored.
    """
    folder = StudyFolder.existing(study)
    if client and not keeps_quotes(study):
        raise UsageError(
            "a model cannot grade a study ingested with --no-quotes: it reads and quotes the work; judge"
            " without --model"
        )
    plan = read_record(StudyPlan, folder.plan_file)
    base = tasks_folder(study, plan, study_file)
    model = client.choice.model if client else None
    judging = _Judging(folder, plan, (base, find_rubrics(plan, base, files)), model)
    complete, questions = False, judging.questions()
    try:
        asked = in_flight(questions, partial(_ask, client), threads) if client else ()
        for done, (one, said) in enumerate(asked, 1):
            judging.answer(one, said)
            progress(Progress("rubric", done, done, one.trial))
        for _ in questions:  # without a model
            continue
        complete = True
    finally:
        judging.write(complete=complete)
        if folder.database.is_file():
            with open_write(folder.database) as store:
                store.put_items(item_results(folder))
    spent = client.spent_usd if client and client.price else None
    return RubricSummary(tuple(_summary(folder)), tuple(judging.unread), spent)


def _ask(client: ModelClient, asked: _Question) -> dict[str, ModelSaid]:
    return ask(client, asked.messages, asked.shown, asked.items)


class _Judging:
    """The rows of one call, while it judges."""

    def __init__(
        self,
        folder: StudyFolder,
        plan: StudyPlan,
        tasks: tuple[Path, Rubrics],
        model: str | None,
    ) -> None:
        self._folder, self._plan, self._model = folder, plan, model
        self._base, self._rubrics = tasks
        self._rows: dict[tuple[str, str, str], JudgedItem] = {}
        """(trial, rubric, item) -> what code says, or a row without a judge."""
        self._said: list[JudgedItem] = []
        """What the model says now."""
        self._before = grouped(
            read_rows(JudgedItem, folder.judged_items), item_key, lambda row: row
        )
        self.unread: list[tuple[str, str]] = []
        self._inputs = lru_cache(maxsize=8)(inputs_of)

    def questions(self) -> Iterator[_Question]:
        """Let code judge trial after trial; yield what it does not decide."""
        tasks = {task.name: task for task in self._plan.tasks}
        planned = {trial.trial: trial.task for trial in self._plan.trials}
        for name in self._folder.finished_trials():
            if name not in planned or not self._rubrics[planned[name]]:
                continue
            try:
                trial = read_trial(self._folder.root, name)
            except StudyError as error:
                self.unread.append((name, error.message))
                continue
            if trial.trajectory is None:
                self.unread.append((name, "no readable log: its commands are unknown"))
            yield from self._trial(trial, self._base / tasks[planned[name]].path)

    def _trial(self, trial: ReadTrial, task_dir: Path) -> Iterator[_Question]:
        name = trial.record.trial
        commands = commands_of(trial.trajectory)
        work = work_of(self._folder.trial_raw(name), self._inputs(task_dir), commands)
        instruction = (task_dir / "instruction.md").read_text(encoding="utf-8", errors="replace")
        shown = shown_work(trial, work)
        record, basis = record_digest(self._folder, name), digest_json([instruction, shown])
        for rubric in self._rubrics[trial.record.task]:
            open_items: dict[str, list[TaskRubricItem]] = {}
            for item in rubric.items:
                said = (
                    decide(item.check, work) if item.check else Decided(None, "no judge was asked")
                )
                self._rows[name, rubric.name, item.id] = JudgedItem(
                    trial=name, record=record, rubric=rubric.name, item=item.id, text=item.text,
                    points=item.points, group=item.group, unit=item.unit, criterion=item.criterion,
                    seen=digest_json([item.id, item.text, basis]), judge=CODE if said.answer else None,
                    answer=said.answer, reason=said.reason, file=said.file, line=said.line, quote=said.quote,
                )  # fmt: skip
                if said.answer is None and not self._answered((name, rubric.name, item.id)):
                    open_items.setdefault(item.group, []).append(item)
            for items in open_items.values():
                asked = question(instruction, shown, items)
                yield _Question(name, rubric, tuple(items), asked, shown)

    def _answered(self, key: tuple[str, str, str]) -> bool:
        """Whether the model answered an item about the same work before."""
        return any(
            row.judge == self._model and not row.reason.startswith(UNUSABLE)
            for row in self._of_models(key)
        )

    def _of_models(self, key: tuple[str, str, str]) -> list[JudgedItem]:
        """Earlier answers of models about the same item and work."""
        row = self._rows[key]
        return [
            one
            for one in self._before.get(key, ())
            if one.judge not in {None, CODE} and (one.seen, one.record) == (row.seen, row.record)
        ]

    def answer(self, asked: _Question, said: Mapping[str, ModelSaid]) -> None:
        """Take the model's answers."""
        for item in asked.items:
            row = self._rows[asked.trial, asked.rubric.name, item.id]
            fields = {"judge": self._model, **said[item.id]._asdict()}
            self._said.append(row.model_copy(update=fields))

    def write(self, *, complete: bool) -> None:
        """Replace the file: rows of other rubrics stay, and earlier answers about the same work. If not
        `complete`, so do rows of trials that were not reached."""
        judged = {(task, one.name) for task, some in self._rubrics.items() for one in some}
        task_of = {trial.trial: trial.task for trial in self._plan.trials}
        said = grouped(self._said, item_key, lambda row: row)
        written: list[JudgedItem] = []
        for key, rows in self._before.items():
            mine = (task_of.get(key[0]), key[1]) in judged and (complete or key in self._rows)
            written += [] if mine else rows
        for key, row in self._rows.items():
            now = said.get(key, [])
            kept = [one for one in self._of_models(key) if not (now and one.judge == self._model)]
            written += [row] if row.answer else [*kept, *now] or [row]
        if not keeps_quotes(self._folder.root):
            written = [row.model_copy(update={"quote": "", "reason": ""}) for row in written]
        write_jsonl(self._folder.judged_items, written)


def _summary(folder: StudyFolder) -> Iterator[RubricRow]:
    states = grouped(judged_states(folder), lambda one: one[1].source, lambda one: one)
    for rubric, some in sorted(states.items()):
        layers = Counter(
            "unjudged"
            if result.judge is None
            else "people"
            if state.open
            else CODE
            if result.judge == CODE
            else "model"
            for state, result in some
        )
        points = grouped((one for _, one in some), lambda one: one.trial, lambda one: one.points)
        yield RubricRow(
            rubric=rubric,
            trials=len(points),
            items=len(some),
            points=tuple(sorted({sum(each) for each in points.values()})),
            code=layers[CODE],
            model=layers["model"],
            people=layers["people"],
            unjudged=layers["unjudged"],
        )
