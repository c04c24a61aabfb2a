"""Generators that run as a study: the creator's trials, and the folders that they leave."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from skilljuror.base.errors import BundleError, StudyError
from skilljuror.base.files import StudyFolder, fresh_dir, read_record, write_atomic
from skilljuror.base.skill import Bundle, is_root_name
from skilljuror.base.study import AgentChoice, TrialRecord
from skilljuror.skill.bundles import load_bundle, write_bundle
from skilljuror.study.generate.orders import Order, write_task
from skilljuror.study.study_file import load_study

ARM = "create"
"""Condition, study and folder of the creator."""
SECONDS = 1_800
"""Time limit of a creator."""
_HEAD = """\
# Written by skilljuror generate. Edit harness, limits, budget, retries and the agent's options if need be, and rerun it.
"""
_IN_ANSWER = re.compile(r"(?:^|/)generated-(?:skills|tasks)[/:]|^answer[/:]")
"""A file of the answer in the lists of files that were not read."""
_FIXED = ("trials_per_cell", "tasks", "conditions")


def write_study(
    orders: Sequence[Order], agent: AgentChoice, trials: int, dollars: float | None, out: Path
) -> Path:
    """Write create.yaml and its tasks; return the file. An existing one stays. Raises StudyError if that
    is for other tasks, trials or another agent."""
    for order in orders:
        write_task(order, out / "tasks" / order.name)
    skill = orders[0].source if orders[0].of_skill else None
    if skill:
        with fresh_dir(out / "source") as staging:
            write_bundle(skill.files, staging)
    study: dict[str, Any] = {
        "name": ARM,
        "trials_per_cell": trials,
        "tasks": [{"path": f"tasks/{order.name}"} for order in orders],
        "conditions": [{"name": ARM, **({"skill": "source"} if skill else {"variant": None})}],
        "harness": {"name": "local", "timeout_sec": SECONDS},
        "agent": agent.model_dump(mode="json", exclude_none=True),
        "retries": 1,
        "budget": {"dollars": dollars},
    }
    file = out / f"{ARM}.yaml"
    if not file.is_file():
        write_atomic(file, _HEAD + yaml.safe_dump(study, sort_keys=False))
    found = load_study(file)
    wanted = found.model_validate(study)
    same = found.agent.name == agent.name and found.agent.model == agent.model
    if not same or any(getattr(found, name) != getattr(wanted, name) for name in _FIXED):
        raise StudyError(
            f"{str(file)!r} is for other tasks, trials or another agent; name another folder with --out",
            file=str(file),
        )
    return file


def record_of(study: StudyFolder, trial: str) -> TrialRecord | None:
    """Return the record of a trial; None if it has not run."""
    path = study.trial_record(trial)
    return read_record(TrialRecord, path) if path.is_file() else None


def answer_of(record: TrialRecord, raw: Path, order: Order) -> Bundle:
    """Return the folder that a trial left. Raises BundleError, with one reason, for a folder that does not
    count; nothing of it is executed."""
    if problem := _problem(record, raw, order.answer):
        raise BundleError(problem)
    return load_bundle(raw / "verifier" / "answer", "generated")


def _problem(record: TrialRecord, raw: Path, answer: str) -> str | None:
    """Why a trial's folder is not read."""
    if record.end != "scored":
        return ": ".join(filter(None, (f"its trial ended as {record.end}", record.message)))
    verifier, listed = raw / "verifier", _artifacts(raw)
    if refused := _lines(verifier / "refused.txt"):
        return refused[0]
    left_out = [*record.left_out, *listed["others"], *listed["left_out"]]
    if left := [one for one in left_out if _IN_ANSWER.search(one)]:
        return str(left[0])
    if not (verifier / "answer").is_dir():
        roots = [one["path"] for one in listed["files"] if one["path"].lower().endswith("skill.md")]
        more = f"{roots[0]!r} is outside of it" if roots else record.message
        return f"it left no folder {answer}/" + (f"; {more}" if more else "")
    if any(is_root_name(path.name) for path in (verifier / "answer").iterdir()):
        return f"{answer}/SKILL.md is in no folder of its own"
    return None


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []


def _artifacts(raw: Path) -> dict[str, Any]:
    """The local harness's listing of the agent's files; empty for another harness."""
    path = raw / "artifacts.json"
    listed = msgspec.json.decode(path.read_bytes()) if path.is_file() else {}
    return {"files": [], "others": [], "left_out": []} | listed
