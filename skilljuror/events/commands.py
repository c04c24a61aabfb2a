"""Shell text as accesses: which files its commands read, run, list, search, write.

A plain reader of quotes, variables, `cd`, pipes, groups, redirections and here-documents; it runs
nothing and raises nothing. Every branch is read, a loop once with all its values. What it does not
understand (a substitution's value, an unknown program's output) it leaves to the content witness.
"""

import ast
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import compress, islice, pairwise, product

from msgspec import Struct, field
from msgspec.structs import replace

from skilljuror.base.trajectory import EventKind
from skilljuror.events.access import (
    WHOLE_FILE,
    Access,
    LineSelection,
    expand_home,
    folder_of,
    is_glob,
    join,
    sed_selection,
)

# Programs, by what they do with files.

READERS: dict[str, frozenset[str]] = {
    "cat": frozenset(),
    "bat": frozenset({"-l", "--language", "--style", "--theme", "-r", "--line-range", "--paging"}),
    "nl": frozenset({"-b", "-w", "-s", "-n", "-v", "-i"}),
    "less": frozenset(),
    "more": frozenset(),
    "tac": frozenset(),
    "strings": frozenset({"-n"}),
    "head": frozenset({"-n", "-c", "--lines", "--bytes"}),
    "tail": frozenset({"-n", "-c", "--lines", "--bytes"}),
    "sed": frozenset({"-e", "-f", "--expression"}),
    "awk": frozenset({"-F", "-v", "-f"}),
    "jq": frozenset({"--arg", "--argjson", "-f", "--indent"}),
    "cut": frozenset({"-d", "-f", "-c", "-b"}),
    "sort": frozenset({"-k", "-t", "-o"}),
    "uniq": frozenset({"-f", "-s", "-w"}),
    "diff": frozenset({"-U", "-C"}),
}
"""Programs that print files or their input -> their options with a value."""
_PARTIAL = {"nl", "bat", "awk", "jq", "cut", "sort", "uniq", "diff"}
"""Those that print a part, or another form."""
_FIRST_IS_A_SCRIPT = {"awk", "jq"}
SEARCHES: dict[str, frozenset[str]] = dict.fromkeys(
    ("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"),
    frozenset(
        {"-e", "-f", "-A", "-B", "-C", "-m", "-g", "-t", "-T", "-d", "-D", "--glob", "--type", "--include",
         "--exclude", "--exclude-dir", "--max-count", "--context", "--regexp", "--color", "-M", "--sort",
         "--max-depth", "--iglob", "--type-not", "-j"}
    ),
)  # fmt: skip
"""Programs that print matching lines -> their options with a value."""
_RIPGREP = {"rg", "ag", "ack"}
METADATA = frozenset(
    {"ls", "tree", "stat", "file", "wc", "du", "md5sum", "sha256sum", "sha1sum", "shasum", "realpath",
     "readlink", "exa", "eza", "dir", "fd", "find", "cksum"}
)  # fmt: skip
"""Programs that print names, sizes or digests but no content."""
NON_READERS = frozenset(
    {":", "git", "echo", "printf", "cd", "pushd", "popd", "export", "mkdir", "rmdir", "chmod", "chown", "rm",
     "touch", "ln", "set", "unset", "alias", "which", "whereis", "kill", "sleep", "true", "false", "exit",
     "return", "basename", "dirname", "read", "tmux", "screen", "workmux", "gh", "bd", "npm", "yarn", "pnpm",
     "pip", "pip3", "apt", "apt-get", "brew", "docker", "open", "code", "vim", "nano", "curl", "wget", "ssh",
     "scp", "zip", "tar", "trap", "wait", "test", "[", "[[", "history", "man", "id", "whoami", "date", "cmp",
     "tee", "hash", "type", "command", "unlink", "mv"}
)  # fmt: skip
"""Programs whose operands are never accesses to a bundle's content."""
SILENT = frozenset(
    {":", "cd", "pushd", "popd", "export", "mkdir", "rmdir", "chmod", "chown", "rm", "touch", "ln", "set", "cp",
     "unset", "alias", "kill", "sleep", "true", "false", "exit", "return", "read", "trap", "wait", "test", "[",
     "[[", "mv", "unlink", "install", "source", "."}
)  # fmt: skip
"""Programs without output on success."""
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
INTERPRETERS: dict[str, frozenset[str]] = {
    "python": frozenset({"-W", "-X"}),
    "node": frozenset({"-r", "--require", "--import", "--loader"}),
    "ruby": frozenset({"-I", "-r"}),
    "perl": frozenset({"-I", "-M"}),
    **dict.fromkeys(SHELLS, frozenset({"-o", "-O"})),
    **dict.fromkeys(("bun", "tsx", "Rscript", "source", "."), frozenset()),
}
"""Programs that run a script -> their options with a value."""
_PYTHON = re.compile(r"(?:python|pypy|ipython)[\d.]*\Z")
PREFIXES: dict[str, frozenset[str]] = {
    "sudo": frozenset({"-u", "-g"}),
    "env": frozenset({"-u", "-C"}),
    "timeout": frozenset({"-k", "-s", "--signal", "--kill-after"}),
    "nice": frozenset({"-n"}),
    **dict.fromkeys(("nohup", "command", "exec", "time", "stdbuf", "rtk", "bunx"), frozenset()),
    "npx": frozenset({"-p", "--package"}),
    "uv run": frozenset({"--with", "-p", "--python", "--directory", "--project", "--extra", "--group"}),
    **dict.fromkeys(("poetry run", "bundle exec", "pnpm exec"), frozenset()),
}  # fmt: skip
"""Programs that run the rest of the line -> their options with a value. Agents run bundled scripts
under `timeout 60`, and those that name their dependencies by `uv run`."""

# Words of a text.

_BALANCED = r"\((?>[^()]|\((?>[^()]|\([^()]*\))*\))*\)"
_SUBSTITUTION = rf"[$<>]{_BALANCED}|`[^`]*`"
_DOUBLE = rf"(?>\\.|{_SUBSTITUTION}|[^\"\\])*"
_TOKEN = re.compile(
    r"(?P<blank>[ \t\r]+|\\\n|#[^\n]*)|(?P<descriptor>\d)(?=[<>])"
    rf"|(?P<word>(?>{_SUBSTITUTION}|'[^']*'|\"{_DOUBLE}\"|\\.|[^\s;&|()<>'\"\\`])+)"
    r"|(?P<mark>&>>|&>|>>|>\||>&|<<<|<<-|<<|<&|&&|\|\||\|&|;;|[;&|()<>\n])",
    re.DOTALL,
)
_PIECE = re.compile(
    rf"(?P<unknown>{_SUBSTITUTION}|\$(?:\{{\w*[^\w}}][^}}]*\}}|[@*#?!$-]))"
    rf"|'(?P<single>[^']*)'|\"(?P<double>{_DOUBLE})\"|\\(?P<escaped>.)"
    r"|\$\{?(?P<name>\w+)\}?|(?P<text>[^'\"\\`$]+|.)",
    re.DOTALL,
)
_QUOTED_PIECE = re.compile(
    rf"(?P<unknown>{_SUBSTITUTION}|\$\{{\w*[^\w}}][^}}]*\}})|\\(?P<escaped>[\"\\$`\n])"
    r"|\$\{?(?P<name>\w+)\}?|(?P<single>[^\\`$]+|.)",
    re.DOTALL,
)
_BRACES = re.compile(r"([^'\"$`]*)\{([^{}'\"$`]*,[^{}'\"$`]*)\}([^'\"`]*)")
_MOST_BRACES = 4
_SCREEN = re.compile(r"\d+|/dev/(?:stderr|stdout|tty)")
"""Targets of an output that stays on the screen."""
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_REDIRECTIONS = {">", ">>", ">|", ">&", "&>", "&>>", "<", "<&", "<<", "<<-", "<<<"}
_SEPARATORS = {";", "&&", "||", "|", "|&", "&", "\n", ";;"}
_SKIPPED = {"then", "do", "else", "elif", "!", "in"}
_GROUPS = {"(": ")", "{": "}", "if": "fi", "while": "done", "until": "done", "for": "done", "case": "esac"}  # fmt: skip
"""First word of a group of commands -> its last."""
_DEEPEST = 30
"""Maximum nesting of groups and shells."""
_MOST_VALUES = 64
"""Maximum values of a word with variables."""
UNKNOWN = "\0"
"""A piece of a word whose value is unknown."""


class Token(Struct, frozen=True, gc=False):
    kind: str
    """word, mark, descriptor or body (of a here-document)."""
    text: str
    start: int
    end: int


def tokens_of(text: str) -> tuple[list[Token], bool]:
    """Words and marks of a shell text, and whether all of it was understood: an open quote ends it."""
    tokens: list[Token] = []
    waiting: list[int] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            return tokens, False
        at, kind = match.end(), match.lastgroup
        if kind == "blank":
            continue
        if kind == "word" and tokens and tokens[-1].text in {"<<", "<<-"}:
            waiting.append(len(tokens))
        tokens.append(Token(kind, match[0], match.start(), at))
        while waiting and match[0] == "\n":  # the bodies of the line's here-documents follow
            word = tokens[waiting[0]]
            delimiter = re.escape(word.text.strip("'\"\\"))
            end = re.compile(rf"^[ \t]*{delimiter}[ \t]*$", re.MULTILINE).search(text, at)
            body = text[at : end.start() if end else len(text)]
            tokens[waiting.pop(0)] = Token("body", body, word.start, word.end)
            at = end.end() if end else len(text)
    return tokens, True


class Word(Struct, frozen=True, gc=False):
    """One value of a word."""

    text: str
    glob: bool = False
    """Contains a wildcard that the shell would expand."""


class Command(Struct):
    """A simple command."""

    words: list[Word]
    text: str
    """Its source."""
    guarded: bool
    """It runs if the one before it fails."""
    reads_from: list[Word] = field(default_factory=list)
    """Files of its standard input."""
    writes_to: Word | None = None
    """File of its standard output."""
    appends: bool = False
    body: str | None = None
    """Text of a here-document or here-string."""

    @property
    def name(self) -> str:
        """The program, without its folder."""
        return self.words[0].text.rpartition("/")[2] if self.words else ""

    @property
    def options(self) -> list[str]:
        return [word.text for word in self.words[1:] if word.text[:1] == "-" and len(word.text) > 1]

    def operands(self, valued: Iterable[str] = ()) -> list[Word]:
        """Arguments that are not options; `valued` are the options with a value."""
        operands: list[Word] = []
        words = iter(self.words[1:])
        for word in words:
            if word.text == "--":
                return [*operands, *words]
            if word.text[:1] != "-" or len(word.text) == 1:
                operands.append(word)
            elif word.text in valued:
                next(words, None)
        return operands

    def option(self, *names: str) -> str | None:
        """Value of an option: glued, joined by "=" or in the next word."""
        for word, after in pairwise([*self.words[1:], Word("")]):
            for name in names:
                if word.text.startswith(name):
                    return word.text[len(name) :].lstrip("=") or after.text
        return None


class Shell(Struct):
    """Reads shell texts, one after the other, in one folder with one set of variables."""

    cwd: str | None
    home: str | None
    variables: dict[str, list[str]] = field(default_factory=dict)
    """Possible values of each variable."""
    understood: bool = True
    """Whether all text was read."""
    depth: int = 0
    captured: list[Access] = field(default_factory=list)
    """Accesses of the substitutions of the present command, which the agent does not see."""

    def read(self, text: str) -> list[Access]:
        """The accesses of a text, in order."""
        tokens, whole = tokens_of(text)
        self.understood = self.understood and whole and self.depth < _DEEPEST
        waiting = deque(tokens if self.depth < _DEEPEST else ())
        found: list[Access] = []
        while waiting:
            found += self._list(waiting, "", text)
        return found

    def _list(self, tokens: deque[Token], end: str, source: str) -> list[Access]:
        """Accesses of the commands up to the word or mark that ends their group."""
        found: list[Access] = []
        pipeline = Pipeline(self)
        words: list[Token] = []
        group: list[Access] | None = None
        guarded = False
        self.depth += 1
        while tokens:
            token = tokens.popleft()
            text = token.text if token.kind in {"word", "mark"} else ""
            starts = not words and group is None
            if starts and (text in _SKIPPED or (text == "\n" and pipeline.piped)):
                continue
            if starts and text in _GROUPS and self.depth < _DEEPEST:
                group = self._group(tokens, text, source)
                continue
            closes = text == end != "" and (end == ")" or starts)
            if text in {"(", ")"} and not closes:  # x=(…), a function's name, a pattern of a case
                while text == "(" and words[-1:] and words[-1].text.endswith("=") and tokens:
                    text = tokens.popleft().text.replace(")", "")
                words = []
                continue
            if text not in _SEPARATORS and not closes:
                words.append(token)
                continue
            pipeline.stage(self._command(words, source, guarded), group)
            words, group = [], None
            if text not in {"|", "|&"}:
                found += pipeline.accesses()
                pipeline, guarded = Pipeline(self), text == "||"
            if closes:
                break
        pipeline.stage(self._command(words, source, guarded), group)
        self.depth -= 1
        return [*found, *pipeline.accesses()]

    def _group(self, tokens: deque[Token], first: str, source: str) -> list[Access]:
        """Accesses of a group. A loop's variable holds all its values at once."""
        cwd = self.cwd
        if first in {"for", "case"}:
            ends = _SEPARATORS if first == "for" else {"in"}
            head: list[str] = []
            while tokens and tokens[0].text not in ends:
                head.append(tokens.popleft().text)
            if first == "for" and head:
                values = [word.text for text in head[2:] for word in self.words(text)]
                self.variables[head[0]] = values or [UNKNOWN]
        accesses = self._list(tokens, _GROUPS[first], source)
        self.cwd = cwd if first == "(" else self.cwd
        return accesses

    def words(self, source: str) -> list[Word]:
        """The values of a word."""
        braces = _BRACES.fullmatch(source)
        if braces and source.count("{") <= _MOST_BRACES:
            before, choices, after = braces.groups()
            return [word for one in choices.split(",") for word in self.words(before + one + after)]
        pieces = [(values, bare) for values, bare in self._pieces(_PIECE, source)]
        return [
            Word("".join(choice), any(map(is_glob, compress(choice, (bare for _, bare in pieces)))))
            for choice in islice(product(*(values for values, _ in pieces)), _MOST_VALUES)
        ]

    def _pieces(self, pattern: re.Pattern[str], source: str) -> Iterator[tuple[list[str], bool]]:
        """The values of each piece of a word, and whether their wildcards count."""
        for match in pattern.finditer(source):
            kind = match.lastgroup or "text"
            text = match[kind]
            if kind == "double":
                for values, _ in self._pieces(_QUOTED_PIECE, text):
                    yield values, False
            elif kind == "name":
                here = {"PWD": self.cwd, "HOME": self.home or "~"}.get(text)
                values = self.variables.get(text) or [here or UNKNOWN]
                yield values[:_MOST_VALUES], pattern is _PIECE
            elif kind == "unknown":
                inner = (
                    text[2:-1] if text[1:2] == "(" else text.strip("`") if text[0] == "`" else ""
                )
                self.captured += [replace(one, shown=False) for one in self.read(inner)]
                yield [UNKNOWN], False
            else:
                yield ["" if (kind, text) == ("escaped", "\n") else text], kind == "text"

    def _command(self, tokens: list[Token], source: str, guarded: bool) -> Command:
        """The command that tokens form; assignments are made."""
        self.captured = []
        text = source[tokens[0].start : tokens[-1].end] if tokens else ""
        command = Command([], text[:160], guarded)
        rest = iter(tokens)
        descriptor = ""
        for token in rest:
            if token.kind == "mark" and token.text in _REDIRECTIONS:
                target = next(rest, None)
                if target is not None:
                    self._redirect(command, token.text, target, descriptor)
            elif token.kind == "word":
                assigned = _ASSIGNMENT.match(token.text) if not command.words else None
                if assigned:
                    self.variables[assigned[1]] = [word.text for word in self.words(assigned[2])]
                else:
                    command.words += self.words(token.text)
            descriptor = token.text if token.kind == "descriptor" else ""
        return command

    def _redirect(self, command: Command, mark: str, target: Token, descriptor: str) -> None:
        word = Word(target.text) if target.kind == "body" else self.words(target.text)[0]
        if mark.startswith("<<"):
            command.body = word.text
        elif mark == "<":
            command.reads_from.append(word)
        elif mark != "<&" and descriptor in {"", "1"} and not _SCREEN.fullmatch(word.text):
            command.writes_to, command.appends = word, ">>" in mark


class Pipeline(Struct):
    """The commands of a pipeline from left to right: `stream` holds accesses whose text flows into
    the next program, which narrows, selects, hides or prints it."""

    shell: Shell
    done: list[Access] = field(default_factory=list)
    stream: list[Access] = field(default_factory=list)
    listed: list[Word] = field(default_factory=list)
    """Paths that `find` or `ls` prints into the next program, as globs."""
    piped: bool = False
    """Whether another program precedes this one."""
    prints: bool = False
    """Whether the last command may have an output."""

    def accesses(self) -> list[Access]:
        """All accesses, and one without a file if another program prints beside them."""
        found = [*self.done, *self.stream]
        others = self.prints and not any(access.prints for access in found)
        return [*found, Access("", "mention")] if others else found

    def stage(self, command: Command, group: list[Access] | None) -> None:
        """Add a command, or a group with the redirections in `command`; neither adds nothing."""
        if group is None and not command.text:
            return
        self.done += self.shell.captured
        if group is not None:
            self.hide()
            self.stream = group
        else:
            self.run(command)
        if command.writes_to is not None:
            self._write(command, command.writes_to)
        silent = not command.words or command.name in SILENT or command.writes_to is not None
        self.prints = not silent
        self.piped = True

    def access(self, command: Command, word: Word, kind: EventKind, **more: object) -> Access:
        """An access to the file that a word names."""
        path = join(self.shell.cwd, expand_home(word.text, self.shell.home))
        guarded = command.guarded and kind == "read"
        base = Access(path, kind, glob=word.glob, needs_evidence=guarded, text=command.text)
        return replace(base, **more)

    def hide(self) -> None:
        """Drop the stream: its text stops here."""
        self.done += [replace(access, shown=False) for access in self.stream]
        self.stream = []

    def run(self, command: Command) -> None:
        """Add a simple command's accesses."""
        name = command.name
        two = " ".join(word.text for word in command.words[:2])
        if prefix := name if name in PREFIXES else two if two in PREFIXES else "":
            self.run(_without_prefix(command, prefix))
        elif handler := _HANDLERS.get("python" if _PYTHON.match(name) else name):
            handler(self, command)
        elif command.words:
            self._unknown(command)

    def change_folder(self, command: Command) -> None:
        shell = self.shell
        target = next((word.text for word in command.operands()), shell.home or "~")
        known = UNKNOWN not in target and target != "-"
        shell.cwd = join(shell.cwd, expand_home(target, shell.home)) if known else None

    def declare(self, command: Command) -> None:
        for word in command.words[1:]:
            if assigned := _ASSIGNMENT.match(word.text):
                self.shell.variables[assigned[1]] = [assigned[2]]

    def run_shell(self, command: Command) -> None:
        """`bash -c '…'`, a here-document fed to a shell, or a script."""
        script = command.option("-c", "-lc") or (command.body if len(command.words) == 1 else None)
        if script is None:
            self.interpret(command)
            return
        shell = self.shell
        self.hide()
        inner = Shell(shell.cwd, shell.home, dict(shell.variables), depth=shell.depth)
        self.stream = inner.read(script)
        shell.understood = shell.understood and inner.understood

    def read(self, command: Command) -> None:
        """Print files, or narrow the stream if there are none."""
        name, files = command.name, command.operands(READERS[command.name])
        selection = WHOLE_FILE
        if name in {"head", "tail"}:
            files, selection = _end_of(command, files)
        elif name == "sed":
            expressions = re.compile(r"-(?:-expression|[nErsuz]*e)")
            scripts = [b.text for a, b in pairwise(command.words) if expressions.fullmatch(a.text)]
            if not scripts and files:
                scripts, files = [files[0].text], files[1:]
            if any(re.match(r"-\w*i|--in-place", option) for option in command.options):
                self.done += [self.access(command, word, "edit") for word in files]
                return
            silent = any(re.match(r"-\w*n|--quiet|--silent", option) for option in command.options)
            selection = sed_selection(";".join(scripts), silent=silent)
        elif name in _PARTIAL or (name == "cat" and command.options):
            files = files[name in _FIRST_IS_A_SCRIPT :]
            selection = WHOLE_FILE.filtered()
        operands = [*files, *command.reads_from]
        named = [word for word in operands if word.text not in {"-", "/dev/stdin"}]
        if named and len(named) == len(operands):
            self.hide()
        self.stream = [
            replace(access, selection=access.selection.narrowed(selection))
            for access in self.stream
        ]
        self.stream += [self.access(command, word, "read", selection=selection) for word in named]

    def search(self, command: Command) -> None:
        """Print matching lines of files or of the stream, or only the names of files."""
        options, operands = command.options, command.operands(SEARCHES[command.name])
        short = "".join(option[1:] for option in options if option[1:].isalpha())
        if not any(option.startswith(("-e", "-f", "--regexp", "--files")) for option in options):
            operands = operands[1:]
        recursive = command.name in _RIPGREP or set(short) & {"r", "R"} or "--recursive" in options
        operands += command.reads_from
        if not operands and recursive and not self.piped:
            operands = [Word(".")]
        names = set(short) & set("lLcq")
        if operands or names:
            self.hide()
        if names or any(option.startswith(("--files", "--count", "--quiet")) for option in options):
            self.done += [self.access(command, word, "list") for word in operands]
            return
        lines = WHOLE_FILE.filtered()
        self.stream = [
            replace(
                access, kind="search" if access.kind == "read" else access.kind, selection=lines
            )
            for access in self.stream
        ]
        self.stream += [self.access(command, word, "search", selection=lines) for word in operands]

    def interpret(self, command: Command) -> None:
        """Run a script, or inline code, of which only Python is read."""
        self.hide()
        family = "python" if _PYTHON.match(command.name) else command.name
        code = command.body if family == "python" else None
        words = iter(command.words[1:])
        for word in words:
            option = word.text
            if option[:1] != "-":
                self.stream.append(self.access(command, word, "exec"))
                return
            if family == "python" and option == "-c":
                code = next(words, word).text
                break
            if option in {"-m", "-e", "--eval", "-p"} and family not in SHELLS:
                return
            if option in INTERPRETERS[family]:
                next(words, None)
        if code:
            found = python_accesses(code, self.shell.cwd, self.shell.home)
            self.stream += [replace(access, text=command.text) for access in found]

    def list_names(self, command: Command) -> None:
        """Print names and sizes; `find -exec` runs a command on what it finds."""
        operands = command.operands({"-I", "-L"})
        if command.name == "find":
            words = command.words
            options = (at for at, word in enumerate(words) if word.text[:1] in {"-", "(", "!"})
            operands = words[1 : next(options, len(words))] or [Word(".")]
            named = [b.text for a, b in pairwise(words) if a.text in {"-name", "-path"}] or ["*"]
            folders = [word.text.rstrip("/") for word in operands]
            self.listed = [Word(f"{folder}/**/{name}", glob=True) for folder in folders for name in named]  # fmt: skip
            at = next(
                (at for at, word in enumerate(words) if word.text in {"-exec", "-execdir"}), 0
            )
            if at:
                inner = [word for word in words[at + 1 :] if word.text not in {";", "+"}]
                self._apply(command, inner, "{}")
                return
        elif command.name == "ls":
            files = [word for word in operands if word.glob or "." in word.text]
            self.listed = files or [Word("*", glob=True)]
        if self.stream and not operands:
            self.hide()
            return
        operands = operands or ([Word(".")] if command.name != "wc" else [])
        for word in (*operands, *command.reads_from):
            self.done.append(self.access(command, word, "list"))

    def xargs(self, command: Command) -> None:
        """`find … | xargs cat`: the command with the paths as operands."""
        operands = command.operands({"-n", "-P", "-L", "-d", "-s", "-I"})
        at = len(command.words) - len(operands)
        self._apply(command, command.words[at:], command.option("-I") or "")

    def _apply(self, command: Command, words: list[Word], mark: str) -> None:
        """Run a command on listed paths, each only valid if the output confirms it."""
        paths = self.listed or [Word(UNKNOWN)]
        if mark:
            words = [path for word in words for path in (paths if word.text == mark else [word])]
        before = len(self.done)
        self.run(replace(command, words=words if mark else [*words, *paths]))
        self.done[before:] = [replace(one, needs_evidence=one.glob) for one in self.done[before:]]
        self.stream = [replace(one, needs_evidence=one.glob) for one in self.stream]

    def copy(self, command: Command) -> None:
        """`cp a b`: b is written, a is used but not shown."""
        *sources, target = command.operands({"-t", "-m", "-S"}) or [Word("")]
        for word in sources:
            source = self.access(command, word, "read", shown=False, note="copied")
            self.done.append(replace(source, bundle_files_only=True))
            self.done.append(self.access(command, target, "write", source=source.path))

    def patch(self, command: Command) -> None:
        patch = command.body or next((word.text for word in command.words[1:]), "")
        self.done += patch_accesses(patch, self.shell.cwd)

    def _unknown(self, command: Command) -> None:
        """An unknown program: it may be a bundled script, or read a bundled file."""
        program, *_ = command.words
        if "/" in program.text:
            self.done.append(self.access(command, program, "exec"))
        self.hide()
        if command.name in NON_READERS or program.text[:1] == "-":
            return
        for word in command.operands():
            if "/" in word.text and not word.glob:
                note = f"handed to {command.name}"
                access = self.access(command, word, "read", shown=False, note=note)
                self.done.append(replace(access, bundle_files_only=True))

    def _write(self, command: Command, word: Word) -> None:
        """Send the stream into a file."""
        source = next((access.path for access in self.stream if access.kind == "read"), None)
        self.hide()
        self.done = [replace(one, shown=one.shown and one.kind != "exec") for one in self.done]
        written = command.body
        if written is None and command.name in {"echo", "printf"}:
            written = " ".join(argument.text for argument in command.words[1:])
        if word.text != "/dev/null":
            kind: EventKind = "edit" if command.appends else "write"
            self.done.append(self.access(command, word, kind, written=written, source=source))


_HANDLERS: dict[str, Callable[[Pipeline, Command], None]] = {
    **dict.fromkeys(METADATA, Pipeline.list_names),
    **dict.fromkeys(READERS, Pipeline.read),
    **dict.fromkeys(SEARCHES, Pipeline.search),
    **dict.fromkeys(INTERPRETERS, Pipeline.interpret),
    **dict.fromkeys(SHELLS, Pipeline.run_shell),
    **dict.fromkeys(("cd", "pushd"), Pipeline.change_folder),
    **dict.fromkeys(("export", "local", "declare", "readonly"), Pipeline.declare),
    **dict.fromkeys(("cp", "install"), Pipeline.copy),
    **dict.fromkeys(("apply_patch", "applypatch"), Pipeline.patch),
    "xargs": Pipeline.xargs,
}


def _without_prefix(command: Command, prefix: str) -> Command:
    """`timeout 60 python3 x.py` -> `python3 x.py`."""
    at = 1 + prefix.count(" ")
    while at < len(command.words):
        text = command.words[at].text
        if (
            text[:1] != "-"
            and not _ASSIGNMENT.match(text)
            and not re.match(r"\d[\d.]*[smh]?\Z", text)
        ):
            break
        at += 2 if text in PREFIXES[prefix] else 1
    return replace(command, words=command.words[at:])


def _end_of(command: Command, files: list[Word]) -> tuple[list[Word], LineSelection]:
    """Files and lines of `head` and `tail`."""
    short = next((option[1:] for option in command.options if option[1:].isdecimal()), None)
    asked = command.option("-n", "--lines") or short or "10"
    if files and files[0].text.startswith("+"):
        asked, files = files[0].text, files[1:]
    digits = asked.lstrip("+-")
    count = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else 0
    if not count or command.option("-c", "--bytes") is not None:
        return files, WHOLE_FILE.filtered()
    if command.name == "tail":
        from_start = asked.startswith("+")
        return files, LineSelection(((count, None),)) if from_start else LineSelection(last=count)
    return files, WHOLE_FILE.filtered() if asked.startswith("-") else LineSelection(((1, count),))


_PATCH_HEAD = re.compile(
    r"^\*\*\* (Update File|Add File|Delete File|Move to): (.{1,1000}?)\s*$", re.MULTILINE
)


def patch_accesses(patch: str, cwd: str | None) -> list[Access]:
    """Accesses of an `apply_patch` envelope; an added file includes its text."""
    heads = list(_PATCH_HEAD.finditer(patch))
    ends = [*(head.start() for head in heads[1:]), len(patch)]
    found = []
    for head, end in zip(heads, ends, strict=False):
        kind: EventKind = "write" if head[1] in {"Add File", "Move to"} else "edit"
        lines = patch[head.end() : end].split("\n")
        added = "\n".join(line[1:] for line in lines if line.startswith("+"))
        written = added if kind == "write" else None
        found.append(Access(join(cwd, head[2]), kind, text=head[0][4:], written=written))
    return found


# Python: files opened, run, or imported from a folder on `sys.path`. Paths are literals, or `Path` of one.
# What a name or an expression holds is not followed, and so what is printed neither, but for
# `print(open("…").read())`: else a read shows as much as the output does.

_OPENERS = frozenset({"open", "read_text", "read_bytes", "read_csv", "read_json", "read_excel"})
_WRITERS = frozenset({"write_text", "write_bytes"})
_LIBRARIES = frozenset(
    {"numpy", "pandas", "scipy", "matplotlib", "sklearn", "requests", "yaml", "docx", "openpyxl",
     "pptx", "PIL", "cv2", "torch", "bs4", "lxml", "pypdf", "pdfplumber", "reportlab", "pytest"}
)  # fmt: skip
"""Modules that agents import beside a bundle's own."""


def python_accesses(code: str, cwd: str | None, home: str | None) -> list[Access]:
    """Return a Python text's accesses; empty if it does not parse.

    A module is looked for in every folder that the code adds to `sys.path`, then in `cwd`.
    """
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    folders = [cwd] if cwd else []
    found: dict[tuple[str, EventKind], Access] = {}

    def add(path: str, kind: EventKind, note: str = "", *, shown: bool = True) -> None:
        path = join(cwd, expand_home(path, home))
        access = Access(path, kind, "python", shown=shown, bundle_files_only=True, note=note)
        found.setdefault((path, kind), access)

    calls = [node for node in nodes if isinstance(node, ast.Call)]
    printed = {
        _opened(node.args[0]) for node in calls if _called(node.func) == "print" and node.args
    }
    for node in calls:
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        name = _called(node.func)
        texts = [text for text in map(_literal, (owner, *node.args)) if text is not None]
        if (
            name in {"append", "insert"}
            and isinstance(owner, ast.Attribute)
            and owner.attr == "path"
        ):
            folders[:0] = [join(cwd, expand_home(text, home)) for text in texts]
        elif name in _WRITERS and texts and _literal(owner) is not None:
            add(texts[0], "write")
        elif name in _OPENERS and texts and "\n" not in texts[0]:
            mode = next(
                (_literal(word.value) for word in node.keywords if word.arg == "mode"), None
            )
            flags = set(mode or (texts[1] if len(texts) > 1 else "")) if name == "open" else set()
            kind: EventKind = "edit" if "a" in flags else "write" if flags & set("wx") else "read"
            add(texts[0], kind, shown=kind != "read" or node in printed)
        elif name == "run_path" and texts:
            add(texts[0], "exec")
    for module, note in _imported(nodes):
        first = module.partition(".")[0]
        for folder in folders if first not in _LIBRARIES | sys.stdlib_module_names else ():
            add(f"{folder}/{module.replace('.', '/')}.py", "import", note)
    return list(found.values())


UNCERTAIN = "maybe"
"""Note of an access that may not have happened: a name in a module, which may be a module too."""


def _imported(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """Modules of `import a.b` and `from a import b`, each with a note."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, ""
            yield from ((f"{node.module}.{alias.name}", UNCERTAIN) for alias in node.names)


def _called(node: ast.AST) -> str:
    """Last name of a called function."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _opened(node: ast.AST) -> ast.AST:
    """The call that opens what an expression such as `open(x).read()` holds."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in {"read", "strip", "decode"}:
            break
        node = node.func.value
    return node


def _literal(node: ast.AST | None) -> str | None:
    """Text of a literal, or of `Path("…")`."""
    if isinstance(node, ast.Call) and _called(node.func) == "Path" and len(node.args) == 1:
        node = node.args[0]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def accesses_of_script(code: str, path: str, home: str | None) -> list[Access]:
    """Accesses of running a script stored at `path`."""
    found = python_accesses(code, folder_of(path) or None, home)
    return [access for access in found if access.kind != "write"]
