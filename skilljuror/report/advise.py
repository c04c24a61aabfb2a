"""Which layout should I ship? Build the layouts of a Skill in a temporary folder, and compare what a run reads.

A run that opens a Skill reads its root, and each file that it opens. With the share of runs that open a
file, its expected tokens are root + Σ share · tokens of the file. Scripts and data are run, not read.
"""

import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct

from skilljuror.base.build import BuildRecord, Finding, GateResult, GateVerdict, VariantManifest
from skilljuror.base.errors import BundleError, TransformError
from skilljuror.base.files import read_rows
from skilljuror.base.skill import Bundle, missing_root
from skilljuror.layouts.build.build import BuildInProgress, PlanEngine, transforms_by_name
from skilljuror.layouts.build.folder import GATE_RESULTS, safe_target
from skilljuror.layouts.build.manifests import CONTEXT_LIMIT, READ_LIMIT, SMALL_FILE
from skilljuror.layouts.build.reviews import counting
from skilljuror.report.opened_files import LISTED, Openings, ReadFile, openings_in
from skilljuror.skill.bundles.revision import load_named
from skilljuror.skill.units.code_paths import commanded_paths
from skilljuror.skill.units.extract import units_of
from skilljuror.skill.units.loader_text import kept_on_disk

YOURS, PAGE, PD = "origin", "flat-files", "pd"
LAYOUTS = (YOURS, PAGE, "baseline", PD)
SHARES = (0.0, 0.25, 0.5, 1.0)
"""Shares of runs that open each file, if nothing was observed."""
WORTH_SHARE, WORTH_TOKENS = 0.1, SMALL_FILE
"""A layout is worth a study if it saves this share of your tokens, and this many of them."""
FEW_HEADINGS = 4
"""The main path is described by the upper levels of headings that have at least this many."""
UNWRITTEN = "hygiene.unwritten-file"
TOO_LONG = {
    "over_read_limit": f"the page is too long for one read (over {READ_LIMIT:,} tokens)",
    "over_context": f"the page is too long for an agent to hold (over {CONTEXT_LIMIT:,} tokens)",
}
Decision = Literal["nothing", "keep", "study", "several"]


class Layout(Struct, frozen=True):
    """One layout of the Skill, and what a run reads of it."""

    layout: str
    root_tokens: int
    """Tokens of its SKILL.md; of all of them for several Skills."""
    demand_tokens: int
    """Tokens of all files on demand."""
    on_demand: tuple[ReadFile, ...]
    """Files that a run reads only if it opens them."""
    at_share: tuple[float, ...]
    """Expected tokens per run at each of `SHARES`."""
    cheaper: str
    """Shares at which it reads fewer tokens than yours: always, never, same, below X %, above X %."""
    expected: tuple[float, float] | None
    """Expected tokens per run at the observed shares, lowest and highest: a file that no observed run was
    offered may be opened by none or by all. None without observed runs."""
    main_path: tuple[str, ...]
    """Headings of the root."""
    verdict: GateVerdict | None
    breaks: tuple[str, ...]
    """What does not work in this layout, or needs more work from the agent."""

    def at(self, share: float) -> float:
        """Expected tokens per run if each file is opened with this share."""
        return self.root_tokens + share * self.demand_tokens


class StudyCost(Struct, frozen=True):
    """What a study of the layouts costs."""

    commands: tuple[tuple[str, ...], ...]
    """Command lines of skilljuror, as words."""
    trials_per_task: int
    minutes_per_trial: float | None
    """Mean minutes of the agent; None if unknown."""
    dollars_per_trial: float | None
    """Mean cost; None if unknown."""
    measured_trials: int
    """Trials behind the means."""


class Advice(Struct, frozen=True):
    """The answer."""

    skill: str
    skills: tuple[str, ...]
    """Names of the Skills in the folder."""
    tokenizer: str
    decision: Decision
    """nothing: there is nothing to open on demand; keep: pd does not save enough tokens; study: it may, and
    only a study shows what agents do with it; several: the folder has several Skills, ask about one."""
    answer: tuple[str, ...]
    """The answer in sentences."""
    layouts: tuple[Layout, ...]
    not_built: dict[str, str]
    """Layout -> why it cannot be built."""
    problems: tuple[str, ...]
    """Problems of your own text, which every layout inherits."""
    evidence: tuple[str, ...]
    """What was observed, in sentences; empty without a study."""
    cost: StudyCost


class _Built(NamedTuple):
    build: BuildInProgress
    record: BuildRecord
    results: tuple[GateResult, ...]
    failed: dict[str, str]

    @property
    def manifests(self) -> dict[str, VariantManifest]:
        return {one.variant: one for one in self.record.variants}


def advise(skill: str, study: Path | None = None, *, trials_per_task: int) -> Advice:
    """Compare the layouts of the Skill at a path or REV:PATH; `study` has runs that opened it.

    `trials_per_task` is the size of the study to propose. Raises BundleError for a path without Skills,
    UsageError for the output of a build, StudyError for a study without a database.
    """
    bundle = load_named(skill)
    if not bundle.skills:
        raise BundleError(f"{skill!r} {missing_root(bundle.files)}", file=skill, field="skill")
    with tempfile.TemporaryDirectory(prefix="skilljuror-advise-") as place:
        safe_target(Path(place), Path(skill))
        built = _build(bundle, Path(place))
        openings = openings_in(study, bundle, built.manifests) if study else None
        layouts = {one.layout: one for one in _layouts(built, openings)}
    on_disk = skill if Path(skill).exists() else skill.partition(":")[2]  # of REV:PATH
    several = _about_several(skill, bundle) if len(bundle.skills) > 1 else None
    decision, answer = several or _answer(layouts, built)
    return Advice(
        skill=skill,
        skills=tuple(one.name for one in bundle.skills),
        tokenizer=built.record.tokenizer,
        decision=decision,
        answer=answer,
        layouts=tuple(layouts.values()),
        not_built=built.failed,
        problems=tuple(_problems(bundle)),
        evidence=openings.sentences if openings else (),
        cost=StudyCost(
            (
                ("init", "--task", "my-task", "--skill", on_disk, "--out", "study.yaml"),
                ("plan", "study.yaml"),
            ),
            trials_per_task,
            openings.minutes if openings else None,
            openings.dollars if openings else None,
            openings.trials if openings else 0,
        ),
    )


def _build(bundle: Bundle, place: Path) -> _Built:
    """Build every layout that can be built."""
    build, engine = BuildInProgress(bundle, place), PlanEngine({})
    failed: dict[str, str] = {}
    for name, transform in transforms_by_name(LAYOUTS).items():
        if transform.parent in failed:
            failed[name] = failed[transform.parent]
            continue
        try:
            engine.make(build, transform)
        except TransformError as error:
            failed[name] = error.message
    record = build.finish(engine, LAYOUTS)
    return _Built(build, record, tuple(read_rows(GateResult, place / GATE_RESULTS)), failed)


def _layouts(built: _Built, openings: Openings | None) -> Iterator[Layout]:
    manifests = built.manifests
    yours = manifests.get(YOURS, built.record.source)
    for name in LAYOUTS:
        if name in manifests:
            yield _layout(built, manifests[name], yours, openings)


def _layout(
    built: _Built, manifest: VariantManifest, yours: VariantManifest, openings: Openings | None
) -> Layout:
    name, bundle = manifest.variant, built.build.bundles[manifest.variant]
    on_demand = _on_demand(manifest, yours, openings)
    demand = sum(one.tokens for one in on_demand)
    own_demand = sum(one.tokens for one in _on_demand(yours, yours, None))
    less = manifest.root_tokens - yours.root_tokens, demand - own_demand
    results = [one for one in built.results if one.variant == name]
    return Layout(
        layout=name,
        root_tokens=manifest.root_tokens,
        demand_tokens=demand,
        on_demand=on_demand,
        at_share=tuple(manifest.root_tokens + share * demand for share in SHARES),
        cheaper="" if name == YOURS else cheaper_at(*less),
        expected=_expected(manifest.root_tokens, on_demand, openings),
        main_path=_headings(bundle),
        verdict=manifest.verdict,
        breaks=tuple(_breaks(built, manifest, results)),
    )


def _on_demand(
    manifest: VariantManifest, yours: VariantManifest, openings: Openings | None
) -> tuple[ReadFile, ...]:
    own = {one.path for one in yours.files}
    files = [
        ReadFile(one.path, one.tokens or 0)
        for one in manifest.files
        if one.resource_class == "support"
    ]
    if openings is None:
        return tuple(files)
    return tuple(openings.read(manifest.variant, file, own) for file in files)


def cheaper_at(root: int, demand: int) -> str:
    """Say at which shares of opened files a layout reads fewer tokens than yours, from its surplus of
    tokens in the root and on demand."""
    at_none, at_all = root, root + demand
    if at_none == at_all == 0:
        return "same"
    if min(at_none, at_all) >= 0:
        return "never"
    if max(at_none, at_all) < 0:
        return "always"
    side = "below" if at_none < at_all else "above"
    return f"{side} {100 * -root / demand:.0f} %"


def _expected(
    root: int, files: Sequence[ReadFile], openings: Openings | None
) -> tuple[float, float] | None:
    if openings is None or not openings.rows:
        return None
    low = root + sum(one.tokens * one.share for one in files if one.share is not None)
    return low, low + sum(one.tokens for one in files if one.share is None)


def _headings(bundle: Bundle) -> tuple[str, ...]:
    """Headings of the roots with text of the author below, without the deeper levels."""
    roots = {skill.path for skill in bundle.skills}
    units = [unit for unit in units_of(bundle) if unit.file in roots and unit.generated is None]
    above = {unit.headings for unit in units if unit.kind != "heading"}
    above |= {path[:depth] for path in above for depth in range(len(path))}
    found = [
        unit for unit in units if unit.kind == "heading" and (*unit.headings, unit.text) in above
    ]
    depths = sorted(len(unit.headings) for unit in found)
    deepest = depths[min(FEW_HEADINGS, len(depths)) - 1] if depths else 0
    return tuple(unit.text for unit in found if len(unit.headings) <= deepest)


def _breaks(
    built: _Built, manifest: VariantManifest, results: Sequence[GateResult]
) -> Iterator[str]:
    if manifest.feasibility in TOO_LONG:
        yield TOO_LONG[manifest.feasibility]
    if manifest.announced:
        needed = {path for _, path in commanded_paths(built.build.bundles["source"])}
        commands = len(needed & {*manifest.announced})
        used = f" ({commands} of them for commands)" if commands else ""
        yield (
            f"the agent must first create {_number(manifest.announced, 'file')} from text on the page{used}:"
            f" {_some(manifest.announced)}"
        )
    kept = sorted(kept_on_disk(built.build.bundles["source"]))
    if kept and manifest.variant == "baseline":
        yield f"not on the page, because the loader of SKILL.md rewrites or runs it: {_some(kept)}"
    if len(built.record.source.skills) > len(manifest.skills):
        yield f"{len(built.record.source.skills)} Skills are merged into one, with one description"
    findings = [one for result in results for one in result.findings]
    unwritten = [one for one in findings if one.rule == UNWRITTEN]
    if unwritten:
        places = _some([_place(one) for one in unwritten])
        yield f"commands need {_number(unwritten, 'file')} that no instruction writes: {places}"
    own = [one for one in counting(findings) if one.rule != UNWRITTEN]
    for one in own[:LISTED]:
        yield (
            f"{one.rule}: {_place(one)}: {one.message}"
            if one.file
            else f"{one.rule}: {one.message}"
        )
    if len(own) > LISTED:
        yield f"{len(own) - LISTED} more findings of the gates"


def _place(one: Finding) -> str:
    return f"{one.file}:{one.line}" if one.line else one.file


def _number(items: Sequence[object], noun: str) -> str:
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def _problems(bundle: Bundle) -> Iterator[str]:
    issues = [one for one in bundle.issues if one.severity != "info"]
    for one in issues[:LISTED]:
        yield f"{one.file}:{one.line or ''}".rstrip(":") + f": {one.message}"
    if len(issues) > LISTED:
        yield f"{len(issues) - LISTED} more problems; skilljuror build lists them"


def _answer(layouts: Mapping[str, Layout], built: _Built) -> tuple[Decision, tuple[str, ...]]:
    yours, pd, page = (layouts.get(name) for name in (YOURS, PD, PAGE))
    if yours is None:
        return "keep", ("Leave it as it is: no other layout can be built.",)
    if pd is None or built.manifests[PD].pd_worth or not pd.on_demand:
        return "nothing", (_nothing_to_disclose(yours, pd, built.failed.get(PD)),)
    seen = [*_at_observed_shares(pd, yours)]
    about_page = [_about_page(page, yours)] if page else []
    if pd.verdict != "pass":
        fault = "Leave it as it is: pd does not pass the gates on this Skill (see what breaks)."
        return "keep", (fault, *seen, *about_page)
    if _saves(pd, yours):
        test = (
            f"Keep yours for now, and test pd: its root has {pd.root_tokens:,} tokens, yours"
            f" {yours.root_tokens:,}. A run reads {_change(pd, yours, 0)} if it opens none of the files,"
            f" {_change(pd, yours, 1)} if it opens all."
        )
        return "study", (test, *seen, *about_page)
    keep = (
        f"Leave it as it is: its root has {yours.root_tokens:,} tokens, and that of pd would have"
        f" {pd.root_tokens:,}."
    )
    return "keep", (keep, *seen, *about_page)


def _saves(pd: Layout, yours: Layout) -> bool:
    """Whether pd saves enough at the observed shares; if they leave it open, in a run that opens no file."""
    if pd.expected and yours.expected:
        if _saves_enough(pd.expected[1], yours.expected[0]):
            return True
        if not _saves_enough(pd.expected[0], yours.expected[1]):
            return False
    return _saves_enough(pd.root_tokens, yours.root_tokens)


def _saves_enough(tokens: float, yours: float) -> bool:
    return yours - tokens >= max(WORTH_TOKENS, WORTH_SHARE * yours)


def _at_observed_shares(pd: Layout, yours: Layout) -> Iterator[str]:
    if not (pd.expected and yours.expected):
        return
    yield (
        f"At the observed shares a run reads {_range(pd.expected)} tokens of pd, and"
        f" {_range(yours.expected)} of yours."
    )
    if any(one.share is None for one in (*pd.on_demand, *yours.on_demand)):
        yield "A range means that no observed run was offered some of the files, so their shares are unknown."


def _nothing_to_disclose(yours: Layout, pd: Layout | None, failed: str | None) -> str:
    size = f"the root has {yours.root_tokens:,} tokens"
    if yours.demand_tokens:
        size += f" and {_number(yours.on_demand, 'file')} on demand {yours.demand_tokens:,}"
    if pd is None:
        return f"Leave it as it is: pd cannot be built ({failed}); {size}."
    if pd.on_demand:
        return f"Leave it as it is: {size}, too little to open on demand."
    return f"Leave it as it is: {size}, and no part can move to a file that is opened on demand."


def _change(one: Layout, yours: Layout, share: float) -> str:
    surplus = one.at(share) - yours.at(share)
    if not round(surplus):
        return "as many tokens"
    part = f" ({100 * abs(surplus) / yours.at(share):.0f} %)" if yours.at(share) else ""
    return f"{abs(surplus):,.0f} tokens{part} {'more' if surplus > 0 else 'fewer'}"


def _about_page(page: Layout, yours: Layout) -> str:
    if too_long := [one for one in page.breaks if one in TOO_LONG.values()]:
        return f"One page (flat-files) is too long: {too_long[0]}."
    when = {
        "never": "never fewer than yours",
        "always": "always fewer than yours",
        "same": "as many as yours",
    }.get(page.cheaper, f"fewer than yours if a run opens each file with a share {page.cheaper}")
    more = f" and up to {page.demand_tokens:,} of templates" if page.demand_tokens else ""
    return (
        f"One page (flat-files) reads {page.root_tokens:,} tokens in every run{more}, {when}; an agent cannot"
        " miss a page there."
    )


def _about_several(skill: str, bundle: Bundle) -> tuple[Decision, tuple[str, ...]]:
    one = f"{skill.rstrip('/')}/{bundle.skills[0].directory}"
    ask = (
        "Unpack the file, and ask about one Skill."
        if Path(skill).is_file()
        else f"Ask about one Skill, such as skilljuror advise {shlex.quote(one)}."
    )
    return "several", (
        f"The folder has {len(bundle.skills)} Skills, and a run opens only some of them. {ask}",
        "The other layouts merge them into one Skill; the figures of your layout assume a run that opens all of them.",
    )


def _range(ends: tuple[float, float]) -> str:
    low, high = (f"{end:,.0f}" for end in ends)
    return low if low == high else f"{low} to {high}"
