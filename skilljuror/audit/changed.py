"""Find every Skill that a change of a repository touches, between two of its commits, and judge each.

Only git objects are read, so the answer does not depend on the checkout. A Skill is a folder with a SKILL.md; one
inside another is part of it. Paths of the bundles start at the top of the repository.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from posixpath import dirname, join, normpath, relpath
from typing import NamedTuple

from skilljuror.audit.audit import EDITED, audit, audit_edit, load_gates
from skilljuror.audit.gates.policies import worst
from skilljuror.base.build import (
    AuditResult,
    Finding,
    FindingSeverity,
    GateResult,
    GateVerdict,
)
from skilljuror.base.errors import BundleError, GateError, UsageError
from skilljuror.base.skill import Blob, Bundle, is_licence, is_root_name, missing_root
from skilljuror.base.workers import Listener, Progress, silent
from skilljuror.skill.bundles import ReadBudget, check_path, is_skipped, make_bundle
from skilljuror.skill.revision import OBJECT, Repository
from skilljuror.skill.snapshot import LINK, PROGRAM, SUBMODULE, Blobs, Snapshot

CHANGE = "change"
"""Name of the result with the findings about a Skill as a whole; high fails, medium waits for a person."""
TOP = "skill"  # folder, in the bundle, of a Skill at the top of the repository
MOST = 0.5  # share of a Skill's lines above which another Skill continues it
GUTTED = 0.1  # share of its lines below which a Skill is gutted, if its length is below twice that
FEW = 10  # lines of a Skill that is too short to be gutted
_OWN_RISKS = {"security.permission", "security.destructive"}  # usual in a Skill: a person looks
_ALONE = ("security", "layout")  # gates that need no parent
_NEEDS_PARENT = {"layout.loader-text"}


class ChangedSkill(NamedTuple):
    """A Skill that a change touches, and its verdict."""

    folder: str
    """Folder in the head; in the base for a deleted Skill. "" for the top of the repository."""
    root: str
    """Path of its SKILL.md there."""
    before: tuple[str, ...]
    """Folders of the base that it continues; () for a new Skill."""
    judged: AuditResult
    """Results of the gates, and that of `CHANGE`."""
    parent: Bundle | None = None
    variant: Bundle | None = None
    """Compared bundles; None if there was nothing to compare."""

    @property
    def verdict(self) -> GateVerdict:
        """The worst verdict of the gates and of the findings about the whole Skill."""
        whole: Iterator[GateVerdict] = (
            "fail" if one.severity == "high" else "review"
            for one in self.problems
            if not one.waived
        )
        return worst([self.compared.verdict, *whole])

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Findings about the Skill as a whole."""
        return tuple(
            found
            for result in self.judged.results
            for found in result.findings
            if result.gate == CHANGE
        )

    @property
    def compared(self) -> AuditResult:
        """The results of the gates alone."""
        results = tuple(one for one in self.judged.results if one.gate != CHANGE)
        update = {"results": results, "verdict": worst(one.verdict for one in results)}
        return self.judged.model_copy(update=update)

    def path_of(self, side: str, file: str) -> str:
        """Path in the repository of a file of a bundle; of SKILL.md for ""."""
        own = f"{self.folder or TOP}/"
        if not file or not file.startswith(own):
            return file or self.root
        moved = side == "source" and self.before and not _is_inside(self.before[0], self.folder)
        return join(self.before[0] if moved else self.folder, file.removeprefix(own))


def audit_changed(
    base: str, policy: str, gates: Sequence[str] = (), *, progress: Listener = silent
) -> tuple[ChangedSkill, ...]:
    """Judge each Skill that the commits since `base` touch, up to HEAD of the repository around the working folder.

    The base is the last common commit of both, so that later commits of the base branch do not count. A Skill is
    compared with the one of its folder, else with the one whose text it holds. Raises UsageError for an unknown base.
    """
    repository = Repository(base, Path())
    try:
        commits = [repository.text(*OBJECT, f"{one}^{{commit}}") for one in (base, "HEAD")]
    except BundleError as error:
        raise UsageError(
            f"the base revision {base!r} is not in this repository; fetch it (actions/checkout with fetch-depth: 0)",
            field="changed",
        ) from error
    with suppress(BundleError):  # no common commit, or not fetched: compare with the base itself
        commits[0] = repository.text("merge-base", *commits)
    blobs = Blobs(repository)
    before = Snapshot(repository, commits[0], blobs)
    change = _Change(before, Snapshot(repository, commits[1], blobs, before.roots))
    return change.judge(policy, gates, progress)


class _Change:
    """Two snapshots of a repository, and which Skill of the head continues which of the base."""

    def __init__(self, before: Snapshot, after: Snapshot) -> None:
        self.before, self.after = before, after
        outside = (
            path
            for path in before.entries.keys() | after.entries.keys()
            if before.entries.get(path) != after.entries.get(path)
            and None in (before.skill_of(path), after.skill_of(path))
        )
        self._outside = {one for path in outside for one in (path, dirname(path))}

    def judge(
        self, policy: str, gates: Sequence[str], progress: Listener
    ) -> tuple[ChangedSkill, ...]:
        continued: dict[str, list[str]] = {new: [] for new in self.after.roots}
        rest, deleted = [], []
        for old in self.before.roots:
            if (new := self._continuation(old)) is None:
                rest.append(old)
            else:
                continued[new].insert(0 if new == old else len(continued[new]), old)
        for old in rest:
            free = (
                one for one, olds in continued.items() if one not in self.before.roots and not olds
            )
            akin = [new for new in free if self._is_akin(old, new)]
            if akin:
                continued[max(akin, key=lambda new: self._held(old, new))].append(old)
            else:
                deleted.append(old)
        judged = [self._deleted(old, policy) for old in deleted]
        touched = [new for new, olds in continued.items() if olds != [new] or self._is_touched(new)]
        for done, new in enumerate(touched):
            progress(Progress("audit", done, len(touched), new))
            judged.append(self._judged(new, continued[new], policy, gates))
        return tuple(judged)

    def _continuation(self, old: str) -> str | None:
        """The Skill of the same folder, else the one that has most of the lines."""
        if old in self.after.roots:
            return old
        held = {new: self._held(old, new) for new in self.after.roots}
        best = max(held, key=lambda new: (held[new], new not in self.before.roots), default=None)
        return best if best is not None and held[best] > MOST else None

    def _held(self, old: str, new: str) -> float:
        """The share of a Skill's lines that a Skill of the head has."""
        lines = self.before.lines(old)
        return len(lines & self.after.lines(new)) / max(1, len(lines))

    def _is_akin(self, old: str, new: str) -> bool:
        """Whether two Skills have the same name, or a file of the same content."""
        contents = [
            {one.digest for path, one in side.own(folder).items() if not is_licence(path)}
            for side, folder in ((self.before, old), (self.after, new))
        ]
        names = [{PurePosixPath(old).name, self.before.name(old)}, {PurePosixPath(new).name, self.after.name(new)}]  # fmt: skip
        return bool(names[0] & names[1] - {None, ""}) or any(
            self.after.blobs[one].data.strip() for one in contents[0] & contents[1]
        )

    def _left_of(self, old: str, new: str) -> str:
        """How many lines are left of a gutted SKILL.md, in words; "" if it is not gutted."""
        before, rest = self.before.root_lines(old), self.before.lines(old)
        after = self.after.lines(new) - (rest - before)
        kept, most = len(before & after), GUTTED * len(before)
        gutted = len(before) >= FEW and kept < most and len(after) < 2 * most
        return f"{kept} of {len(before)} lines are left" if gutted else ""

    def _is_touched(self, folder: str) -> bool:
        """Whether a file of a Skill changed, one behind a link of it, or one that it names."""
        sides = (self.before, self.after)
        parts = ([side.listed(folder), side.own(folder)] for side in sides)
        if next(parts) != next(parts):
            return True
        return bool(self._outside) and bool(self._outside & self._names(folder, [folder]))

    def _names(self, new: str, olds: Iterable[str]) -> set[str]:
        return self.after.named(new).union(*(self.before.named(old) for old in olds))

    def _bundle(self, side: Snapshot, folders: Sequence[str], new: str, names: set[str]) -> Bundle:
        """The files of Skills, the first one in the folder that it has in the head, and the files that they name.
        Raises BundleError for an invalid name, and above the limits."""
        first, *others = folders or [new]
        homes = {first: first if _is_inside(first, new) else new, **{one: one for one in others}}
        files = {
            join(homes[folder] or TOP, path): entry
            for folder in folders
            for path, entry in side.own(folder).items()
        }
        for path, entry in side.files(
            one for one in side.entries if {one, dirname(one)} & names
        ).items():
            if side.skill_of(path) is None and not is_root_name(path):
                files[self._place(path, first, new)] = entry
        budget, blobs = ReadBudget(new or "."), dict[str, Blob]()
        side.blobs.read(entry.digest for entry in files.values())
        for path, entry in files.items():
            if not any(map(is_skipped, path.split("/"))):
                check_path(path)
                data = side.blobs[entry.digest].data
                budget.add(path, len(data))
                blobs[path] = Blob(data, entry.mode == PROGRAM)
        return make_bundle(new, blobs)

    def _place(self, path: str, old: str, new: str) -> str:
        """The path in the head of a file that moved along with a Skill, as with the folder above both."""
        moved = normpath(join(new, relpath(path, old or ".")))
        return moved if path not in self.after.entries and moved in self.after.entries else path

    def _judged(
        self, new: str, olds: Sequence[str], policy: str, gates: Sequence[str]
    ) -> ChangedSkill:
        root = self.after.roots[new]
        names = self._names(new, olds)
        kinds = (self._root_problems, self._link_problems, self._path_problems)
        problems = [found for kind in kinds for found in kind(new, olds)]
        judged, parent, variant = _nothing(policy), None, None
        try:
            variant = self._bundle(self.after, [new], new, names)
            if not variant.skills:
                raise BundleError(missing_root(variant.files))
            parent, problem = self._parent(new, olds, names)
            problems += problem
            if parent.skills:
                if policy == EDITED:
                    judged = audit_edit(parent, variant, "", gates, self._siblings(new))
                else:
                    judged = audit(parent, variant, "", policy, gates=gates)
            else:
                problems += _risks(parent, variant, policy)
        except (BundleError, GateError) as error:
            problems.append(_problem("unreadable", root, f"cannot be read: {error.message}"))
        compared = parent if parent and parent.skills else None
        return _changed(ChangedSkill(new, root, tuple(olds), judged, compared, variant), problems)

    def _siblings(self, new: str) -> list[Bundle]:
        """The new Skills beside a Skill, which may hold text that it lost: a Skill that was split in two."""
        return [
            self._bundle(self.after, [other], other, set())
            for other in self.after.roots
            if other not in self.before.roots and other != new and dirname(other) == dirname(new)
        ]

    def _parent(
        self, new: str, olds: Sequence[str], names: set[str]
    ) -> tuple[Bundle, list[Finding]]:
        """The bundle to compare with; without a Skill for a new one, and if the base cannot be read."""
        try:
            return self._bundle(self.before, olds, new, names), []
        except BundleError as error:
            message = f"the base cannot be read, so nothing was compared: {error.message}"
            problem = _problem("uncompared", self.after.roots[new], message, "medium")
            return self._bundle(self.before, [], new, names), [problem]

    def _root_problems(self, new: str, olds: Sequence[str]) -> Iterator[Finding]:
        root = self.after.roots[new]
        if not root.endswith("SKILL.md"):
            message = f"{PurePosixPath(root).name} is not named SKILL.md, so agents do not find the Skill; rename it"
            yield _problem("root-name", root, message)
        if not self.after.body(new) and (not olds or any(map(self.before.body, olds))):
            yield _problem(
                "empty", root, "SKILL.md has no text below its frontmatter; write or restore it"
            )
        for old in olds:
            if left := self._left_of(old, new):
                yield _problem("gutted", root, f"the Skill was gutted: {left}; restore its text")

    def _link_problems(self, new: str, olds: Sequence[str]) -> Iterator[Finding]:
        """Links and submodules that the base does not have."""
        known = [self.before.listed(old) for old in olds]
        for inner, entry in self.after.listed(new).items():
            if entry.mode not in (LINK, SUBMODULE) or any(one.get(inner) == entry for one in known):
                continue
            path = join(new, inner)
            if entry.mode == SUBMODULE:
                yield _problem(
                    "link", path, "a submodule was added, whose files are not audited; use files"
                )
            elif place := self.after.resolved(path):
                message = f"a symbolic link to {place} was added; use a file, since archives and Windows lack links"
                yield _problem("link", path, message, "medium")
            else:
                message = f"a symbolic link out of the repository was added: {self.after.targets[path]}; use a file"
                yield _problem("link", path, message)

    def _path_problems(self, new: str, olds: Sequence[str]) -> Iterator[Finding]:
        """Files to which the text of a moved Skill leads no longer, since it names them from its old folder."""
        for old in set(olds) - {new}:
            for path in sorted(self.before.named(old) - self.after.named(new)):
                if (
                    path in self.before.entries
                    and path in self.after.entries
                    and self.after.skill_of(path) in (None, new)
                ):
                    message = (
                        f"the Skill moved, and its text no longer leads to {path}; correct the path"
                    )
                    yield _problem("astray", self.after.roots[new], message)

    def _deleted(self, old: str, policy: str) -> ChangedSkill:
        stay = bool(old) and any(path.startswith(f"{old}/") for path in self.after.entries)
        what = "only its SKILL.md was deleted" if stay else "the Skill was deleted"
        message = f"{what}, and no other Skill has most of its text; restore it, or accept its loss"
        root = self.before.roots[old]
        skill = ChangedSkill(old, root, (old,), _nothing(policy))
        return _changed(skill, [_problem("deleted", root, message)])


def _is_inside(old: str, new: str) -> bool:
    """Whether the folder of a Skill of the base is below that of the Skill that continues it."""
    return bool(new) and old.startswith(f"{new}/")


def _problem(rule: str, file: str, message: str, severity: FindingSeverity = "high") -> Finding:
    return Finding(rule=f"skill.{rule}", severity=severity, file=file, line=1, message=message)


def _nothing(policy: str) -> AuditResult:
    return AuditResult(verdict="pass", kind="", policy=policy, results=())


def _risks(known: Bundle, variant: Bundle, policy: str) -> Iterator[Finding]:
    """What the gates that need no parent have against a new Skill; a permission and a command that deletes wait for
    a person."""
    for gate in load_gates():
        found = gate.check(known, variant, "", policy).findings if gate.name in _ALONE else ()
        for one in found:
            if one.severity == "high" and not one.inherited and one.rule not in _NEEDS_PARENT:
                own = one.rule in _OWN_RISKS
                yield one.model_copy(update={"severity": "medium"}) if own else one


def _changed(skill: ChangedSkill, problems: Iterable[Finding]) -> ChangedSkill:
    result = GateResult(
        gate=CHANGE, variant=skill.folder, parent="", policy=skill.judged.policy, verdict="pass",
        findings=tuple(problems),
    )  # fmt: skip
    results = (*skill.judged.results, result)
    return skill._replace(judged=skill.judged.model_copy(update={"results": results}))
