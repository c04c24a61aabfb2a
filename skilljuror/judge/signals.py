"""Signs of uptake beyond single features, and the parameters of rubrics/eru.yaml.

fields       names of fields of one small passage that come back together
restatement  words right after a run that restate its output
artifacts    a file that a run of bundled code wrote, and a later action that uses it
pointers     another Skill that a resource names first and that is opened next
"""

import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence, Set, Sized
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import yaml
from msgspec import Struct

from skilljuror.base.errors import JudgeError
from skilljuror.base.files import data_dir
from skilljuror.judge.features import (
    COMMAND_PREFIX,
    FIELDS_PREFIX,
    STOP_WORDS,
    cached_by_line,
    normalised_value,
    path_features,
    tokenize,
)
from skilljuror.judge.shown import AgentAction, EventGroup


class ContentUse(Struct, frozen=True):
    """The content of one group of events that one action used."""

    action: AgentAction
    """The action."""
    clock: int
    """Its position in the timeline."""
    features: tuple[str, ...]
    """Features that it used, heaviest first."""
    line: str
    """The line of the action with the heaviest feature."""
    group: EventGroup = ()
    """The events that offered the features; empty if no content was matched."""
    after_failure: bool = False
    """Whether the last result before it was a failure."""
    is_access: bool = False
    """Whether the action itself opens, searches or lists a resource."""


Proof = tuple[ContentUse, str]
"""A use, and the line of the resource or of its output that it took up."""


class FieldRule(Struct, frozen=True):
    """When names of fields that occur together prove their origin: the formula is in `FieldPassages`."""

    enough_bits: float
    """Bits from which they do."""
    fewest_values: int
    """Minimum names that occur together."""
    most_values: int
    """Maximum names of a passage."""
    window: int
    """Size, in names, of the part of an action in which they count as close."""
    most_bits_of_a_value: float
    """Maximum bits of one name."""
    bits_of_an_everyday_value: float
    """Maximum bits of a name of everybody's."""
    everyday: frozenset[str]
    """Such names."""


class EruRubric(Struct, frozen=True):
    """The parameters of rubrics/eru.yaml for the tracing judge."""

    common: frozenset[str]
    """Lower-case tokens, and values, too common to prove anything; "os." includes all names below it."""
    generic: frozenset[str]
    """Stems of any report on a run: success, done, output."""
    fields: FieldRule
    """When names of fields that occur together prove their origin."""


@lru_cache(maxsize=1)
def eru_content() -> dict[str, Any]:
    """Return the content of rubrics/eru.yaml. Raises JudgeError if it is invalid."""
    try:
        content: dict[str, Any] = yaml.safe_load((data_dir("rubrics") / "eru.yaml").read_bytes())
    except (OSError, yaml.YAMLError) as error:
        raise damaged(error) from error
    return content


def damaged(error: Exception) -> JudgeError:
    """Return the error for an invalid rubric."""
    path = data_dir("rubrics") / "eru.yaml"
    return JudgeError(
        f"rubric {path.name!r} is invalid: {error!r}; reinstall skilljuror", file=str(path)
    )


@lru_cache(maxsize=1)
def load_rubric() -> EruRubric:
    """Load the packaged rubric. Raises JudgeError if it is invalid."""
    content = eru_content()
    try:
        common = {str(token).lower() for token in content["common"]}
        common |= {normalised_value(str(value)) for value in content["everyday_values"]}
        common |= {COMMAND_PREFIX + str(name) for name in content["everyday_programs"]}
        generic = frozenset(stem(str(word).lower()) for word in content["generic"])
        fields = dict(content["fields"])
        everyday = frozenset(map(str, fields.pop("everyday_values")))
        return EruRubric(frozenset(common), generic, FieldRule(**fields, everyday=everyday))
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(error) from error


# Names of fields: marked as a name, assigned a value, or in the header of a table. "the columns `lot` and `reserve`",
# {"lot": 1, "reserve": 250}, --set lot=1 and "lot,consignor,reserve" name the same fields.

MAX_PASSAGE_LINES = 12
"""Lines of the longest passage."""
_MAX_PASSAGES = 16
"""A name in more passages than this is too common to select one."""
_NAME = r"[A-Za-z][\w-]{1,40}+"
_FIELD = re.compile(
    rf"(?:`|\*\*)`?(?:\w{{1,40}}+\.){{0,4}}({_NAME})(?:`|\*\*)"
    rf"|(?<![\w.$/-])[\"'`\\]{{0,2}}({_NAME})[\"'`*\\]{{0,3}} ?(?::(?![/:\w])|=(?![=>]))"
)
_HEAD = re.compile(rf"[\s|\"]*{_NAME}[ \"]*(?:[,|\t][ \"]*{_NAME}[ \"]*){{2,}}[|\s]*")
_NAMES = re.compile(_NAME)
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")

Passage = dict[str, str]
"""The names of a passage in order, each with its line."""


@cached_by_line
def field_names(line: str) -> list[str]:
    """Return the normalised names of fields on a line, in order."""
    if _HEAD.fullmatch(line):
        names = _NAMES.findall(line)
    else:
        names = [match.group(1) or match.group(2) for match in _FIELD.finditer(line)]
    return [name.lower().replace("-", "_") for name in names]


def passages(lines: Iterable[str]) -> Iterator[Passage]:
    """Yield the passages of a text: each line, and each block of lines without a gap or a table."""
    block: list[Passage] = []
    for line in [*lines, ""]:
        mark = _ITEM.match(line)
        on_line = dict.fromkeys(field_names(line[mark.end() :] if mark else line), line)
        yield on_line
        if line.strip() and "|" not in line:
            block.append(on_line)
            continue
        if len(block) <= MAX_PASSAGE_LINES:
            joined: Passage = {}
            for name, where in chain.from_iterable(named.items() for named in block):
                joined.setdefault(name, where)
            yield joined
        block = []


class FieldMatch(Struct, frozen=True):
    """Names of a passage that occur together in an action."""

    feature: str
    """Feature of the passage."""
    values: tuple[str, ...]
    """The names, rarest first."""
    line: str
    """The line of the action with the rarest of them."""
    source: str
    """The line of the passage with the rarest of them."""
    bits: float
    """How improbable that is."""

    @property
    def name(self) -> str:
        """The feature of these names alone."""
        return FIELDS_PREFIX + " ".join(self.values)


_NO_MATCH = FieldMatch("", (), "", "", -math.inf)
_Window = tuple[int, dict[str, tuple[int, str]]]
"""(names in a stretch of text, name of some passage -> (its first place in the stretch, from 0; its line))."""


class FieldPassages:
    """The passages of one agent's resources, and other occurrences of their names in its run.

    Each name alone is too common to prove a use, but k of the m names of one passage close to each other in an
    action are improbable: the sum of the surprise of the k names (4 bits and half a bit for each letter), less
    log2 C(m, k), less log2 of the ways to place k names among the n of a window (fewer in the passage's order), less
    log2 of the passages in the text, less log2 of the windows looked at so far. Names that other text of the run has
    together do not count.
    """

    def __init__(self, rule: FieldRule) -> None:
        self._rule = rule
        self._passages: dict[str, Passage] = {}
        self._passage_counts: dict[str, int] = {}
        """Feature -> number of passages in its text."""
        self._by_value: dict[str, list[str]] = defaultdict(list)
        self._known: dict[str, set[str]] = defaultdict(set)
        """Feature -> its names that other text has together."""
        self._indexed: dict[tuple[str, ...], dict[str, Passage]] = {}
        """Lines of a source -> its passages; cached, because every text is added first and shown later."""
        self._looked = 0
        """Windows of actions searched so far."""

    def add(self, lines: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Add the passages of a source; yield (feature, its first line) of each."""
        learned = self._passages_of(lines)
        for feature, passage in learned.items():
            self._passage_counts[feature] = max(len(learned), self._passage_counts.get(feature, 0))
            if feature not in self._passages:
                self._passages[feature] = passage
                for value in passage:
                    self._by_value[value].append(feature)
            yield feature, next(iter(passage.values()))

    def _passages_of(self, lines: Sequence[str]) -> dict[str, Passage]:
        key = tuple(lines)
        if key not in self._indexed:
            self._indexed[key] = {
                FIELDS_PREFIX + " ".join(passage): passage
                for passage in passages(lines)
                if self._rule.fewest_values <= len(passage) <= self._rule.most_values
            }
        return self._indexed[key]

    def show(self, lines: Sequence[str]) -> tuple[list[str], list[str]]:
        """Record a source's shown text. Return (features of its passages that can prove a use, features
        of other passages that no longer can)."""
        shown = self._passages_of(lines) if self._passages else {}
        spoilt = self.said_elsewhere(lines, spare=shown)
        return [feature for feature in shown if self._can_prove(feature)], spoilt

    def said_elsewhere(self, lines: Sequence[str], *, spare: Container[str] = ()) -> list[str]:
        """Record other text; return the passages, except `spare`, that can no longer prove a use."""
        touched: dict[str, None] = {}
        names = self._names_in(lines)
        if all(feature in spare for feature in self._candidates(names)):
            return []
        for window in self._windows(lines, names):
            for feature in self._candidates(window[1].keys()):
                if feature not in spare:
                    self._known[feature] |= window[1].keys() & self._passages[feature].keys()
                    touched[feature] = None
        return [feature for feature in touched if not self._can_prove(feature)]

    def used(self, lines: Sequence[str]) -> list[FieldMatch]:
        """Return matches of passages in lines that the agent wrote."""
        best: dict[str, FieldMatch] = {}
        for window in self._windows(lines, self._names_in(lines)):
            self._looked += 1
            for feature in self._candidates(window[1].keys()):
                match = self._match(feature, window, self._looked)
                if match.bits >= max(self._rule.enough_bits, best.get(feature, _NO_MATCH).bits):
                    best[feature] = match
        return list(best.values())

    def _windows(self, lines: Iterable[str], names: Sized) -> Iterator[_Window]:
        """Windows that overlap by half and have enough names of passages, of all `names` of the text."""
        if len(names) < self._rule.fewest_values:
            return
        written = [(value, line) for line in lines for value in field_names(line)]
        half = self._rule.window // 2
        for start in range(0, max(1, len(written) - half), half):
            part = written[start : start + 2 * half]
            first: dict[str, tuple[int, str]] = {}
            for i, (value, line) in enumerate(part):
                if value in self._by_value:
                    first.setdefault(value, (i, line))
            if len(first) >= self._rule.fewest_values:
                yield len(part), first

    def _names_in(self, lines: Iterable[str]) -> set[str]:
        """The names of passages among the words of a text."""
        if not self._passages:
            return set()
        words = set(_NAMES.findall("\n".join(lines)))
        return self._by_value.keys() & {word.lower().replace("-", "_") for word in words}

    def _candidates(self, names: Set[str]) -> list[str]:
        """Passages with enough of the names, found by names of few passages."""
        candidates: dict[str, None] = {}
        for value in names:
            features = self._by_value[value]
            if len(features) <= _MAX_PASSAGES:
                candidates.update(dict.fromkeys(features))
        fewest = self._rule.fewest_values
        return [each for each in candidates if len(names & self._passages[each].keys()) >= fewest]

    def _can_prove(self, feature: str) -> bool:
        """Whether a complete match of a passage would prove a use."""
        passage = self._passages[feature]
        whole = {value: (i, line) for i, (value, line) in enumerate(passage.items())}
        return self._match(feature, (len(whole), whole), 1).bits >= self._rule.enough_bits

    def _match(self, feature: str, window: _Window, looked: int) -> FieldMatch:
        """The most improbable combination of a passage's names in a window."""
        rule, passage, known = self._rule, self._passages[feature], self._known.get(feature, ())
        size, first = window
        bits_of = {
            value: min(
                4 + len(value) / 2,
                rule.bits_of_an_everyday_value
                if value in rule.everyday
                else rule.most_bits_of_a_value,
            )
            for value in passage
            if value in first and value not in known
        }
        rarest_first = sorted(bits_of, key=lambda value: (-bits_of[value], value))
        against = math.log2(self._passage_counts[feature]) + math.log2(looked)
        best = _NO_MATCH
        for k in range(rule.fewest_values, len(rarest_first) + 1):
            chosen = rarest_first[:k]
            places = [first[value][0] for value in passage if value in chosen]
            ways = math.comb if places == sorted(places) else math.perm
            bits = sum(bits_of[value] for value in chosen) - against
            bits -= math.log2(math.comb(len(passage), k)) + math.log2(ways(max(size, k), k))
            if bits > best.bits:
                line, source = first[rarest_first[0]][1], passage[rarest_first[0]]
                best = FieldMatch(feature, tuple(chosen), line, source, bits)
        return best


# Restatement of the output of a run. Texts about one subject share words, so it needs one sentence that has, of one
# line of the output, at least two content words that are not in the run's command (one after a failure) and a third of
# all such words; or one such word and two thirds of all content words of the line. A count or a negation with its word
# ("37 burrows", "no shadow") counts as two more.

NEW_WORDS, NEW_WORDS_AFTER_FAILURE = 2, 1
"""Minimum words of an output line, not in the command, in one sentence; an agent is likely to discuss a failure."""
SHARE_OF_NEW_WORDS = 1 / 3
"""Minimum share of the line's new words."""
SHARE_OF_ALL_WORDS, FEWEST_WORDS = 2 / 3, 3
"""Minimum share of all words of a line, and minimum words, with one new word among them."""
MOST_SENTENCES = 300
"""Maximum sentences after a run that are compared with its output."""
_QUALIFIED = re.compile(r"(?<![\w.,-])(\d+|no|not|without) ([a-z]{4,})")
_SENTENCE = re.compile(r"(?<=[.!?;])\s|\n")


def stem(word: str) -> str:
    """Return a word without its most common English ending."""
    for ending in ("ing", "ed", "es", "s"):
        if len(word) - len(ending) >= 4 and word.endswith(ending):
            return word.removesuffix(ending)
    return word


def stems(line: str, generic: frozenset[str]) -> set[str]:
    """Return the stems of a line's content words, without `generic` ones."""
    words = (
        stem(word)
        for word in tokenize(line)
        if len(word) >= 4 and word not in STOP_WORDS and not word.isdigit()
    )
    telling = {word for word in words if word not in generic}
    pairs = ((how, stem(word)) for how, word in _QUALIFIED.findall(line.lower()))
    return telling | {f"{how} {word}" for how, word in pairs if word in telling}


class RestatementDetector:
    """Restatements of the outputs of one agent's runs of bundled code."""

    def __init__(self, generic: frozenset[str]) -> None:
        self.restatements: dict[int, Proof] = {}
        """Event of a run -> the words right after it that restate its output."""
        self._generic = generic
        self._printed: dict[int, tuple[Sequence[str], set[str], int]] = {}
        """Event of a run since the agent's last action -> (lines of its output, stems of its command, new words
        that restate a line)."""

    def finish(
        self, i: int, output: Sequence[str], command: Iterable[str], *, failed: bool
    ) -> None:
        """Record the output of the run of event `i`."""
        command_words = {word for line in command for word in stems(line, self._generic)}
        self._printed[i] = (
            output,
            command_words,
            NEW_WORDS_AFTER_FAILURE if failed else NEW_WORDS,
        )

    def act(self, action: AgentAction, clock: int) -> None:
        """Record an action: words may restate output since the agent's last action."""
        said = _SENTENCE.split(action.text) if self._printed and not action.call else ()
        sentences = [(text, stems(text, self._generic)) for text in islice(said, MOST_SENTENCES)]
        for i, (output, command_words, fewest) in self._printed.items() if sentences else ():
            anything = set().union(*(words for _, words in sentences)) - command_words
            for line, printed, text, shared in self._pairs(output, sentences, anything):
                if _restates(printed, shared, command_words, fewest):
                    use = ContentUse(action, clock, tuple(sorted(shared)), text)
                    self.restatements[i] = use, line
                    break
        self._printed.clear()

    def _pairs(
        self, output: Iterable[str], sentences: list[tuple[str, set[str]]], anything: set[str]
    ) -> Iterator[tuple[str, set[str], str, set[str]]]:
        """(line, its stems, sentence, common stems) of each line with a word of `anything` and each sentence."""
        for line in output:
            printed = stems(line, self._generic)
            if not printed.isdisjoint(anything):
                yield from ((line, printed, text, printed & words) for text, words in sentences)


def _restates(printed: set[str], shared: set[str], command: set[str], fewest: int) -> bool:
    """Whether the shared words of a line restate it; a word with its count or negation is three in total."""
    new = shared - command
    count = len(new) + sum(" " in word for word in new)
    if count >= fewest and count >= SHARE_OF_NEW_WORDS * len(printed - command):
        return True
    return count > 0 and len(shared) >= max(FEWEST_WORDS, SHARE_OF_ALL_WORDS * len(printed))


# Files that runs of bundled code wrote, and later actions that use them.

_WRITES = re.compile(
    r"(?:^|[^=\-0-9])>{1,2}\s*[\w./~\"'$]|\s-o\s|--out|\btee\b"
    r"|\b(?:wrote|write|writing|written|saved?|saving|created?|generated?|exported?|updated?)\b"
    r"|\b(?:to_(?:csv|json|excel|parquet)|dump|write_text|writerow|savefig)\("
    r"|open\([^)\n]{0,200}['\"][wax]b?\+?['\"]",
    re.IGNORECASE,
)
_CHAIN = re.compile(r"&&|\|\||;")


class Artifact(Struct, frozen=True):
    """A path that a run may have written."""

    feature: str
    """Feature of the path."""
    line: str
    """The line of the run's command or output that names it."""
    written: bool
    """Whether that line mentions writing; else the path is only in the output."""


class ScriptRuns:
    """Artifacts of one agent's runs of bundled code, and later calls that use them."""

    def __init__(self) -> None:
        self.artifacts: dict[int, list[Artifact]] = defaultdict(list)
        """Event of a run -> its possible artifacts."""
        self.features: set[str] = set()
        """Features of every artifact."""
        self._asked: set[str] = set()
        self._existing: set[str] = set()
        self._uses: dict[str, list[ContentUse]] = defaultdict(list)

    def prepare(self, i: int, output: Sequence[str], command: Sequence[str], script: str) -> None:
        """Collect possible artifacts of the run of event `i`; the script itself is not one."""
        telling = [(line, True) for line in (*output, *command) if _WRITES.search(line)]
        self.artifacts[i] = [
            Artifact(feature, line, written)
            for line, written in [*telling, *((line, False) for line in output)]
            for feature in path_features(line)
            if feature.rpartition("/")[2] != script
        ]
        self.features |= {artifact.feature for artifact in self.artifacts[i]}

    def start(self, i: int) -> None:
        """Record the start of a run: an existing path is not its artifact."""
        self.artifacts[i] = [
            artifact
            for artifact in self.artifacts[i]
            if artifact.written or artifact.feature not in self._existing
        ]

    def mentioned(self, features: Iterable[str], *, prompt: bool) -> None:
        """Record mentioned features: a prompt requires paths, a result shows that they exist."""
        names = self.features.intersection(features)
        if prompt:
            self._asked |= names
        else:
            self._existing |= names

    def act(self, action: AgentAction, clock: int, lines: dict[str, str]) -> None:
        """Record a call that may use artifacts; `lines` maps each indexed feature in its text to a line."""
        for feature in self.features.intersection(lines) if action.call else ():
            self._uses[feature].append(ContentUse(action, clock, (feature,), lines[feature]))
            self._existing.add(feature)

    def worked_with(self, i: int, after: int) -> Iterator[Proof]:
        """Yield the first call after that clock which names an artifact of a run."""
        for artifact in self.artifacts.get(i, ()):
            uses = self._uses.get(artifact.feature, [])
            first = bisect_right(uses, after, key=lambda use: use.clock)
            if first < len(uses):
                yield uses[first], artifact.line

    def asked_for(self, i: int) -> Iterator[Artifact]:
        """Yield artifacts of a run that a prompt names, on lines that mention writing."""
        artifacts = self.artifacts.get(i, ())
        return (item for item in artifacts if item.written and item.feature in self._asked)


def parts_running(command: Iterable[str], script: str) -> Iterator[str]:
    """Yield the parts of a shell command that name a script, without other commands of the line."""
    inside = False
    for line in command:
        for i, part in enumerate(_CHAIN.split(line)):
            inside = script in part or (inside and i == 0)
            if inside:
                yield part
        inside = inside and line.rstrip().endswith("\\")


# Pointers. A list of all Skills does not count as an earlier mention; a prompt, a result, an earlier resource or the
# agent's own text does. Only names with a joint ("using-git-worktrees") count: "merge" may be just a word.

LED_WITHIN = 10
"""Maximum steps between a resource and the opening of the Skill that it names."""
_JOINED = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)+")


class SkillPointers:
    """Resources of one agent's run that led to Skills."""

    def __init__(self, names: Iterable[str]) -> None:
        self.led: dict[int, Proof] = {}
        """Event -> the opening of the first Skill that it led to."""
        self._names = {name for name in names if _JOINED.fullmatch(name)}
        self._known: set[str] = set()
        """Skills named so far."""
        self._pointers: dict[str, tuple[EventGroup, str, int]] = {}
        """Skill -> the events that named it first, the line, and the step after which it was shown."""

    def said(self, lines: Iterable[str]) -> None:
        """Record lines of a prompt, a result or the agent."""
        text = "\n".join(lines)
        if any(name in text for name in self._names - self._known):
            self._known |= self._names.intersection(_JOINED.findall(text))

    def shown(self, group: EventGroup, own: Iterable[str], lines: Iterable[str], step: int) -> None:
        """Record lines that resources showed after a step; `own` are the names of their Skills."""
        text = "\n".join(lines)
        names = {name for name in self._names.difference(own, self._known) if name in text}
        for line in lines if names else ():
            for name in names.intersection(_JOINED.findall(line)) - self._known:
                self._known.add(name)
                self._pointers[name] = (group, line, step)

    def opened(self, name: str, action: AgentAction, clock: int) -> None:
        """Record a call that opens a Skill."""
        group, line, step = self._pointers.pop(name, ((), "", 0))
        if action.step.index <= step + LED_WITHIN:
            lines = action.text.splitlines() or [name]
            naming = next((each for each in lines if name in each), lines[0])
            for i in group:
                self.led.setdefault(i, (ContentUse(action, clock, (name,), naming), line))
        self._known.add(name)
