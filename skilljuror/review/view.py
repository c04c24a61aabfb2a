"""The local pages of a study: its Skills, trials, runs and the timeline of each; its report, and the review queue."""

from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from skilljuror.base.errors import SkilljurorError
from skilljuror.base.files import StudyFolder
from skilljuror.report.render import TEMPLATES
from skilljuror.report.trajectory import look_up, page_view
from skilljuror.review.page import HERE, Links, Templates, link_to, review_app
from skilljuror.review.reviewing import Reviewing
from skilljuror.store.questions import query, run

ROWS = 100
"""Runs, or Skills, on a page."""
TASKS = 50
"""Tasks on a page."""
FILTERS = ("project", "model", "skill", "outcome", "task", "condition")
"""Parameters of the list of runs."""
MARKS = {True: ("passed", "✓"), False: ("failed", "✗"), None: ("unknown", "·")}
"""Strict pass of a trial -> its outcome and sign."""
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none';"
    " frame-ancestors 'none'; base-uri 'none'"
)
"""A report has its style in the page, and neither scripts nor forms."""
_CHOICES = """
SELECT 'project' AS name, project AS value FROM trajectories WHERE project IS NOT NULL
UNION SELECT 'model', model FROM trajectories WHERE model IS NOT NULL
UNION SELECT 'model', model FROM trials WHERE model IS NOT NULL AND trial NOT IN (SELECT trial FROM trajectories)
UNION SELECT 'model', model FROM unlogged_trials WHERE model IS NOT NULL
UNION SELECT 'skill', name FROM skill_names
UNION SELECT 'skill', skill FROM variant_skills
UNION SELECT 'task', task FROM all_runs WHERE task IS NOT NULL
UNION SELECT 'condition', condition FROM conditions
ORDER BY ALL
"""
_TASKS = "SELECT task FROM tasks ORDER BY position"


class Pager(NamedTuple):
    """Where a page of a list stands in it."""

    first: int
    """1-based number of its first row; 0 for an empty list."""
    last: int
    total: int
    before: str
    """Address of the previous page; "" for none."""
    after: str


def view_app(study: Path, reviewing: Reviewing) -> Starlette:
    """Return the pages of one study, without access control: `serve` adds it."""
    folder = StudyFolder(study)
    tasks = [("/tasks", "Trials")] if folder.planned else []
    others = [*tasks, ("/skills", "Skills"), ("/runs", "Runs"), ("/report", "Report"), ("/review/", "Review")]  # fmt: skip
    pages = _Pages(study, others, reviewing.notice)
    return Starlette(
        routes=[
            Route("/", pages.tasks if tasks else pages.skills),
            Route("/tasks", pages.tasks),
            Route("/skills", pages.skills),
            Route("/runs", pages.runs),
            Route("/run", pages.run),
            Route("/report", pages.report),
            Mount("/report", _Report(directory=folder.report, check_dir=False)),
            Mount("/review", review_app(reviewing, "/review", others)),
            Route("/static/trajectory.css", pages.style),
            Mount("/static", StaticFiles(directory=HERE / "static")),
        ],
        exception_handlers={HTTPException: pages.refused, SkilljurorError: pages.refused},
    )


class _Report(StaticFiles):
    """The files of a report, if it is written."""

    async def check_config(self) -> None: ...

    def file_response(self, *args: Any, **more: Any) -> Response:
        response = super().file_response(*args, **more)
        response.headers["Content-Security-Policy"] = REPORT_POLICY
        return response


class _Pages:
    """Route handlers, which run one at a time in one event loop. Each opens the database anew, so that other
    commands can write it; and once for each question, because the second one in a row is slow (see `Reader`)."""

    def __init__(self, study: Path, others: Links, notice: str) -> None:
        self._study = study
        self._folder = StudyFolder(study)
        templates = Templates(
            TEMPLATES, site="view", study=study.resolve().name, notice=notice, others=others, marks=MARKS,
        )  # fmt: skip
        self._page, self.refused = templates.page, templates.refused

    def _ask(self, question: str, **params: Any) -> list[dict[str, Any]]:
        return run(self._folder.existing_database, question, **params).records()

    def _list(
        self, request: Request, size: int, ask: Callable[[int], list[dict[str, Any]]]
    ) -> tuple[list[dict[str, Any]], Pager]:
        """The rows of the asked page of a list, and its place; `ask` takes the number of rows before it."""
        words = request.query_params
        number = words.get("page", "1")
        page = max(1, int(number)) if number.isdecimal() and len(number) < 7 else 1
        start = (page - 1) * size
        rows = ask(start)
        total = rows[0]["matching"] if rows else 0

        def address(to: int) -> str:
            return link_to(request.url.path, **{**words, "page": str(to)})

        return rows, Pager(
            start + bool(rows), start + len(rows), total,
            address(page - 1) if page > 1 else "", address(page + 1) if start + size < total else "",
        )  # fmt: skip

    def _part(self, sql: str, size: int, start: int) -> list[dict[str, Any]]:
        """Some rows of an answer, each with the number of all."""
        body = sql.rstrip().removesuffix(";")
        return self._ask(
            f"SELECT *, count(*) OVER () AS matching FROM (\n{body}\n) LIMIT {size} OFFSET {start}"  # noqa: S608
        )

    async def skills(self, request: Request) -> Response:
        """List Skills, opened ones first."""
        sql = query("skills_opened").sql
        skills, pager = self._list(request, ROWS, lambda start: self._part(sql, ROWS, start))
        return self._page("skills.html.j2", here="/skills", skills=skills, pager=pager)

    async def tasks(self, request: Request) -> Response:
        """Show the trials of a plan by task and arm."""
        rows, pager = self._list(request, TASKS, lambda start: self._part(_TASKS, TASKS, start))
        tasks = [str(row["task"]) for row in rows]
        arms = [row["condition"] for row in self._ask("SELECT condition FROM conditions ORDER BY position")]  # fmt: skip
        cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for trial in self._ask("trials", tasks=" ".join(tasks)) if tasks else ():
            cells.setdefault((trial["task"], trial["condition"]), []).append(trial)
        return self._page("tasks.html.j2", here="/tasks", tasks=tasks, arms=arms, cells=cells, pager=pager)  # fmt: skip

    async def runs(self, request: Request) -> Response:
        """List runs, by filters."""
        given = {name: word for name in FILTERS if (word := request.query_params.get(name, ""))}
        runs, pager = self._list(
            request, ROWS, lambda start: self._ask("run_list", **given, limit=str(ROWS), offset=str(start))
        )  # fmt: skip
        choices: dict[str, list[str]] = {name: [] for name in FILTERS}
        for row in self._ask(_CHOICES):
            choices[row["name"]].append(row["value"])
        choices["outcome"] = [*filter(None, query("run_list").choices["outcome"])]
        blank = {None, "unknown"}
        columns = {name for row in runs for name, value in row.items() if value not in blank}
        return self._page(
            "runs.html.j2", here="/runs", runs=runs, pager=pager, given=given, choices=choices, columns=columns
        )  # fmt: skip

    async def run(self, request: Request) -> Response:
        """Show the timeline of one run."""
        details = look_up(self._study, request.query_params.get("name", ""))
        return self._page("run.html.j2", here="", **page_view([details]))

    async def report(self, request: Request) -> Response:
        """Lead to the report; say how to write one that is missing or older than the database."""
        page, database = self._folder.report / "report.html", self._folder.existing_database
        address = f"{request.url.path}/{page.name}"
        written = page.is_file()
        if written and page.stat().st_mtime >= database.stat().st_mtime:
            return RedirectResponse(address, 303)
        return self._page(
            "message.html.j2", here="/report", title="Report", to=address if written else request.url.path,
            message=f"{'The report is older than the database' if written else 'No report yet'}. Write it:"
            f" skilljuror report {quote(str(self._study))}",
            back="Open the older report" if written else "Look again",
        )  # fmt: skip

    async def style(self, request: Request) -> Response:
        """The style of timelines."""
        return FileResponse(TEMPLATES / "trajectory.css")
