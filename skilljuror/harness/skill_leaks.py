"""Does a Skill give the answer away? Runs of words that a Skill shares with a task's solution and verifier.

With the fingerprints F of `skilljuror.base.texts`, the Skill's text S without licences, the hidden text H
of solution/ and tests/, and the visible text V of the instruction and the environment:

    leak(S, H) = | F(S) ∩ F(H) - F(V) |

The null of a leak is the same count with H of another task. Renamed or paraphrased answers are not found.
Thresholds: 63 tasks of SkillsBench have 21 leaks of 20 runs or more and 7 of 4 to 19; their 3,904 mismatched
pairs have 4 and 12.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from msgspec import Struct

from skilljuror.base.skill import class_of, is_licence
from skilljuror.base.texts import LARGEST, LEAST, RUN, Fingerprints, texts_below, tokenize
from skilljuror.harness.tasks import BAKED_SKILLS
from skilljuror.layouts.build.protected_texts import FOLDERS, bundle_texts

LeakVerdict = Literal["ok", "review", "fail", "unknown"]
REVIEW = LEAST
"""Runs from which a person must look: about five lines of code."""
FAIL = 20
"""Runs from which a leak fails: about twelve lines of code."""
NO_SKILL = "no text of a Skill"
PREFIX = "leak."
"""Start of the id of a leak: leak.TASK.DIGEST."""
PLACES = 5
"""Most pairs of files that a leak names."""
ASSAY_LINES = (3, 5, 8, 12, 20)
"""Numbers of planted lines."""


class LeakPlace(Struct, frozen=True):
    """A file of the Skill and a file of the task with common text."""

    skill_file: str
    """Path in the Skill."""
    task_file: str
    """Path in the task."""
    runs: int
    """Common runs."""
    text: str
    """The first run, normalised."""


class SkillLeak(Struct, frozen=True):
    """The leak of one Skill and one task."""

    verdict: LeakVerdict
    """fail from 20 runs, review from 4; unknown: no text to compare, or not all text was compared."""
    runs: int | None
    """leak(S, H); None without text on both sides."""
    instance: int | None = None
    """Runs of a generated Skill that the instruction or the environment has too; None for others."""
    finding: str | None = None
    """Id for a waiver: the task and a digest of the runs; None without a leak."""
    places: tuple[LeakPlace, ...] = ()
    """Where they are, most runs first."""
    reason: str | None = None
    """Why the verdict is unknown, or why it is review for a generated Skill."""


class TaskTexts(Struct, frozen=True):
    """The texts of a task and of a Skill for it."""

    skill: dict[str, str]
    """File of the Skill, without licences -> its text."""
    hidden: dict[str, str]
    """File of solution/ or tests/ -> its text."""
    offered: Fingerprints
    """Runs of the Skill."""
    secret: frozenset[int]
    """Runs of solution and verifier."""
    visible: frozenset[int]
    """Runs of the Skill that are in the instruction or the environment."""
    unread: tuple[str, ...]
    """Links and long texts that were not read, one line each."""

    @property
    def leaked(self) -> frozenset[int]:
        """Runs of the Skill that only solution and verifier have too."""
        return (self.offered.digests & self.secret) - self.visible


class PlantedLeaks(Struct, frozen=True):
    """How many planted leaks are found."""

    lines: int
    """Consecutive lines of the solution that were added to the Skill."""
    planted: int
    """Tasks whose solution has so many lines."""
    reviewed: int
    """Of these, found with 4 new runs or more."""
    failed: int
    """Of these, found with 20 new runs or more."""


def leak_verdict(skill_dir: Path, task_dir: Path, *, generated: bool = False) -> SkillLeak:
    """Judge a Skill, or a folder of Skills, for a task. Runs nothing.

    The creator of a generated Skill saw the instruction and the environment: runs that it has in common with
    these are `instance`, and a review. Raises BundleError for an archive that cannot be read.
    """
    return leak_of(task_dir.resolve().name, read_texts(task_dir, skill_dir), generated=generated)


def read_texts(task_dir: Path, skills: Path | None = None) -> TaskTexts:
    """Read and fingerprint a task and a Skill; default: the task's own. Links are not followed.

    Raises BundleError for an archive that cannot be read.
    """
    place = skills or task_dir / "environment" / BAKED_SKILLS
    folders = [task_dir / name for name in FOLDERS.values()]
    linked = [one for one in (*folders, task_dir / "environment") if one.is_symlink()]
    linked += [place] if skills is None and place.is_symlink() else []
    skill = {}
    if place.exists() and not {place, place.parent} & {*linked}:
        skill = {path: text for path, text in bundle_texts(place).items() if not is_licence(path)}
    hidden = {
        f"{folder.name}/{path}": text
        for folder in folders
        if folder not in linked
        for path, text in texts_below(folder).items()
    }
    offered = _prints(skill.values())
    unread = [f"{one.relative_to(task_dir)} is a link" for one in linked]
    for folder in dict.fromkeys((*folders, place)):
        unread += _unread(folder) if folder not in linked else ()
    return TaskTexts(
        skill, hidden, offered, _prints(hidden.values()).digests,
        offered.found_in(_visible(task_dir)), tuple(unread),
    )  # fmt: skip


def _prints(texts: Iterable[str]) -> Fingerprints:
    return Fingerprints.union(Fingerprints.of(tokenize(text)) for text in texts)


def _visible(task_dir: Path) -> Iterator[str]:
    instruction, environment = task_dir / "instruction.md", task_dir / "environment"
    if instruction.is_file() and instruction.stat().st_size <= LARGEST:
        yield instruction.read_text(encoding="utf-8", errors="replace")
    if not environment.is_symlink():
        yield from texts_below(environment, skip=BAKED_SKILLS).values()


def _unread(folder: Path) -> Iterator[str]:
    """Links, and texts that are too long."""
    for path in sorted(folder.rglob("*")):
        name = f"{folder.name}/{path.relative_to(folder).as_posix()}"
        if path.is_symlink():
            yield f"{name} is a link"
        elif path.is_file() and path.stat().st_size > LARGEST and class_of(name) != "data":
            yield f"{name} is longer than {LARGEST // 1_000_000} MB"


def leak_of(task: str, texts: TaskTexts, *, generated: bool = False) -> SkillLeak:
    """Judge the texts of a task and a Skill."""
    if not texts.skill or not texts.hidden:
        missing = "no text in solution/ and tests/" if texts.skill else NO_SKILL
        return SkillLeak("unknown", None, reason="; ".join([missing, *_unread_lines(texts)]))
    leaked = texts.leaked
    verdict, reason = verdict_of(len(leaked)), None
    instance = len(texts.visible) if generated else None
    if verdict == "ok" and instance is not None and instance >= REVIEW:
        verdict, reason = "review", f"{instance} runs of the instruction or the environment"
    elif verdict == "ok" and texts.unread:
        verdict, reason = "unknown", f"not compared: {'; '.join(_unread_lines(texts))}"
    return SkillLeak(
        verdict,
        len(leaked),
        instance,
        finding_id(task, leaked),
        tuple(_places(texts, leaked)),
        reason,
    )


def _unread_lines(texts: TaskTexts) -> list[str]:
    more = len(texts.unread) - PLACES
    return [*texts.unread[:PLACES], *([f"and {more} more"] if more > 0 else ())]


def verdict_of(runs: int) -> LeakVerdict:
    """Return the verdict on a number of runs."""
    return "fail" if runs >= FAIL else "review" if runs >= REVIEW else "ok"


def finding_id(task: str, leaked: Iterable[int]) -> str | None:
    """Return the id of a leak, which changes with its runs; None without runs."""
    runs = " ".join(map(str, sorted(leaked)))
    return f"{PREFIX}{task}.{blake2b(runs.encode(), digest_size=6).hexdigest()}" if runs else None


def _places(texts: TaskTexts, leaked: frozenset[int]) -> list[LeakPlace]:
    """The pairs of files with most of the leaked runs."""
    wanted = Fingerprints(leaked, texts.offered.words)
    shown = {path: tokenize(text) for path, text in texts.skill.items()} if leaked else {}
    owned = {  # digest -> first place
        path: {digest: at for at, digest in reversed([*wanted.places(words)])}
        for path, words in shown.items()
    }
    found = []
    for task_file, text in texts.hidden.items() if leaked else ():
        inside = wanted.found_in([text])
        for skill_file, places in owned.items():
            if common := [at for digest, at in places.items() if digest in inside]:
                run = " ".join(shown[skill_file][min(common) : min(common) + RUN])
                found.append(LeakPlace(skill_file, task_file, len(common), run))
    return sorted(found, key=lambda one: -one.runs)[:PLACES]


def nulls(tasks: Sequence[TaskTexts]) -> list[Counter[int]]:
    """For each task, number of a task with another Skill -> runs of the first's Skill in the solution and
    verifier of the second; without those that are zero."""
    owners: dict[int, list[int]] = {}
    for number, texts in enumerate(tasks):
        for digest in texts.secret:
            owners.setdefault(digest, []).append(number)
    return [
        Counter(
            other
            for digest in texts.offered.digests - texts.visible
            for other in owners.get(digest, ())
            if tasks[other].skill != texts.skill
        )
        for number, texts in enumerate(tasks)
    ]


def assay_leaks(tasks: Sequence[TaskTexts]) -> list[PlantedLeaks]:
    """Plant lines from the middle of each solution into its Skill, and count what is found."""
    rows = []
    for lines in ASSAY_LINES:
        new = [one for texts in tasks if (one := _planted(texts, lines)) is not None]
        rows.append(
            PlantedLeaks(
                lines, len(new), sum(one >= REVIEW for one in new), sum(one >= FAIL for one in new)
            )
        )
    return rows


def _planted(texts: TaskTexts, lines: int) -> int | None:
    """Number of new runs; None for a solution with fewer lines."""
    solution = [
        [line for line in text.splitlines() if line.strip()]
        for path, text in texts.hidden.items()
        if path.startswith(f"{FOLDERS['solution']}/")
    ]
    longest = max(solution, key=len, default=[])
    if len(longest) < lines:
        return None
    at = (len(longest) - lines) // 2
    planted = Fingerprints.of(tokenize("\n".join(longest[at : at + lines]))).digests
    return len(planted - texts.visible - texts.offered.digests)
