"""Programs that run code: which script, which module, which inline code."""

import re
import sys
from itertools import pairwise

from msgspec.structs import replace

from skilljuror.attribution.accesses.file_access import Access
from skilljuror.attribution.accesses.line_selection import WHOLE_FILE
from skilljuror.attribution.commands.quoted_paths import quoted_accesses
from skilljuror.attribution.paths import expand_home, is_glob, join
from skilljuror.attribution.python.file_accesses import LIBRARIES, prints_input, python_accesses
from skilljuror.attribution.shell.command import Command
from skilljuror.attribution.shell.expansion import Word
from skilljuror.attribution.shell.wrappers import SHELLS
from skilljuror.models.events import EventKind

_PYTHON = re.compile(r"^(?:python|pypy|ipython)[\d.]*$|^py$")
_VALUED: dict[str, frozenset[str]] = {
    "python": frozenset({"-W", "-X", "--check-hash-based-pycs", "-Q"}),
    "node": frozenset({"-r", "--require", "--import", "--loader"}),
    "bun": frozenset(),
    "deno": frozenset(),
    "ruby": frozenset({"-I", "-r"}),
    "perl": frozenset({"-I", "-M"}),
    "php": frozenset({"-d", "-c"}),
    "pwsh": frozenset(),
    "java": frozenset({"-cp", "-classpath"}),
    **dict.fromkeys(
        ("Rscript", "lua", "tsx", "ts-node", "osascript", "julia", "groovy", "swift", "awk-run"),
        frozenset(),
    ),
    **dict.fromkeys(("source", "."), frozenset()),
    **dict.fromkeys(SHELLS, frozenset({"-o", "-O", "--rcfile", "--init-file"})),
    "go": frozenset(),
    "coverage": frozenset(),
    "pytest": frozenset({"-k", "-m", "-p", "-c"}),
}  # fmt: skip
_SUBCOMMANDS: dict[str, frozenset[str]] = {
    "bun": frozenset({"run", "x"}),
    "deno": frozenset({"run", "test"}),
    "go": frozenset({"run"}),
    "coverage": frozenset({"run"}),
}
_RUN_BY_MODULE = frozenset({
    "pytest",
    "unittest",
    "pdb",
    "cProfile",
    "profile",
    "trace",
    "coverage",
})
"""Modules that run the script they are given."""
_INLINE = {
    "python": "-c", "node": "-e", "bun": "-e", "deno": "eval", "ruby": "-e", "perl": "-e", "php": "-r",
    "Rscript": "-e",
}  # fmt: skip


def _family(command: Command) -> str:
    return "python" if _PYTHON.match(command.name) else command.name


def is_interpreter(command: Command) -> bool:
    """Whether a command runs code given to it."""
    return _family(command) in _VALUED


def interpret(command: Command, home: str | None) -> list[Access]:
    """What the code of an interpreter's command touches."""
    family = _family(command)
    words = list(command.arguments)
    if words and words[0].text in _SUBCOMMANDS.get(family, frozenset()):
        words = words[1:]
    at = 0
    while at < len(words) and words[at].text.startswith("-") and words[at].text != "-":
        text = words[at].text
        if _is_inline(family, text) and at + 1 < len(words):
            found = _inline(family, words[at + 1].text, command, home)
            return [*found, *_line_by_line(family, words[: at + 1], words[at + 2 :], command, home)]
        if family == "python" and text == "-m" and at + 1 < len(words):
            return _module(words[at + 1 :], command, home)
        at += 2 if text in _VALUED[family] else 1
    return _script(words[at:], command, home)


def _is_inline(family: str, text: str) -> bool:
    letter = _INLINE.get(family, "")
    if text == letter or (text in {"--eval", "--print", "-p"} and family in {"node", "bun"}):
        return True
    return family in {"perl", "ruby"} and not text.startswith("--") and text.endswith("e")


def _line_by_line(
    family: str, options: list[Word], files: list[Word], command: Command, home: str | None
) -> list[Access]:
    """`perl -ne '…' file` prints lines of a file, `perl -pi -e '…' file` changes it."""
    letters = "".join(word.text[1:] for word in options if word.text.startswith("-"))
    if family not in {"perl", "ruby"} or not set(letters) & set("np"):
        return _handed(files, command, home)
    kind: EventKind = "edit" if "i" in letters else "read"
    base = Access(
        "",
        kind,
        selection=WHOLE_FILE.filtered(),
        text=command.text[:160],
        pipeline=command.pipeline,
    )
    return [
        replace(base, path=join(command.cwd, expand_home(word.text, home)), glob=word.glob)
        for word in files
    ]


def _inline(family: str, code: str, command: Command, home: str | None) -> list[Access]:
    if family == "python":
        folders = _search_path(command)
        found = python_accesses(code, command.cwd, home, folders)
    else:
        found = quoted_accesses(code, command.cwd, home, command.environment)
    return [_placed(one, command) for one in found]


def _placed(access: Access, command: Command) -> Access:
    return replace(access, text=command.text[:160], pipeline=command.pipeline)


def _module(words: list[Word], command: Command, home: str | None) -> list[Access]:
    if words[0].text == "json.tool":
        return [
            replace(one, shown=True, note="", selection=WHOLE_FILE.filtered())
            for one in _handed(words[1:], command, home)
        ]
    name = words[0].text.partition(".")[0]
    if name in _RUN_BY_MODULE:
        at = next((at for at, word in enumerate(words[1:], 1) if word.text[:1] != "-"), None)
        return _script(words[at:], command, home) if at else []
    if name in LIBRARIES or name in sys.stdlib_module_names:
        return _handed(words[1:], command, home)
    path = words[0].text.replace(".", "/") + ".py"
    folders = [*_search_path(command), command.cwd or ""]
    found = [
        Access(join(folder, path), "exec", bundle_files_only=True, text=command.text[:160], pipeline=command.pipeline)
        for folder in folders
    ]  # fmt: skip
    return [*found, *_handed(words[1:], command, home)]


def _script(words: list[Word], command: Command, home: str | None) -> list[Access]:
    if not words or words[0].text == "-":
        body = command.heredoc
        found = _inline(_family(command), body, command, home) if body else []
        return [*found, *_handed(words[1:], command, home)]
    script = words[0]
    path = join(command.cwd, expand_home(script.text, home))
    ran = Access(path, "exec", glob=script.glob, text=command.text[:160], pipeline=command.pipeline)
    return [ran, *_handed(words[1:], command, home)]


def _handed(words: list[Word], command: Command, home: str | None) -> list[Access]:
    """Arguments that are paths: files given to a program."""
    found = []
    for word in words:
        text = word.text.rpartition("=")[2] if word.text.startswith("-") else word.text
        if "/" in text and not is_glob(text) and "\n" not in text:
            found.append(
                Access(
                    join(command.cwd, expand_home(text, home)),
                    "read",
                    shown=False,
                    bundle_files_only=True,
                    text=command.text[:160],
                    note=f"handed to {command.name}",
                    pipeline=command.pipeline,
                )
            )
    return found


def _search_path(command: Command) -> list[str]:
    entries = command.environment.get("PYTHONPATH", "").split(":")
    return [join(command.cwd, entry) for entry in entries if entry and "\0" not in entry]


def reads_input(command: Command) -> bool:
    """Whether an interpreter takes its code from what flows in."""
    return not command.arguments or command.arguments[0].text in {"-", "-s"}


def passes_input(command: Command) -> bool:
    """Whether inline code prints what flows in."""
    letter = _INLINE.get(_family(command), "")
    for option, code in pairwise(command.arguments):
        if option.text == letter:
            if _family(command) == "python":
                return prints_input(code.text)
            return "stdin" in code.text and "log(" in code.text
    return False
