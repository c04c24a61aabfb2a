"""Orders for Skills: what a generator sees, what it is asked, and the task folder that asks an agent."""

import re
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from skilljuror.base.errors import StudyError, UsageError
from skilljuror.base.files import digest_json, fresh_dir
from skilljuror.base.llm import as_data
from skilljuror.base.skill import Blob, Bundle
from skilljuror.base.texts import texts_below
from skilljuror.harness.tasks import BAKED_SKILLS, copies_skills, task_name, task_settings
from skilljuror.skill.bundles import write_bundle
from skilljuror.skill.bundles.reader import make_bundle, source_slug
from skilljuror.skill.bundles.revision import commit_of, load_named, revision_of

Product = Literal["skills", "tasks"]
SOURCE = "source"
"""Folder with the files of a source, likewise."""
LIBRARY = "library"
"""Name of the Skills that are generated for no single task."""
_WITHHELD = ("verifier", "solution")
"""Tables of task.toml that an order for an agent leaves out."""
_ORDER = """\
Write Agent Skills that help another agent with {what}. Do not do the work itself.

An Agent Skill is a folder with a file SKILL.md: YAML frontmatter with `name` (the name of the folder: lower-case \
letters, digits and hyphens) and `description` (what it helps with, and when to use it), then Markdown. Further \
files may lie beside it, such as references/ or scripts/.

Write what the other agent needs to know: methods, conventions, tools, traps. Do not write the answer, nor what fits \
one task alone, such as the names of its files.{limit}
"""
_TASKS = """\
Write tasks that show whether an agent can use the Skill that you are given. Each is a folder:
- instruction.md: what is to be done, complete, in the words of a user who does not know the Skill
- environment/: files that the agent finds in its working directory
- tests/test.sh: runs there after the agent, and writes 1 to "$LOGS_DIR/verifier/reward.txt" if the work is right, else 0
- solution/solve.sh: does the work, so that it earns 1
- task.toml: [metadata] with a category

An agent that does nothing must earn less than 1, and so must one that copies all texts of the tests. The instruction \
must not tell what the Skill tells. Neither may the Skill hold the solution.
"""
_WHERE = """
Write each as a folder of its own below `{answer}/` in the folder that you stand in; look at the files there first. \
Regular files only, no links. Nothing else that you write or say is read.
"""
_TEST = """\
#!/bin/bash
# Copies the answer. skilljuror validates it after the trial and runs nothing of it.
out="${LOGS_DIR:-/logs}/verifier"
mkdir -p "$out"
reward=0
if [ -d ANSWER ] && [ ! -L ANSWER ]; then
  find ANSWER ! -type d ! -type f | head -n 20 | sed 's/$/ is not a regular file/' > "$out/refused.txt"
  find ANSWER -type f -size +8192k | head -n 20 | sed 's/$/ is larger than 8 MB/' >> "$out/refused.txt"
  if [ ! -s "$out/refused.txt" ] && cp -rP ANSWER "$out/answer" 2>> "$out/refused.txt"; then
    reward=1
    for folder in ANSWER/*/; do
      [ -f "$folder/ROOT" ] || reward=0
    done
  fi
fi
echo $reward > "$out/reward.txt"
"""


class Order(Struct, frozen=True):
    """One order: a Skill for a task, from a source, or both."""

    name: str
    """Folder of the answer below skills/, and of the order's task."""
    source: Bundle
    """Files that the generator sees."""
    commit: str | None
    """Commit of the source; None for files on disk."""
    task: Path | None
    tokens: int | None
    """Limit of the answer."""
    of: Product = "skills"

    @property
    def answer(self) -> str:
        """Folder of an agent's answer, in its working directory."""
        return f"generated-{self.of}"

    @property
    def instruction(self) -> str:
        """The task's instruction; "" without a task."""
        return _instruction(self.task) if self.task else ""

    @property
    def from_task(self) -> bool:
        """Whether the task's own files are the source."""
        return self.task is not None and self.source.source == str(self.task)

    @property
    def of_skill(self) -> bool:
        """Whether the source is a Skill, which an agent is offered as such."""
        return bool(self.source.skills) and not self.from_task

    @property
    def text(self) -> str:
        """The order as a generator gets it; foreign text is data between tags."""
        if self.of == "tasks":
            return _TASKS
        about = "the subject of the " + ("Skill given" if self.of_skill else f"files in {SOURCE}/")
        what = "tasks like the one below" if self.task else about
        limit = f" All files together may have at most {self.tokens} tokens." if self.tokens else ""
        data = "\n" + as_data("task", self.instruction) + "\n" if self.task else ""
        return _ORDER.format(what=what, limit=limit) + data

    @property
    def digest(self) -> str:
        """sha256 of the order and everything that the generator sees."""
        return digest_json([self.text, self.source.digest])


def orders(inputs: Sequence[str], task: Path | None, tokens: int | None) -> list[Order]:
    """Return the orders of task folders, or of one source, with or without a task. Raises UsageError."""
    tasks = [Path(name) for name in inputs if is_task(Path(name))]
    if len(tasks) == len(inputs):
        if task:
            raise UsageError("--task needs a source, not a task, as the argument", field="task")
        made = [Order(task_name(one), _seen_of(one), None, one, tokens) for one in tasks]
        names = [one.name for one in made]
        if twice := {name for name in names if names.count(name) > 1}:
            raise UsageError(f"two tasks are named {min(twice)!r}; name each once")
        return made
    if len(inputs) > 1:
        other = next(name for name in inputs if not is_task(Path(name)))
        raise UsageError(f"{other!r} is not a task; name tasks only, or a single source")
    if task and not is_task(task):
        raise UsageError(f"--task {str(task)!r} is not a task: it lacks task.toml", field="task")
    commit, source = _source(inputs[0])
    return [Order(task_name(task) if task else LIBRARY, source, commit, task, tokens)]


def is_task(folder: Path) -> bool:
    return (folder / "task.toml").is_file() and (folder / "instruction.md").is_file()


def _source(name: str) -> tuple[str | None, Bundle]:
    """The files of a source, as a path or a git `REVISION:PATH`."""
    revision = revision_of(name)
    return commit_of(revision[0]) if revision else None, load_named(name)


def _seen_of(task: Path) -> Bundle:
    """The texts of a task that an agent without a Skill sees."""
    texts = {"instruction.md": _instruction(task)}
    found = texts_below(task / "environment", skip=BAKED_SKILLS)
    texts |= {f"environment/{path}": text for path, text in found.items()}
    files = {path: Blob(text.encode()) for path, text in texts.items()}
    return make_bundle(source_slug(task.name), files, str(task))


def _instruction(task: Path) -> str:
    return (task / "instruction.md").read_text(encoding="utf-8", errors="replace")


def write_task(order: Order, target: Path) -> None:
    """Write the task that asks an agent. Nothing of the original's tests, solution and Skill is in it.
    Raises StudyError for a task that cannot be read."""
    root = {"skills": "SKILL.md", "tasks": "instruction.md"}[order.of]
    script = _TEST.replace("ANSWER", order.answer).replace("ROOT", root)
    files = {
        "task.toml": Blob(_settings(order.task).encode() if order.task else b""),
        "instruction.md": Blob((order.text + _WHERE.format(answer=order.answer)).encode()),
        "tests/test.sh": Blob(script.encode(), executable=True),
    }
    if not (order.from_task or order.of_skill):
        files |= {f"environment/{SOURCE}/{path}": one for path, one in order.source.files.items()}
    with fresh_dir(target) as staging:
        environment = staging / "environment"
        environment.mkdir()
        if order.task:
            _copy_environment(order.task / "environment", environment)
        if (
            dockerfile := environment / "Dockerfile"
        ).is_file() and f"environment/{SOURCE}/" in " ".join(files):
            with dockerfile.open("a", encoding="utf-8") as opened:
                opened.write(f"\nCOPY {SOURCE} ./{SOURCE}/\n")
        write_bundle(files, staging)


def _copy_environment(source: Path, target: Path) -> None:
    def skills(folder: str, names: list[str]) -> list[str]:
        return [BAKED_SKILLS] if Path(folder) == source and BAKED_SKILLS in names else []

    shutil.copytree(source, target, symlinks=True, ignore=skills, dirs_exist_ok=True)
    if (dockerfile := target / "Dockerfile").is_file():
        lines = dockerfile.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        kept = "".join(line for line in lines if not copies_skills(line))
        dockerfile.write_text(kept, encoding="utf-8")


def _settings(task: Path) -> str:
    """A task's task.toml without the tables of its verifier and solution."""
    text = (task / "task.toml").read_text(encoding="utf-8")
    tables = re.split(r"(?m)^(?=\s*\[)", text)
    kept = "".join(one for one in tables if not re.match(r"\s*\[+\s*(?:verifier|solution)\b", one))
    wanted = {name: one for name, one in task_settings(task).items() if name not in _WITHHELD}
    try:
        same = tomllib.loads(kept) == wanted
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise StudyError(
            f"{str(task / 'task.toml')!r}: cannot leave out [verifier] and [solution]; write them as"
            " tables of their own",
            file=str(task / "task.toml"),
        )
    return kept
