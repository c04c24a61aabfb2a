"""Programs that run code: script, module or inline code.

Each rule covers something agents do with Skills: `python -m scripts.run` in a bundle whose scripts
import each other, bundle files as arguments (`fill.py assets/form.json`), PYTHONPATH set to a
bundle's scripts, `cat data.json | python3 -c …`, `bash < install.sh`.
"""

import re
import sys
from itertools import pairwise

from msgspec.structs import replace

from skilljuror.events.accesses.file_access import Access
from skilljuror.events.paths import expand_home, is_glob, join
from skilljuror.events.python.file_accesses import LIBRARIES, prints_input, python_accesses
from skilljuror.events.shell.command import Command
from skilljuror.events.shell.expansion import Word
from skilljuror.events.shell.wrappers import SHELLS

_PYTHON = re.compile(r"^(?:python|pypy|ipython)[\d.]*$|^py$")
_VALUED: dict[str, frozenset[str]] = {
    "python": frozenset({"-W", "-X"}),
    "node": frozenset({"-r", "--require", "--import", "--loader"}),
    "ruby": frozenset({"-I", "-r"}),
    "perl": frozenset({"-I", "-M"}),
    "pytest": frozenset({"-k", "-m", "-p", "-c"}),
    **dict.fromkeys(SHELLS, frozenset({"-o", "-O", "--rcfile", "--init-file"})),
    **dict.fromkeys(("bun", "tsx", "Rscript", "source", "."), frozenset()),
}  # fmt: skip
"""Programs that run a script -> their options with a value."""


def _family(command: Command) -> str:
    return "python" if _PYTHON.match(command.name) else command.name


def is_interpreter(command: Command) -> bool:
    return _family(command) in _VALUED


def interpret(command: Command, home: str | None) -> list[Access]:
    """Accesses of the code that an interpreter runs."""
    family = _family(command)
    words = list(command.arguments)
    if family == "bun" and words and words[0].text == "run":
        words = words[1:]
    at = 0
    while at < len(words) and words[at].text.startswith("-") and words[at].text != "-":
        text = words[at].text
        if _is_inline(family, text) and at + 1 < len(words):
            found = _inline(words[at + 1].text, command, home) if family == "python" else []
            return [*found, *_handed(words[at + 2 :], command, home)]
        if family == "python" and text == "-m" and at + 1 < len(words):
            return _module(words[at + 1 :], command, home)
        at += 2 if text in _VALUED[family] else 1
    return _script(words[at:], command, home)


def _is_inline(family: str, option: str) -> bool:
    """Whether code follows. Only Python is analysed; accesses of other code are unknown."""
    if family == "python":
        return option == "-c"
    short = option[-1] in "ep" and option[1] != "-"
    return family not in SHELLS and (short or option == "--eval")


def _inline(code: str, command: Command, home: str | None) -> list[Access]:
    found = python_accesses(code, command.cwd, home, _search_path(command))
    return [replace(one, text=command.text[:160], pipeline=command.pipeline) for one in found]


def _module(words: list[Word], command: Command, home: str | None) -> list[Access]:
    name, handed = words[0].text, _handed(words[1:], command, home)
    if name == "pytest":
        return _script([one for one in words[1:] if one.text[:1] != "-"][:1], command, home)
    package = name.partition(".")[0]
    if package in LIBRARIES or package in sys.stdlib_module_names:
        return handed
    script = Word(name.replace(".", "/") + ".py")
    folders = [*_search_path(command), command.cwd]
    ran = [_ran(script, replace(command, cwd=folder), home) for folder in folders]
    return [*(replace(one, bundle_files_only=True) for one in ran), *handed]


def _script(words: list[Word], command: Command, home: str | None) -> list[Access]:
    if words and words[0].text != "-":
        return [_ran(words[0], command, home), *_handed(words[1:], command, home)]
    code = command.heredoc if _family(command) == "python" else None
    return [*(_inline(code, command, home) if code else ()), *_handed(words[1:], command, home)]


def _ran(script: Word, command: Command, home: str | None) -> Access:
    path = join(command.cwd, expand_home(script.text, home))
    return Access(path, "exec", glob=script.glob, text=command.text[:160], pipeline=command.pipeline)  # fmt: skip


def _handed(words: list[Word], command: Command, home: str | None) -> list[Access]:
    """Arguments that are paths: files given to a program."""
    paths = [
        word.text.rpartition("=")[2] if word.text.startswith("-") else word.text for word in words
    ]
    return [
        Access(
            join(command.cwd, expand_home(path, home)),
            "read",
            shown=False,
            bundle_files_only=True,
            text=command.text[:160],
            note=f"handed to {command.name}",
            pipeline=command.pipeline,
        )
        for path in paths
        if "/" in path and not is_glob(path) and "\n" not in path
    ]


def _search_path(command: Command) -> list[str]:
    entries = command.environment.get("PYTHONPATH", "").split(":")
    return [join(command.cwd, entry) for entry in entries if entry and "\0" not in entry]


def reads_input(command: Command) -> bool:
    """Whether an interpreter takes its code from standard input."""
    return not command.arguments or command.arguments[0].text in {"-", "-s"}


def passes_input(command: Command) -> bool:
    """Whether inline code prints its standard input."""
    if _family(command) != "python":
        return False
    given = pairwise(command.arguments)
    return any(option.text == "-c" and prints_input(code.text) for option, code in given)
