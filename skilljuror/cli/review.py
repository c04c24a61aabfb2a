"""The command with which people decide: review."""

from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skilljuror.cli.options import Debug, Json
from skilljuror.cli.output import emit, print_indented, table
from skilljuror.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from skilljuror.models.review_queue import ReviewItem
    from skilljuror.pipeline.reviewing.desk import StudyDesk


def review(
    place: Annotated[Path, typer.Argument(metavar="STUDY", help="A study, or a build.")],
    item: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Show this question with its texts.")
    ] = None,
    listing: Annotated[
        bool, typer.Option("--list", help="List what waits for a person, suspicious ones first.")
    ] = False,
    decide: Annotated[
        list[str] | None,
        typer.Option("--decide", metavar="ID=ANSWER", help="Answer a question; repeatable."),
    ] = None,
    why: Annotated[str, typer.Option("--why", help="Why, for --decide.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Take your last answer back.")] = False,
    reviewer: Annotated[
        str | None,
        typer.Option(
            "--reviewer", metavar="NAME", help="Who decides, or a pseudonym; default: you."
        ),
    ] = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="Withhold what gates and judges say.")
    ] = False,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="Write all answers as JSONL.")
    ] = None,
    import_: Annotated[
        Path | None, typer.Option("--import", metavar="FILE", help="Take in answers from JSONL.")
    ] = None,
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65535, help="Port of the page; default: any free one."),
    ] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Decide what waits for a person: flagged findings, items of the rubric, sampled events."""
    from skilljuror.models.review_queue import blind_id
    from skilljuror.pipeline.review_rows import login_name, reviewer_name
    from skilljuror.pipeline.reviewing.desk import StudyDesk

    asked = {
        "ID": item, "--list": listing, "--decide": decide, "--undo": undo, "--export": export,
        "--import": import_,
    }  # fmt: skip
    given = [name for name, value in asked.items() if value]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} are two things: do one after the other")
    desk, who = StudyDesk(place), reviewer_name(reviewer or login_name("reviewer"))
    if not given:
        _open_page(place, desk, who, blind, port, not no_open, json)
    elif item:
        _show(desk.asked(item, who, blind), json)
    elif decide:
        _decide(desk, decide, why.strip(), who, blind)
        _say(desk, who, blind, json, f"{len(decide)} decided by {who}")
    elif undo:
        taken = desk.undo(who)
        taken = blind_id(taken) if taken and blind else taken
        _say(desk, who, blind, json, f"taken back: {taken}" if taken else "nothing to take back")
    elif export or import_:
        _carry(desk, export, import_, json)
    else:
        _list(desk, who, blind, json)


def _open_page(
    place: Path, desk: "StudyDesk", who: str, blind: bool, port: int, browse: bool, json: bool
) -> None:
    from skilljuror.pipeline.reviewing.labels import agreements
    from skilljuror.web.questions import Reviewing
    from skilljuror.web.serving import open_browser, serve

    if json:
        raise UsageError("the page is for people: with --json say --list, or another option")
    if not desk.queue(who, blind):
        print(f"nothing waits for a person in {place}")
        return

    def announce(address: "Callable[[], str]") -> None:
        opened = browse and open_browser(address())
        print(f"{place}, reviewed by {who}: {address()}")
        told = "opened in your browser" if opened else "open it in a browser"
        print(f"{told}; every answer is kept at once, Ctrl-C ends it", flush=True)

    page = Reviewing(desk, who, blind, partial(agreements, desk), _notice(place))
    serve(page, announce, port)


def _notice(place: Path) -> str:
    """What every page says of trials in which no language model acted."""
    from skilljuror.files import StudyFolder
    from skilljuror.queries.run import run

    database = StudyFolder(place).database
    scripted = database.is_file() and run(database, "overview").records()[0]["scripted"]
    return "Scripted policy: no language model acted in these trials." if scripted else ""


def _list(desk: "StudyDesk", who: str, blind: bool, json: bool) -> None:
    from msgspec.structs import replace

    from skilljuror.pipeline.reviewing.labels import agreements

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
        print(_progress(items, who) if items else "nothing waits for a person")

    emit(payload, json, human)


def _agreement(found: Any) -> str:
    shares = (
        ("agreement", found.observed, found.observed_interval),
        ("kappa", found.kappa, found.kappa_interval),
        ("AC1", found.ac1, found.ac1_interval),
    )
    told = [_share(*one) for one in shares if one[1] is not None]
    return f"{found.items} questions, {', '.join(told)}"


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
    for other in item.repeats:
        print(f"the same: {other}")
    print(f"{item.question}\nanswers: {', '.join(item.answers)}")
    print(f"decided: {item.decided or 'not yet'}")


def _marked(text: str, marks: tuple[tuple[int, int], ...]) -> str:
    """A text with » « around what matters, cut as on the page."""
    from skilljuror.web.passages import passages

    pieces = groupby(passages(text, marks), key=lambda piece: piece.marked)
    told = ((marked, "".join(piece.text for piece in some)) for marked, some in pieces)
    return "".join(f"»{words}«" if marked else words for marked, words in told)


def _decide(desk: "StudyDesk", given: list[str], why: str, who: str, blind: bool) -> None:
    """Record answers, or none where one does not fit."""
    from skilljuror.pipeline.review_rows import now

    answers = [words.rpartition("=") for words in given]
    desk.write([
        desk.decision(desk.question(name), who, answer, why, blind=blind, at=now())
        for name, _, answer in answers
    ])


def _say(desk: "StudyDesk", who: str, blind: bool, json: bool, told: str) -> None:
    items = desk.queue(who, blind)
    decided = sum(one.decided is not None for one in items)
    payload = {"reviewer": who, "done": told, "decided": decided, "total": len(items)}
    emit(payload, json, lambda: print(f"{told}\n{_progress(items, who)}"))


def _carry(desk: "StudyDesk", export: Path | None, import_: Path | None, json: bool) -> None:
    from skilljuror.pipeline.reviewing.labels import export_labels, import_labels

    if export:
        count = export_labels(desk, export)
        told = f"{count} answers exported to {export}"
    elif import_:
        count = import_labels(desk, import_)
        told = f"{count} new answers imported from {import_}"
    emit({"answers": count}, json, lambda: print(told))
