"""The rules of attribution, and what takes the place of each where it is switched off."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from skilljuror.events.access import WHOLE_FILE

NEVER = re.compile(r"(?!)")
"""An expression that fits nothing."""


def gives(value: Any) -> Callable[..., Any]:
    """A function that gives one value, whatever it is asked."""
    return lambda *_, **__: value


nothing = gives(())
no = gives(False)
none = gives(None)


def same(given: Any, *_: Any, **__: Any) -> Any:
    """What was given, as it is."""
    return given


@dataclass(frozen=True)
class Rule:
    """A rule that attribution could do without."""

    name: str
    off: dict[str, Any]
    """`module:name` -> what takes its place."""
    code: tuple[str, ...] = ()
    """What its lines are counted over, where that is more than what is replaced: modules too."""
    kept: str = field(default="", kw_only=True)
    """What would be told wrongly without it, for a rule that changes nothing in the material."""


CMD = "commands"
PIPE = "commands:Pipeline"
RES = "context:AccessResolver"
CTX = "context"
CAT = "catalog:SkillCatalog"
EV = "evidence"
ATTR = "attribute"
REAL = "tests/events/commands.yaml: real commands tell the lines that they show"

RULES = (
    # commands
    Rule("shell: all of it", {f"{CMD}:Shell.read": gives([])}, (CMD,)),
    Rule("shell: substitutions", {f"{CMD}:_SUBSTITUTION": "(?!)"}, kept=REAL),
    Rule("shell: wrappers", {f"{CMD}:PREFIXES": {}}, kept=REAL),
    Rule("shell: bash -c", {f"{PIPE}.run_shell": none}, kept=REAL),
    Rule("shell: xargs, find -exec", {f"{PIPE}._apply": none}, kept=REAL),
    Rule("shell: groups", {f"{CMD}:_GROUPS": {}}, kept=REAL),
    Rule("shell: braces", {f"{CMD}:_BRACES": NEVER}, kept=REAL),
    Rule("programs: interpreters", {f"{PIPE}.interpret": none}),
    Rule("programs: searches", {f"{PIPE}.search": none}),
    Rule("programs: head and tail", {f"{CMD}:_end_of": lambda command, files: (files, WHOLE_FILE)}),
    Rule("programs: sed", {f"{CMD}:sed_selection": gives(WHOLE_FILE)}),
    Rule("programs: narrowed by pipes", {"access:LineSelection.narrowed": lambda self, outer: self}),
    Rule("programs: names and sizes", {f"{PIPE}.list_names": none}),
    Rule("programs: cp", {f"{PIPE}.copy": none}, kept=REAL + "; a helper trial runs a copy of a script"),
    Rule("programs: apply_patch", {f"{CMD}:patch_accesses": gives([])}),
    Rule("programs: unknown", {f"{PIPE}._unknown": none}),
    Rule("programs: redirections", {f"{PIPE}._write": none}),
    # Python
    Rule("python: all of it", {"commands:python_accesses": gives([])}),
    Rule("python: scripts written", {f"{CTX}:accesses_of_script": gives([])}),
    Rule("python: imports", {"commands:_imported": nothing}),
    Rule("python: libraries", {"commands:_LIBRARIES": frozenset()}, kept="Agents import pandas beside a bundle's own modules: no file of the bundle."),
    Rule("python: what is printed", {"commands:_opened": same}),
    # resolution
    Rule("globs: known names", {f"{CAT}.expand": gives([])}),
    Rule("copies", {"catalog:FileCopies.add": none}, kept=REAL + "; a helper trial runs a copy of a script"),
    Rule("scripts run", {f"{RES}._run": nothing}),
    Rule("calls: typed into a shell", {f"{CTX}:typed_text": gives("")}),
    Rule("calls: unknown tools", {f"{RES}._unknown_tool": gives([])}),
    Rule("discovery: known roots", {"catalog:_KNOWN_ROOT": NEVER}),
    Rule("discovery: paths in prompts", {"catalog:_skill_files": nothing}),
    Rule("discovery: base directories", {"catalog:_add_body": none}),
    Rule("discovery: loaded skills", {f"{CTX}:_learn_skill": none}),
    Rule("catalog: closed roots", {"catalog:_add_offered": none}),
    Rule("catalog: loose bundle folders", {"catalog:BUNDLE_FOLDERS": frozenset()}),
    # run
    Rule("run: polls", {f"{CTX}:_add_polled_output": no}),
    Rule("run: shared screens", {f"{CTX}:_answered_calls": lambda step: ((c, c.result) for c in step.calls)}),
    Rule("run: learned texts", {f"{CTX}:_assembled": none}, (f"{CTX}:_assembled", f"{CTX}:_pieces")),
    Rule("run: learned names", {f"{CTX}:_learn_name": none}),
    # evidence
    Rule("content: line prefixes", {f"{EV}:without_line_prefix": str.strip}),
    Rule("segments: front matter", {f"{EV}:_by_front_matter": gives({})}),
    Rule("segments: all texts known but one", {f"{EV}:_by_known_texts": gives({})}),
    Rule("segments: globs of SKILL.md", {f"{EV}:_may_match_others": no}, kept=REAL),
    Rule("errors: of a path", {f"{EV}:CallOutput.error_for": none}),
    Rule("errors: outright failures", {f"{EV}:_COMPLAINT": NEVER}, kept=REAL),
    Rule("runs: judged by their output", {f"{EV}:_FAILED": NEVER}, kept="Terminals and some ATIF logs tell no exit status: a traceback does."),
    Rule("terminal screens", {f"{EV}:is_screen": no}),
    Rule("cut outputs", {f"{EV}:_CUT_NOTICE": NEVER}),
    Rule("reads: blank lines at the ends", {f"{EV}:_widened": same}),
    Rule("reads: numbers of the tool", {f"{EV}:_numbered": gives(("full", None))}),
    # events
    Rule("injected: trees", {f"{ATTR}:_tree": nothing}),
    Rule("injected: files", {f"{ATTR}:_injected_file": nothing}),
    Rule("injected: texts of offered skills", {f"{ATTR}:_skill_text_in_prompt": nothing},
         kept="trajectories/pi/tree: a study's Skill stands in a message of its own."),
    Rule("injected: loaded before", {f"{ATTR}:_LOADED_BEFORE": NEVER}),
    Rule("injected: forked", {f"{ATTR}:_IN_SUB_AGENT": NEVER}),
    Rule("injected: arguments", {f"{ATTR}:_without_arguments": same}),
    Rule("injected: launch notices", {f"{ATTR}:_LAUNCHING": NEVER}),
    Rule("search output: all", {f"{ATTR}:search_events": nothing}),
    Rule("search output: headings", {f"{ATTR}:_HEADING": NEVER}),
    Rule("search output: one file", {f"{ATTR}:_in_one_file": none}, kept=REAL),
    Rule("unclaimed content", {f"{ATTR}:_unclaimed_reads": nothing}, kept=REAL),
)  # fmt: skip
