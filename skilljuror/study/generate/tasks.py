"""Generated tasks: each counts only if it proves itself in a sandbox and the Skill does not give it away."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from skilljuror.base.errors import BundleError, HarnessError
from skilljuror.base.skill import Blob, Bundle
from skilljuror.harness.sandbox import bwrap_problem
from skilljuror.harness.skill_leaks import leak_verdict
from skilljuror.harness.tasks import TASK_PARTS, can_name_trials
from skilljuror.skill.bundles import write_bundle
from skilljuror.skill.bundles.reader import make_bundle
from skilljuror.study.check import prove_folders
from skilljuror.study.generate.admission import copy, text_tokens

_PARTS = (*(part for part in TASK_PARTS if part != "environment"), "solution/solve.sh")


def admitted_tasks(bundle: Bundle, skill: Bundle, target: Path) -> list[dict[str, Any]]:
    """Return fields of `Generation` for each task of an answer; those that count are copied to `target`.

    Their solutions and tests run in a sandbox, as those of `check --prove`. Raises BundleError for an
    answer without tasks, HarnessError without a sandbox.
    """
    if problem := bwrap_problem():
        raise HarnessError(f"generated tasks are proved in a sandbox only: {problem}")
    tasks: dict[str, dict[str, Blob]] = {}
    for path, blob in bundle.files.items():
        name, _, inside = path.partition("/")
        tasks.setdefault(name, {})[inside] = blob
    if not tasks:
        raise BundleError("it has no task")
    refused = {name: why for name, files in tasks.items() if (why := _malformed(name, files))}
    with TemporaryDirectory(prefix="skilljuror-tasks-") as folder:
        place = Path(folder)
        whole = {name: files for name, files in tasks.items() if name not in refused}
        for name, files in whole.items():
            write_bundle(files, place / name)
            (place / name / "environment").mkdir(exist_ok=True)
        write_bundle(skill.files, place / ".skill")
        proved = prove_folders([place / name for name in whole]).tasks if whole else ()
        for one in proved:
            leak = leak_verdict(place / ".skill", place / one.task)
            if one.verdict != "ok":
                refused[one.task] = " ".join(one.problems[0].split())
            elif leak.verdict == "fail":
                refused[one.task] = f"the Skill has {leak.runs} runs of its solution and tests"
    return [_row(name, files, refused.get(name), target) for name, files in tasks.items()]


def _malformed(name: str, files: dict[str, Blob]) -> str | None:
    missing = [part for part in _PARTS if part not in files]
    if missing:
        return f"it has no {missing[0]}"
    return None if can_name_trials(name) else "its name is not that of a task"


def _row(name: str, files: dict[str, Blob], refused: str | None, target: Path) -> dict[str, Any]:
    made = make_bundle("task", files, issues=[])
    if refused:
        return {"skill": name, "refused": refused}
    copy(made, target / name)
    return {"skill": name, "tree_digest": made.digest, "tokens": text_tokens(made)}
