"""Every rule of the gates: what it found, why it matters, how to fix it."""

from collections.abc import Mapping
from typing import NamedTuple

from skilljuror.base.build import FindingSeverity
from skilljuror.base.errors import UsageError, did_you_mean


class Rule(NamedTuple):
    """One rule."""

    severity: FindingSeverity
    what: str  # what is wrong: the default start of a finding's message
    why: str  # why it matters to a comparison of layouts
    fix: str  # how to fix it, as a clause: the end of every message of the rule


RULES: dict[str, Rule] = {
    "layout.no-root": Rule(
        "high", "SKILL.md is missing", "Agents find a skill by its SKILL.md.",
        "add a SKILL.md to each skill folder",
    ),
    "layout.root-name": Rule(
        "medium", "the root file is not named SKILL.md", "Agents on case-sensitive disks miss it.",
        "rename the file to SKILL.md",
    ),
    "layout.frontmatter": Rule(
        "high", "the frontmatter is missing or incomplete",
        "Agents list a skill by the name and description in its frontmatter.",
        "add a frontmatter with name and description to SKILL.md",
    ),
    "layout.nested-root": Rule(
        "medium", "a SKILL.md is inside another skill", "Agents disagree on whether it is a skill.",
        "rename the inner file, or move it out of the skill",
    ),
    "layout.roots": Rule(
        "high", "the number of skill folders does not match the layout",
        "baseline, flat-files and flat-toc have one root; origin and origin-flat keep the roots of the source.",
        "merge or split the skill folders, or audit the variant as another --kind",
    ),
    "layout.flat": Rule(
        "high", "a flat layout has a text file next to its SKILL.md",
        "A flat variant offers everything at once; a second file to open is disclosure by steps.",
        "inline the file below a marker; only data, binaries, licences and text that a loader would change may stay"
        " separate, and in flat-files what commands need",
    ),
    "layout.inlined": Rule(
        "high", "a script, template or other file for commands exists only as text on the page",
        "The agent must write it out first; this layout has such files on disk.",
        "put the file at the path in its marker, and remove marker and text from the page",
    ),
    "layout.prerequisite": Rule(
        "high", "the root uses a variable, file, step or section that only an unopened page defines",
        "The agent follows the root in its order, and the command or the step fails.",
        "define it in the root, or name the page that defines it before the first use",
    ),
    "layout.loader-text": Rule(
        "high", "SKILL.md has text that its loader replaces or runs, and the source has it in no SKILL.md",
        "Claude Code rewrites SKILL.md before an agent reads it, in fences too, and no other file.",
        "leave the text in a file of its own, or accept it if no agent of the study has such a loader",
    ),
    "layout.pd-root-size": Rule(
        "medium", "the root has more than 5,000 tokens", "PD-1: a root must be short enough to be a guide.",
        "move sections that only some runs need; a process stays whole",
    ),
    "layout.pd-support": Rule(
        "medium", "no supporting file next to the root: nothing is disclosed",
        "PD-2: without a file to open, the layout equals its parent's, and a contrast measures nothing.",
        "leave the task out (exclude_rules: {pd_worth: none}), or move a section that only some tasks need",
    ),
    "layout.pd-unnamed": Rule(
        "high", "the root does not name a supporting file",
        "PD-3: agents do not find content that the root does not name.",
        "name the file in SKILL.md",
    ),
    "layout.pd-cue": Rule(
        "high", "the root names a supporting file without saying when or why to open it",
        "PD-3: the agent decides by this cue whether to open the file.",
        "state in SKILL.md for which step or question to read the file",
    ),
    "hygiene.broken-link": Rule(
        "medium", "broken link: the target does not exist", "The agent cannot reach the linked text.",
        "update the link to the file's new path",
    ),
    "hygiene.broken-anchor": Rule(
        "low", "broken anchor: the target file has no such heading",
        "The link leads to the wrong place.", "update the link to the file that has the heading",
    ),
    "hygiene.unresolved-command": Rule(
        "high", "a command runs a script that does not exist", "The command fails in every trial.",
        "correct the path, or state the working directory",
    ),
    "hygiene.unresolved-path": Rule(
        "high", "a path in code is valid in the source but not in the variant",
        "The code fails, or works on other files, in the trials of this layout only.",
        "put the file at that path; do not change the source's code",
    ),
    "hygiene.unwritten-file": Rule(
        "medium", "a command needs a file that exists only as text on the page",
        "The command fails in every trial whose agent does not guess to write the file first.",
        "add below the marker: Write this file to `PATH` in the folder of this SKILL.md before you run"
        " anything that uses it.",
    ),
    "hygiene.unresolved-mention": Rule(
        "medium", "the text names a file that does not exist", "The agent searches for it without success.",
        "use the file's new path",
    ),
    "hygiene.stale-path": Rule(
        "medium", "absolute path to a skill folder", "The path exists in one layout only.",
        "make the path relative to the skill folder",
    ),
    "hygiene.litter": Rule(
        "low", "cache, log or editor file", "The agent can open it, but it is not knowledge.",
        "delete the file",
    ),
    "hygiene.case-collision": Rule(
        "high", "two paths differ only in case or Unicode form",
        "On some disks one file replaces the other.", "rename one of the files",
    ),
    "hygiene.duplicate-file": Rule(
        "low", "two files have the same content", "Reading both costs twice and counts twice.",
        "delete one of the files",
    ),
    "hygiene.fence-in-script": Rule(
        "high", "a script begins or ends with a Markdown fence", "The script no longer runs.",
        "remove the fence lines",
    ),
    "hygiene.twin-file": Rule(
        "medium", "a file exists both with and without a suffix", "One of them is a leftover.",
        "delete the leftover",
    ),
    "hygiene.empty-heading": Rule(
        "low", "a heading has no text below it", "Its text was moved without the heading.",
        "move the heading with its text, or name the new file below it",
    ),
    "knowledge.loader-text": Rule(
        "high", "text that the loader of SKILL.md replaces or runs does not work any more",
        "Claude Code fills in arguments and runs commands in SKILL.md alone; elsewhere they stay as written.",
        "move it back into the body of SKILL.md, and the files that it names to their places",
    ),
    "routing.crossed": Rule(
        "medium", "the label of a link names another file than its address",
        "The agent ends up in one of two files.", "make label and address name the same file",
    ),
    "routing.same-cue": Rule(
        "medium", "two rows lead to different files in the same words",
        "The agent cannot tell which of the files it needs.",
        "name in each row what only its file has",
    ),
    "style.provenance": Rule(
        "medium", "added text describes how the variant was made",
        "It reveals to the agent that variants exist.", "remove the remark",
    ),
    "style.elision": Rule(
        "high", "added text replaces omitted text", "The agent cannot read omitted text.",
        "write the text out as in the source",
    ),
    "style.placeholder": Rule(
        "medium", "added text is a placeholder", "The agent may take it for an instruction.",
        "replace it with the source's text, or remove it",
    ),
    "style.chatter": Rule(
        "medium", "added text is an assistant's reply", "It is not part of the skill.", "remove it",
    ),
    "size.grown": Rule(
        "medium", "the variant is much longer than its source",
        "Longer text costs more to read, regardless of layout.", "remove the added text",
    ),
    "size.shrunk": Rule(
        "high", "the variant is much shorter than its source",
        "Text is missing or was condensed.", "restore the missing text",
    ),
    "size.one-read": Rule(
        "info", "the root is longer than one read returns",
        "Agents may see only its beginning; exclude or stratify the source.",
        "no action required in the variant",
    ),
    "size.long-reference": Rule(
        "info", "a supporting file is long", "Opening it costs as much as a flat layout.",
        "split it by its headings",
    ),
    "security.remote-shell": Rule(
        "high", "a command runs a download without inspection", "The server controls code in the trial.",
        "remove the command; the source does not have it",
    ),
    "security.destructive": Rule(
        "high", "a command deletes files or raises permissions", "It can damage the trial's machine.",
        "remove the command; the source does not have it",
    ),
    "security.override": Rule(
        "high", "text tries to override an agent's instructions", "It takes over the trial.",
        "remove it; the source does not have it",
    ),
    "security.secret": Rule("high", "possible secret key", "Keys leak with the bundle.", "remove it"),
    "security.grader": Rule(
        "medium", "text names the grader or its files",
        "An agent may work for the check instead of the task.", "remove it; the source does not have it",
    ),
    "security.hidden-text": Rule(
        "medium", "HTML comment, invisible on the rendered page", "Agents read it, reviewers do not.",
        "remove it, or write it as visible text",
    ),
    "security.invisible": Rule(
        "high", "invisible or bidirectional control character", "It hides or reorders text.",
        "remove the character",
    ),
    "security.look-alike": Rule(
        "high", "a word has a letter of another alphabet that looks like its own",
        "Agents and searches read another word than reviewers see.",
        "type the word in letters of one alphabet",
    ),
    "security.host": Rule(
        "medium", "address of a host that the source does not name",
        "It may leak data or change results.", "remove the address",
    ),
    "security.agent-file": Rule(
        "high", "file that configures agents or holds credentials",
        "It changes the agent, not the skill.", "remove the file",
    ),
    "security.program": Rule(
        "high", "compiled program", "Reviewers cannot read it.", "remove the file",
    ),
    "security.permission": Rule(
        "high", "the frontmatter requests more permissions",
        "The variants would run with different permissions.", "request the source's permissions only",
    ),
}  # fmt: skip
"""Rule id ("gate.rule") -> rule."""


def explain(rule: str, rules: Mapping[str, Rule] = RULES) -> str:
    """Return a rule's severity, finding, reason and fix. Raises UsageError for an unknown id."""
    known = rules.get(rule)
    if known is None:
        guess = did_you_mean(rule, rules)
        raise UsageError(f"unknown rule {rule!r}; {guess}`skilljuror audit --rules` lists all")
    return (
        f"{rule} ({known.severity})\n  found: {known.what}\n  why:   {known.why}\n"
        f"  fix:   {known.fix}"
    )
