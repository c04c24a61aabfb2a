"""The counts of the SkillJuror paper as trial artifacts: plan, records, and a log of every trial.

Made up from printed totals (Tables 3 to 6, 13, 14; Figure 4), and scripted: no agent ran. 82 tasks, 3 arms, 5
trials. Each log reads the Skill as often as the totals say; a use is a setting that a later command repeats, an
access without use is a read that fails, and one read in `pd` is used by nothing. Files and database rows are
made by `ingest` and `judge`, as for any study.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skilljuror.base.files import StudyFolder, write_record
from skilljuror.base.study import ModelPrice, StudyPlan
from tests.support import fabricated_records as fake
from tests.support.published_answers import (
    CONDITIONS,
    COST,
    MINUTES,
    NO_AND_UNKNOWN,
    STRATA,
    TASKS,
    TOKENS,
    TRIALS,
    passes_of,
    yes_per_run,
)

MODEL = "reference-model"
DOLLARS_INPUT, DOLLARS_OUTPUT = 5.0, 15.0
"""Invented prices per million tokens; with them the split of the tokens gives the printed cost."""
SUPPORT = {"no-skill": 0, "baseline": 66, "pd": 364}
SCRIPT = {"no-skill": 0, "baseline": 31, "pd": 101}
HELPER = {"no-skill": 0, "baseline": 3, "pd": 118}
"""Trajectories that read a support file, ran a script, and read bundled code (Table 5)."""
SHARE = {"no-skill": 0.0, "baseline": 0.054, "pd": 0.108}
"""Mean share of steps that touch the Skill (Table 5)."""
ROOT = "/root/.agents/skills/tide-tables"


def write(folder: Path) -> Path:
    """Write the study's folder; return it."""
    study = StudyFolder(folder)
    attributes = {
        task: {"validation_type": STRATA[place % 4], "workflow_type": f"w{place % 3}"}
        for place, task in enumerate(TASKS)
    }
    write_record(study.plan_file, _priced(fake.plan(attributes, CONDITIONS, TRIALS)))
    for condition in CONDITIONS:
        yes = yes_per_run(condition)
        kinds = [[*_uses(condition, place, count)] for place, count in enumerate(yes)]
        steps = _StepCounts(SHARE[condition] * len(kinds) / max(1, sum(map(bool, kinds))))
        for place, (task, number, passed) in enumerate(_cells(condition)):
            record = fake.trial(
                task, condition, number, reward=float(passed), scripted=True, model=MODEL,
                agent_seconds=60 * MINUTES[condition], variant_digest=None,
            )  # fmt: skip
            write_record(study.trial_record(record.trial), record)
            log = study.trial_raw(record.trial) / "agent" / "trajectory.json"
            log.parent.mkdir(parents=True)
            uses = kinds[place]
            log.write_text(json.dumps(_log(record.trial, condition, uses, steps.of(len(uses)))))
    return folder


def _priced(plan: StudyPlan) -> StudyPlan:
    price = ModelPrice(
        model=MODEL, input=DOLLARS_INPUT, cache_write=DOLLARS_INPUT, cache_read=DOLLARS_INPUT,
        output=DOLLARS_OUTPUT, as_of="2026-06-10",
    )  # fmt: skip
    return plan.model_copy(update={"config": plan.config.model_copy(update={"prices": (price,)})})


def _cells(condition: str) -> Iterator[tuple[str, int, bool]]:
    for task, passes in zip(TASKS, passes_of(condition), strict=True):
        for number in range(1, TRIALS + 1):
            yield task, number, number <= passes


def _uses(condition: str, place: int, yes: int) -> Iterator[str]:
    """Kinds of the accesses of one trajectory, in order."""
    special = [
        kind
        for kind, most in (("support", SUPPORT), ("script", SCRIPT), ("helper", HELPER))
        if place < most[condition]
    ][:yes]
    yield from special
    yield from ["root"] * (yes - len(special))
    no, unknown = NO_AND_UNKNOWN.get(condition, (0, 0))
    if place < unknown:
        yield "unused"
    elif place < no + unknown:
        yield "failed"


class _StepCounts:
    """Steps of each log with an access, so that their mean share of steps with one comes out; a use is two
    steps, of which one touches the Skill."""

    def __init__(self, share: float) -> None:
        self.share, self.owed = share, 0.0

    def of(self, uses: int) -> int:
        if not uses:
            return 12
        self.owed += self.share
        steps = max(2 * uses + 1, round(uses / self.owed))
        self.owed -= uses / steps
        return steps


def _log(trial: str, condition: str, uses: list[str], steps: int) -> dict[str, Any]:
    output = round(
        (1e6 * COST[condition] - DOLLARS_INPUT * TOKENS[condition])
        / (DOLLARS_OUTPUT - DOLLARS_INPUT)
    )
    made = [step for number, kind in enumerate(uses) for step in _access(number, kind)]
    made += [_ran(f"pytest -q tests/case_{n}.py", "1 passed") for n in range(steps - len(made))]
    offer = "<available_skills>\n  <skill>\n    <name>tide-tables</name>\n    <description>Tides.</description>\n"
    offer += f"    <location>{ROOT}/SKILL.md</location>\n  </skill>\n</available_skills>"
    before = [{"source": "system", "message": offer}] if condition != "no-skill" else []
    told = [*before, {"source": "user", "message": "Make the table of the harbour."}, *made]
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": trial,
        "agent": {"name": "scripted", "version": "1.0.0", "model_name": MODEL},
        "steps": [{"step_id": n, **step} for n, step in enumerate(told, 1)],
        "final_metrics": {
            "total_prompt_tokens": TOKENS[condition] - output,
            "total_completion_tokens": output,
            "total_cached_tokens": 0,
        },
    }


def _access(number: int, kind: str) -> list[dict[str, Any]]:
    value = f"0.{71_003 + 37 * number}"
    name = f"harbour{number}"
    line = f"Set the constant of {name} to {value}."
    if kind == "failed":
        denied = f"cat: {ROOT}/SKILL.md: Permission denied"
        return [_ran(f"cat {ROOT}/SKILL.md", denied, 1)]
    if kind == "unused":
        return [
            _ran(f"sed -n '900,900p' {ROOT}/SKILL.md", "Keep the log of station Vlissingen-7731.")
        ]
    asked, shown = {
        "root": (f"sed -n '{number + 1},{number + 1}p' {ROOT}/SKILL.md", line),
        "support": (f"cat {ROOT}/references/constants.md", line),
        "script": (f"python3 {ROOT}/scripts/fit.py {name}", f"{name} constant {value}"),
        "helper": (f"cat {ROOT}/scripts/fit.py", f"FITTED_{number} = {value}  # {name}"),
    }[kind]
    return [
        _ran(asked, shown),
        _ran(f"python3 table.py --constant {value} --name {name}", "written"),
    ]


def _ran(command: str, shown: str, status: int = 0) -> dict[str, Any]:
    return {
        "source": "agent",
        "message": "",
        "tool_calls": [
            {"tool_call_id": "c", "function_name": "bash", "arguments": {"command": command}}
        ],
        "observation": {
            "results": [
                {"source_call_id": "c", "content": f"{shown}\n", "extra": {"exit_code": status}}
            ]
        },
    }
