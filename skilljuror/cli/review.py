"""`skilljuror review`: decisions by people."""

import os
import sys
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from skilljuror.base.errors import UsageError, require
from skilljuror.cli.output import Answer, Block, Indented, Table, labelled, wants_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from skilljuror.base.review import ReviewItem
    from skilljuror.review.desk import StudyDesk


def review(
    place: Annotated[Path, Argument(metavar="DIR", help="Study, build or Skill folder.")],
    item: Annotated[
        str | None, Argument(metavar="ID", help="Question to show with its texts.")
    ] = None,
    listing: Annotated[
        bool, Option("--list", help="List the questions, suspicious ones first.")
    ] = False,
    decide: Annotated[
        list[str] | None,
        Option("--decide", metavar="ID=ANSWER", help="Answer to a question; repeatable."),
    ] = None,
    why: Annotated[str, Option("--why", help="Reason for --decide.")] = "",
    undo: Annotated[bool, Option("--undo", help="Withdraw your last answer.")] = False,
    reviewer: Annotated[
        str | None,
        Option("--reviewer", metavar="NAME", help="Reviewer's name or pseudonym; default: you."),
    ] = None,
    blind: Annotated[bool, Option("--blind", help="Hide verdicts of gates and judges.")] = False,
    export: Annotated[
        Path | None, Option("--export", metavar="FILE", help="JSONL file to write answers to.")
    ] = None,
    import_: Annotated[
        Path | None, Option("--import", metavar="FILE", help="JSONL file of answers to add.")
    ] = None,
    port: Annotated[
        int, Option("--port", min=0, max=65535, help="Port of the page; default: a free one.")
    ] = 0,
    no_open: Annotated[bool, Option("--no-open", help="Open no browser.")] = False,
) -> Answer | None:
    """Decide findings, rubric items, events and sections that need a person.

    Without an option, a page for deciding opens in the browser.
    """
    from skilljuror.base.review import blind_id
    from skilljuror.base.review_rows import login_name, now, reviewer_name
    from skilljuror.review.desk import StudyDesk
    from skilljuror.review.labels import export_labels, import_labels

    asked = {
        "ID": item, "--list": listing, "--decide": decide, "--undo": undo, "--export": export,
        "--import": import_,
    }  # fmt: skip
    given = [name for name, value in asked.items() if value]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} cannot be combined; use one at a time")
    desk, who = StudyDesk(place), reviewer_name(reviewer or login_name("reviewer"))
    if item:
        shown = desk.asked(item, who, blind)
        from msgspec import structs

        shown = structs.replace(shown, texts=tuple(shown.texts))
        return Answer(shown, _item_blocks(shown))
    if decide:
        # all answers, or none if one is invalid
        desk.write([
            desk.decision(desk.question(name), who, answer, why.strip(), blind=blind, at=now())
            for name, _, answer in (words.rpartition("=") for words in decide)
        ])
        return _progress_answer(desk, who, blind, f"{len(decide)} decided by {who}")
    if undo:
        withdrawn = desk.undo(who)
        withdrawn = blind_id(withdrawn) if withdrawn and blind else withdrawn
        done = f"withdrawn: {withdrawn}" if withdrawn else "no answer to withdraw"
        return _progress_answer(desk, who, blind, done)
    if export:
        count = export_labels(desk, export)
        return Answer({"answers": count}, [f"{count} answers exported to {export}"])
    if import_:
        count = import_labels(desk, import_)
        return Answer({"answers": count}, [f"{count} new answers imported from {import_}"])
    if listing:
        return _list(desk, who, blind)
    _open_page(place, desk, who, blind, port, not no_open)
    return None


def _open_page(
    place: Path, desk: "StudyDesk", who: str, blind: bool, port: int, browse: bool
) -> None:
    from skilljuror.review.labels import agreements
    from skilljuror.review.web.questions import Reviewing
    from skilljuror.review.web.serving import open_browser, serve

    if wants_json():
        raise UsageError("--json does not apply to the page; add --list or another option")
    require("review", "the page of 'review' (without it: --list and --decide)")
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
    from skilljuror.store.questions.run import run

    database = StudyFolder(place).database
    scripted = database.is_file() and run(database, "overview").records()[0]["scripted"]
    return "Scripted policy: no language model acted in these trials." if scripted else ""


def _list(desk: "StudyDesk", who: str, blind: bool) -> Answer:
    from msgspec import structs

    from skilljuror.review.labels import agreements

    items = [structs.replace(item, texts=()) for item in desk.queue(who, blind)]
    pairs = [] if blind else agreements(desk)
    blocks: list[Block] = []
    if items:
        rows = [
            (number, item.id, item.title, len(item.repeats), item.machine, item.decided)
            for number, item in enumerate(items, 1)
        ]
        blocks.append(Table(("", "id", "about", "repeats", "machine", "decided"), rows))
    for kind, first, second, agreement in pairs:
        shares = (
            ("agreement", agreement.observed, agreement.observed_interval),
            ("kappa", agreement.kappa, agreement.kappa_interval),
            ("AC1", agreement.ac1, agreement.ac1_interval),
        )
        known = [
            f"{name} {value:.2f}{f' [{ends.low:.2f}, {ends.high:.2f}]' if ends else ''}"
            for name, value, ends in shares
            if value is not None
        ]
        blocks.append(
            f"{first} and {second} on {kind}: {agreement.items} questions, {', '.join(known)}"
        )
    decided = sum(item.decided is not None for item in items)
    blocks.append(f"{decided}/{len(items)} decided by {who}" if items else "nothing to review")
    payload = {
        "reviewer": who, "decided": decided, "total": len(items), "items": items,
        "agreement": pairs,
    }  # fmt: skip
    return Answer(payload, blocks)


def _progress_answer(desk: "StudyDesk", who: str, blind: bool, done: str) -> Answer:
    items = desk.queue(who, blind)
    decided = sum(item.decided is not None for item in items)
    payload = {"reviewer": who, "done": done, "decided": decided, "total": len(items)}
    return Answer(payload, [done, f"{decided}/{len(items)} decided by {who}"])


def _item_blocks(item: "ReviewItem") -> Iterator[Block]:
    yield f"{item.id}\n{item.title}"
    for text in item.texts:
        yield f"── {text.heading}"
        yield Indented(_marked(text.text, text.marks), "   ", "   ")
    if item.machine:
        yield Indented(item.machine, "machine: ", "   ")
    yield from labelled("repeated in", item.repeats)
    yield f"{item.question}\nanswers: {', '.join(item.answers)}"
    yield f"decided: {item.decided or 'not yet'}"


def _marked(text: str, marks: tuple[tuple[int, int], ...]) -> str:
    """A text with » « around its marked parts, shortened as on the page."""
    from skilljuror.review.web.passages import passages

    pieces = groupby(passages(text, marks), key=lambda piece: piece.marked)
    parts = ((marked, "".join(piece.text for piece in some)) for marked, some in pieces)
    return "".join(f"»{words}«" if marked else words for marked, words in parts)
