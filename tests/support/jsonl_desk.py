"""A review desk in a folder: questions in items.json, answers appended to answers.jsonl; as a program
it shows them on the review page, as `skilljuror review` shows those of a study."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast

import msgspec

from skilljuror.base.errors import UsageError
from skilljuror.base.review import ReviewItem, ReviewText
from skilljuror.measures.agreement import Agreement, agreement
from skilljuror.review.page import review_app, serve
from skilljuror.review.reviewing import Reviewing
from tests.support.places import ROOT

ANSWERS = ("yes", "no", "unknown")
CLASSES = ("source_idiosyncrasy", "packaging_artifact", "controlled_repair", "reject")
XSS = (
    "</pre></textarea></title><script>window.ran = 1; alert(1)</script>"
    "<img src=x onerror=\"window.ran = 1; alert(2)\"><svg onload='window.ran=1'>"
    '" onmouseover="window.ran=1" x=\'<a href="javascript:window.ran=1">{{ 7*7 }}'
)
"""What a browser would run where it was not escaped."""


Served = AbstractContextManager[tuple[str, subprocess.Popen[str]]]


class JsonlDesk:
    """Questions and answers in one folder."""

    def __init__(self, folder: Path) -> None:
        self.items = msgspec.json.decode(
            (folder / "items.json").read_bytes(), type=list[ReviewItem]
        )
        self.path = folder / "answers.jsonl"

    def rows(self) -> list[dict[str, str | bool]]:
        """All that was ever answered or taken back, in order."""
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def agreements(self) -> list[tuple[str, str, str, Agreement]]:
        """How far ann and bea agree, where both have answered."""
        ann, bea = self._standing("ann"), self._standing("bea")
        both = sorted(ann.keys() & bea.keys())
        found = agreement([ann[one] for one in both], [bea[one] for one in both])
        return [("uptake", "ann", "bea", found)] if both else []

    def _standing(self, reviewer: str) -> dict[str, str]:
        stack: list[tuple[str, str]] = []
        for row in self.rows():
            if row["reviewer"] == reviewer:
                if row["answer"]:
                    stack.append((str(row["item"]), str(row["answer"])))
                else:
                    stack.pop()
        return dict(stack)

    def queue(self, reviewer: str, blind: bool) -> list[ReviewItem]:
        """As StudyDesk."""
        standing = self._standing(reviewer)
        items = sorted(self.items, key=lambda item: (-item.suspicion, item.id))
        return [
            msgspec.structs.replace(
                item, decided=standing.get(item.id), machine=None if blind else item.machine
            )
            for item in items
        ]

    def decide(self, reviewer: str, item: str, answer: str, reason: str, blind: bool) -> None:
        """As StudyDesk."""
        found = next((one for one in self.items if one.id == item), None)
        if found is None or answer not in found.answers:
            raise UsageError(f"no item {item!r}, or {answer!r} is none of its answers")
        if answer in CLASSES and not reason.strip():
            raise UsageError(f"{answer!r} requires a reason")
        self._append(reviewer, item, answer, reason.strip(), blind)

    def undo(self, reviewer: str) -> str | None:
        """As StudyDesk."""
        last = list(self._standing(reviewer))[-1:]
        if last:
            self._append(reviewer, last[0], "", "", False)
        return last[0] if last else None

    def _append(self, reviewer: str, item: str, answer: str, reason: str, blind: bool) -> None:
        row = {"reviewer": reviewer, "item": item, "answer": answer, "reason": reason}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**row, "blind": blind}) + "\n")
            file.flush()
            os.fsync(file.fileno())


def item(number: int, **more: object) -> ReviewItem:
    """An uptake question; a higher number is less suspicious."""
    said = {
        "id": f"uptake:trial/{number}",
        "kind": "uptake",
        "title": f"event {number}",
        "question": "Did what was shown become visible work?",
        "answers": ANSWERS,
        "suspicion": 1 - number / 100,
        "texts": (ReviewText("shown", "use 0.05 as limit", ((4, 8),)), ReviewText("then", "x")),
        "machine": f"machine says so of {number}",
    }
    return msgspec.convert(said | more, ReviewItem)


def finding(number: int, **more: object) -> ReviewItem:
    """A flagged construction, to be adjudicated."""
    about = {"id": f"finding:build/pd/{number}", "kind": "finding", "title": f"finding {number}"}
    return item(number, **{**about, "answers": CLASSES, **more})


def write_desk(folder: Path, items: list[ReviewItem]) -> Path:
    """A folder with these questions."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "items.json").write_bytes(msgspec.json.encode(items))
    return folder


@contextmanager
def review_page(
    *command: str, env: Mapping[str, str] = os.environ
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """(address with its token, process) of a command that serves the review page, such as `-m
    tests.support.jsonl_desk FOLDER ann`; ended with SIGTERM."""
    served = subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env={**env, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert served.stderr is not None
        words = next((line for line in served.stderr if "http://" in line), "")
        assert words, served.communicate()
        yield words[words.index("http://") :].strip(), served
    finally:
        served.terminate()
        served.wait(60)
        for stream in (served.stdout, served.stderr):
            if stream is not None:
                stream.close()


def desk_page(folder: Path, reviewer: str = "ann", *more: str) -> Served:
    """The review page of such a folder."""
    return review_page("-m", "tests.support.jsonl_desk", str(folder), reviewer, *more)


def main(folder: str, reviewer: str, blind: str = "", port: str = "0", notice: str = "") -> None:
    """Serve until SIGTERM."""
    desk = JsonlDesk(Path(folder))
    who = Reviewing(cast(Any, desk), reviewer, bool(blind), cast(Any, desk.agreements), notice)
    serve(review_app(who), lambda address: print(address(), file=sys.stderr, flush=True), int(port))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
