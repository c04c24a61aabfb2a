"""Effects of each program on its paths.

A pipeline is read from left to right: `stream` holds reads whose text flows to the next program,
which narrows, selects, hides or prints it. An unknown program changes nothing: the content witness
decides.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, takewhile

from msgspec import Struct, field
from msgspec.structs import replace

from skilljuror.base.trajectory import EventKind
from skilljuror.events.accesses.file_access import FILTERED, OTHER_OUTPUT, UNCERTAIN, Access
from skilljuror.events.accesses.line_selection import WHOLE_FILE, LineSelection
from skilljuror.events.accesses.programs import (
    METADATA_PROGRAMS,
    NO_OUTPUT,
    NON_READERS,
    PARTIAL_READERS,
    WHOLE_READERS,
)
from skilljuror.events.commands.apply_patch import patch_accesses
from skilljuror.events.commands.interpreters import (
    interpret,
    is_interpreter,
    passes_input,
    reads_input,
)
from skilljuror.events.commands.line_options import (
    Range,
    end_range,
    operands_of,
    option_of,
    partial_range,
    sed_range,
    whole_range,
)
from skilljuror.events.commands.search import is_search, searches
from skilljuror.events.paths import expand_home, join, name_of
from skilljuror.events.shell.command import Command, Redirect
from skilljuror.events.shell.expansion import Word
from skilljuror.events.shell.printed_text import printed_text

_STDIN = frozenset({"-", "/dev/stdin"})


class Pipeline(Struct):
    """State of a pipeline."""

    home: str | None
    done: list[Access] = field(default_factory=list)
    stream: list[Access] = field(default_factory=list)
    piped: bool = False
    """Whether another program precedes this one."""
    fed: str | None = None
    """Here-document text printed by the previous program."""

    def run(self, commands: Sequence[Command]) -> list[Access]:
        """Accesses of one pipeline."""
        for command in commands:
            self._step(command)
            self._redirects(command)
            self.piped, self.fed = True, command.heredoc
        last = commands[-1]
        found = [*self.done, *self.stream]
        if not any(one.shown and one.kind != "mention" for one in found) and _may_print(last):
            found.append(Access("", "mention", note=OTHER_OUTPUT, pipeline=last.pipeline))
        return found

    def _step(self, command: Command) -> None:
        if command.name in _READERS:
            self.read(command, *_READERS[command.name](command))
        elif command.name in _HANDLERS:
            _HANDLERS[command.name](self, command)
        elif is_search(command):
            self._search(command)
        elif is_interpreter(command):
            self._interpret(command)
        elif command.name in METADATA_PROGRAMS:
            self._names(command)
        elif command.words:
            self._unknown(command)

    def path(self, command: Command, text: str) -> str:
        """Resolve an operand against the command's folder."""
        return join(command.cwd, expand_home(text, self.home))

    def access(self, command: Command, word: Word, kind: EventKind, **more: object) -> Access:
        base = Access(
            path=self.path(command, word.text),
            kind=kind,
            glob=word.glob,
            needs_evidence=word.glob and not word.known,
            guarded=command.guarded,
            shown=not command.captured,
            text=command.text[:160],
            pipeline=command.pipeline,
        )
        return replace(base, **more)

    def read(self, command: Command, files: Iterable[Word], selection: LineSelection) -> None:
        """Print files, or narrow the input if there are none."""
        operands = [*files, *(r.target for r in command.redirects if r.op == "<")]
        named = [word for word in operands if word.text not in _STDIN]
        if named and len(named) == len(operands):
            self.hide()
        if not selection.whole:
            self.stream = [
                replace(one, selection=one.selection.narrowed(selection)) for one in self.stream
            ]
        self.stream.extend(
            self.access(command, word, "read", selection=selection) for word in named
        )

    def hide(self) -> None:
        """Drop the input."""
        self.done.extend(_unseen(one) for one in self.stream)
        self.stream = []

    def _search(self, command: Command) -> None:
        files, names = searches(command, piped=self.piped)
        files = [word for word in files if word.text not in _STDIN]
        if names:
            self.hide()
            self.done.extend(self.access(command, word, "list") for word in files)
            return
        if files:
            self.hide()
            self.stream = [
                self.access(command, word, "search", selection=WHOLE_FILE.filtered())
                for word in files
            ]
            return
        self.stream = [
            replace(one, kind="search", selection=one.selection.filtered(), note=FILTERED)
            if one.kind == "read"
            else one
            for one in self.stream
        ]

    def _interpret(self, command: Command) -> None:
        fed = [one for one in self.stream if one.kind == "read"]
        if fed and passes_input(command):
            self.stream = [replace(one, selection=one.selection.filtered()) for one in fed]
            return
        self.hide()
        if command.heredoc is None and self.fed is not None:
            body = Redirect("<<", Word(self.fed))
            command = replace(command, redirects=(*command.redirects, body))
        ran = interpret(command, self.home)
        if not ran and reads_input(command):
            fed.extend(
                self.access(command, r.target, "exec") for r in command.redirects if r.op == "<"
            )
        if fed and reads_input(command) and command.heredoc is None:
            ran = [replace(one, kind="exec", selection=WHOLE_FILE) for one in fed]
            self.done = [one for one in self.done if one.path not in {f.path for f in fed}]
        ran = [replace(one, shown=one.shown and not command.captured) for one in ran]
        self._pass_on(ran, piped=command.piped)

    def _pass_on(self, ran: Iterable[Access], *, piped: bool) -> None:
        """Pass on text of files that code prints."""
        for one in ran:
            flows = piped and one.shown
            if flows and one.kind == "read" and not one.needs_evidence:
                self.stream.append(one)
            else:
                piece = flows and one.kind == "exec"
                self.done.append(replace(one, selection=WHOLE_FILE.filtered()) if piece else one)

    def _names(self, command: Command) -> None:
        operands = operands_of(command, frozenset({"-I", "-L", "-maxdepth", "--depth"}))
        if command.name in {"find", "fd", "fdfind"}:
            operands = [word for word in operands if "/" in word.text or word.text == "."][:4]
        operands.extend(one.target for one in command.redirects if one.op == "<")
        if self.stream and not operands:
            self.hide()
            return
        if not operands and command.name != "wc":
            operands = [Word(".")]
        for word in operands:
            self.done.append(self.access(command, word, "list"))

    def _unknown(self, command: Command) -> None:
        """An unknown program: it may be a bundled script, or read a bundled file."""
        program = command.words[0]
        if "/" in program.text:
            self.done.append(self.access(command, program, "exec"))
        self.hide()
        if command.name in NON_READERS:
            return
        note = f"handed to {command.name}"
        for word in operands_of(command, frozenset()):
            text = word.text.rpartition("=")[2] if word.text.startswith("--") else word.text
            if "/" in text and not word.glob:
                named = Word(text.lstrip("@"))
                self.done.append(
                    self.access(
                        command, named, "read", shown=False, bundle_files_only=True, note=note
                    )
                )

    def _redirects(self, command: Command) -> None:
        source = next((one.path for one in self.stream if one.kind == "read"), None)
        if any(redirect.to_file for redirect in command.redirects):
            self.hide()
            self.done = [replace(one, shown=one.shown and one.kind != "exec") for one in self.done]
        written = command.heredoc
        if written is None and command.name in {"echo", "printf"}:
            written = printed_text(command)
        opens = command.name not in _TAKE_INPUT and not is_interpreter(command)
        for redirect in command.redirects:
            word = redirect.target
            if redirect.to_file:
                if word.text != "/dev/null":
                    kind: EventKind = "edit" if ">>" in redirect.op else "write"
                    self.done.append(
                        self.access(command, word, kind, written=written, source=source)
                    )
                source = None
            elif redirect.op == "<" and opens:
                self.done.append(
                    self.access(command, word, "read", shown=False, bundle_files_only=True)
                )


def _unseen(access: Access) -> Access:
    """An access whose text stops here; `cat file | grep … | wc -l` has read the file."""
    read = access.kind == "search" and access.note == FILTERED
    return replace(access, kind="read" if read else access.kind, shown=False)


def _may_print(command: Command) -> bool:
    """Whether a command that is not a known read may have its own output."""
    quiet = not command.words or command.name in NO_OUTPUT or command.captured
    echoed = command.name in {"echo", "printf"}
    return not (quiet or echoed or any(one.output for one in command.redirects))


def _sed(pipeline: Pipeline, command: Command) -> None:
    files, selection = sed_range(command)
    if selection is None:
        pipeline.done.extend(pipeline.access(command, word, "edit") for word in files)
    else:
        pipeline.read(command, files, selection)


def _tee(pipeline: Pipeline, command: Command) -> None:
    kind: EventKind = "edit" if option_of(command, "-a", "--append") is not None else "write"
    source = next((one.path for one in pipeline.stream if one.kind == "read"), None)
    pipeline.done.extend(
        pipeline.access(command, word, kind, written=command.heredoc, source=source)
        for word in operands_of(command, frozenset())
    )


def _copy(pipeline: Pipeline, command: Command) -> None:
    """`cp a b`: b is written, a is used but not shown."""
    operands = operands_of(command, frozenset({"-t", "--target-directory", "-m", "-S"}))
    if len(operands) < 2:
        return
    target = operands[-1]
    for word in operands[:-1]:
        source = pipeline.access(
            command, word, "read", shown=False, bundle_files_only=True, note="copied"
        )
        if command.name == "mv":
            source = replace(source, kind="edit", note="moved")
        pipeline.done.append(source)
        pipeline.done.append(pipeline.access(command, target, "write", source=source.path))


def _link(pipeline: Pipeline, command: Command) -> None:
    """`ln -s a b`: b shows the content of a."""
    operands = operands_of(command, frozenset({"-t", "-S"}))
    if not operands:
        return
    source = pipeline.path(command, operands[0].text)
    target = operands[1] if len(operands) > 1 else Word(name_of(source))
    pipeline.done.append(pipeline.access(command, target, "write", source=source, note="link"))


def _remove(pipeline: Pipeline, command: Command) -> None:
    pipeline.done.extend(
        pipeline.access(command, word, "edit", note="removed")
        for word in operands_of(command, frozenset())
    )


def _git(pipeline: Pipeline, command: Command) -> None:
    """`git show REV:path` prints a file; all other uses of git concern the repository."""
    words = [word.text for word in command.arguments]
    if "show" not in words[:3]:
        return
    for word in command.arguments[1:]:
        revision, colon, path = word.text.partition(":")
        if colon and revision and path and "/" not in revision[:1]:
            pipeline.stream.append(pipeline.access(command, Word(path), "read", note="git show"))


def _patch(pipeline: Pipeline, command: Command) -> None:
    text = command.heredoc or next((word.text for word in command.arguments), "")
    pipeline.done.extend(patch_accesses(text, command.cwd))


def _echo(pipeline: Pipeline, command: Command) -> None:
    """Print a text, which separates the outputs around it."""
    pipeline.hide()
    text = "" if command.captured else printed_text(command)
    if text:
        note = UNCERTAIN if command.guarded else ""
        mark = Access("", "mention", printed=text, note=note, pipeline=command.pipeline)
        pipeline.done.append(mark)


_READERS: dict[str, Callable[[Command], Range]] = {
    **dict.fromkeys(WHOLE_READERS, whole_range),
    **dict.fromkeys(PARTIAL_READERS, partial_range),
    **dict.fromkeys(("head", "tail"), end_range),
}
"""Programs that print files or their input -> files and lines selected."""
_TAKE_INPUT = METADATA_PROGRAMS | {*_READERS, "sed", "gsed", "tee"}
_HANDLERS: dict[str, Callable[[Pipeline, Command], None]] = {
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("cp", "mv", "install", "rsync"), _copy),
    **dict.fromkeys(("rm", "unlink"), _remove),
    **dict.fromkeys(("apply_patch", "applypatch"), _patch),
    **dict.fromkeys(("echo", "printf"), _echo),
    "tee": _tee,
    "ln": _link,
    "git": _git,
}


def _instead(second: list[Access], first: list[Access]) -> list[Access]:
    """Drop accesses of `||` fallbacks to files that the first command touches."""
    last = first[-1].pipeline if first else None
    before = takewhile(lambda one: one.pipeline == last, reversed(first))
    tried = {(one.path.lower(), one.kind) for one in before if one.path}
    return [one for one in second if (one.path.lower(), one.kind) not in tried]


def command_accesses(commands: Sequence[Command], home: str | None) -> list[Access]:
    """Accesses of unwrapped commands, in order."""
    found: list[Access] = []
    waiting: dict[int, list[Access]] = {}
    for number, run in groupby(commands, key=lambda one: one.pipeline):
        group = list(run)
        stream = waiting.pop(number, [])
        accesses = Pipeline(home, stream=stream, piped=bool(stream)).run(group)
        if group[0].guarded:
            accesses = _instead(accesses, found)
        feeds = group[-1].feeds
        (found if feeds is None else waiting.setdefault(feeds, [])).extend(accesses)
    for left in waiting.values():
        found.extend(left)
    return found
