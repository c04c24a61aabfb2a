"""Measure the gates on a build: plant drift and harmless changes, and count those flagged."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from skilljuror.audit.audit import audit
from skilljuror.audit.gates.mutations.catalog import MUTATIONS
from skilljuror.audit.gates.mutations.sites import MutationSite, MutationTarget, is_equivalent
from skilljuror.base.build import (
    AssayReport,
    AssayRow,
    AssaySlip,
    AuditResult,
    BuildRecord,
    GateResult,
)
from skilljuror.base.errors import StudyError
from skilljuror.base.files import read_rows, write_record
from skilljuror.base.skill import Bundle
from skilljuror.base.workers import Listener, Progress, map_unordered, silent
from skilljuror.layouts.build.build import load_build
from skilljuror.layouts.build.folder import GATE_RESULTS, RECORD, VARIANTS, builds_at, saved_source
from skilljuror.measures.rates import wilson_interval
from skilljuror.skill.bundles import load_bundle

POLICIES_AND = ", "  # separator of several policies
UNCHANGED = "none"  # the mutation that changes nothing, which is not counted as a harmless edit
_SLIP_CHARS = 200  # saved characters of a slip's text


class AssaySettings(NamedTuple):
    """Settings of an assay."""

    policy: str | None = None  # policy of the verdicts; None for each variant's own
    sites: int = 2  # maximum places per mutation and variant
    seed: int = 0  # seed of the choice of places


DEFAULT_SETTINGS = AssaySettings()
_COUNTED = ("mutants", "equivalent", "flagged", "failed")


def assay(
    build: Path, settings: AssaySettings = DEFAULT_SETTINGS, source: Path | None = None
) -> AssayReport:
    """Apply every mutation to the variants of a build and count those that its gates flag.

    A mutant is flagged if its verdict is not pass after waiving the findings of the unchanged variant.
    Equivalent mutants, which differ only in white space, list markers or emphasis, are counted
    separately. `source` defaults to the build's own. Raises StudyError for no build and for a variant
    with an unknown policy.
    """
    record = load_build(build)
    bundles = {
        entry.variant: load_bundle(build / VARIANTS / entry.variant, record.name)
        for entry in record.variants
    }
    parent = load_bundle(source, record.name) if source else saved_source(build, record)
    policies = _policies(build, record, settings)
    counts = {name: _Counts() for name in MUTATIONS}
    slips: list[AssaySlip] = []
    judged = {parent.digest}
    for name in sorted(entry.variant for entry in record.variants if not entry.expected_findings):
        variant = bundles[name]
        if variant.digest in judged:
            continue
        judged.add(variant.digest)
        judge = partial(audit, kind=name, policy=policies[name], gates=record.gates)
        for mutation, site, result in _judge_mutants(parent, variant, judge, settings):
            counts[mutation].add(result)
            slips += _slips(mutation, site, name, result) if result else ()
    policy = POLICIES_AND.join(sorted(set(policies.values())))
    rows = tuple(one.row(name) for name, one in counts.items())
    report = settings._replace(policy=policy)._asdict()
    return AssayReport(name=record.name, rows=rows, slips=tuple(slips), **report)


def _policies(build: Path, record: BuildRecord, settings: AssaySettings) -> dict[str, str]:
    if settings.policy is not None:
        return {entry.variant: settings.policy for entry in record.variants}
    found = {one.variant: one.policy for one in read_rows(GateResult, build / GATE_RESULTS)}
    missing = [entry.variant for entry in record.variants if entry.variant not in found]
    if missing:
        raise StudyError(
            f"{GATE_RESULTS} in {str(build)!r} has no policy for variant {missing[0]!r}; build it"
            " again, or choose --policy strict or --policy rewritten",
            file=str(build / GATE_RESULTS),
        )
    return found


def settings_of(report: AssayReport, build: Path) -> AssaySettings:
    """Return the settings that reproduce a report of a build."""
    policies = {result.policy for result in read_rows(GateResult, build / GATE_RESULTS)}
    usual = report.policy == POLICIES_AND.join(sorted(policies))
    return AssaySettings(None if usual else report.policy, report.sites, report.seed)


JudgedMutant = tuple[str, MutationSite, AuditResult | None]
"""(mutation, place, audit result); None for an equivalent mutant."""


def _judge_mutants(
    parent: Bundle, variant: Bundle, judge: Callable[..., AuditResult], settings: AssaySettings
) -> Iterator[JudgedMutant]:
    waived = dict.fromkeys((one.id for one in judge(parent, variant).own), "was there before")
    target = MutationTarget(variant, settings.seed)
    for name, mutation in MUTATIONS.items():
        for site in target.choose(name, tuple(mutation.sites(target)), settings.sites):
            equivalent = mutation.drift and is_equivalent(target, site)
            judged = None if equivalent else judge(parent, target.mutant(site), waivers=waived)
            yield name, site, judged


class _Counts:
    """Counts of one mutation, of one build or of several."""

    def __init__(self) -> None:
        self.mutants: Counter[str] = Counter()
        self.rules: Counter[str] = Counter()

    def add(self, result: AuditResult | None) -> None:
        if result is None:
            self.mutants["equivalent"] += 1
            return
        self.mutants["mutants"] += 1
        self.mutants["flagged"] += result.verdict != "pass"
        self.mutants["failed"] += result.verdict == "fail"
        self.rules.update({found.rule for found in result.own if not found.waived})

    def row(self, name: str) -> AssayRow:
        counts = {field: self.mutants[field] for field in _COUNTED}
        flagged, mutants = counts["flagged"], counts["mutants"]
        interval = wilson_interval(flagged, mutants)
        return AssayRow(
            mutation=name, drift=MUTATIONS[name].drift, rules=dict(sorted(self.rules.items())),
            rate=flagged / mutants if mutants else None,
            low=interval.low if interval else None, high=interval.high if interval else None,
            **counts,
        )  # fmt: skip


def _slips(name: str, site: MutationSite, variant: str, result: AuditResult) -> Iterator[AssaySlip]:
    """The mutant if its verdict is wrong: drift that passed, or a harmless change that did not."""
    if (result.verdict != "pass") is not MUTATIONS[name].drift:
        yield AssaySlip(
            mutation=name, variant=variant, file=site.path, line=site.line,
            before=site.before[:_SLIP_CHARS], after=site.after[:_SLIP_CHARS], verdict=result.verdict,
            rules=tuple(sorted({found.rule for found in result.own if not found.waived})),
        )  # fmt: skip


def pooled(reports: Sequence[AssayReport]) -> AssayReport:
    """Pool the counts of several builds."""
    policies = {name for report in reports for name in report.policy.split(POLICIES_AND)}
    counts = {name: _Counts() for name in MUTATIONS}
    for row in (row for report in reports for row in report.rows if row.mutation in counts):
        counts[row.mutation].mutants.update({name: getattr(row, name) for name in _COUNTED})
        counts[row.mutation].rules.update(row.rules)
    return AssayReport(
        name=f"{len(reports)} sources", policy=POLICIES_AND.join(sorted(policies)),
        seed=reports[0].seed, sites=reports[0].sites,
        rows=tuple(one.row(name) for name, one in counts.items()),
        slips=tuple(slip for report in reports for slip in report.slips),
    )  # fmt: skip


def assay_many(
    folders: Sequence[Path],
    settings: AssaySettings = DEFAULT_SETTINGS,
    *,
    jobs: int = 1,
    keep: bool = False,
    progress: Listener = silent,
) -> AssayReport:
    """Report over builds, folders of builds, or studies.

    Builds of one source with the same variants are counted once. With `keep`, the counts are saved in
    every build's record; `refresh` brings databases up to date. Raises StudyError for a folder without a
    build.
    """
    builds = list(dict.fromkeys(build for folder in folders for build in builds_at(folder)))
    measured = list(_measure(dict.fromkeys(builds), settings, jobs, progress))
    if keep:
        for twins, report in measured:
            for build in twins:
                _keep_report(build, report)
    reports = [report for _, report in sorted(measured, key=lambda pair: builds.index(pair[0][0]))]
    return reports[0] if len(reports) == 1 else pooled(reports)


def keep_assays(
    sources: Mapping[Path, Path | None],
    settings: AssaySettings = DEFAULT_SETTINGS,
    *,
    jobs: int = 1,
    progress: Listener = silent,
) -> dict[Path, BuildRecord]:
    """Measure the gates on builds and save the counts in their records (build.json).

    `sources` maps each build to its source; None for the build's own.
    """
    return {
        build: _keep_report(build, report)
        for twins, report in _measure(sources, settings, jobs, progress)
        for build in twins
    }


def _measure(
    sources: Mapping[Path, Path | None], settings: AssaySettings, jobs: int, progress: Listener
) -> Iterator[tuple[list[Path], AssayReport]]:
    """Yield (builds of one source with the same variants, their report) as each is done."""
    twins: dict[tuple[int, tuple[str, ...]], list[Path]] = {}
    for build in sources:
        twins.setdefault(_content_key(load_build(build)), []).append(build)
    groups = {twins[key][0]: twins[key] for key in sorted(twins, reverse=True)}  # largest first
    work = partial(_assay_one, settings=settings)
    firsts = [(build, sources[build]) for build in groups]
    done = 0
    for (first, _), report in map_unordered(work, firsts, min(jobs, len(groups))):
        done += len(groups[first])
        progress(Progress("assay", done, len(sources), report.name))
        yield groups[first], report


def _content_key(record: BuildRecord) -> tuple[int, tuple[str, ...]]:
    """Tokens of the source, and a key that equal builds share."""
    digests = (f"{made.variant} {made.tree_digest}" for made in (record.source, *record.variants))
    return record.source.tokens, (record.engine, *record.gates, *sorted(digests))


def _assay_one(build: tuple[Path, Path | None], settings: AssaySettings) -> AssayReport:
    return assay(build[0], settings, build[1])


def _keep_report(build: Path, report: AssayReport) -> BuildRecord:
    record = load_build(build)
    named = report.model_copy(update={"name": record.name})
    counts = named.model_dump(mode="json", exclude={"slips"})
    record = record.model_copy(update={"assay": counts})
    write_record(build / RECORD, record)
    return record


def power_sentence(report: AssayReport) -> str:
    """State the measured power in one sentence, over edits only."""
    drift = [row for row in report.rows if row.drift]
    harmless = [row for row in report.rows if not row.drift and row.mutation != UNCHANGED]
    planted, caught = sum(row.mutants for row in drift), sum(row.flagged for row in drift)
    edits = sum(row.mutants for row in harmless)
    if not planted:
        return "no drift could be planted in this source, so the power of the audit is unknown"
    return (
        f"under policy {report.policy} this audit caught {caught} of {planted} planted drifts:"
        f" {_ends(drift)}; it flagged {sum(row.flagged for row in harmless)} of {edits} harmless"
        f" edits: {_ends(harmless)}"
    )


def _ends(rows: Sequence[AssayRow]) -> str:
    flagged, failed = sum(row.flagged for row in rows), sum(row.failed for row in rows)
    return f"{failed} failed, {flagged - failed} sent to review"
