"""Every rule of the gates: what it means, why it matters, how to mend it."""

from typing import NamedTuple

from skilljuror.errors import UsageError
from skilljuror.models.gate import FindingSeverity


class Rule(NamedTuple):
    """One rule."""

    severity: FindingSeverity
    what: str
    """What was found, as the start of a message."""
    why: str
    """Why it matters to a comparison."""
    mend: str
    """What to do."""


_KEEP = "Restore the parent's wording, or accept it in a build: skilljuror waive DIR ID --reason …"
_DROP = "Remove the line, or move it to the source so that every variant carries it."
_SAME = "Two variants must differ in layout alone; otherwise the contrast measures the text."

RULES: dict[str, Rule] = {
    "layout.no-root": Rule(
        "high", "no SKILL.md", "An agent finds a skill by its SKILL.md.",
        "Add a SKILL.md to each skill folder.",
    ),
    "layout.root-name": Rule(
        "medium", "the root is not spelled SKILL.md", "Agents on case-sensitive disks miss it.",
        "Rename the file to SKILL.md.",
    ),
    "layout.frontmatter": Rule(
        "high", "the frontmatter is missing or incomplete",
        "Agents list a skill by the name and description of its frontmatter.",
        "Give the SKILL.md a frontmatter with name and description.",
    ),
    "layout.nested-root": Rule(
        "medium", "a SKILL.md lies inside another skill", "Agents disagree on whether it is a skill.",
        "Rename the inner file or move it out.",
    ),
    "layout.roots": Rule(
        "high", "the number of skill folders is not what the layout says",
        "baseline is one root; origin and origin-flat keep the roots of the source.",
        "Merge or split the roots, or judge the variant as another kind.",
    ),
    "layout.flat": Rule(
        "high", "a flat layout carries a text file beside its SKILL.md",
        "A flat variant offers everything at once; a second file to open is disclosure by steps.",
        "Inline the file below a marker; only data, binaries and licences may stay beside it.",
    ),
    "layout.pd-root-size": Rule(
        "high", "the root has more than 300 lines", "PD-1: a root must be short enough to be a guide.",
        "Move sections into supporting files.",
    ),
    "layout.pd-support": Rule(
        "high", "no supporting content outside the root",
        "PD-2: without content to disclose there is no progressive disclosure.",
        "Move at least one section that is not code into a file of its own.",
    ),
    "layout.pd-unnamed": Rule(
        "high", "a supporting file is not named in the root",
        "PD-3: content that the root does not name is not disclosed but lost.",
        "Name the file in the SKILL.md.",
    ),
    "layout.pd-cue": Rule(
        "high", "a supporting file is named without saying when or why to open it",
        "PD-3: the agent decides by the cue whether to open the file.",
        "Say in the root for which step or question the file is read.",
    ),
    "hygiene.broken-link": Rule(
        "medium", "a link leads nowhere", "The agent loses what the link led to.",
        "Point the link at the file's new place.",
    ),
    "hygiene.broken-anchor": Rule(
        "low", "an anchor names no heading", "A reader is sent to the wrong place.",
        "Point the anchor at the heading's new file.",
    ),
    "hygiene.unresolved-command": Rule(
        "high", "a command runs a script that is not there", "The command fails for every trial.",
        "Correct the path or state the working directory.",
    ),
    "hygiene.unresolved-path": Rule(
        "high", "a path in code that led into the parent leads nowhere",
        "The code fails or works on other files in the trials of this layout alone.",
        "Put the file where the path leads; code stays as the parent has it.",
    ),
    "hygiene.unwritten-file": Rule(
        "medium", "a command names a file that stands on the page alone",
        "The command fails for every trial that does not guess to write the file out first.",
        "Say below the marker: Write this file to `PATH` in the folder of this SKILL.md before you run"
        " anything that uses it.",
    ),
    "hygiene.unresolved-mention": Rule(
        "medium", "a file is named that is not there", "The agent looks for it in vain.",
        "Name the file by its new path.",
    ),
    "hygiene.stale-path": Rule(
        "medium", "an absolute path into a skill folder", "The path exists for one layout only.",
        "Make the path relative to the skill folder.",
    ),
    "hygiene.litter": Rule(
        "low", "a cache, log or editor file", "It is offered to the agent and is not knowledge.",
        "Delete the file.",
    ),
    "hygiene.case-collision": Rule(
        "high", "two paths that are one on some disks", "One file replaces the other when copied.",
        "Rename one of them.",
    ),
    "hygiene.duplicate-file": Rule(
        "low", "two files with the same bytes", "Reading both costs twice and counts twice.",
        "Keep one of them.",
    ),
    "hygiene.fence-in-script": Rule(
        "high", "a script begins or ends with a fence line", "The script no longer runs.",
        "Remove the fence lines.",
    ),
    "hygiene.twin-file": Rule(
        "medium", "a file without suffix beside one with it", "One of them is a leftover.",
        "Delete the leftover.",
    ),
    "hygiene.empty-heading": Rule(
        "low", "a heading with nothing below it", "Its text was moved and the heading left behind.",
        "Move the heading with its text, or name the new place below it.",
    ),
    "knowledge.file-lost": Rule(
        "high", "a file of the parent is gone", "All it says is missing.", "Restore the file.",
    ),
    "knowledge.file-changed": Rule(
        "high", "a file's bytes changed", "A script that differs gives other results.",
        "Copy the parent's file byte for byte.",
    ),
    "knowledge.file-renamed": Rule(
        "high", "a file was renamed", "Commands and mentions name it by its old name.",
        "Give the file its old name.",
    ),
    "knowledge.file-mode": Rule(
        "medium", "a file's execute bit changed", "A command may fail or need another form.",
        "Restore the execute bit.",
    ),
    "knowledge.file-added": Rule(
        "high", "a file that the parent does not have", _SAME, "Remove the file.",
    ),
    "knowledge.polarity": Rule(
        "high", "a negation was gained or lost", "The instruction says the opposite.", _KEEP,
    ),
    "knowledge.comparator-flip": Rule(
        "high", "a comparison was turned round", "The limit now holds on the other side.", _KEEP,
    ),
    "knowledge.comparator": Rule("high", "a comparison changed", "The limit moved.", _KEEP),
    "knowledge.number": Rule("high", "a number changed", "Another value gives another result.", _KEEP),
    "knowledge.unit": Rule("high", "a unit changed", "The same digits mean another amount.", _KEEP),
    "knowledge.modal": Rule(
        "medium", "a requirement became stronger or weaker", "Agents weigh must and should.", _KEEP,
    ),
    "knowledge.path": Rule(
        "high", "a path in code became another one",
        "Code must mean the same in every layout; a path that is made relative leads elsewhere.",
        "Write the parent's path; change one only where its file moved, and then to where it lies.",
    ),
    "knowledge.reference": Rule(
        "medium", "a code span, path or flag changed", "The agent types what stands there.", _KEEP,
    ),
    "knowledge.order": Rule(
        "medium", "the same words stand in another order", "Who does what to whom may change.", _KEEP,
    ),
    "knowledge.opposite": Rule(
        "high", "a word was turned into its opposite", "The text says the reverse.", _KEEP,
    ),
    "knowledge.steps": Rule(
        "medium", "two steps, items or sections of a process changed places",
        "A procedure is its order.", "Restore the order.",
    ),
    "knowledge.lines": Rule(
        "medium", "two lines of code changed places", "A program is its order.", "Restore the order.",
    ),
    "knowledge.code": Rule(
        "medium", "a line of code changed", "Agents copy code as it stands.", _KEEP,
    ),
    "knowledge.row": Rule("medium", "a table row changed", "Tables carry facts.", _KEEP),
    "knowledge.field": Rule(
        "medium", "a frontmatter field changed", "It decides whether the skill is opened.", _KEEP,
    ),
    "knowledge.critical-missing": Rule(
        "high", "something to heed is missing",
        "It held a number, comparison, modal, code, path or flag.", "Restore it.",
    ),
    "knowledge.critical-added": Rule(
        "high", "something to heed was added",
        "It holds a number, comparison, modal, code, path or flag that the parent does not say.",
        _DROP,
    ),
    "knowledge.missing": Rule("low", "a plain statement is missing", _SAME, "Restore it."),
    "knowledge.added": Rule("low", "a plain statement was added", _SAME, _DROP),
    "knowledge.routing": Rule(
        "medium", "a generated line says more than the file it names",
        "A routing row may only repeat its target.", "Use words of the target alone.",
    ),
    "knowledge.lead": Rule(
        "low", "a line was written that leads to a supporting file",
        "Its words are free, what it may demand is not; a person may want to read it.",
        "Nothing, or use a generated row.",
    ),
    "knowledge.moved": Rule(
        "low", "a text stands below another heading or lead",
        "A heading narrows what is below it, and so does the sentence above a list.",
        "Move the text back below its own heading or lead.",
    ),
    "knowledge.reworded": Rule(
        "info", "other words, same critical tokens", "Counted, so that rewriting shows.",
        "Nothing, unless the words were meant to stay.",
    ),
    "routing.crossed": Rule(
        "medium", "a link's label names one file and its address another",
        "Where the agent ends up depends on which of the two it follows.",
        "Let label and address name the same file.",
    ),
    "routing.astray": Rule(
        "medium", "a row leads to one file and speaks of another",
        "The agent opens a file that does not say what it was promised.",
        "Let the row lead to the file whose headings it names.",
    ),
    "routing.exchanged": Rule(
        "high", "two files have each other's contents",
        "Every row and mention sends the agent to the wrong text.",
        "Put each text back into its file, or rewrite what leads to them.",
    ),
    "routing.dull": Rule(
        "medium", "a row says nothing of the file that it leads to",
        "The agent decides by the row whether to open the file.",
        "Say in the row what the file is about, in words of the file.",
    ),
    "routing.pointer": Rule(
        "medium", "a process goes on in another file, and nothing at the break says so",
        "The agent takes what it has read for the whole of the process.",
        "Below the last step before the break, name the file in which the next one stands.",
    ),
    "style.provenance": Rule(
        "medium", "added text speaks of how the variant was made",
        "It tells the agent that there are variants.", "Remove the remark.",
    ),
    "style.elision": Rule(
        "high", "added text stands for text that was left out", "The agent cannot read what is not there.",
        "Write the text out as the parent has it.",
    ),
    "style.placeholder": Rule(
        "medium", "added text is a placeholder", "The agent may take it for an instruction.",
        "Fill it with the parent's text or remove it.",
    ),
    "style.chatter": Rule(
        "medium", "added text is an answer to whoever asked for the variant",
        "It is not part of the skill.", "Remove it.",
    ),
    "size.grown": Rule(
        "medium", "the variant is much longer than its parent",
        "Longer text costs more to read, whatever its layout.", "Remove what was added.",
    ),
    "size.shrunk": Rule(
        "high", "the variant is much shorter than its parent",
        "Text is missing or was put in fewer words.", "Restore what is missing.",
    ),
    "size.one-read": Rule(
        "info", "a root is longer than one read returns",
        "Agents may see its beginning only; exclude or stratify the source.", "Nothing in the variant.",
    ),
    "size.long-reference": Rule(
        "info", "a supporting file is long", "Opening it costs as much as a flat layout.",
        "Split it by its headings.",
    ),
    "security.remote-shell": Rule(
        "high", "a download is run unseen", "Whoever serves it runs code in the trial.",
        "Remove the command; the parent does not have it.",
    ),
    "security.destructive": Rule(
        "high", "a command deletes or needs more rights", "It can damage the machine of the trial.",
        "Remove the command; the parent does not have it.",
    ),
    "security.override": Rule(
        "high", "text that turns an agent against its instructions", "It takes over the trial.",
        "Remove it; the parent does not have it.",
    ),
    "security.secret": Rule(
        "high", "something that looks like a key", "Keys leak with the bundle.", "Remove it.",
    ),
    "security.grader": Rule(
        "medium", "text that names the grader or its files",
        "It invites working for the check instead of the task.", "Remove it; the parent does not have it.",
    ),
    "security.hidden-text": Rule(
        "medium", "a comment that a reader of the page does not see",
        "An agent reads it, a reviewer does not.", "Remove it or write it as text.",
    ),
    "security.invisible": Rule(
        "high", "an invisible or direction-changing character", "It hides or reorders text.",
        "Remove the character.",
    ),
    "security.host": Rule(
        "medium", "an address of a host that the parent does not name",
        "It may leak data or change results.", "Remove the address.",
    ),
    "security.agent-file": Rule(
        "high", "a file that configures agents or holds credentials",
        "It changes the agent and not the skill.", "Remove the file.",
    ),
    "security.program": Rule(
        "high", "a compiled program", "Nobody can read what it does.", "Remove the file.",
    ),
    "security.permission": Rule(
        "high", "the frontmatter asks for more permissions", "The variants would run with other rights.",
        "Ask for what the parent asks for.",
    ),
}  # fmt: skip
"""rule id -> rule. The id is "gate.rule"."""


def explain(rule: str) -> str:
    """What a rule means, why it matters and how to mend it. Raises UsageError for an unknown id."""
    known = RULES.get(rule)
    if known is None:
        raise UsageError(f"unknown rule {rule!r}; choose one of {', '.join(sorted(RULES))}")
    return (
        f"{rule} ({known.severity})\n  found: {known.what}\n  why:   {known.why}\n"
        f"  mend:  {known.mend}"
    )
