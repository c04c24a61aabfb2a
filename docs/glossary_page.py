"""The glossary, made from the docstrings of the models: a word is defined where its data is."""

import ast
from pathlib import Path

from skilljuror.base.errors import UsageError

PACKAGE = Path(__file__).parent.parent / "skilljuror"

WORDS: dict[str, dict[str, str]] = {
    "Skills and layouts": {
        "Skill": "base/models/bundle.py Skill",
        "bundle": "base/models/bundle.py Bundle",
        "resource": "base/models/events.py Resource",
        "resource class": "base/models/build.py FileDigest.resource_class",
        "layout": "How the same knowledge is spread over files: `origin`, `origin-flat`, `baseline` (one flat"
        " file), `pd` (Progressive Disclosure: a short root that routes to files opened on demand), placebos.",
        "transform": "layouts/base.py Transform",
        "plan (of a variant)": "base/models/plan.py Plan",
        "variant": "base/models/build.py VariantManifest",
        "parent": "base/models/build.py VariantManifest.parent",
        "round": "base/models/build.py VariantRound",
        "build": "base/models/build.py BuildRecord",
        "unit, knowledge unit": "base/models/knowledge.py Unit",
        "knowledge map": "base/models/knowledge.py MappedUnit",
        "critical tokens": "base/models/knowledge.py Unit.criticals",
        "lead": "base/models/knowledge.py Unit.lead",
        "root": "The `SKILL.md` of a Skill.",
        "routing row, cue": "The line of a root that leads to a file, and its words about when to open it and why.",
        "marker": "The heading of a flat page that names the path of the file carried below it.",
        "announced": "base/models/build.py VariantManifest.announced",
    },
    "Judging variants": {
        "gate": "audit/gates/findings.py Gate",
        "finding": "base/models/gate.py Finding",
        "inherited": "base/models/gate.py Finding.inherited",
        "policy": "The rules by which findings become a verdict: `strict` or `edited`.",
        "verdict of a gate": "base/models/gate.py GateResult.verdict",
        "waiver": "base/models/review.py Waiver",
        "rubric item": "base/models/rubric.py RubricItem",
        "verdict of the rubric": "base/models/rubric.py RubricVerdict",
        "decision": "base/models/review.py Decision",
        "review item": "base/models/review_queue.py ReviewItem",
        "stale": "A waiver, decision or verdict is stale if its text has changed since.",
        "assay": "base/models/gate.py AssayReport",
        "drift": "A change of what an agent must do. A *benign* change alters none of it.",
    },
    "Studies": {
        "study": "base/models/study.py StudyConfig",
        "task": "An instruction, an environment, a verifier and a `task.toml`, in Harbor's format.",
        "excluded task": "A task found and left out before the study, by hand or by rule: a row without trials.",
        "condition, arm": "base/models/study.py Condition",
        "Skill as it is": "base/models/study.py SkillSource",
        "disclosure": "base/models/study.py StudyConfig.disclosure",
        "margin": "base/models/study.py StudyConfig.margin",
        "cell": "One task under one condition.",
        "trial": "base/models/study.py TrialRecord",
        "attempt": "One try at a trial. Faults of the machine or the provider may need several; only the last counts.",
        "accepted": "base/models/review.py Acceptance",
        "substrate": "All that must be equal between conditions: instruction, environment, verifier, `task.toml`; it has a digest.",
        "harness": "harness/base.py Harness",
        "agent": "base/models/agent.py AgentProgram",
        "isolation": "What separated a trial from the machine: bwrap, docker, none.",
        "reward": "base/models/study.py TrialRecord.reward",
        "strict pass": "A reward of exactly 1.",
        "contaminated": "A trial is contaminated if its arm was not what it should be ([formulas.md](formulas.md), §1.11).",
    },
    "Logs": {
        "source": "base/models/ingest.py SourceRow",
        "format": "What a log is written in; one parser reads each.",
        "trajectory, run": "base/models/trajectory.py Trajectory",
        "capture": "One of several logs of the same run.",
        "step": "base/models/trajectory.py Step",
        "call": "base/models/trajectory.py ToolCall",
        "result": "base/models/trajectory.py ToolResult",
        "message": "base/models/trajectory.py Message",
        "offered": "base/models/trajectory.py OfferedSkill",
    },
    "Attribution and measures": {
        "event, resource event": "One access of an agent to one resource in one call.",
        "witness": "base/models/events.py ResourceEvent.witness",
        "phantom": "base/models/events.py ResourceEvent.phantom",
        "content exposed": "base/models/events.py ResourceEvent.content_exposed",
        "exposure": "base/models/events.py Exposure",
        "manifest": "base/models/events.py SkillManifest",
        "activation": "The harness put a `SKILL.md` into the context. *Invocation* is the first activation or read that worked.",
        "fanout": "The distinct resources that a run opened.",
        "measure": "base/models/measure.py Measure",
        "question": "store/questions.py Query",
        "uptake, ERU": "Effective Resource Uptake: an opened resource became visible work.",
        "verdict of a judge": "base/models/measure.py Verdict",
        "judge": "judge/base.py Judge",
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
