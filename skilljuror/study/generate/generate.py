"""Generate Skills for tasks or from a source, and record where each came from."""

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import Struct, structs

from skilljuror.base import __version__
from skilljuror.base.errors import BundleError, QuestionRefused, UnusableAnswer, UsageError, require
from skilljuror.base.files import StudyFolder, read_rows, write_jsonl
from skilljuror.base.llm import ModelChoice, ModelClient
from skilljuror.base.results import Generation, Generator
from skilljuror.base.skill import Blob, Bundle
from skilljuror.base.study import AgentChoice
from skilljuror.base.workers import Listener, silent
from skilljuror.skill.bundles.limits import ReadBudget, check_path
from skilljuror.skill.bundles.reader import make_bundle
from skilljuror.store import open_write
from skilljuror.store.ingest.trials import ingest_trials
from skilljuror.store.replacement import database_to_fill
from skilljuror.study.generate.admission import copy, figures, leak, refuse_invalid
from skilljuror.study.generate.creator import ARM, answer_of, record_of, write_study
from skilljuror.study.generate.orders import Order, Product, orders
from skilljuror.study.generate.outline import outline
from skilljuror.study.generate.prompt import by_prompt
from skilljuror.study.generate.tasks import admitted_tasks
from skilljuror.study.run import run_study

SKILLS, MADE = "skills", "made-tasks"
"""Folders of the generated Skills and tasks."""
Make = Callable[[Order, int, dict[str, Any]], Bundle]
"""Returns an order's n-th answer, and adds fields of `Generation` about its generator. Raises BundleError,
UnusableAnswer and QuestionRefused, with the reason, for an answer that does not count."""


class Request(Struct, frozen=True, kw_only=True):
    """What `generate` is asked for."""

    inputs: tuple[str, ...]
    """Task folders, or one source."""
    by: str
    out: Path
    task: Path | None = None
    agent: str | None = None
    model: str | None = None
    api_base: str | None = None
    argv: tuple[str, ...] = ()
    """Command of the generator `command`."""
    tokens: int | None = None
    """Limit of a Skill."""
    trials: int = 1
    of: str = "skills"
    """skills, or tasks for a Skill."""
    dollars: float | None = None


class GenerationSummary(Struct, frozen=True):
    """Result of `generate`."""

    skills: tuple[Generation, ...]
    """Every answer; a refused one has the reason."""
    interrupted: bool = False
    """True if interrupted; rerun to resume."""
    stopped: str | None = None
    """The budget that stopped the creator."""
    notes: tuple[str, ...] = ()


def generate(request: Request, jobs: int = 1, progress: Listener = silent) -> GenerationSummary:
    """Generate the Skills of a request below `out/skills`; repeat it to resume.

    Answers that do not count are not copied and have a reason in the summary. Raises UsageError for an
    invalid request, and the errors of `run_study` and of model calls.
    """
    _check(request)
    study = StudyFolder(request.out / ARM)
    made = orders(request.inputs, request.task, request.tokens)
    if request.of == "tasks":
        if not made[0].of_skill:
            raise UsageError("--of tasks requires a Skill as the argument", field="of")
        made = [structs.replace(one, of="tasks") for one in made]
    if request.by in {"outline", "prompt"}:
        make = _outlined if request.by == "outline" else _prompted(request, study)
        return GenerationSummary(_recorded(request, study, made, make))
    options: dict[str, Any] = {"argv": list(request.argv)} if request.by == "command" else {}
    options |= {"base_url": request.api_base} if request.api_base else {}
    agent = AgentChoice(name=request.agent or "command", model=request.model, options=options)
    file = write_study(made, agent, request.trials, request.dollars, request.out)
    run = run_study(file, study.root, jobs=jobs, progress=progress)
    rows = _recorded(request, study, made, _created(study))
    return GenerationSummary(rows, run.interrupted, run.stopped, run.notes)


def _check(request: Request) -> None:
    by, names = request.by, get_args(Generator)
    if by not in names:
        raise UsageError(f"unknown generator {by!r}; choose one of {', '.join(names)}", field="by")
    needs = {"creator": "agent", "prompt": "model", "command": "argv"}
    for field in ("agent", "argv", "model"):
        given = bool(getattr(request, field))
        if given != (needs.get(by) == field) and (by, field) != ("creator", "model"):
            verb = "takes no" if given else "requires"
            raise UsageError(f"--by {by} {verb} --{field}", field=field)
    if request.of not in get_args(Product):
        raise UsageError(f"unknown product {request.of!r}; choose one of skills, tasks", field="of")
    if request.of == "tasks" and (by not in {"creator", "command"} or request.trials > 1):
        raise UsageError("--of tasks requires --by creator or command, without --trials")
    if by == "outline" and request.trials > 1:
        raise UsageError("--by outline gives the same Skill every time; omit --trials")


def _recorded(
    request: Request, study: StudyFolder, made: Sequence[Order], make: Make
) -> tuple[Generation, ...]:
    """Copy every answer that counts; record all in generation.jsonl and the database."""
    rows: list[dict[str, Any]] = []
    for order, number in product(made, range(1, request.trials + 1)):
        name = f"{order.name}/{number}" if request.trials > 1 else order.name
        facts: dict[str, Any] = {
            "skill": name,
            "task": order.task and order.name,
            "by": request.by,
            "source": order.source.source,
            "source_digest": order.source.digest,
            "source_commit": order.commit,
            "order_digest": order.digest,
            "token_limit": order.tokens,
        }
        try:
            bundle = make(order, number, facts)
            rows += [facts | one for one in _admitted(bundle, order, request.out, name)]
        except (BundleError, UnusableAnswer, QuestionRefused) as error:
            rows.append(facts | {"refused": error.message})
    return _stored(study, [msgspec.convert(one, Generation) for one in rows])


def _admitted(bundle: Bundle, order: Order, out: Path, name: str) -> list[dict[str, Any]]:
    """Copy an answer; return further fields of its rows. Raises BundleError for one that does not count."""
    if order.of == "tasks":
        return admitted_tasks(bundle, order.source, out / MADE)
    refuse_invalid(bundle, order.tokens)
    target = out / SKILLS / name
    copy(bundle, target)
    return [figures(bundle, order.source) | leak(bundle, target, order.task)]


def _stored(study: StudyFolder, rows: Sequence[Generation]) -> tuple[Generation, ...]:
    """Store the rows of a call; those of earlier calls about other Skills stay."""
    names = {row.skill for row in rows}
    before = [row for row in read_rows(Generation, study.generation) if row.skill not in names]
    write_jsonl(study.generation, [*before, *rows])
    if study.planned:
        ingest_trials(study.root)
    else:
        with database_to_fill(study.database) as database, open_write(database) as store:
            store.put_generations([*before, *rows])
    return tuple(rows)


def _created(study: StudyFolder) -> Make:
    def make(order: Order, number: int, facts: dict[str, Any]) -> Bundle:
        trial = f"{order.name}__{ARM}__{number}"
        record = record_of(study, trial)
        if record is None:
            raise BundleError("its trial has not run")
        names = ("trial", "agent", "model", "scripted", "usage_reason")
        facts |= {name: getattr(record, name) for name in names}
        facts["version"] = record.agent_version
        return answer_of(record, study.trial_raw(trial), order)

    return make


def _prompted(request: Request, study: StudyFolder) -> Make:
    require("models", "--by prompt")
    study.root.mkdir(parents=True, exist_ok=True)
    choice = ModelChoice(str(request.model), request.api_base)
    client = ModelClient(choice, study.calls, request.dollars)

    def make(order: Order, number: int, facts: dict[str, Any]) -> Bundle:
        facts["model"] = request.model
        files, answer = by_prompt(order, client, number)
        for name in ("output_tokens", "cost_usd", "usage_reason"):
            facts[name] = getattr(answer, name)
        if answer.input_tokens is not None:
            cached = (answer.cache_read_tokens or 0) + (answer.cache_write_tokens or 0)
            facts["input_tokens"] = answer.input_tokens + cached
        return _bundle(files)

    return make


def _outlined(order: Order, number: int, facts: dict[str, Any]) -> Bundle:
    facts |= {"version": __version__, "usage_reason": "no_model"}
    return _bundle(outline(order))


def _bundle(files: dict[str, Blob]) -> Bundle:
    """The bundle of files from memory, within the limits of one on disk. Raises BundleError."""
    budget = ReadBudget("the answer")
    for path, blob in files.items():
        check_path(path)
        budget.add(path, len(blob.data))
    return make_bundle("generated", files, issues=[])
