"""The variant says what its parent says and nothing else, in any layout.

The edits between the two are those of a pull request (`audit.edits`), but each counts by itself: nothing is excused by
its surroundings, told by section, or taken for a renaming.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from posixpath import basename
from typing import ClassVar

from skilljuror.audit.changes import words_named, words_of
from skilljuror.audit.comparison.code_paths import BundlePaths, code_of, follows
from skilljuror.audit.comparison.file_matching import file_path
from skilljuror.audit.comparison.same_words import plain_words
from skilljuror.audit.comparison.unit_matching import field_key
from skilljuror.audit.edited import (
    INFORMING,
    LOADED_BY,
    NAMED,
    POINTER,
    SERIOUS,
    TOOLS,
    Holders,
    change_message,
    edit_finding,
    exchanged_pages,
    is_duty,
    link_findings,
    place_findings,
    pointer_findings,
)
from skilljuror.audit.edits import Edit, Edits, edits_between
from skilljuror.audit.gates.findings import finding, gate_result
from skilljuror.audit.gates.loader import lost_loader_text
from skilljuror.base.build import Finding, GateResult
from skilljuror.base.skill import Bundle, Unit, is_licence, is_markdown
from skilljuror.skill.critical_tokens import critical_tokens
from skilljuror.skill.generated import MARKER_PHRASES, TEMPLATES, template_of_heading
from skilljuror.skill.units import cached_by_bundles, units_of

_ALWAYS = frozenset({"code", "row", "field"})
_LONGEST_LEAD = 40
"""Words of a line that leads to a file."""
_STEP = re.compile(r"(?:[A-Za-z]+ )?\d+(?:\.\d+)*(?=[.:) ])")
_NAME = re.compile(r"[\w@+-][\w@+.-]*\.\w{1,8}\b")


class KnowledgeGate:
    """Every text that is lost, added or says something else is a finding."""

    name: ClassVar[str] = "knowledge"

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        """Judge one pair by its edits."""
        edits = variant_edits(parent, variant)
        findings = [
            *_files(edits), *_altered_files(edits), *_pages(edits), *exchanged_pages(edits), *_reworded(edits), *_paths(edits), *_lost(edits), *_added(edits), *place_findings(edits),
            *link_findings(edits), *pointer_findings(edits),
            *(finding(*one) for one in lost_loader_text(parent, variant, every=policy == "strict")),
        ]  # fmt: skip
        checked = Counter(edit.before.kind for edit in edits.edits if edit.before)
        checked["file"] = len(parent.files)
        return gate_result(
            self.name, (parent, variant), policy, findings, dict(sorted(checked.items()))
        )


def proved_texts(parent: Bundle, variant: Bundle) -> GateResult:
    """The result for a variant from which its parent was rebuilt: only what the loader reads can differ."""
    findings = [finding(*one) for one in lost_loader_text(parent, variant, every=True)]
    checked = {"file": len(parent.files)}
    return gate_result(KnowledgeGate.name, (parent, variant), "strict", findings, checked)


@cached_by_bundles
def variant_edits(parent: Bundle, variant: Bundle) -> Edits:
    """The edits between two bundles, kept for the gates that read them."""
    return edits_between(parent, variant)


def _reworded(edits: Edits) -> Iterator[Finding]:
    steps = Counter(
        match[0] for edit in edits.edits
        if edit.after and edit.after.kind == "heading" and (match := _STEP.match(edit.after.text))
    )  # fmt: skip
    for edit in edits.edits:
        if edit.kind == "reworded" and edit.before and edit.after:
            rule, message = _rule_of(edit, edit.before, edit.after)
            rule = "edit.metadata" if is_licence(edit.after.file) else rule
            step = _STEP.match(edit.after.text) if edit.after.kind == "heading" else None
            if step and steps[step[0]] > 1:
                rule, message = "edit.pointer", f"two headings are {step[0]!r}"
            yield edit_finding(rule, edit.before, edit.after, message)


def _rule_of(edit: Edit, before: Unit, after: Unit) -> tuple[str, str]:
    """(rule, message) of a text that says something in other words."""
    if before.kind == "field":
        return _field_rule(before), ""
    for change in edit.changes:
        if change.type in SERIOUS:
            return f"edit.{change.type}", change_message(change)
    types = [change.type for change in edit.changes]
    if named := next((name for name in types if name in NAMED), None):
        return f"edit.{named}", ""
    if {*types} == {"pointer"}:  # where it leads is asked of all steps together
        return "edit.reworded", ""
    if before.kind in {"code", "row"}:
        return f"edit.{before.kind}", ""
    if edit.critical is not None:
        return "edit.fact", ""
    words, words_now = (sorted(words_of(unit.text, code=False)) for unit in (before, after))
    return ("edit.words" if words == words_now else "edit.reworded"), ""


def _paths(edits: Edits) -> Iterator[Finding]:
    """Texts that are equal without folders but whose code names other paths.

    A path may follow a moved file. Any other change makes the code another program, even if both paths end in one name.
    """
    pairs = [
        (edit.before, edit.after) for edit in edits.edits
        if edit.kind in {"kept", "moved"} and edit.before and edit.after and edit.before.text != edit.after.text
    ]  # fmt: skip
    codes = Counter(code_of(after) for _, after in pairs)
    codes.subtract(code_of(before) for before, _ in pairs)
    changed = [
        (one, other)
        for one, other in pairs
        if code_of(one) != code_of(other) and codes[code_of(other)] > 0
    ]
    if changed:
        sides = [BundlePaths(bundle, units_of(bundle)) for bundle in (edits.before, edits.after)]
        for before, after in changed:
            if not follows(before, after, *sides):
                yield edit_finding("edit.path", before, after)


def _field_rule(unit: Unit) -> str:
    key = field_key(unit)
    return f"edit.{'metadata' if key in INFORMING else 'tools' if key in TOOLS else 'field'}"


def _files(edits: Edits) -> Iterator[Finding]:
    for unit in edits.files.missing:
        if not is_licence(unit.file):
            yield edit_finding(
                "edit.file-lost", unit, None, f"{file_path(unit)} is not in the variant"
            )
    for unit in edits.files.added:
        yield edit_finding("edit.file-added", None, unit, f"{file_path(unit)} is not in the source")
    for before, after in edits.files.same:
        bits = {
            bundle.files[file_path(unit)].executable
            for bundle, unit in ((edits.before, before), (edits.after, after))
            if file_path(unit) == unit.file  # a fenced file has no bit
        }
        if len(bits) > 1:
            message = f"{file_path(after)}: its execute bit changed"
            yield edit_finding("edit.file-mode", before, after, message)


def _altered_files(edits: Edits) -> Iterator[Finding]:
    """Files with another name, and those whose bytes changed in no text that is an edit of its own."""
    changed: dict[str, list[int]] = defaultdict(list)
    for edit in edits.edits:
        if edit.after and edit.kind in {"reworded", "added"}:
            changed[edit.after.file].append(edit.after.start)
    for pair in edits.files.altered:
        before, after = pair.before, pair.after
        if pair.change == "renamed":
            message = f"{file_path(before)} is {file_path(after)} now"
            yield edit_finding("edit.file-renamed", before, after, message)
        elif is_licence(after.file):
            yield edit_finding("edit.metadata", before, after, "the terms of use changed")
        elif not any(after.start <= line <= after.end for line in changed[after.file]):
            yield edit_finding("edit.file", before, after, f"{file_path(after)} changed")


def _pages(edits: Edits) -> Iterator[Finding]:
    """Pages more than half of whose texts are gone."""
    had: dict[str, list[Edit]] = defaultdict(list)
    for edit in edits.edits:
        if edit.before and is_markdown(edit.before.file):
            had[edit.before.file].append(edit)
    for path, page in had.items():
        lost = [edit for edit in page if edit.kind == "lost"]
        if 2 * len(lost) > len(page):
            message = f"most of the text of {path} is not in the variant"
            yield edit_finding("edit.file-lost", lost[0].before, None, message)


def _is_fact(unit: Unit) -> bool:
    return unit.kind in _ALWAYS or bool(unit.criticals)


def _lost(edits: Edits) -> Iterator[Finding]:
    for edit in edits.edits:
        if edit.kind == "merged" and edit.unit.kind != "heading" and edit.unit.generated is None:
            rule = "edit.copy-lost" if edit.before else "edit.repeated"
            yield edit_finding(rule, edit.before, edit.after)
    lost = [edit.before for edit in edits.edits if edit.kind == "lost" and edit.before]
    after = [edit.after for edit in edits.edits if edit.after]
    titles = {unit.text for unit in after if unit.kind == "heading"}
    holders = Holders(after) if any(map(is_duty, lost)) else None
    for unit in lost:
        made = unit.kind == "heading" and (template_of_heading(unit.text) or unit.text in titles)
        if unit.generated is not None or made:
            continue
        if is_licence(unit.file):
            yield edit_finding("edit.metadata", unit, None)
        elif unit.kind == "field":
            yield edit_finding(_field_rule(unit), unit, None)
        elif holders and is_duty(unit):
            held = holders.holds(unit)
            yield edit_finding(f"edit.duty-{'said' if held else 'lost'}", unit, None)
        else:
            yield edit_finding(f"edit.{'fact-lost' if _is_fact(unit) else 'lost'}", unit, None)


def _added(edits: Edits) -> Iterator[Finding]:
    names = {basename(path) for path in edits.after.files}
    facts = {token for edit in edits.edits if edit.before for token in edit.before.criticals}
    known = _words_known(edits)
    for edit in edits.edits:
        unit = edit.after
        if edit.kind != "added" or unit is None or is_licence(unit.file):
            continue
        named = unit.kind == "field" and field_key(unit) in LOADED_BY
        titled = unit.kind == "heading" and not _strangers(unit, known)
        if unit.generated is not None or titled or named:
            own = frozenset() if unit.generated == "row-trigger" else _strangers(unit, known)
            told = own or _misleads(unit, edits.after)
            if is_duty(unit):
                told = told or _strangers(unit, known)
            message = f"a generated line says what its file does not: {', '.join(sorted(told)[:3])}"
            if told:
                yield edit_finding("edit.field" if named else "edit.row-said", None, unit, message)
        elif unit.kind == "field":
            yield edit_finding(_field_rule(unit), None, unit)
        elif _leads(unit, names):
            told = _misleads(unit, edits.after) if unit.kind in {"item", "row"} else frozenset()
            message = f"a row does not describe its file: {unit.text}" if told else ""
            yield edit_finding("edit.row-said" if told else "edit.routing", None, unit, message)
        else:
            revokes = words_named()["revoking"].intersection(plain_words(unit.text))
            said = critical_tokens(POINTER.sub("", unit.text)) if unit.criticals else ()
            known_names = (
                one for one in said if one.startswith("code:") and not _words([one[5:]]) - known
            )
            new = unit.kind in _ALWAYS or is_duty(unit) or {*said} - facts - {*known_names}
            yield edit_finding(f"edit.{'fact-added' if new or revokes else 'added'}", None, unit)


def _leads(unit: Unit, names: set[str]) -> bool:
    """Whether a line leads to a file and demands nothing beyond that."""
    if unit.kind not in {"item", "statement", "row"} or is_duty(unit):
        return False
    named = [token for token in _NAME.findall(unit.text) if basename(token) in names]
    beyond = [
        one for one in critical_tokens(POINTER.sub("", unit.text))
        if not one.startswith("cmp:") and not any(name in one for name in named)
    ]  # fmt: skip
    return bool(named) and not beyond and len(unit.text.split()) <= _LONGEST_LEAD


def _words_known(edits: Edits) -> frozenset[str]:
    texts = [edit.before.text for edit in edits.edits if edit.before]
    texts += [*edits.before.files, *edits.after.files, edits.before.name, *_template_lines()]
    return _words(texts)


def _strangers(unit: Unit, known: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in _words([unit.text]) - known if not word.isdigit())


def _misleads(unit: Unit, variant: Bundle) -> frozenset[str]:
    """The words of a row about a page that has none of them; "…" if the row says nothing of it."""
    target = _TARGET.search(unit.text)
    paths = [path for path in variant.files if target and path.endswith(f"/{target[1]}")]
    if not target or len(paths) != 1 or paths[0] == unit.file:
        return frozenset()
    empty = (
        words_named()["empty"] | words_named()["leading"] | _words([*_template_lines(), target[1]])
    )
    said = _words([unit.text]) - empty
    if not said:
        return frozenset() if unit.generated else frozenset({"…"})
    return said if not said & _words([variant.files[paths[0]].text or ""]) else frozenset()


_TARGET = re.compile(r"\[([^\[\]\s]+\.md)\]")
_WORD = re.compile(r"[^\W_]+")


def _words(texts: Sequence[str]) -> frozenset[str]:
    return frozenset(word.lower() for text in texts for word in _WORD.findall(text))


@lru_cache(maxsize=1)
def _template_lines() -> tuple[str, ...]:
    lines = (re.sub(r"\{\w+\}", " ", line) for line in TEMPLATES.values())
    return (*lines, *MARKER_PHRASES)
