"""The glossary, made from the docstrings of the models: a word is defined where its data is."""

import ast
from pathlib import Path

from skilljuror.base.errors import UsageError

PACKAGE = Path(__file__).parent.parent / "skilljuror"

WORDS: dict[str, dict[str, str]] = {
    "Skills and layouts": {
        "Skill": "base/skill.py Skill",
        "bundle": "base/skill.py Bundle",
        "resource": "base/trajectory.py Resource",
        "resource class": "root (SKILL.md), support (other text), code (executable or importable), data.",
        "layout": "How the same knowledge is spread over files: `origin`, `origin-flat`, `baseline` (one flat"
        " file), `pd` (Progressive Disclosure: a short root that routes to files opened on demand), placebos.",
        "transform": "layouts/base.py Transform",
        "plan (of a variant)": "base/skill.py Plan",
        "variant": "base/build.py VariantManifest",
        "parent": "Variant it was made from; None for the source.",
        "round": "base/build.py VariantRound",
        "build": "base/build.py BuildRecord",
        "unit, knowledge unit": "base/skill.py Unit",
        "knowledge map": "base/skill.py MappedUnit",
        "critical tokens": "base/skill.py Unit.criticals",
        "lead": "base/skill.py Unit.lead",
        "root": "The `SKILL.md` of a Skill.",
        "routing row, cue": "The line of a root that leads to a file, and its words about when to open it and why.",
        "marker": "The heading of a flat page that names the path of the file carried below it.",
        "announced": "Files that its pages embed and instruct the agent to create; none is on disk. Paths as in `files`.",
    },
    "Judging variants": {
        "gate": "audit/gates/findings.py Gate",
        "finding": "base/build.py Finding",
        "inherited": "True when the source already had it; inherited findings never decide a verdict.",
        "policy": "The rules by which findings become a verdict: `edited` (a change by its author), `rewritten` (a variant that a person or model wrote) or `strict`.",
        "verdict of a gate": "pass, review (a person must look) or fail.",
        "waiver": "base/review.py Waiver",
        "rubric item": "base/review.py RubricItem",
        "verdict of the rubric": "base/review.py RubricVerdict",
        "decision": "base/review.py Decision",
        "review item": "base/review.py ReviewItem",
        "stale": "A waiver, decision or verdict is stale if its text has changed since.",
        "assay": "base/build.py AssayReport",
        "drift": "A change of what an agent must do. A *benign* change alters none of it.",
    },
    "Studies": {
        "study": "base/study.py StudyConfig",
        "task": "An instruction, an environment, a verifier and a `task.toml`, in Harbor's format.",
        "excluded task": "A task found and left out before the study, by hand or by rule: a row without trials.",
        "condition, arm": "base/study.py Condition",
        "Skill as it is": "base/study.py SkillSource",
        "disclosure": "base/study.py StudyConfig.disclosure",
        "margin": "base/study.py StudyConfig.margin",
        "cell": "One task under one condition.",
        "trial": "base/study.py TrialRecord",
        "attempt": "One try at a trial. Faults of the machine or the provider may need several; only the last counts.",
        "accepted": "base/review.py Acceptance",
        "substrate": "All that must be equal between conditions: instruction, environment, verifier, `task.toml`; it has a digest.",
        "harness": "harness/base.py Harness",
        "agent": "base/study.py AgentProgram",
        "isolation": "What separated a trial from the machine: bwrap, docker, none.",
        "reward": "Verifier's reward in [0, 1]; None if missing.",
        "strict pass": "A reward of exactly 1.",
        "contaminated": "A trial is contaminated if its arm was not what it should be ([formulas.md](formulas.md), §1.11).",
    },
    "Logs": {
        "source": "base/results.py SourceRow",
        "format": "What a log is written in; one parser reads each.",
        "trajectory, run": "base/trajectory.py Trajectory",
        "capture": "One of several logs of the same run.",
        "step": "base/trajectory.py Step",
        "call": "base/trajectory.py ToolCall",
        "result": "base/trajectory.py ToolResult",
        "message": "base/trajectory.py Message",
        "offered": "base/trajectory.py OfferedSkill",
    },
    "Attribution and measures": {
        "event, resource event": "One access of an agent to one resource in one call.",
        "witness": "Evidence for it.",
        "phantom": "base/trajectory.py ResourceEvent.phantom",
        "content exposed": "base/trajectory.py ResourceEvent.content_exposed",
        "exposure": "base/trajectory.py Exposure",
        "manifest": "base/trajectory.py SkillManifest",
        "activation": "The harness put a `SKILL.md` into the context. *Invocation* is the first activation or read that worked.",
        "fanout": "The distinct resources that a run opened.",
        "measure": "base/results.py Measure",
        "question": "store/questions.py Query",
        "uptake, ERU": "Effective Resource Uptake: an opened resource became visible work.",
        "verdict of a judge": "base/results.py Verdict",
        "judge": "judge/__init__.py Judge",
        "cascade": "A judge without a model first, then a model on what it leaves open; one name for both.",
        "label": "A person's yes, no or unknown on the uptake of an event.",
        "contrast": "Treatment minus control, paired by task, with its interval.",
    },
}
"""Section -> word -> `FILE Class` or `FILE Class.field`, else the meaning of a word that no model has."""

_INTRO = """# Glossary

One meaning per word, in code, database, output and documentation. Generated by `make docs` from the docstrings of the models.
"""


def glossary_page() -> str:
    """Every word with its meaning, by section."""
    parts = [_INTRO]
    for section, words in WORDS.items():
        rows = [f"| {word} | {_meaning(text)} |" for word, text in words.items()]
        parts.append("\n".join([f"## {section}", "| word | meaning |", "|---|---|", *rows, ""]))
    return "\n".join(parts)


def _meaning(text: str) -> str:
    file, _, name = text.partition(" ")
    if not file.endswith(".py"):
        return text
    meaning = _docstring(PACKAGE / file, *name.split("."))
    if meaning is None:
        raise UsageError(f"docs/glossary_page.py: {text} has no docstring")
    first = " ".join(meaning.split("\n\n")[0].split()).replace("|", "\\|")
    return first if first.endswith(".") else f"{first}."


def _docstring(path: Path, name: str, field: str = "") -> str | None:
    """The docstring of a class, or of one of its fields."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return _field_docstring(node, field) if field else ast.get_docstring(node)
    return None


def _field_docstring(node: ast.ClassDef, field: str) -> str | None:
    for one, after in zip(node.body, node.body[1:], strict=False):
        if isinstance(one, ast.AnnAssign) and ast.unparse(one.target) == field:
            match after:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    return text
    return None
