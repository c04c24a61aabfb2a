"""What every rule of attribution is worth: each is switched off in turn.

    python -m benchmarks.ablate [--rule TEXT] [--all]

Three bodies of input: the reference logs (`../shared/corpus`, each read as a log found somewhere and
once more with the bundle that it shows given as a manifest), the golden logs (`trajectories/`) and the
labels (`../shared/labels/events`). A rule is switched off from outside, by putting something that does
nothing in the place of its function, so the package holds no switches. Printed for each: its lines of
code, the events lost, gained and changed without it, precision and recall on the labels without it, and
the sentence that keeps a rule which changes nothing. The exit status is 1 when a rule changes nothing
and no sentence keeps it.
"""

import argparse
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

from benchmarks import labels
from benchmarks.ablation_rules import RULES, Rule
from skilljuror.base.errors import TrajectoryError
from skilljuror.base.trajectory import ResourceEvent, SkillManifest, Trajectory
from skilljuror.events.attribute import attribute
from skilljuror.logs import FORMATS
from skilljuror.logs.discovery import discover
from skilljuror.logs.read import read

ROOT = Path(__file__).parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"
GOLDENS = ROOT / "trajectories"
PACKAGE = "skilljuror.events"

Place = tuple[dict[Any, Any] | type, str]
"""A namespace or class, and a name in it."""


def _resolve(target: str) -> tuple[Any, str, Any]:
    """(owner, name, value) of `room.module:name` or `room.module:Class.name`."""
    module, _, qualified = target.partition(":")
    owner: Any = import_module(f"{PACKAGE}.{module}")
    *classes, name = qualified.split(".")
    for part in classes:
        owner = getattr(owner, part)
    return owner, name, getattr(owner, name)


def _places(target: str) -> Iterator[tuple[Callable[[Any], None], Any]]:
    """(setter, present value) of every place in the package that holds the target: where it is
    defined, where it was imported by name, and tables whose values it is."""
    owner, name, value = _resolve(target)
    if inspect.isclass(owner):
        yield lambda new: setattr(owner, name, new), inspect.getattr_static(owner, name)
    for module in [m for n, m in sys.modules.items() if n.startswith(PACKAGE)]:
        for namespace in (vars(module), *(v for v in vars(module).values() if type(v) is dict)):
            for key in [key for key, held in namespace.items() if held is value]:
                yield partial(namespace.__setitem__, key), value


@contextmanager
def switched_off(rule: Rule) -> Iterator[None]:
    """Attribution without a rule."""
    undo = []
    for target, stand_in in rule.off.items():
        for put, present in list(_places(target)):
            put(stand_in)
            undo.append((put, present))
    _forget()
    try:
        yield
    finally:
        for put, present in reversed(undo):
            put(present)
        _forget()


def _forget() -> None:
    """Empty the package's caches, so that nothing is remembered that a rule had a part in."""
    for module in [m for n, m in sys.modules.items() if n.startswith(PACKAGE)]:
        for value in list(vars(module).values()):
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def lines_of(rule: Rule) -> int:
    """Lines of code of a rule: of its functions, or of whole modules."""
    total = 0
    for target in rule.code or tuple(rule.off):
        module, _, name = target.partition(":")
        code = import_module(f"{PACKAGE}.{module}") if not name else _resolve(target)[2]
        try:
            total += len(inspect.getsource(code).splitlines())
        except TypeError:
            total += 1
    return total


class Change(NamedTuple):
    """Events without a rule against those with it."""

    lost: int = 0
    gained: int = 0
    changed: int = 0

    def __str__(self) -> str:
        return "." if not any(self) else f"-{self.lost} +{self.gained} ~{self.changed}"


Events = list[tuple[ResourceEvent, ...]]
"""Events of each run."""


def _identity(event: ResourceEvent) -> tuple[object, ...]:
    return (event.agent, event.file, event.line, event.call_id, event.skill, event.resource, event.kind)  # fmt: skip


def compare(before: Events, after: Events) -> Change:
    """What changed, run by run: an event is the same where place, resource and kind are."""
    total = Change()
    for old, new in zip(before, after, strict=True):
        left, right = Counter(map(_identity, old)), Counter(map(_identity, new))
        lost, gained = (left - right).total(), (right - left).total()
        whole = [Counter(structs.replace(one, ordinal=0) for one in side) for side in (old, new)]
        changed = (whole[1] - whole[0]).total() - gained
        total = Change(total.lost + lost, total.gained + gained, total.changed + changed)
    return total


@dataclass
class Material:
    """What the rules are tried on, parsed once."""

    runs: dict[str, list[tuple[Trajectory, SkillManifest | None]]]
    """Body of input -> its runs, each with the manifest that it is read with."""
    cases: list[tuple[labels.Case, list[Trajectory]]] = field(default_factory=list)

    @staticmethod
    def read(corpus: Path, goldens: Path, labelled: Path) -> "Material":
        """Everything that is at hand."""
        found = {"logs": _runs(corpus), "golden": _runs(goldens)}
        runs: dict[str, list[tuple[Trajectory, SkillManifest | None]]] = {
            name: [(run, None) for run in body] for name, body in found.items() if body
        }
        if found["logs"]:
            runs["given"] = [(run, _given(run)) for run in found["logs"]]
        material = Material(runs)
        for case in labels.cases(labelled) if labelled.is_dir() else ():
            if case.format in FORMATS:
                material.cases.append((case, labels.trajectories(case)))
        return material

    def events(self) -> dict[str, Events]:
        """Events of every body of input, as attribution stands now."""
        return {
            name: [attribute(run, manifest).events for run, manifest in body]
            for name, body in self.runs.items()
        }

    def scores(self) -> list[labels.Score]:
        """The labels against attribution as it stands now."""
        return [
            labels.compare(case, [one for run in runs for one in attribute(run, None).events])
            for case, runs in self.cases
        ]


def _runs(folder: Path) -> list[Trajectory]:
    """The runs below a folder, in order; unreadable logs are skipped."""
    runs: list[Trajectory] = []
    for found in discover([folder]) if folder.is_dir() else ():
        if found.format is not None:
            with suppress(TrajectoryError):
                runs += read(found.source, found.format)
    return runs


def _given(run: Trajectory) -> SkillManifest:
    """The bundle that a log shows, as if it had been given: what a controlled run has."""
    return structs.replace(attribute(run, None).manifest, known=True)


def _label_events(scores: Sequence[labels.Score]) -> Events:
    return [
        (*(e for _, e in one.matched), *(e for _, e in one.optional), *one.extra) for one in scores
    ]


@dataclass
class Row:
    """What a rule is worth."""

    rule: Rule
    changes: dict[str, Change]
    precision: float | None = None
    recall: float | None = None

    @property
    def idle(self) -> bool:
        """Whether nothing changes without it."""
        return not any(any(change) for change in self.changes.values())


def ablate(material: Material, rules: Sequence[Rule]) -> Iterator[Row]:
    """Every rule switched off in turn."""
    before = material.events()
    scored = _label_events(material.scores())
    for rule in rules:
        with switched_off(rule):
            after = material.events()
            scores = material.scores()
        changes = {name: compare(before[name], after[name]) for name in before}
        row = Row(rule, changes)
        if scores:
            row.changes["labels"] = compare(scored, _label_events(scores))
            total = labels.totals(scores)
            row.precision, row.recall = total.precision, total.recall
        yield row


def _print_row(row: Row) -> None:
    changes = "".join(f"{change!s:>13}" for change in row.changes.values())
    share = "" if row.precision is None else f"  {row.precision:.3f} / {row.recall:.3f}"
    print(f"{row.rule.name:<34}{lines_of(row.rule):>5}{changes}{share}", flush=True)
    if row.idle:
        print(f"    {row.rule.kept or 'CHANGES NOTHING, and no sentence keeps it'}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.ablate", description=__doc__)
    options.add_argument("--rule", default="", help="only rules whose name holds this text")
    options.add_argument("--corpus", type=Path, default=CORPUS, help="folder of logs")
    options.add_argument("--goldens", type=Path, default=GOLDENS, help="folder of golden logs")
    options.add_argument("--labels", type=Path, default=labels.LABELS, help="folder of labels")
    asked = options.parse_args(arguments)
    for folder in (asked.corpus, asked.goldens, asked.labels):
        if not folder.is_dir():
            print(f"{folder} is absent: rules are tried without it")
    material = Material.read(asked.corpus, asked.goldens, asked.labels)
    chosen = [rule for rule in RULES if asked.rule in rule.name]
    names = [*material.runs, *(["labels"] if material.cases else [])]
    heads = "".join(f"{name:>13}" for name in names)
    print(f"{'rule':<34}{'lines':>5}{heads}  precision / recall")
    rows = []
    for row in ablate(material, chosen):
        _print_row(row)
        rows.append(row)
    lost = [row for row in rows if row.idle and not row.rule.kept]
    print(
        f"{len(rows)} rules; {sum(row.idle for row in rows)} change nothing here,"
        f" {len(lost)} of them without a sentence that keeps them"
    )
    return 1 if lost and material.cases else 0


if __name__ == "__main__":
    raise SystemExit(main())
