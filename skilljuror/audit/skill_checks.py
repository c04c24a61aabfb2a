"""Static checks of a Skill's text: eight checks and six axes, each signal with the line behind it.

A check is 100 · met / applicable over its signals; a signal that counts things is met in part. An axis is the
mean of its checks, the overall score the mean of the axes (SkillGenBench §4.3, whose rules are unpublished). The
scores say nothing about outcomes, and grow with the length of a Skill.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from statistics import fmean
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.audit import skill_signals as patterns
from skilljuror.audit.comparison.code_paths import code_of, commanded_paths
from skilljuror.audit.comparison.shell_names import names_set, names_used
from skilljuror.audit.comparison.unit_matching import knowledge_map
from skilljuror.audit.gates.hygiene import pointer_observations
from skilljuror.audit.gates.security import SecurityGate
from skilljuror.base.build import Finding
from skilljuror.base.errors import BundleError, StudyError
from skilljuror.base.skill import (
    Blob,
    Bundle,
    Unit,
    is_licence,
    is_markdown,
    missing_root,
    resource_class,
)
from skilljuror.skill.bundles import make_bundle
from skilljuror.skill.revision import load_named
from skilljuror.skill.units import units_of

AXES = {
    "contract": ("contract", "verification"),
    "environment": ("environment",),
    "grounding": ("grounding",),
    "procedure": ("procedure", "state"),
    "constraints": ("constraints",),
    "safety": ("hygiene",),
}
"""Axis -> its checks."""
CHECKS = tuple(check for checks in AXES.values() for check in checks)
ROOT_LINES = 500
"""Most lines of a root, as the guide of the format advises."""
_NORMS = 3  # rules from which a Skill counts as one with rules
_RULES = frozenset({"statement", "item", "row"})
_DEAD = frozenset({"hygiene.broken-link", "hygiene.unresolved-mention", "hygiene.unresolved-command"})  # fmt: skip
_OWN_FOLDERS = frozenset({"references", "reference", "scripts", "assets", "templates", "resources"})
_ALLOWED = frozenset({"security.permission", "security.destructive"})
_CONCRETE = ("num:", "code:", "path:", "flag:")
_ABOUT = ("name:", "description:")
_FRONTMATTER = {
    "frontmatter": ("frontmatter",),
    "fields of the format": ("frontmatter", "skills-ref", "root-name"),
}
_LISTED = 3


class Signal(Struct, frozen=True):
    """One signal of a check."""

    check: str
    signal: str
    met: float | None
    """Share met, 0 to 1; None if it does not apply."""
    place: str | None
    """FILE:LINE inside the Skill; None if there is none."""
    found: str
    """The line behind it, or what was counted."""
    fix: str
    """What would raise it; "" if it is met or does not apply."""


class CheckedSkill(Struct, frozen=True):
    """The answer."""

    skill: str
    words: int
    """Words of its Markdown files."""
    basis: tuple[str, ...]
    """What it was compared with: source, task; scores with another basis are not comparable."""
    overall: float
    """Mean of the axes, 0 to 100."""
    axes: dict[str, float]
    """Axis -> score, 0 to 100."""
    checks: dict[str, float]
    """Check -> score, 0 to 100."""
    signals: tuple[Signal, ...]
    """In the order of the checks."""


class _Text(NamedTuple):
    bundle: Bundle
    prose: list[
        Unit
    ]  # without lines that name dead files or are unsafe: they are evidence of nothing
    code: list[Unit]  # of the pages, without such lines
    fields: list[Unit]  # of the frontmatter, but name and description
    scripts: dict[str, str]  # path -> code
    dead: dict[str, str]  # own file that the text names and that does not exist -> FILE:LINE
    unsafe: list[Finding]

    def place(self, file: str, line: int | None = None) -> str:
        path = file.removeprefix(f"{self.bundle.skills[0].directory}/")
        return f"{path}:{line}" if line else path

    def at(self, unit: Unit) -> str:
        return self.place(unit.file, unit.start)


def overall_of(axes: Iterable[float]) -> float:
    """Return the overall score: the mean of the axes."""
    return fmean(axes)


def check_skill(name: str, source: str | None = None, task: Path | None = None) -> CheckedSkill:
    """Check the Skill at a path or REV:PATH; `source` is the material that it was written from, `task` the folder
    of a task that it is for.

    Raises BundleError for a path without exactly one Skill, StudyError for a folder without instruction.md.
    """
    bundle = load_named(name)
    if not bundle.skills:
        raise BundleError(f"{name!r} {missing_root(bundle.files)}", file=name, field="skill")
    folder = f"{bundle.skills[0].directory}/"
    if not all(path.startswith(folder) for path in bundle.files):
        some = f"has {len(bundle.skills)} Skills or files around one"
        raise BundleError(
            f"{name!r} {some}; name the folder of one Skill", file=name, field="skill"
        )
    text = _text(bundle)
    signals = [*_sought(text), *_files(text), *_environment(text), *_counted(text), *_hygiene(text)]
    signals += [_grounded(text, load_named(source))] if source is not None else []
    signals += [_carried(text, task)] if task is not None else []
    signals.sort(key=lambda one: CHECKS.index(one.check))
    met = [(one.check, one.met) for one in signals if one.met is not None]
    checks = {check: 100 * fmean(share for of, share in met if of == check) for check in CHECKS}
    axes = {axis: fmean(checks[check] for check in parts) for axis, parts in AXES.items()}
    pages = (blob.text or "" for path, blob in bundle.files.items() if is_markdown(path))
    basis = {"source": source, "task": task}
    return CheckedSkill(
        bundle.skills[0].name,
        sum(len(page.split()) for page in pages),
        tuple(name for name, given in basis.items() if given is not None),
        overall_of(axes.values()),
        axes,
        checks,
        tuple(signals),
    )


def _text(bundle: Bundle) -> _Text:
    units = [unit for unit in units_of(bundle) if is_markdown(unit.file) and not unit.generated]
    units.sort(key=lambda unit: unit.file != bundle.skills[0].path)
    shown = {(unit.file, unit.start) for unit in units if unit.kind == "code"}
    own = {*_OWN_FOLDERS, *(part for path in bundle.files for part in path.split("/")[1:-1][:1])}
    dead = [
        one
        for one in pointer_observations(bundle, units_of(bundle))
        if one.rule in _DEAD and is_markdown(one.file) and (one.file, one.line) not in shown
        if one.rule == "hygiene.broken-link" or _first_folder(one.text or "") in own
    ]
    found = SecurityGate().check(make_bundle(bundle.name, {}), bundle, "", "strict").findings
    unsafe = [one for one in found if one.severity == "high" and one.rule not in _ALLOWED]
    faulty = {*((one.file, one.line) for one in dead), *((one.file, one.line) for one in unsafe)}
    sound = [
        unit
        for unit in units
        if faulty.isdisjoint((unit.file, line) for line in range(unit.start, unit.end + 1))
    ]
    text = _Text(
        bundle,
        [one for one in sound if one.kind in _RULES or (one.kind == "heading" and one.depth > 1)],
        [unit for unit in sound if unit.kind == "code"],
        [one for one in sound if one.kind == "field" and not one.text.startswith(_ABOUT)],
        {
            path: blob.text or ""
            for path, blob in bundle.files.items()
            if resource_class(path, blob) == "code"
        },
        {},
        unsafe,
    )
    text.dead.update((one.text or "", text.place(one.file, one.line)) for one in reversed(dead))
    return text


def _first_folder(command: str) -> str:
    """The first folder of the path at the end of a command; the name of a file without one."""
    parts = command.split()[-1].split("/")
    return next((part for part in parts if part not in {".", ".."}), "")


def _sought(text: _Text) -> Iterator[Signal]:
    """Signals that enough lines with a pattern meet."""
    lines = [unit for unit in text.prose if unit.kind != "heading"]
    spans = [replace(unit, text=code) for unit in text.prose for code in code_of(unit)]
    places = {
        "lines": lines,
        "prose": text.prose,
        "code": [*text.code, *spans],
        "any": [*text.prose, *text.code],
    }
    for one in patterns.SOUGHT:
        found = [unit for unit in places[one.place] if one.pattern.search(unit.text)][: one.least]
        yield _shown(text, one.check, one.signal, found, one.fix, one.least)


def _shown(
    text: _Text, check: str, signal: str, found: Sequence[Unit], fix: str, least: int = 1
) -> Signal:
    """A signal that is met by `least` units."""
    met = min(1.0, len(found) / least)
    if not found:
        return Signal(check, signal, met, None, "not found", fix)
    return Signal(check, signal, met, text.at(found[0]), found[0].text, fix if met < 1 else "")


def _share(
    check: str, signal: str, total: int, missing: Sequence[tuple[str, str | None]], fix: str
) -> Signal:
    """A signal of `total` things, of which some are missing: (name, FILE:LINE)."""
    if not total:
        return Signal(check, signal, None, None, "does not apply: there is none", "")
    names = list(dict.fromkeys(name for name, _ in missing))
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    lacks = f", not {', '.join(names[:_LISTED])}{more}" if names else ""
    found = f"{total - len(missing)} of {total}{lacks}"
    place = missing[0][1] if missing else None
    return Signal(check, signal, 1 - len(missing) / total, place, found, fix if missing else "")


def _files(text: _Text) -> Iterator[Signal]:
    """Scripts whose call is shown, named files that exist, and files that are named."""
    bundle = text.bundle
    names = {path: _names(blob.text or "") for path, blob in bundle.files.items()}
    known = Counter(name for said in names.values() for name in said)
    code = "\n".join([*text.scripts.values(), *(unit.text for unit in text.code)])
    parts = {"__init__", *(part for name in _imports(code) for part in name.split("."))}
    called = {path for unit, path in commanded_paths(bundle) if is_markdown(unit.file)}
    scripts = {
        path
        for path, code in text.scripts.items()
        if PurePosixPath(path).stem not in parts
        if code.startswith("#!") or {"scripts", "bin"} & {*path.split("/")}
    }
    silent = [(text.place(path), None) for path in sorted(scripts - called)]
    yield _share("contract", "scripts", len(scripts), silent, "show the call of each script")
    named, idle = 0, list[tuple[str, str | None]]()
    for path, blob in bundle.files.items():
        if path == bundle.skills[0].path or not blob.data.strip() or is_licence(path):
            continue
        *folders, own = text.place(path).split("/")
        if any(known[one] > (one in names[path]) for one in (own, *(f"{one}/" for one in folders))):
            named += 1
        elif PurePosixPath(path).stem not in parts:
            idle.append((text.place(path), None))
    fix = "correct the name, or add the file"
    yield _share("grounding", "names that exist", named + len(text.dead), [*text.dead.items()], fix)
    fix = "name the file, and say when to open it"
    yield _share("grounding", "files named", named + len(idle), idle, fix)


def _names(text: str) -> set[str]:
    """Words of a text that may name files, and folders, which stand beside a slash."""
    words = {word.rstrip(".") for word in patterns.WORD.findall(text)}
    return {*words, *(f"{one or other}/" for one, other in patterns.FOLDER.findall(text))}


def _imports(code: str) -> Iterator[str]:
    for one, several in patterns.IMPORT.findall(code):
        yield from (words[0] for part in (one or several).split(",") if (words := part.split()))


def _environment(text: _Text) -> Iterator[Signal]:
    told = [*text.prose, *text.code, *text.fields]
    installs = [unit for unit in told if patterns.INSTALLS.search(unit.text)]
    versions = [unit for unit in told if patterns.VERSIONS.search(unit.text)]
    if text.scripts or text.code or installs:
        fix = "show how to install what it needs, or say that it needs nothing"
        yield _shown(text, "environment", "install", installs, fix)
        fix = "name the version that it was written for"
        yield _shown(text, "environment", "version", versions, fix)
    else:
        yield Signal("environment", "install", 1, None, "nothing to run, so none needed", "")
    modules, unknown = _modules(text, installs)
    fix = "declare the package in an install command or a requirements file"
    yield _share("environment", "imports declared", len(modules), unknown, fix)
    used = {name: text.at(unit) for unit in reversed(text.code) for name in names_used(unit.text)}
    known = names_set("\n".join(unit.text for unit in text.code))
    said = " ".join(unit.text for unit in (*text.prose, *text.fields))
    loose = [(name, used[name]) for name in sorted(used) if name not in known and name not in said]
    yield _share("environment", "variables", len(used), loose, "say what the variable holds")


def _modules(
    text: _Text, installs: Sequence[Unit]
) -> tuple[set[str], list[tuple[str, str | None]]]:
    """(modules of others that Python scripts import, those that nothing declares -> file)."""
    files = text.bundle.files
    own = {part.removesuffix(".py") for path in files for part in path.split("/")}
    found = {
        name.partition(".")[0]: text.place(path)
        for path, code in text.scripts.items()
        for name in (_imports(code) if path.endswith(".py") else ())
    }
    modules = found.keys() - own - sys.stdlib_module_names
    declared = " ".join([
        *(unit.text for unit in (*installs, *text.fields)),
        *(blob.text or "" for path, blob in files.items() if patterns.DECLARED_IN.search(path)),
        *(match[0] for code in text.scripts.values() for match in patterns.INLINE.finditer(code)),
    ])
    held = declared.casefold().replace("_", "-")
    wanted = {name: patterns.DISTRIBUTIONS.get(name, name) for name in sorted(modules)}
    return modules, [
        (name, found[name])
        for name, package in wanted.items()
        if package.casefold().replace("_", "-") not in held
    ]


def _counted(text: _Text) -> Iterator[Signal]:
    """Signals that the units of the text show."""
    steps = [one for one in units_of(text.bundle) if one.kind == "step" and is_markdown(one.file)]
    fix = "number the steps, three or more"
    yield _shown(text, "procedure", "ordered steps", steps if len(steps) > 1 else (), fix)
    sized = [one for one in text.prose if any(t[:4] == "num:" and t[-1] != "|" for t in one.criticals)]  # fmt: skip
    yield _shown(text, "state", "units", sized, "give numbers their units")
    rules = [unit for unit in text.prose if _is_rule(unit, patterns.NORMATIVE)]
    fix = "write rules with must, never or always"
    yield _shown(text, "constraints", "rules", rules, fix, _NORMS)
    vague = [(text.at(unit), text.at(unit)) for unit in rules if not _concrete(unit)]
    fix = "give the rule a number, a name, a path or a command"
    yield _share("constraints", "concrete rules", len(rules), vague, fix)
    banned = [unit for unit in rules if _is_rule(unit, patterns.PROHIBITIONS)]
    yield _shown(text, "constraints", "prohibitions", banned, "say what must never be done")


def _is_rule(unit: Unit, modals: frozenset[str]) -> bool:
    said = {one[4:].lower() for one in unit.criticals if one.startswith("mod:")}
    return unit.kind in _RULES and bool(said & modals or patterns.BANS.search(unit.text))


def _concrete(unit: Unit) -> set[str]:
    return {one for one in unit.criticals if one.startswith(_CONCRETE)}


def _hygiene(text: _Text) -> Iterator[Signal]:
    bundle, root = text.bundle, text.bundle.skills[0].path
    lines = len((bundle.files[root].text or "").removesuffix("\n").split("\n"))
    fix = f"move parts to other files, to {ROOT_LINES} lines or fewer" if lines > ROOT_LINES else ""
    yield Signal("hygiene", "root length", float(not fix), text.place(root), f"{lines} lines", fix)
    risks = [(one.file, one.line, one.message.partition(";")[0]) for one in text.unsafe]
    yield _clean(text, "safe text", risks, "remove it")
    paths = [
        (path, number, line.strip())
        for path, blob in bundle.files.items()
        for number, line in enumerate((blob.text or "").split("\n"), 1)
        if patterns.SANDBOX.search(line)
    ]
    yield _clean(text, "no path of one machine", paths, "make the path relative, or a placeholder")
    wrong = {
        signal: [
            (one.file, one.line, one.message) for one in bundle.issues if one.rule.startswith(rules)
        ]
        for signal, rules in _FRONTMATTER.items()
    }
    for signal, faults in wrong.items():
        yield _clean(text, signal, faults, "correct the frontmatter")


def _clean(
    text: _Text, signal: str, faults: Sequence[tuple[str, int | None, str]], fix: str
) -> Signal:
    if not faults:
        return Signal("hygiene", signal, 1, None, "no fault found", "")
    file, line, said = faults[0]
    more = f" ({len(faults) - 1} more)" if len(faults) > 1 else ""
    return Signal("hygiene", signal, 0, text.place(file, line), said + more, fix)


def _grounded(text: _Text, source: Bundle) -> Signal:
    """Share of the Skill's lines that its source has."""
    own = {unit.unit for unit in (*text.prose, *text.code)}
    rows = [row for row in knowledge_map(text.bundle, {"source": source}) if row.unit.unit in own]
    lost = [(text.at(row.unit), text.at(row.unit)) for row in rows if not row.places["source"]]
    fix = "take the line from the source, or remove it"
    return _share("grounding", "lines of the source", len(rows), lost, fix)


def _carried(text: _Text, task: Path) -> Signal:
    """Share of the task's rules whose numbers, names, paths and flags the Skill has."""
    path = task / "instruction.md"
    if not path.is_file():
        raise StudyError(f"{str(path)!r} not found; --task needs a task folder", file=str(path))
    units = units_of(make_bundle("task", {path.name: Blob(path.read_bytes())}))
    rules = [
        unit
        for unit in units
        if _concrete(unit)
        and (_is_rule(unit, patterns.NORMATIVE) or patterns.ORDER.search(unit.text))
    ]
    held = {token for unit in (*text.prose, *text.code) for token in unit.criticals}
    places = [f"{path.name}:{unit.start}" for unit in rules if _concrete(unit) - held]
    lost = [(place, place) for place in places]
    fix = "carry the rule's numbers, names and paths, unless they answer this task alone"
    return _share("constraints", "rules of the task", len(rules), lost, fix)
