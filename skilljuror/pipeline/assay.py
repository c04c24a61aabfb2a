"""Measure the gates on a build: plant drift and harmless changes, and see what is flagged."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from skilljuror.bundles import load_bundle
from skilljuror.errors import StudyError
from skilljuror.files import write_record
from skilljuror.gates.mutations import MUTATIONS
from skilljuror.gates.target import Site, Target, told
from skilljuror.models.build import BuildRecord
from skilljuror.models.bundle import Bundle
from skilljuror.models.gate import AssayReport, AssayRow, AssaySlip, AuditResult
from skilljuror.pipeline.audit import audit
from skilljuror.pipeline.build import load_build
from skilljuror.pipeline.pool import each
from skilljuror.pipeline.progress import Listener, Progress, silent
from skilljuror.pipeline.target import RECORD, VARIANTS
from skilljuror.stats.rates import wilson

SOURCE = "origin"
"""The variant of a build that stands for its source."""
_SHOWN = 200


def assay(build: Path, policy: str = "llm", *, sites: int = 2, seed: int = 0) -> AssayReport:
    """Change the variants of a build in every known way and count what the gates flag.

    Of each mutation up to `sites` places per variant are chosen by `seed`. A mutant counts as
    flagged when its verdict is not pass after the findings of the unchanged variant are waived.
    Equivalent mutants, which say the same line by line without white space, list markers and
    emphasis, are counted apart. Raises StudyError for a folder that holds no build of the source.
    """
    record = load_build(build)
    names = [one.variant for one in record.variants if not one.expected_findings]
    if SOURCE not in names:
        raise StudyError(
            f"{str(build)!r} has no variant {SOURCE!r}, only {', '.join(names)}; build it with them"
        )
    parent = load_bundle(build / VARIANTS / SOURCE, record.name)
    tally = _Tally()
    judged = {parent.digest}
    for name in sorted(names):
        variant = load_bundle(build / VARIANTS / name, record.name)
        if variant.digest not in judged:
            judged.add(variant.digest)
            tally.add(_trials(parent, variant, name, (policy, sites, seed)), name)
    return tally.report(record.name, policy, sites, seed)


Trial = tuple[str, Site, AuditResult | None]
"""Mutation, place, and the answer; None for an equivalent mutant."""


def _trials(
    parent: Bundle, variant: Bundle, kind: str, options: tuple[str, int, int]
) -> Iterator[Trial]:
    policy, count, seed = options
    waived = {finding.id for finding in audit(parent, variant, kind, policy).own}
    target = Target(variant, seed)
    said = told(variant)
    for name, mutation in MUTATIONS.items():
        for site in target.choose(name, tuple(mutation.sites(target)), count):
            mutant = target.mutant(site)
            same = mutation.drift and told(mutant) == said
            yield name, site, None if same else audit(parent, mutant, kind, policy, waived)


class _Tally:
    """Counts of every mutation."""

    def __init__(self) -> None:
        self.mutants: Counter[str] = Counter()
        self.equivalent: Counter[str] = Counter()
        self.flagged: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.rules: Counter[tuple[str, str]] = Counter()
        self.slips: list[AssaySlip] = []

    def add(self, trials: Iterable[Trial], variant: str) -> None:
        """Count the trials of one variant."""
        for name, site, result in trials:
            if result is None:
                self.equivalent[name] += 1
                continue
            rules = sorted({f.rule for f in result.own if f.id not in result.waived})
            self.mutants[name] += 1
            self.flagged[name] += result.verdict != "pass"
            self.failed[name] += result.verdict == "fail"
            self.rules.update((name, rule) for rule in rules)
            if (result.verdict != "pass") is not MUTATIONS[name].drift:
                self.slips.append(_slip(name, site, variant, result, rules))

    def report(self, name: str, policy: str, sites: int, seed: int) -> AssayReport:
        """The counts as a record."""
        rows = tuple(self._row(mutation) for mutation in MUTATIONS)
        return AssayReport(
            name=name, policy=policy, seed=seed, sites=sites, rows=rows, slips=tuple(self.slips)
        )

    def _row(self, name: str) -> AssayRow:
        rules = {rule: n for (mutation, rule), n in sorted(self.rules.items()) if mutation == name}
        counts = (self.mutants[name], self.equivalent[name], self.flagged[name], self.failed[name])
        return _row(name, counts, rules)


def _row(name: str, counts: tuple[int, int, int, int], rules: dict[str, int]) -> AssayRow:
    mutants, equivalent, flagged, failed = counts
    rate = flagged / mutants if mutants else None
    interval = wilson(rate, mutants) if rate is not None else None
    return AssayRow(
        mutation=name, drift=MUTATIONS[name].drift, mutants=mutants, equivalent=equivalent,
        flagged=flagged, failed=failed, rate=rate, rules=rules,
        low=interval.interval.low if interval else None,
        high=interval.interval.high if interval else None,
    )  # fmt: skip


def _slip(
    name: str, site: Site, variant: str, result: AuditResult, rules: Sequence[str]
) -> AssaySlip:
    return AssaySlip(
        mutation=name, variant=variant, file=site.path, line=site.line,
        before=site.before[:_SHOWN], after=site.after[:_SHOWN],
        verdict=result.verdict, rules=tuple(rules),
    )  # fmt: skip


def pooled(reports: Sequence[AssayReport]) -> AssayReport:
    """The counts of several builds together. Raises StudyError without a report."""
    if not reports:
        raise StudyError("there is no assay to pool; run assay on a build first")
    first = reports[0]
    rows = []
    for name in MUTATIONS:
        mine = [row for report in reports for row in report.rows if row.mutation == name]
        rules: Counter[str] = Counter()
        for row in mine:
            rules.update(row.rules)
        counts = (
            sum(row.mutants for row in mine), sum(row.equivalent for row in mine),
            sum(row.flagged for row in mine), sum(row.failed for row in mine),
        )  # fmt: skip
        rows.append(_row(name, counts, dict(sorted(rules.items()))))
    slips = tuple(slip for report in reports for slip in report.slips)
    return AssayReport(
        name=f"{len(reports)} sources", policy=first.policy, seed=first.seed, sites=first.sites,
        rows=tuple(rows), slips=slips,
    )  # fmt: skip


class _Work(NamedTuple):
    build: Path
    policy: str
    sites: int
    seed: int


def assay_many(
    folders: Sequence[Path],
    *,
    policy: str = "llm",
    sites: int = 2,
    seed: int = 0,
    jobs: int = 1,
    progress: Listener = silent,
) -> AssayReport:
    """One report over builds, or over folders that hold builds. Raises StudyError for neither."""
    work = [_Work(build, policy, sites, seed) for folder in folders for build in _builds(folder)]
    reports = {}
    for item, report in each(_assay_one, work, jobs):
        reports[item.build] = report
        progress(Progress("assay", len(reports), len(work), report.name))
    ordered = [reports[item.build] for item in work]
    return ordered[0] if len(ordered) == 1 else pooled(ordered)


def _assay_one(work: _Work) -> AssayReport:
    return assay(work.build, work.policy, sites=work.sites, seed=work.seed)


def _builds(folder: Path) -> list[Path]:
    if (folder / RECORD).is_file():
        return [folder]
    found = sorted(path.parent for path in folder.glob(f"*/{RECORD}"))
    if not found:
        raise StudyError(f"no build at {str(folder)!r}: make one with skilljuror build")
    return found


def keep_assay(build: Path, *, sites: int = 2, seed: int = 0) -> BuildRecord:
    """Measure the gates on a build and put the counts into its record (build.json)."""
    report = assay(build, sites=sites, seed=seed)
    kept = report.model_dump(mode="json", exclude={"slips"})
    record = load_build(build).model_copy(update={"assay": kept})
    write_record(build / RECORD, record)
    return record


def power(report: AssayReport) -> str:
    """The measured power in one sentence."""
    drift = [row for row in report.rows if row.drift]
    harmless = [row for row in report.rows if not row.drift]
    planted, caught = sum(row.mutants for row in drift), sum(row.flagged for row in drift)
    edits, flagged = sum(row.mutants for row in harmless), sum(row.flagged for row in harmless)
    if not planted:
        return "no drift could be planted: this source gives the audit nothing to miss"
    share = wilson(caught / planted, planted)
    between = (
        f" (95 % interval {share.interval.low:.0%} to {share.interval.high:.0%})" if share else ""
    )
    return (
        f"this audit caught {caught} of {planted} planted drifts{between}"
        f" and flagged {flagged} of {edits} harmless edits"
    )
