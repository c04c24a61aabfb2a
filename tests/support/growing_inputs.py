"""Commands, outputs, logs and bundles that are made to cost work, by their size.

What is found in real ones is short; here one thing is multiplied, in the ways that made a reader
slow once.
"""

from collections.abc import Callable
from functools import partial

from skilljuror.base.skill import class_of
from skilljuror.base.trajectory import (
    Message,
    Resource,
    SkillManifest,
    Step,
    ToolCall,
    ToolResult,
    Trajectory,
)
from tests.support.attribution_runs import BUNDLE, FRONT, ROOT, ran, run_of


def line(number):
    """A line like no other."""
    return f"line number {number} says what was never said before\n"


def manifest_of(texts):
    """The manifest of one skill with these files."""
    resources = tuple(Resource("ledger", p, class_of(p), text) for p, text in texts.items())
    return SkillManifest(resources=resources, roots=(ROOT,), skills=("ledger",))


def each(size, text):
    """One piece of text for every number."""
    return "".join(text(number) for number in range(size))


OUTPUTS = {
    "equal lines": lambda n: (f"cat {BUNDLE}/SKILL.md", FRONT + "one line over and over\n" * n),
    "equal short lines": lambda n: (f"cat {BUNDLE}/SKILL.md", FRONT + "}\n" * n),
    "lines by turns": lambda n: (f"cat {BUNDLE}/SKILL.md", FRONT + "ab\ncd\n" * n),
    "front matters": lambda n: (f"echo abc; cat {BUNDLE}/SKILL.md; echo def", "abc\n" + "---\nname: a\n" * n + "def\n"),
    "an open front matter": lambda n: (f"echo abc; cat {BUNDLE}/SKILL.md; echo def", "abc\n---\nname: a\n" + "x\n" * n + "def\n"),
    "a screen": lambda n: (f"cat {BUNDLE}/SKILL.md", "New Terminal Output:\n" + "root# cat x\n" * n),
    "a file read over and over": lambda n: (f"cat {BUNDLE}/SKILL.md\n" * n, each(n, line)),
    "files": lambda n: ("cat " + each(n, lambda i: f"{BUNDLE}/r/{i}.md "), each(n, line)),
    "headings": lambda n: (
        "head " + each(n, lambda i: f"{BUNDLE}/r/{i}.md "),
        each(n, lambda i: f"==> {BUNDLE}/r/{i}.md <==\n{line(i)}\n"),
    ),
    "echoed marks": lambda n: (
        each(n, lambda i: f"echo mark{i}; cat {BUNDLE}/r/{i}.md\n"), each(n, lambda i: f"mark{i}\n{line(i)}"),
    ),
    "searches": lambda n: (
        each(n, lambda i: f"grep -n x {BUNDLE}/r/{i}.md\n"), each(n, lambda i: f"{BUNDLE}/r/{i}.md:1:{line(i)}"),
    ),
    "one search": lambda n: (f"grep -rn x {BUNDLE}", each(n, lambda i: f"{BUNDLE}/r/{i}.md:1:{line(i)}")),
    "globs": lambda n: (
        each(n, lambda i: f"cat {BUNDLE}/r{i}/*.md\n"), each(n, lambda i: f"== {BUNDLE}/r{i}/a.md\n{line(i)}"),
    ),
    "listings": lambda n: (each(n, lambda i: f"ls {BUNDLE}/r{i}\n"), each(n, lambda i: f"a{i}.md\n")),
    "copies": lambda n: (each(n, lambda i: f"cp {BUNDLE}/r/{i}.md /w/{i}.md; cat /w/{i}.md\n"), each(n, line)),
    "code": lambda n: (f"python3 - <<'E'\n{each(n, lambda i: f'print(open({str(i)!r}).read())' + chr(10))}E\n", "x"),
    "links": lambda n: (f"cat {BUNDLE}/SKILL.md", FRONT + each(n, lambda i: f"see references/x{i}.md now\n")),
}  # fmt: skip
"""What multiplies -> a command and its output of a size."""


def log_of(size, make):
    """A run of one command that is observed, without a manifest."""
    return run_of(ran(*make(size))), None


def _polled(size):
    command = f"cat {BUNDLE}/SKILL.md"
    result = ToolResult("one line of what it printed\n" * 5, 3)
    polls = [
        ToolCall(f"p{i}", "Poll", "poll", i, command=command, result=result) for i in range(size)
    ]
    return run_of(ran(command, FRONT), *polls), None


def _calls(size):
    calls = [
        ran(f"cat {BUNDLE}/r/{i}.md", line(i), call_id=f"c{i}", line=10 * i + 2)
        for i in range(size)
    ]
    return run_of(*calls), None


def _one_id(size):
    calls = [ran(f"cat {BUNDLE}/r/{i}.md", line(i), line=10 * i + 2) for i in range(size)]
    return run_of(*calls), None


def _prompts(size):
    text = each(size, line)
    prompts = tuple(
        Message("main", "prompt", each(20, lambda i, at=at: line(at + i)), 1, 0)
        for at in range(size // 10)
    )
    return run_of(ran("ls"), messages=prompts), manifest_of({"SKILL.md": FRONT + text})


def _known(size):
    texts = {f"r/{i}.md": line(i) for i in range(size)}
    command = "cat " + each(size, lambda i: f"{BUNDLE}/r/{i}.md ")
    return run_of(ran(command, each(size, line))), manifest_of(texts)


def _told_again(size):
    printed = each(size, lambda i: f"alpha{i} beta{i} gamma{i}\n")
    words = each(size, lambda i: f"alpha{i} was told. ")
    run = run_of(ran(f"python3 {BUNDLE}/scripts/run.py", printed))
    return with_words(run, words), None


def with_words(run, words):
    """The run, and a last step of words."""
    fields = {name: getattr(run, name) for name in run.__struct_fields__}
    last = Step("main", len(run.steps) + 1, 99, text=words)
    return type(run)(**{**fields, "steps": (*run.steps, last)})


LOGS: dict[str, Callable[[int], tuple[Trajectory, SkillManifest | None]]] = {
    **{name: partial(log_of, make=make) for name, make in OUTPUTS.items()},
    "polls": _polled, "calls": _calls, "calls of one id": _one_id, "prompts": _prompts,
    "files of a manifest": _known, "an output told again": _told_again,
}  # fmt: skip
"""What multiplies -> a run of a size, and its manifest."""

FRONTMATTER = "---\nname: demo\ndescription: Shows what a build does.\n---\n\n# Demo\n\n"
PAGES = {
    "headings": lambda n: each(n, lambda i: f"## Heading number {i}\n\nText of section {i} is here.\n\n"),
    "bare headings": lambda n: each(n, lambda i: f"## H{i}\n\n"),
    "equal headings": lambda n: "## Same\n\nText is here.\n\n" * n,
    "equal lines": lambda n: "The same line must be here.\n\n" * n,
    "items": lambda n: each(n, lambda i: f"- item number {i} must have {i} mm\n"),
    "rows": lambda n: "| a | b |\n|---|---|\n" + each(n, lambda i: f"| {i} | x{i} |\n"),
    "fences": lambda n: each(n, lambda i: f"```sh\nrun {i}\n```\n\n"),
    "links": lambda n: each(n, lambda i: f"See [l{i}](#heading-{i}) and [x](http://e.example/{i}).\n\n"),
    "definitions": lambda n: each(n, lambda i: f"[r{i}]: http://e.example/{i}\n") + each(n, lambda i: f"see [r{i}]\n"),
    "mentions": lambda n: each(n, lambda i: f"read references/r{i}.md when {i} is needed\n\n"),
}  # fmt: skip
"""What multiplies -> the text of a SKILL.md of a size."""
