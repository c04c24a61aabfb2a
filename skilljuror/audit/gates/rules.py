"""Every rule of the gates: what it found, why it matters, how to fix it."""

from collections.abc import Mapping
from typing import NamedTuple

from skilljuror.base.build import FindingSeverity
from skilljuror.base.errors import UsageError


class Rule(NamedTuple):
    """One rule."""

    severity: FindingSeverity
    what: str  # what is wrong: the default start of a finding's message
    why: str  # why it matters to a comparison of layouts
    fix: str  # how to fix it, as a clause: the end of every message of the rule


_KEEP = "restore the source's wording, or accept it: skilljuror waive DIR ID, or audit --accept ID"
_DROP = "remove it, or add it to the source so that every variant has it"
_SAME = "Variants must differ in layout only; otherwise the contrast measures the text."

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
    "knowledge.file-lost": Rule(
        "high", "a file of the source is missing", "All its content is missing.", "restore the file",
    ),
    "knowledge.file-changed": Rule(
        "high", "the content of a file changed", "A changed script gives other results.",
        "review the changed lines, or copy the source's file byte for byte",
    ),
    "knowledge.licence": Rule(
        "info", "the terms of use changed", "Agents do not act on them; people must keep them.",
        "no action required, unless the terms must stay",
    ),
    "knowledge.file-renamed": Rule(
        "high", "a file was renamed", "Commands and text use its old name.", "restore the old name",
    ),
    "knowledge.file-mode": Rule(
        "medium", "the execute bit of a file changed", "A command may fail or need another form.",
        "restore the execute bit",
    ),
    "knowledge.file-added": Rule("high", "a file is not in the source", _SAME, "remove the file"),
    "knowledge.polarity": Rule(
        "high", "a negation or strike-through was added or removed",
        "The instruction says the opposite, or does not apply any more.", _KEEP,
    ),
    "knowledge.comparator-flip": Rule(
        "high", "a comparison was reversed", "The limit applies to the other side.", _KEEP,
    ),
    "knowledge.comparator": Rule("high", "a comparison changed", "The limit moved.", _KEEP),
    "knowledge.number": Rule("high", "a number changed", "Another value gives another result.", _KEEP),
    "knowledge.unit": Rule("high", "a unit changed", "The same number with another unit is another amount.", _KEEP),
    "knowledge.modal": Rule(
        "medium", "a requirement became stronger or weaker", "Agents treat must and should differently.", _KEEP,
    ),
    "knowledge.path": Rule(
        "high", "a path in code changed",
        "Code must mean the same in every layout; a path that is made relative can lead elsewhere.",
        "restore the source's path; change it only if its file moved, and then to the new path",
    ),
    "knowledge.reference": Rule(
        "medium", "a code span, path, address or flag changed", "Agents type it as written.", _KEEP,
    ),
    "knowledge.conjunction": Rule(
        "high", "an \"and\" became an \"or\", or the reverse",
        "One of several conditions or duties is enough, or no longer enough.", _KEEP,
    ),
    "knowledge.quantifier": Rule(
        "high", "all became some, or the reverse", "The instruction covers other cases.", _KEEP,
    ),
    "knowledge.agent": Rule(
        "high", "the user became the agent, or the reverse", "Someone else has to act or to decide.",
        _KEEP,
    ),
    "knowledge.condition": Rule(
        "medium", "a condition or clause was added to a sentence, or removed",
        "The instruction applies in other cases.", _KEEP,
    ),
    "knowledge.nesting": Rule(
        "medium", "an item or heading is below another one, or at another level below it",
        "Agents read what is nested as a part, a case or an exception of what is above it.",
        "restore the indentation of the item, or the level of the heading",
    ),
    "knowledge.remark": Rule(
        "medium", "added text refers to other text on the page",
        "It can revoke an instruction without changing a word of it.", _DROP,
    ),
    "knowledge.order": Rule(
        "medium", "the same words are in another order", "Who does what to whom may change.", _KEEP,
    ),
    "knowledge.opposite": Rule(
        "high", "a word was replaced by its opposite", "The text says the reverse.", _KEEP,
    ),
    "knowledge.steps": Rule(
        "medium", "two steps, items or sections of a process changed places",
        "The order is part of a procedure.", "restore the order",
    ),
    "knowledge.lines": Rule(
        "medium", "two lines of code changed places", "The order is part of a program.",
        "restore the order",
    ),
    "knowledge.code": Rule("medium", "a line of code changed", "Agents copy code as written.", _KEEP),
    "knowledge.row": Rule("medium", "a table row changed", "Tables hold facts.", _KEEP),
    "knowledge.field": Rule(
        "medium", "a frontmatter field changed", "It decides whether agents open the skill.", _KEEP,
    ),
    "knowledge.metadata": Rule(
        "info", "metadata in the frontmatter changed",
        "Version, licence and author say nothing to an agent.", "no action required",
    ),
    "knowledge.duty-lost": Rule(
        "high", "a duty is missing", "Agents no longer do what it obliged them to do.", "restore it",
    ),
    "knowledge.copy-lost": Rule(
        "medium", "one copy of a text is missing, another is still there",
        "The text below one heading no longer says it.",
        "restore it, unless the other copy is read at this step too",
    ),
    "knowledge.critical-missing": Rule(
        "high", "critical text is missing",
        "It has a number, comparison, modal, code, path or flag.", "restore it",
    ),
    "knowledge.critical-added": Rule(
        "high", "critical text was added",
        "It has a number, comparison, modal, code, path or flag that the source does not have.",
        _DROP,
    ),
    "knowledge.loader-text": Rule(
        "high", "text that the loader of SKILL.md replaces or runs does not work any more",
        "Claude Code fills in arguments and runs commands in SKILL.md alone; elsewhere they stay as written.",
        "move it back into the body of SKILL.md, and the files that it names to their places",
    ),
    "knowledge.missing": Rule("low", "plain text is missing", _SAME, "restore it"),
    "knowledge.added": Rule("low", "plain text was added", _SAME, _DROP),
    "knowledge.repeated": Rule(
        "low", "text of the source occurs once more", "It is read twice, and one copy may change.",
        "delete the copy, or move the text",
    ),
    "knowledge.routing": Rule(
        "medium", "a generated line says more than the file it names",
        "A routing row may only repeat its target.", "use only words of the target file",
    ),
    "knowledge.lead": Rule(
        "low", "a new line leads to a file or introduces moved text",
        "Its wording is free, but it must not add requirements.",
        "check that it adds no requirement, or use a generated row",
    ),
    "knowledge.moved": Rule(
        "low", "text moved below another heading or lead-in",
        "A heading, or the sentence above a list, limits the text below it.",
        "move the text back below its own heading or lead-in",
    ),
    "knowledge.reworded": Rule(
        "info", "other words, same critical tokens", "Counted, so that rewriting shows.",
        "no action required, unless the wording must stay",
    ),
    "routing.crossed": Rule(
        "medium", "the label of a link names another file than its address",
        "The agent ends up in one of two files.", "make label and address name the same file",
    ),
    "routing.astray": Rule(
        "medium", "a row leads to one file but describes another",
        "The agent opens a file that does not have the promised text.",
        "link the row to the file whose headings it names",
    ),
    "routing.exchanged": Rule(
        "high", "two files have exchanged their content",
        "Every row and mention sends the agent to the wrong text.",
        "move each text back to its file, or update the rows that lead to the files",
    ),
    "routing.same-cue": Rule(
        "medium", "two rows lead to different files in the same words",
        "The agent cannot tell which of the files it needs.",
        "name in each row what only its file has",
    ),
    "routing.dull": Rule(
        "medium", "a row does not describe its target file",
        "The agent decides by the row whether to open the file.",
        "describe the file in the row, in words of the file",
    ),
    "routing.pointer": Rule(
        "medium", "a process continues in another file without a pointer at the break",
        "The agent takes the part it has read for the whole process.",
        "name the next file below the last step before the break",
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
        raise UsageError(f"unknown rule {rule!r}; choose one of {', '.join(sorted(rules))}")
    return (
        f"{rule} ({known.severity})\n  found: {known.what}\n  why:   {known.why}\n"
        f"  fix:   {known.fix}"
    )
