"""A scripted agent: a seeded policy without a language model, for trials that cost nothing.

What it is: a program that works in a sandbox as an agent would. It lists and opens the files of
the Skills it was offered with real commands, follows mentions of other files whose words fit the
task, and stops when its reading budget is spent. From the text those commands printed it takes
settings (`name: value`, table rows, assignments), commands and code; what it did not read it
guesses. It fills in what the task's files leave blank, runs commands, and sometimes checks and
repairs. Every choice is a step of the log with its reason. It knows no task; of layouts it knows
that a heading "Helper implementation for `<path>`" announces code kept inside a document. Rows
of a table of contents lead it to the files that they name; it does not jump to headings.

What it is not: a model of a language model. It compares words and understands nothing; outcomes
show that a study's machinery works from end to end and say nothing about real agents.

It needs only the standard library. The seed fixes everything but times and the session id. Log: ATIF-v1.7,
rewritten at every step.
"""

import argparse
import functools
import itertools
import json
import math
import random
import re
import shlex
import shutil
import subprocess
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

NAME, VERSION = "scripted", "1.0.0"
SHOWN, SECONDS = 16_000, 20  # characters kept of one output; wall clock of one command
CUT = "characters not shown]"
STOP = re.compile(
    r"(?:a|all|an|and|any|are|as|at|be|by|do|each|every|for|from|has|have|how|if|in|into|is|it|its|"
    r"must|no|not|of|on|one|only|or|own|so|such|that|the|their|them|then|there|these|they|this|to|"
    r"use|used|what|when|where|which|whole|will|with|you|your)"
)
HEADING, FENCE = re.compile(r"(#{1,6})\s+(.*\S)"), re.compile(r" {0,3}(`{3,}|~{3,})")
SETTING = re.compile(r"(?:[-*+]\s+)?([^\s:=|<>][^:=|<>]{1,69}?)\s*[:=]\s+(\S.*)")
SENTENCE = re.compile(r"(?:^|[.;]\s+|[-*]\s+)([\w ,()-]{3,70}?) (?:is|are) (`[^`]+`)")
MENTION = re.compile(r"(?:[\w.-]+/)*[\w.-]+\.(?:md|py)\b")
COMMAND = re.compile(r"(?:\$ )?(python3 (\S+).*)")
BLANK_SETTING = re.compile(r"(\w+)[ \t]*=(?:[ \t]*None)?[ \t]*(?:#[ \t]*(.*))?")
STUB = re.compile(r"^def (\w+)\((\w*)[^\n]*\n(?:[ \t][^\n]*\n|\n)*?[ \t]+\.\.\.$", re.M)
HELPER = re.compile(r"Helper implementation for `([^`]+)`")
LONGEST = 1_000  # characters of a line that are searched for statements
Words = frozenset[str]


@functools.cache
def words(text: str) -> Words:
    """The words of a text that carry meaning, without their commonest endings."""
    kept = [word for word in re.findall(r"[a-z]+|\d+", text.lower()) if not STOP.fullmatch(word)]
    return frozenset(re.sub(r"(?<=..)(ing|ed|es|(?<!s)s|e)$", "", word) for word in kept)


def overlap(part: Words, whole: Words) -> float:
    """How much of `part` occurs in `whole`, 0 to 1; 0 for an empty part."""
    return len(part & whole) / len(part) if part else 0.0


class Statement(NamedTuple):
    """Something a text states: a name, what it is about, the headings above, the value, its line."""

    name: Words
    about: Words
    headings: tuple[str, ...]
    value: str
    line: int


class Blank(NamedTuple):
    """Something left blank in a file: a setting with a hint, or a function without a body."""

    file: str
    key: str
    hint: str = ""
    code: bool = False

    @property
    def allowed(self) -> list[str]:
        """The values that the hint lets one choose from; empty when it names none."""
        choices = (choice.strip() for choice in self.hint.partition("one of:")[2].split(","))
        return [choice for choice in choices if choice]

    def fit(self, value: str) -> str | None:
        """The value in the shape the blank asks for, or None when it cannot have it."""
        if self.allowed:
            held = [choice for choice in self.allowed if words(choice) <= words(value)]
            exact = value.lower()
            return exact if exact in held else held[0] if held else None
        number = re.search(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", value.replace(",", ""))
        return (number[0] if number else None) if self.hint.startswith("number") else value


class Page:
    """What was printed of one file, and what that says."""

    def __init__(self, path: str) -> None:
        self.path, self.is_code = path, path.endswith(".py")
        self.seen: dict[int, str] = {}
        self.statements: list[Statement] = []
        self.commands: list[tuple[str, str, Words]] = []  # command, its script, words around it
        self.blocks: dict[str, str] = {}  # announced path or defined function -> complete code

    def add(self, lines: dict[int, str], whole: bool = False) -> None:
        """Take in printed lines by number; `whole` says that they are all of the file."""
        self.seen |= lines
        self.statements, self.commands = [], []
        numbers = enumerate(sorted(self.seen))
        for _, run in itertools.groupby(numbers, lambda pair: pair[1] - pair[0]):
            self.scan([number for _, number in run])
        if whole and self.is_code:
            self.keep_code((), "\n".join(lines.values()))

    def scan(self, run: Iterable[int]) -> None:
        """Read lines that stand together: headings, code blocks, commands, and what is stated."""
        headings: tuple[str, ...] = ()
        prose, code, mark = [""], [""], "code" if self.is_code else ""
        header: list[str] = []
        before: list[str] = []
        for number in run:
            text = self.seen[number]
            line = text.strip()[:LONGEST]
            fence, title, row = FENCE.match(text), HEADING.match(line), cells(line)
            if mark and fence and fence[1].startswith(mark) and not line.strip(mark[0]):
                self.keep_code(headings, "\n".join(code))
                mark = ""
            elif mark:
                code.append(text)
                self.keep_command(line, [*headings, *prose[-3:]])
            elif fence:
                mark, code = fence[1], []
            elif title:
                headings = (*headings[: len(title[1]) - 1], title[2])
            elif line:
                prose.append(line)
            ruled = bool(row) and not "".join(row).strip("-: ")
            header, before = (before if ruled else header) if row else [], row
            for name, about, value in (
                rows([] if ruled else header, row) if row else statements_in(line)
            ):
                statement = Statement(
                    words(name), words(about), headings, plain_value(value), number
                )
                self.statements.append(statement)

    def keep_code(self, headings: tuple[str, ...], code: str) -> None:
        """Keep a complete code block by the path its heading announces, or by its functions."""
        announced = HELPER.search(" ".join(headings[-1:]))
        names = [announced[1]] if announced else re.findall(r"^def (\w+)\(", code, re.M)
        self.blocks |= dict.fromkeys(names, code)

    def keep_command(self, text: str, around: list[str]) -> None:
        """Keep a command of a document's code block with the words around it."""
        match = None if self.is_code else COMMAND.fullmatch(text)
        if match:
            self.commands.append((match[1], match[2], words(" ".join([*around, match[1]]))))


def cells(text: str) -> list[str]:
    """The cells of a table row; empty for any other line."""
    return [cell.strip() for cell in text[1:-1].split("|")] if text.startswith("|") else []


def rows(header: list[str], row: list[str]) -> Iterator[tuple[str, str, str]]:
    """Each cell as (name, about, value), read by column and by row."""
    for title, cell in list(zip(header, row, strict=False))[1:]:
        yield title, row[0], cell
        yield row[0], title if len(row) > 2 else "", cell


def statements_in(text: str) -> Iterator[tuple[str, str, str]]:
    """`name: value`, `name = value` and "name is `value`"; "for", "of", "in" begin the about."""
    for match in filter(None, [SETTING.match(text), *SENTENCE.finditer(text)]):
        name, _, about = re.sub(r" (?:for|of|in) ", "\0", match[1], count=1).partition("\0")
        yield name, about, match[2]


def plain_value(value: str) -> str:
    """A value without the prose around it: its first code span, else up to the first aside."""
    span = re.search(r"`([^`]+)`", value)
    return span[1] if span else re.split(r" \(|[,;.] |  #", value)[0].strip(" *_.,\"'")


def mentions_in(text: str) -> list[str]:
    """Paths of documents and scripts that a line mentions."""
    return MENTION.findall(text[:LONGEST])


def commands_in(text: str) -> list[str]:
    """Lines of a text that are commands."""
    matches = (COMMAND.fullmatch(line.strip()) for line in text.splitlines())
    return [match[1] for match in matches if match]


def blanks_in(file: str, text: str) -> list[Blank]:
    """What a file leaves blank: settings without a value and functions without a body."""
    lines = [BLANK_SETTING.fullmatch(line) for line in text.splitlines()]
    settings = [Blank(file, match[1], match[2] or "") for match in lines if match]
    return settings + [Blank(file, stub[1], stub[2], code=True) for stub in STUB.finditer(text)]


def filled(text: str, blank: Blank, value: str) -> str:
    """The text of a file with one blank filled in."""
    if blank.code:
        return STUB.sub(lambda stub: value if stub[1] == blank.key else stub[0], text)
    quoted = blank.file.endswith(".py") and not blank.hint.startswith("number")
    line = f"{blank.key} = {json.dumps(value) if quoted else value}"
    return re.sub(rf"^{blank.key}[ \t]*=.*$", lambda _: line, text, flags=re.M)


Answer = tuple[float, str, str]  # score, value, place


class TrajectoryLog:
    """The trajectory, written whole after every step so that a killed run leaves a valid one."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "trajectory.json"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        extra: dict[str, Any] = {"extra": {"reason": "no_model"}}
        self.document: dict[str, Any] = {
            "schema_version": "ATIF-v1.7",
            "session_id": str(uuid.uuid4()),
            "agent": {"name": NAME, "version": VERSION} | extra,
            "steps": [],
            "final_metrics": extra,
        }

    def say(self, source: str, message: str, **more: object) -> None:
        """Append one step and write the file."""
        moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        step = {"step_id": len(self.document["steps"]) + 1, "timestamp": moment, "source": source}
        self.document["steps"].append(step | {"message": message} | more)
        draft = self.path.with_suffix(".tmp")
        draft.write_text(json.dumps(self.document, indent=1), encoding="utf-8")
        draft.replace(self.path)

    def run(self, why: str, command: str) -> tuple[str, int]:
        """Run a command; returns exactly the text that is logged, and the exit status."""
        argv = [
            "timeout",
            str(SECONDS),
            shutil.which("bash") or "sh",
            "-c",
            f"exec 2>&1; {command}",
        ]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
        text, call = done.stdout.decode(errors="replace"), f"call_{len(self.document['steps']) + 1}"
        if len(text) > SHOWN:
            text = text[:SHOWN] + f"\n[... {len(text) - SHOWN} {CUT}"
        asked = {"tool_call_id": call, "function_name": "bash", "arguments": {"command": command}}
        result = {"source_call_id": call, "content": text, "extra": {"exit_code": done.returncode}}
        self.say(
            "agent", why, tool_calls=[asked], observation={"results": [result]}, llm_call_count=0
        )
        return text, done.returncode


class ScriptedAgent:
    """The policy. All it may use of a Skill is in `pages`, which hold only logged output."""

    def __init__(self, log: TrajectoryLog, task: str, skills: Path, seed: int) -> None:
        self.log, self.task, self.skills = log, task, skills
        self.rng = rng = random.Random(seed)
        self.context = rng.randrange(8_000, 28_001, 1_000)  # characters it will read
        self.lookups = rng.randrange(5, 14)  # reading commands it will run
        self.window = rng.randrange(80, 201, 20)  # lines of a document read at once
        self.sure = rng.uniform(1.0, 1.35)  # score at which an answer is good enough
        self.patience = rng.uniform(0.2, 1.2)  # how much it prefers to go on in an open file
        habits = (0.35, 0.5, 0.8)
        self.searches, self.rereads, self.checks = (rng.random() < odds for odds in habits)
        self.places: dict[tuple[str, int], tuple[float, Words, str]] = {}  # base, cue, reason
        self.pages: dict[str, Page] = {}
        self.long: list[Page] = []  # not yet searched
        self.known: list[str] = []
        self.blanks_left: list[Blank] = []
        self.drafts: dict[str, str] = {}
        self.guesses: dict[Blank, str] = {}
        self.refuted: set[tuple[Blank, str]] = set()
        self.orders = commands_in(task)
        quoted = words(" ".join(re.findall(r"`([^`.]+)`", task)))
        self.goal = dict.fromkeys(words(task), 0.4) | dict.fromkeys(quoted, 0.8)
        self.goal |= dict.fromkeys(words(task.split("\n")[0]), 1.0)

    def work(self) -> None:
        """Look, read, act, check, and repair at most twice."""
        self.look()
        self.study(self.lookups)
        self.produce()
        for _ in range(2):
            if not self.check_result():
                break
            self.context = max(self.context, 6_000)
            self.study(3)
            self.produce()
        unsure = [blank.key for blank in self.missing()]
        self.log.say("agent", f"Done. Not sure of: {', '.join(unsure) or 'nothing'}.")

    def look(self) -> None:
        """See the task's files, begin with the Skill that fits, see what is left blank."""
        listing = self.log.run("See what the task gives me.", "ls")[0].split()
        named = dict.fromkeys(re.findall(r"`([\w-]+\.\w+)`", self.task))
        self.inputs = [name for name in named if name in listing]
        self.outputs = [name for name in named if name not in listing]
        if self.places:
            room = f"{self.context} characters in {self.lookups} look-ups"
            why = f"Skills are on offer: list their files. I have room for {room}."
            text, _ = self.log.run(why, f"ls -R {shlex.quote(str(self.skills))}")
            for folder, _, names in (part.partition(":\n") for part in text.split("\n\n")):
                self.known += [f"{folder}/{name}" for name in names.split("\n") if "." in name]
            self.read(*self.most_promising())
        for name in self.inputs:
            form = name.endswith((".py", ".ini"))
            show = "cat" if form else "head -n 4"
            text, _ = self.log.run(f"The task names {name}.", f"{show} {name}")
            blanks = blanks_in(name, text) if form else []
            self.blanks_left += blanks
            self.drafts |= {name: text} if blanks else {}

    def study(self, lookups: int) -> None:
        """Open the most promising place until nothing is missing or the budget is spent."""
        while lookups > 0 and self.context > 0 and self.places and self.missing():
            if self.searches and self.long:
                self.search(self.long.pop())
            self.read(*self.most_promising())
            lookups -= 1

    def most_promising(self) -> tuple[str, int]:
        """The most promising place."""
        return max(self.places, key=lambda place: (self.promise_of(self.places[place]), place))

    def promise_of(self, place: tuple[float, Words, str]) -> float:
        """How promising a place is: its base, and how the words that lead to it fit the task."""
        return place[0] + self.relevance(place[1]) * math.sqrt(len(place[1]))

    def relevance(self, topic: Words, known: Words = frozenset()) -> float:
        """How much of a topic is what the task is about, or known to be meant, 0 to 1."""
        weights = [1.0 if word in known else self.goal.get(word, 0.0) for word in topic]
        return sum(weights) / max(1, len(weights))

    def read(self, path: str, first: int) -> None:
        """Print a window of a document, or the whole of a supporting file, and take it in."""
        _, cue, why = self.places.pop((path, first))
        whole = first == 1 and not path.endswith("SKILL.md")
        show = "cat" if whole else f"sed -n '{first},{first + self.window - 1}p'"
        text, _ = self.log.run(why, f"{show} {shlex.quote(path)}")
        cut = text.endswith(CUT)
        lines = text.split("\n")[: -2 if cut else -1]
        self.context -= len(text)
        page = self.pages.setdefault(path, Page(path))
        page.add(dict(enumerate(lines, first)), whole and not cut)
        self.note_mentions(lines, self.short_path(path))
        after = first + len(lines)
        if (cut or (not whole and len(lines) == self.window)) and after not in page.seen:
            why = f"{self.short_path(path)} goes on after line {after - 1}."
            self.places[path, after] = (self.patience, cue, why)
            self.long += [page] if first == 1 else []

    def search(self, page: Page) -> None:
        """Search a long file for what is missing, and note the places of the hits."""
        wanted = "|".join(sorted({word for blank in self.missing() for word in words(blank.key)}))
        why = f"{self.short_path(page.path)} is long: search it for what I miss."
        text, _ = self.log.run(
            why, f"grep -n -i -E '{wanted}' {shlex.quote(page.path)} | head -n 40"
        )
        hits = {int(number): line for number, line in re.findall(r"^(\d+):(.*)$", text, re.M)}
        self.context -= len(text)
        for number in sorted(hits.keys() - page.seen.keys()):
            place = (page.path, number // 40 * 40 + 1)
            why = f"Line {number} of {self.short_path(page.path)} may say it."
            self.places[place] = (self.patience, words(hits[number]), why)
        page.add(hits)

    def note_mentions(self, lines: Iterable[str], source: str, base: float = 0.0) -> None:
        """Note the files that lines mention; a file is as promising as the words around its name."""
        for line in lines:
            mentions = tuple(
                "/" + re.sub(r"^(?:\.{0,2}/)+", "", path) for path in mentions_in(line)
            )
            for path in self.known if mentions else []:
                if path.endswith(mentions) and path not in self.pages:
                    why = f"{source} says: {line.strip()[:160]}"
                    place = (base - path.endswith(".py"), words(line), why)
                    self.places[path, 1] = max(
                        self.places.get((path, 1), place), place, key=self.promise_of
                    )

    def short_path(self, path: str) -> str:
        """A path as seen from the skills folder."""
        return path.removeprefix(f"{self.skills}/")

    def wanted(self) -> list[Blank]:
        """All that has to be known: the blanks, else a helper and what goes into its blanks."""
        if self.orders or self.drafts:
            return self.blanks_left
        helper = self.find_helper()
        labels = re.findall(r"<(?!input|output)([^<>]+)>", helper[0]) if helper else ["scripts"]
        return [Blank("", label) for label in labels]

    def missing(self) -> list[Blank]:
        """What no text read so far answers well enough."""
        return [blank for blank in self.wanted() if self.choose(blank)[0] < self.sure]

    def choose(self, blank: Blank) -> Answer:
        """The best answer read so far, or a guess with score 0."""
        best = (0.0, self.guess(blank), "a guess")
        for page in self.pages.values():
            if blank.code and blank.key in page.blocks:
                best = (2.0, page.blocks[blank.key], self.short_path(page.path))
            for statement in page.statements if not blank.code else []:
                score = self.score(words(blank.key), statement)
                value = blank.fit(statement.value) if score > best[0] else None
                if value is not None and (blank, value) not in self.refuted:
                    best = (score, value, f"{self.short_path(page.path)}:{statement.line}")
        return best

    def guess(self, blank: Blank) -> str:
        """Something plausible for want of knowledge; the same each time."""
        if blank not in self.guesses:
            naive = f"def {blank.key}({blank.hint}):\n    return {blank.hint}"
            usual = blank.allowed or ["0", "1", "2", "3", "10", "100"]
            self.guesses[blank] = naive if blank.code else self.rng.choice(usual)
        return self.guesses[blank]

    def score(self, key: Words, statement: Statement) -> float:
        """How well a statement's name fits the blank, and what it is about fits the task."""
        held = 0.7 * overlap(key, statement.name) + 0.3 * overlap(
            key, statement.name | statement.about
        )
        named = overlap(statement.name, key)
        if held < 0.5 or named < 0.5:
            return 0.0
        *outer, inner = (self.relevance(words(title)) for title in ("", *statement.headings))
        topic = 0.7 * inner + 0.3 * max(outer, default=0.0)
        fit = 0.6 * held + 0.4 * named
        if not statement.about:
            return fit + 0.35 * topic
        about = self.relevance(statement.about, key)
        return fit + (0.5 * about + 0.1 * topic if about else -0.6)

    def find_helper(self, checks: bool = False) -> tuple[str, str] | None:
        """The runnable command that fits the task best, as (command, script)."""
        candidates = [
            (self.relevance(cue), command, script)
            for page in self.pages.values()
            for command, script, cue in page.commands
            if ("check" in script) == checks
            and self.script_source(script)
            and self.fits_task(command)
        ]
        return max(candidates)[1:] if candidates else None

    def fits_task(self, command: str) -> bool:
        """Whether the command's own words, not its blanks and options, occur in the task."""
        own = re.sub(r"python3|scripts/|\.py|check|<[^>]*>|--\S+", " ", command)
        return self.relevance(words(own)) > 0

    def script_source(self, script: str) -> str | None:
        """Where a helper is: its path as listed, or its code as far as it was read whole."""
        listed = [path for path in self.known if path.endswith("/" + script)]
        read = [
            page.blocks.get(key)
            for page in self.pages.values()
            for key in page.blocks
            if key.endswith(script)
        ]
        return next(iter([*listed, *read]), None)

    def run_helper(self, command: str, script: str, why: str) -> tuple[str, int]:
        """Run a helper, its blanks filled in; code that stands in a document is copied out first."""
        source = self.script_source(script) or ""
        if "\n" in source:
            copy = f'"$HOME"/{Path(script).name}'
            text = f"cat > {copy} <<'END_OF_CODE'\n{source}\nEND_OF_CODE"
            self.log.run(f"The code of {script} stands in the text: copy it out.", text)
            source = copy
        line = re.sub(r"<([^<>]+)>", lambda label: shlex.quote(self.argument(label[1])), command)
        return self.log.run(why, line.replace(script, source, 1))

    def argument(self, label: str) -> str:
        """What goes in place of <label>: a file of the task, or a value that was read."""
        kind, _, rest = label.partition(" ")
        files: list[str] = {"input": self.inputs, "output": self.outputs}.get(kind, [])
        if not files:
            return self.choose(Blank("", label))[1]
        return max(files, key=lambda name: overlap(words(rest), words(name)))

    def produce(self) -> None:
        """Fill in what was left blank, and run what makes the outputs."""
        for name, draft in self.drafts.items():
            text, reasons = draft, []
            for blank in self.blanks_left:
                if blank.file != name:
                    continue
                score, value, place = self.choose(blank)
                reasons.append(f"{blank.key} from {place} ({score:.2f})")
                text = filled(text, blank, value)
            why = f"Fill in {name}: {'; '.join(reasons)}."
            self.log.run(why, f"cat > {name} <<'END_OF_FILE'\n{text}END_OF_FILE")
        for order in self.orders:
            self.log.run("The task says to run this.", order)
        if not self.orders and not self.drafts:
            self.hand_in()

    def hand_in(self) -> None:
        """Make the output by the helper that fits, else hand in the input as it is."""
        helper = self.find_helper()
        if helper:
            self.run_helper(*helper, "This helper fits the task best.")
        elif self.inputs and self.outputs:
            copy = f"cp {self.inputs[0]} {self.outputs[0]}"
            self.log.run("I found no helper: hand in the input as it is.", copy)

    def check_result(self) -> bool:
        """Look at the result, perhaps read again and check; whether an answer changed."""
        wanted = self.wanted()
        before = [self.choose(blank) for blank in wanted]
        results = " ".join(self.outputs or self.drafts)
        _, status = self.log.run("See what came out.", f"head -n 4 {results}")
        sources = [place.rpartition(":") for _, _, place in before if ":" in place]
        if self.rereads and sources:
            path, _, line = self.rng.choice(sources)
            place = (f"{self.skills}/{path}", max(1, int(line) - 20))
            self.places[place] = (0.0, words(""), f"Read again around {path}:{line} to be sure.")
            self.read(*place)
        check = self.find_helper(checks=True) if self.checks and not status else None
        if check:
            said, _ = self.run_helper(*check, "Check the result.")
            for line in said.splitlines():
                self.refute(line, zip(wanted, before, strict=True))
        return [answer[1] for answer in before] != [
            self.choose(blank)[1] for blank in self.wanted()
        ]

    def refute(self, said: str, answers: Iterable[tuple[Blank, Answer]]) -> None:
        """Believe a check: an answer it calls wrong is refuted, a file it names is worth opening."""
        if not re.search(r"wrong|fail", said, re.I):
            return
        self.note_mentions([said], "The check", base=2.0)
        for blank, (_, value, _) in answers:
            if words(blank.key) <= words(said):
                self.refuted.add((blank, value))


def offered(skills: Path) -> Iterator[tuple[str, str, str]]:
    """(name, description, location) of every Skill, from its frontmatter."""
    for path in sorted(skills.glob("*/SKILL.md")):
        head = path.read_text(encoding="utf-8").split("\n---")[0]
        match = re.search(r"^description:\s*(?:[>|]-?\s*)?(.*(?:\n[ \t]+.*)*)", head, re.M)
        description = " ".join(match[1].split()).strip("\"'") if match else ""
        yield path.parent.name, description, str(path)


def main() -> None:
    """Run one trial in the current directory."""
    parser = argparse.ArgumentParser(description="A scripted agent without a language model.")
    for name, kind in (("instruction", Path), ("logs", Path), ("skills", Path), ("seed", int)):
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = parser.parse_args()
    log, task = TrajectoryLog(options.logs), options.instruction.read_text(encoding="utf-8")
    agent = ScriptedAgent(log, task, options.skills, options.seed)
    listing = []
    for name, description, location in offered(options.skills):
        fields = {"name": name, "description": description, "location": location}
        listing += [
            "  <skill>",
            *(f"    <{key}>{text}</{key}>" for key, text in fields.items()),
            "  </skill>",
        ]
        why = f"The description of {name} fits the task."
        agent.places[location, 1] = (1.0 + agent.patience, words(description), why)
    log.say("system", "\n".join(["<available_skills>", *listing, "</available_skills>"]))
    log.say("user", task)
    agent.work()


if __name__ == "__main__":
    main()
