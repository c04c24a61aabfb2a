"""How much planted drift the audit sees in real Skills, by kind.

    python -m benchmarks.drift [-j N] [--sites 30] [--kinds A,B] [--seed 0] [--sources N] [--slips] [--pairs DIR] [DIR...]
    python -m benchmarks.drift --policy rewritten --work DIR [--sites 30] ... DIR...

Under policy `edited` a Skill is changed in one place at a time and judged as an edit: every Skill below the folders as it
is, and the after side of every split below `--pairs` (folders with `before` and `after`), there only in lines that the
before side has. Counted is what the change adds to the findings of the edit without it: red, seen (red or yellow), and
told (any finding, those of --details included).

Under another policy every source below the folders is built by the plan engine; its `pd` is changed and judged against
its source's baseline as an author's text. A folder is counted alone and together with the others.

A kind gets up to `--sites` places over all sources of a set, as evenly as they allow: another place of a source only when
each other source has given one, or has none left. With `--sources` so many of a folder's sources, evenly spaced, take
part. Shares have their 95 % interval (Wilson). `--slips` prints drift that passed and harmless edits that did not.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.construction import sources_below
from benchmarks.revisions import share
from skilljuror.audit.audit import EDITED, audit
from skilljuror.audit.edited import judge_edit
from skilljuror.audit.gates.mutations.catalog import MUTATIONS
from skilljuror.audit.gates.mutations.sites import MutationSite, MutationTarget, is_equivalent
from skilljuror.base.build import Finding
from skilljuror.base.errors import SkilljurorError
from skilljuror.base.skill import Bundle
from skilljuror.layouts.build.build import build_source
from skilljuror.layouts.build.folder import VARIANTS
from skilljuror.skill.bundles import load_bundle

LAYOUTS = ("baseline", "pd")
MOST = 30
"""Places of a kind that one source may give."""


class Settings(NamedTuple):
    """What is planted, and how it is judged."""

    kinds: tuple[str, ...]
    sites: int
    policy: str
    seed: int
    work: Path | None
    """Folder of the builds; None under policy `edited`, which needs none."""


class Outcome(NamedTuple):
    """What the gates said of one mutant."""

    kind: str
    verdict: str
    """A word of `PASSED`, or another one where the drift was seen."""
    rules: tuple[str, ...]
    place: str
    before: str
    after: str


PASSED = ("pass", "told", "unseen")
_WORST = {"high": "red", "medium": "yellow", "low": "told", "info": "told"}
_Judge = Callable[[Bundle], tuple[str, tuple[str, ...]]]


def places(source: Path, settings: Settings) -> dict[str, int]:
    """Kind -> the number of places that a source has, at most `MOST`."""
    try:
        parent, target = _sides(source, settings)
    except SkilljurorError as error:
        print(f"{source}: {error.message}", file=sys.stderr)
        return {}
    return {kind: len(sites) for kind, sites in _chosen(parent, target, settings, MOST)}


def judged(given: tuple[Path, dict[str, int]], settings: Settings) -> list[Outcome]:
    """What the audit says of so many mutants of each kind, of one source."""
    source, counts = given
    if not any(counts.values()):
        return []
    parent, target = _sides(source, settings)
    judge = (_edit_judge if settings.policy == EDITED else _gate_judge)(parent, target, settings)
    found = []
    for kind, sites in _chosen(parent, target, settings, MOST):
        for site in sites[: counts.get(kind, 0)]:
            if MUTATIONS[kind].drift and is_equivalent(target, site):
                found.append(Outcome(kind, "equivalent", (), source.name, "", ""))
                continue
            verdict, rules = judge(target.mutant(site))
            place = f"{source.name}/{site.path}:{site.line}"
            found.append(Outcome(kind, verdict, rules, place, site.before, site.after))
    return found


def _edit_judge(parent: Bundle, target: MutationTarget, settings: Settings) -> _Judge:
    def found_in(variant: Bundle) -> Counter[tuple[str | None, ...]]:
        return Counter(map(_said, judge_edit(parent, variant)[1]))

    known = found_in(target.bundle)

    def judge(mutant: Bundle) -> tuple[str, tuple[str, ...]]:
        new = found_in(mutant) - known
        verdicts = {_WORST[str(severity)] for _, severity, *_ in new}
        worst = next((one for one in ("red", "yellow", "told") if one in verdicts), "unseen")
        return worst, tuple(sorted({str(rule) for rule, *_ in new}))

    return judge


def _said(finding: Finding) -> tuple[str | None, ...]:
    """What a finding says, wherever its line is now."""
    texts = finding.source_text, finding.variant_text
    return finding.rule, finding.severity, finding.file, finding.message, *texts


def _gate_judge(parent: Bundle, target: MutationTarget, settings: Settings) -> _Judge:
    known = audit(parent, target.bundle, kind="pd", policy=settings.policy)
    waived = dict.fromkeys((one.id for one in known.own), "was there before")

    def judge(mutant: Bundle) -> tuple[str, tuple[str, ...]]:
        result = audit(parent, mutant, "pd", settings.policy, waived)
        return result.verdict, tuple(sorted({one.rule for one in result.own if not one.waived}))

    return judge


def _chosen(
    parent: Bundle, target: MutationTarget, settings: Settings, count: int
) -> Iterator[tuple[str, list[MutationSite]]]:
    """Yield each kind and its chosen sites; under policy `edited` only whole files and lines of the parent."""
    texts = (blob.text or "" for blob in parent.files.values())
    lines = {line.strip() for text in texts for line in text.split("\n")}
    for kind in settings.kinds:
        sites = tuple(
            site
            for site in MUTATIONS[kind].sites(target)
            if settings.work or not site.line or target.line(site.path, site.line).strip() in lines
        )
        yield kind, target.choose(kind, sites, count)


def _sides(source: Path, settings: Settings) -> tuple[Bundle, MutationTarget]:
    """What the changed Skill is compared with, and the Skill to change. Raises SkilljurorError."""
    if settings.work is None:
        before, after = (
            source / side if (source / "after").is_dir() else source for side in ("before", "after")
        )
        parent, variant = (load_bundle(side, under="skill") for side in (before, after))
    else:
        build = settings.work / str(source).strip("/").replace("/", "+")
        if not build.exists():
            build_source(source, build, variants=LAYOUTS)
        parent, variant = (load_bundle(build / VARIANTS / name, source.name) for name in LAYOUTS)
    return parent, MutationTarget(variant, settings.seed)


def shared_out(offers: Sequence[dict[str, int]], kind: str, sites: int) -> list[int]:
    """How many places of a kind each source gives, at most one more than any other that has more."""
    given = [0] * len(offers)
    while sum(given) < sites:
        open_ = [n for n, offer in enumerate(offers) if given[n] < offer.get(kind, 0)]
        if not open_:
            break
        least = min(given[n] for n in open_)
        # a stride through the sources, so that the first ones do not give all of a small number
        turn = [n for n in open_ if given[n] == least]
        step = max(1, len(turn) // (sites - sum(given)))
        for number in turn[::step][: sites - sum(given)]:
            given[number] += 1
    return given


def measured(
    sources: Sequence[Path], pool: ProcessPoolExecutor, settings: Settings
) -> list[Outcome]:
    """What the audit says of the mutants of a set of sources."""
    offers = list(pool.map(partial(places, settings=settings), sources))
    shares = {kind: shared_out(offers, kind, settings.sites) for kind in settings.kinds}
    counts = [{kind: each[n] for kind, each in shares.items()} for n in range(len(sources))]
    given = list(zip(sources, counts, strict=True))
    return [one for found in pool.map(partial(judged, settings=settings), given) for one in found]


def sets_of(
    folders: Sequence[Path], pairs: Path | None, sources: int | None, policy: str
) -> dict[str, list[Path]]:
    """Name of a set -> its sources: Skills as they are and split ones, or those of each folder."""
    below = {"/".join(one.parts[-2:]): _spaced(sources_below(one), sources) for one in folders}
    if policy != EDITED:
        return below
    sets = {"Skills as they are": [one for each in below.values() for one in each]}
    if pairs:
        sets["split Skills"] = sorted(one.parent for one in pairs.glob("*/after"))
    return {name: each for name, each in sets.items() if each}


def _spaced(sources: Sequence[Path], count: int | None) -> list[Path]:
    return list(sources[:: max(1, len(sources) // (count or len(sources) or 1))][:count])


def edit_lines(found: dict[str, list[Outcome]], kinds: Sequence[str]) -> Iterator[str]:
    """A table for each set: a row for each kind, drift first."""
    rows = [(kind, {kind}) for kind in kinds]
    for drift, title in ((True, "all drift"), (False, "all harmless")):
        rows.append((title, {kind for kind in kinds if MUTATIONS[kind].drift is drift}))
    rows.sort(key=lambda row: not all(MUTATIONS[kind].drift for kind in row[1]))
    for name, outcomes in found.items():
        yield f"| {name} | sites | red | seen | told |\n|---|---|---|---|---|"
        for title, group in rows:
            verdicts = Counter(one.verdict for one in outcomes if one.kind in group)
            if planted := verdicts.total() - verdicts["equivalent"]:
                red, yellow, told = (verdicts[word] for word in ("red", "yellow", "told"))
                counts = red, red + yellow, red + yellow + told
                cells = " | ".join(f"{count} ({share(count, planted)})" for count in counts)
                yield f"| {title} | {planted} | {cells} |"
        yield ""


def lines(found: dict[str, list[Outcome]], kinds: Sequence[str]) -> Iterator[str]:
    """The table: a row for each kind, a column for each set."""
    yield f"| mutation | {' | '.join(found)} |"
    yield "|---" * (1 + len(found)) + "|"
    for kind in kinds:
        cells = [_cell([one for one in each if one.kind == kind]) for each in found.values()]
        yield f"| {kind} | {' | '.join(cells)} |"


def _cell(found: Sequence[Outcome]) -> str:
    verdicts = Counter(one.verdict for one in found)
    planted = verdicts.total() - verdicts["equivalent"]
    if not planted:
        return "–"
    flagged = planted - verdicts["pass"]
    return f"{flagged} of {planted} ({share(flagged, planted)})"


def main(words: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="DIR")
    parser.add_argument("--pairs", type=Path, metavar="DIR", help="splits, for policy edited")
    parser.add_argument("--kinds", default=",".join(MUTATIONS))
    parser.add_argument("--sites", type=int, default=30, help="places of a kind in each set")
    parser.add_argument("--policy", default=EDITED)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sources", type=int, help="sources of each folder")
    parser.add_argument("--work", type=Path, help="folder for the builds, reused; not for edited")
    parser.add_argument("--slips", action="store_true")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_args(words)
    edited = options.policy == EDITED
    if not edited and options.work is None:
        parser.error("--work is missing: name a folder for the builds")
    if options.work and not edited:
        options.work.mkdir(parents=True, exist_ok=True)
    settings = Settings(
        tuple(options.kinds.split(",")), options.sites, options.policy, options.seed,
        None if edited else options.work,
    )  # fmt: skip
    folders = [folder.resolve() for folder in options.folders]
    sets = sets_of(folders, options.pairs, options.sources, options.policy)
    if not sets:
        parser.error("no Skill to change: name folders DIR, or --pairs DIR")
    with ProcessPoolExecutor(options.jobs) as pool:
        found = {name: measured(sources, pool, settings) for name, sources in sets.items()}
    everything = [one for each in found.values() for one in each]
    table = (
        edit_lines(found, settings.kinds)
        if edited
        else lines({**found, "all": everything}, settings.kinds)
    )
    print("\n".join(table))
    for one in everything if options.slips else ():
        passed = one.verdict in PASSED
        if one.verdict != "equivalent" and passed is MUTATIONS[one.kind].drift:
            print(f"\n{one.kind} {one.verdict} {one.rules} {one.place}")
            print(f"  - {one.before[:300]}\n  + {one.after[:300]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
