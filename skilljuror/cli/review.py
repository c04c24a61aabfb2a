"""`skilljuror review`: decisions by people."""

import os
import sys
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skilljuror.base.errors import UsageError, require
from skilljuror.cli.options import Debug, Json
from skilljuror.cli.output import emit, print_indented, print_lines, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from skilljuror.base.review import ReviewItem
    from skilljuror.review.desk import StudyDesk


def review(
    place: Annotated[Path, typer.Argument(metavar="DIR", help="Study, build or Skill folder.")],
    item: Annotated[
        str | None, typer.Argument(metavar="ID", help="Question to show with its texts.")
    ] = None,
    listing: Annotated[
        bool, typer.Option("--list", help="List the questions, suspicious ones first.")
    ] = False,
    decide: Annotated[
        list[str] | None,
        typer.Option("--decide", metavar="ID=ANSWER", help="Answer to a question; repeatable."),
    ] = None,
    why: Annotated[str, typer.Option("--why", help="Reason for --decide.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Withdraw your last answer.")] = False,
    reviewer: Annotated[
        str | None,
        typer.Option(
            "--reviewer", metavar="NAME", help="Reviewer's name or pseudonym; default: you."
        ),
    ] = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="Hide verdicts of gates and judges.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="JSONL file to write answers to."),
    ] = None,
    import_: Annotated[
        Path | None, typer.Option("--import", metavar="FILE", help="JSONL file of answers to add.")
    ] = None,
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65535, help="Port of the page; default: a free one."),
    ] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Decide findings, rubric items, events and sections that need a person.

    Without an option, a page for deciding opens in the browser.
    """
    from skilljuror.base.review import blind_id
    from skilljuror.base.review_rows import login_name, reviewer_name
    from skilljuror.review.desk import StudyDesk

    asked = {
        "ID": item, "--list": listing, "--decide": decide, "--undo": undo, "--export": export,
        "--import": import_,
    }  # fmt: skip
    given = [name for name, value in asked.items() if value]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} cannot be combined; use one at a time")
    desk, who = StudyDesk(place), reviewer_name(reviewer or login_name("reviewer"))
    if not given:
        _open_page(place, desk, who, blind, port, not no_open, json)
    elif item:
        _show(desk.asked(item, who, blind), json)
    elif decide:
        _decide(desk, decide, why.strip(), who, blind)
        _report(desk, who, blind, json, f"{len(decide)} decided by {who}")
    elif undo:
        withdrawn = desk.undo(who)
        withdrawn = blind_id(withdrawn) if withdrawn and blind else withdrawn
        _report(
            desk,
            who,
            blind,
            json,
            f"withdrawn: {withdrawn}" if withdrawn else "no answer to withdraw",
        )
    elif export or import_:
        _carry(desk, export, import_, json)
    else:
        _list(desk, who, blind, json)


def _open_page(
    place: Path, desk: "StudyDesk", who: str, blind: bool, port: int, browse: bool, json: bool
) -> None:
    if json:
        raise UsageError("--json does not apply to the page; add --list or another option")
    require("review", "the page of 'review' (without it: --list and --decide)")

    from skilljuror.review.labels import agreements
    from skilljuror.review.page import open_browser, serve
    from skilljuror.review.reviewing import Reviewing

    if not desk.queue(who, blind):
        print(f"nothing to review in {place}")
        return

    def announce(address: "Callable[[], str]") -> None:
        opened = " (opened in your browser)" if browse and open_browser(address()) else ""
        print(
            f"reviewing {place} as {who}{opened}; answers are saved at once;"
            f" stop with Ctrl-C or: kill {os.getpid()}\nreview page: {address()}",
            file=sys.stderr, flush=True,
        )  # fmt: skip

    page = Reviewing(desk, who, blind, partial(agreements, desk), _notice(place))
    serve(page, announce, port)


def _notice(place: Path) -> str:
    """The notice on every page of a study whose trials ran without a language model."""
    from skilljuror.base.files import StudyFolder
    from skilljuror.store.questions import run

    database = StudyFolder(place).database
    scripted = database.is_file() and run(database, "overview").records()[0]["scripted"]
    return "Scripted policy: no language model acted in these trials." if scripted else ""


def _list(desk: "StudyDesk", who: str, blind: bool, json: bool) -> None:
    from msgspec.structs import replace

    from skilljuror.review.labels import agreements

    items = [replace(one, texts=()) for one in desk.queue(who, blind)]
    pairs = [] if blind else agreements(desk)
    decided = sum(one.decided is not None for one in items)
    payload = {
        "reviewer": who, "decided": decided, "total": len(items), "items": items,
        "agreement": pairs,
    }  # fmt: skip

    def human() -> None:
        if items:
            columns = ("", "id", "about", "repeats", "machine", "decided")
            rows = [
                (number, one.id, one.title, len(one.repeats), one.machine, one.decided)
                for number, one in enumerate(items, 1)
            ]
            table(columns, rows)
        for kind, first, second, found in pairs:
            print(f"{first} and {second} on {kind}: {_agreement(found)}")
        print(_progress(items, who) if items else "nothing to review")

    emit(payload, json, human)


def _agreement(found: Any) -> str:
    shares = (
        ("agreement", found.observed, found.observed_interval),
        ("kappa", found.kappa, found.kappa_interval),
        ("AC1", found.ac1, found.ac1_interval),
    )
    known = [_share(*one) for one in shares if one[1] is not None]
    return f"{found.items} questions, {', '.join(known)}"


def _share(name: str, value: float, interval: Any) -> str:
    within = f" [{interval.low:.2f}, {interval.high:.2f}]" if interval else ""
    return f"{name} {value:.2f}{within}"


def _progress(items: Any, who: str) -> str:
    return f"{sum(one.decided is not None for one in items)}/{len(items)} decided by {who}"


def _show(found: "ReviewItem", json: bool) -> None:
    from msgspec.structs import replace

    found = replace(found, texts=tuple(found.texts))
    emit(found, json, lambda: _print_item(found))


def _print_item(item: "ReviewItem") -> None:
    print(f"{item.id}\n{item.title}")
    for text in item.texts:
        print(f"── {text.heading}")
        print_indented(_marked(text.text, text.marks), "   ", "   ")
    if item.machine:
        print_indented(item.machine, "machine: ", "   ")
    print_lines("repeated in", item.repeats)
    print(f"{item.question}\nanswers: {', '.join(item.answers)}")
    print(f"decided: {item.decided or 'not yet'}")


def _marked(text: str, marks: tuple[tuple[int, int], ...]) -> str:
    """A text with » « around its marked parts, shortened as on the page."""
    from skilljuror.review.reviewing import passages

    pieces = groupby(passages(text, marks), key=lambda piece: piece.marked)
    parts = ((marked, "".join(piece.text for piece in some)) for marked, some in pieces)
    return "".join(f"»{words}«" if marked else words for marked, words in parts)


def _decide(desk: "StudyDesk", given: list[str], why: str, who: str, blind: bool) -> None:
    """Record all answers, or none if one is invalid."""
    from skilljuror.base.review_rows import now

    answers = [words.rpartition("=") for words in given]
    desk.write([
        desk.decision(desk.question(name), who, answer, why, blind=blind, at=now())
        for name, _, answer in answers
    ])


def _report(desk: "StudyDesk", who: str, blind: bool, json: bool, done: str) -> None:
    items = desk.queue(who, blind)
    decided = sum(one.decided is not None for one in items)
    payload = {"reviewer": who, "done": done, "decided": decided, "total": len(items)}
    emit(payload, json, lambda: print(f"{done}\n{_progress(items, who)}"))


def _carry(desk: "StudyDesk", export: Path | None, import_: Path | None, json: bool) -> None:
    from skilljuror.review.labels import export_labels, import_labels

    if export:
        count = export_labels(desk, export)
        done = f"{count} answers exported to {export}"
    elif import_:
        count = import_labels(desk, import_)
        done = f"{count} new answers imported from {import_}"
    emit({"answers": count}, json, lambda: print(done))
