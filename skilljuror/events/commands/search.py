"""Searches: files that a `grep` or `rg` examines, and whether it prints lines or only names."""

from skilljuror.events.shell.command import Command
from skilljuror.events.shell.expansion import Word

_PROGRAMS = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ggrep", "ugrep"})
_VALUED = frozenset(
    {"-e", "-f", "-A", "-B", "-C", "-m", "-g", "-t", "-T", "-d", "-D", "--glob", "--type", "--include",
     "--exclude", "--exclude-dir", "--max-count", "--context", "--regexp", "--color", "--colors", "-M",
     "--max-columns", "--sort", "--max-depth", "--iglob", "--type-not", "-r", "-j"}
)  # fmt: skip
_NAMES_ONLY = frozenset(
    {"--files-with-matches", "--files-without-match", "--files", "--count", "--quiet", "--silent",
     "--count-matches"}
)  # fmt: skip
_RIPGREP = frozenset({"rg", "ag", "ack"})


def is_search(command: Command) -> bool:
    return command.name in _PROGRAMS or _git_grep(command)


def _git_grep(command: Command) -> bool:
    return command.name == "git" and [w.text for w in command.arguments[:1]] == ["grep"]


def searches(command: Command, *, piped: bool) -> tuple[list[Word], bool]:
    """Return (files and folders searched, whether only names or counts are printed)."""
    words = list(command.arguments[1:] if _git_grep(command) else command.arguments)
    options, operands, pattern_given = _split(command, words)
    names = bool(_NAMES_ONLY & set(options)) or any(_short(option, "lLcq") for option in options)
    listing = "--files" in options
    if not pattern_given and not listing:
        operands = operands[1:]
    recursive = command.name in _RIPGREP or _git_grep(command)
    recursive = recursive or any(
        _short(option, "rR") or option == "--recursive" for option in options
    )
    fed = piped or any(one.op in {"<", "<<", "<<<"} for one in command.redirects)
    if not operands and recursive and not fed:
        operands = [Word(".")]
    return operands, names


def _split(command: Command, words: list[Word]) -> tuple[list[str], list[Word], bool]:
    valued = _VALUED - {"-r"} if command.name not in _RIPGREP else _VALUED
    options: list[str] = []
    operands: list[Word] = []
    pattern = False
    at = 0
    while at < len(words):
        text = words[at].text
        if text == "--":
            operands.extend(words[at + 1 :])
            break
        if not text.startswith("-") or text == "-":
            operands.append(words[at])
            at += 1
            continue
        options.append(text)
        pattern = (
            pattern or text in {"-e", "-f", "--regexp"} or text.startswith(("--regexp=", "-e"))
        )
        at += 2 if text in valued else 1
    return options, operands, pattern


def _short(option: str, letters: str) -> bool:
    """Whether combined short options such as `-rln` contain one of the letters."""
    body = option[1:]
    return not option.startswith("--") and body.isalpha() and any(c in body for c in letters)
