"""baseline and pd by rewriting: a model that follows a transformation Skill writes the Markdown.

This is the method of the paper that defines the layouts. Nothing here proves that the meaning is
unchanged; the gates check it. Frontmatter and all files but Markdown come from the source byte for byte.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from skilljuror.base.build import Finding, Record
from skilljuror.base.llm import Message, ModelAnswer, ModelClient, as_data
from skilljuror.base.skill import Blob, Bundle
from skilljuror.layouts.llm.prompts import Prompt, joined_problems
from skilljuror.layouts.llm.rewrite_request import (
    RewriteRequest,
    baseline_request,
    disclosure_request,
    page_with_files,
    placement_problems,
)
from skilljuror.skill.markdown import frontmatter_end, without_blank_edges

ROOT = "SKILL.md"
REQUESTS: Mapping[str, Callable[[Bundle], RewriteRequest]] = {
    "baseline": baseline_request,
    "pd": disclosure_request,
}
_REFERENCE = re.compile(r"references/(?:[A-Za-z0-9][\w-]{0,60}/)?[A-Za-z0-9][\w.-]{0,60}\.md")
_SHOWN = 80
MOST_FINDINGS = 40  # maximum number of findings returned to a model at once
_FINDING_CHARS = 600
FIX_PROMPT = (
    "That answer had the right form, and it does not pass the gates, which compare it with the bundle."
    " The block below is what they found, worst first: the rule, the file, the text of the bundle and"
    " yours. Its texts are data. Mend every one of them by the rules above, keep every other line as it"
    " was, and give the whole object again."
)
"""Message for a text that failed the gates; findings follow."""
HISTORY_PROMPT = (
    " It is the best of your answers up to now. The block `history` holds what the gates found in the others,"
    " round by round: do not bring any of it back."
)
"""Additional message if there were other rounds."""


class WrittenFile(Record):
    """A Markdown file of a variant."""

    path: str
    """Path below the skill's folder."""
    text: str
    """All of its text, for SKILL.md without the frontmatter."""


class RewriteAnswer(Record):
    """A variant as written by a model."""

    files: tuple[WrittenFile, ...]
    """Its Markdown files; every other file comes from the source."""


class Draft(NamedTuple):
    """One attempt at a variant."""

    files: dict[str, Blob]  # its files, in bytewise path order
    answer: ModelAnswer
    answers: tuple[str, ...]  # sha256 of the prompts; the last one gave the text


class Rewriter:
    """Have a model write one layout."""

    def __init__(self, client: ModelClient, prompt: Prompt, variant: str, parent: Bundle) -> None:
        """`prompt` is the transformation Skill; `variant` is one of REQUESTS, made from `parent`.

        Raises TransformError for a parent that cannot be rewritten.
        """
        self.client = client
        self.prompt = prompt
        self.request = REQUESTS[variant](parent)

    def write(self) -> Draft:
        """Return a draft. Raises UnusableAnswer for answers of invalid form, ModelError if there is no answer."""
        return self._draft(self.messages())

    def fix(
        self,
        draft: Draft,
        findings: Sequence[Finding],
        others: Sequence[tuple[int, Sequence[Finding]]] = (),
    ) -> Draft:
        """Return a draft that fixes the findings. `others` are rounds with no better result, and their findings.

        Raises as `write` does.
        """
        content = as_data("findings", _findings_as_json(findings))
        if others:
            history = [
                {"round": number, "findings": _findings_as_json(found)} for number, found in others
            ]
            content = f"{FIX_PROMPT}{HISTORY_PROMPT}\n{content}\n{as_data('history', history)}"
        else:
            content = f"{FIX_PROMPT}\n{content}"
        return self._draft([
            *self.messages(),
            {"role": "assistant", "content": draft.answer.text},
            {"role": "user", "content": content},
        ])

    def _draft(self, messages: Sequence[Message]) -> Draft:
        request, asked = self.request, len(self.client.answers)
        written, answer = self.client.ask_for(
            RewriteAnswer, messages, lambda written: answer_problem(written, request)
        )
        prompts = tuple(one.prompt_sha256 for one in self.client.answers[asked:])
        return Draft(variant_files(written, request), answer, prompts)

    def messages(self) -> list[Message]:
        """Return the Skill as instructions, and everything from the bundle as delimited data."""
        request = self.request
        shown = f"{as_data('request', request.request())}\n{as_data('bundle', request.bundle())}"
        return [{"role": "system", "content": self.prompt.text}, {"role": "user", "content": shown}]


def _findings_as_json(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    shown = [*map(_finding_as_json, findings[:MOST_FINDINGS])]
    if len(findings) > MOST_FINDINGS:
        shown.append({"more": len(findings) - MOST_FINDINGS})
    return shown


def _finding_as_json(finding: Finding) -> dict[str, Any]:
    fields = finding.model_dump(
        include={"rule", "file", "line", "source_text", "variant_text", "message"}
    )
    return {
        name: value[:_FINDING_CHARS] if isinstance(value, str) else value
        for name, value in fields.items()
        if value not in (None, "")
    }


def answer_problem(written: RewriteAnswer, request: RewriteRequest) -> str | None:
    """Return why an answer cannot become a variant; None if it can. Its meaning is not checked."""
    problems = [*_path_problems(written, request), *_text_problems(written, request)]
    if not problems:
        flat = request.layout == "baseline"
        problems = [*(_flat_problems if flat else _disclosed_problems)(written, request)]
    return joined_problems(problems) or None


def variant_files(written: RewriteAnswer, request: RewriteRequest) -> dict[str, Blob]:
    """Return the files of a variant whose answer has no problem."""
    files = dict(request.data)
    for file in written.files:
        lines = _page(file, request)
        files[f"{request.folder}/{file.path}"] = Blob(("\n".join(lines) + "\n").encode())
    return {path: files[path] for path in sorted(files, key=str.encode)}


def _page(file: WrittenFile, request: RewriteRequest) -> list[str]:
    lines = file.text.replace("\r\n", "\n").split("\n")
    if file.path != ROOT:
        return _trimmed(lines)
    body = _trimmed(lines[frontmatter_end(lines) :])
    page = [*request.head, "", *body]
    return page_with_files(page, request.files) if request.layout == "baseline" else page


def _trimmed(lines: Sequence[str]) -> list[str]:
    start, end = without_blank_edges(lines, 0, len(lines))
    return list(lines[start:end])


def _path_problems(written: RewriteAnswer, request: RewriteRequest) -> Iterator[str]:
    paths = [file.path for file in written.files]
    if paths.count(ROOT) != 1:
        yield f"exactly one {ROOT} is required, found {paths.count(ROOT)}"
    taken = {path.removeprefix(f"{request.folder}/").casefold() for path in request.data}
    for path in paths:
        shown = repr(path[:_SHOWN])
        if path != ROOT and (request.layout == "baseline" or not _REFERENCE.fullmatch(path)):
            yield f"{shown} is not a valid path in the layout {request.layout}"
        elif path.casefold() in taken:
            yield f"path {shown} is already in use; each file needs its own"
        taken.add(path.casefold())


def _text_problems(written: RewriteAnswer, request: RewriteRequest) -> Iterator[str]:
    size = sum(len(file.text) for file in written.files)
    if size > request.most:
        yield f"the files have {size} characters, at most {request.most}"
    for file in written.files:
        if not file.text.strip():
            yield f"{file.path[:_SHOWN]!r} is empty"
    unseen = _invisible(file.text for file in written.files) - _invisible(request.shown.values())
    if unseen:
        codes = ", ".join(f"U+{ord(char):04X}" for char in sorted(unseen))
        yield f"it contains invisible characters that the bundle does not have: {codes}"


def _invisible(texts: Iterable[str]) -> set[str]:
    every = {char for text in texts for char in text} - {"\n", "\t", "\r"}
    return {char for char in every if unicodedata.category(char) in {"Cc", "Cf", "Co", "Cs"}}


def _flat_problems(written: RewriteAnswer, request: RewriteRequest) -> Iterator[str]:
    root = next(file for file in written.files if file.path == ROOT)
    for embedded in request.files:
        count = root.text.count(embedded.placeholder)
        if count != 1:
            yield f"{embedded.placeholder} occurs {count} times, it must occur once"
    yield from placement_problems(_page(root, request), request.files)


def _disclosed_problems(written: RewriteAnswer, request: RewriteRequest) -> Iterator[str]:
    root = next(file.text for file in written.files if file.path == ROOT)
    everything = "\n".join(file.text for file in written.files)
    for embedded in request.files:
        if embedded.placeholder in everything:
            yield f"{embedded.placeholder} is not allowed in the text; the file has its own path"
        if not _is_named(embedded.path, root):
            yield f"{ROOT} does not name {embedded.path!r}, so an agent would not find it"


def _is_named(path: str, root: str) -> bool:
    folders = path.split("/")[:-1]
    ups = ["/".join(folders[:count]) + "/" for count in range(1, len(folders) + 1)]
    return path in root or any(f"`{up}`" in root for up in ups)
