"""How much planted drift the gates see in real Skills, by kind.

    python -m benchmarks.drift [-j N] [--sites 30] [--kinds A,B] [--policy edited] [--seed 0] [--sources N] [--slips] DIR...

Every source below the folders is built by the plan engine; its `pd` is changed, in one place at a time,
and judged against its source's baseline as an author's text. A kind gets up to `--sites` places over all sources,
as evenly as they allow: another place of a source only when each other source has given one, or has none
left. With `--sources` so many of a folder's sources, evenly spaced, take part. A folder is counted alone and together with the others, each share with its 95 % interval
(Wilson). `--slips` prints drift that passed and harmless edits that did not.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.construction import sources_below
from skilljuror.audit.audit import audit
from skilljuror.audit.gates.mutations.catalog import MUTATIONS
from skilljuror.audit.gates.mutations.sites import MutationTarget, is_equivalent
from skilljuror.base.errors import SkilljurorError
from skilljuror.base.skill import Bundle
from skilljuror.layouts.build.build import build_source
from skilljuror.layouts.build.folder import VARIANTS
from skilljuror.measures.rates import wilson_interval
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
    sources: int | None = None


class Outcome(NamedTuple):
    """What the gates said of one mutant."""

    kind: str
    verdict: str
    rules: tuple[str, ...]
    place: str
    before: str
    after: str


def places(source: Path, work: Path, settings: Settings) -> dict[str, int]:
    """Kind -> the number of places that a source has, at most `MOST`."""
    target = _target(source, work, settings)
    if target is None:
        return {}
    return {kind: len(_chosen(target, kind, MOST)) for kind in settings.kinds}


def judged(given: tuple[Path, dict[str, int]], work: Path, settings: Settings) -> list[Outcome]:
    """What the gates say of so many mutants of each kind, of one source."""
    source, counts = given
    target = _target(source, work, settings)
    if target is None or not any(counts.values()):
        return []
    parent = _variant(source, work, "baseline")
    judge = partial(audit, parent, kind="pd", policy=settings.policy)
    waived = dict.fromkeys((one.id for one in judge(target.bundle).own), "was there before")
    found = []
    for kind, count in counts.items():
        for site in _chosen(target, kind, MOST)[:count]:
            if MUTATIONS[kind].drift and is_equivalent(target, site):
                found.append(Outcome(kind, "equivalent", (), source.name, "", ""))
                continue
            result = judge(target.mutant(site), waivers=waived)
            rules = tuple(sorted({one.rule for one in result.own if not one.waived}))
            place = f"{source.name}/{site.path}:{site.line}"
            found.append(Outcome(kind, result.verdict, rules, place, site.before, site.after))
    return found


def _chosen(target: MutationTarget, kind: str, count: int) -> Sequence:  # type: ignore[type-arg]
    return target.choose(kind, tuple(MUTATIONS[kind].sites(target)), count)


def _target(source: Path, work: Path, settings: Settings) -> MutationTarget | None:
    bundle = _variant(source, work, "pd")
    return bundle and MutationTarget(bundle, settings.seed)


def _variant(source: Path, work: Path, name: str) -> Bundle | None:
    build = work / str(source).strip("/").replace("/", "+")
    if not build.exists():
        try:
            build_source(source, build, variants=LAYOUTS)
        except SkilljurorError as error:
            print(f"{source}: {error.message}", file=sys.stderr)
            return None
    return load_bundle(build / VARIANTS / name, source.name)


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
    folder: Path, pool: ProcessPoolExecutor, work: Path, settings: Settings
) -> list[Outcome]:
    """What the gates say of the mutants of the sources of one folder."""
    sources = sources_below(folder)
    step = max(1, len(sources) // (settings.sources or len(sources)))
    sources = sources[::step][: settings.sources]
    offers = list(pool.map(partial(places, work=work, settings=settings), sources))
    shares = {kind: shared_out(offers, kind, settings.sites) for kind in settings.kinds}
    counts = [{kind: share[n] for kind, share in shares.items()} for n in range(len(sources))]
    work_on = partial(judged, work=work, settings=settings)
    given = list(zip(sources, counts, strict=True))
    return [one for found in pool.map(work_on, given) for one in found]


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
    share = wilson_interval(flagged, planted)
    between = f", {share.low:.0%}–{share.high:.0%}" if share else ""
    return f"{flagged} of {planted} ({flagged / planted:.0%}{between})"


def main(words: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--kinds", default=",".join(MUTATIONS))
    parser.add_argument("--sites", type=int, default=30, help="places of a kind in each set")
    parser.add_argument("--policy", default="edited")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sources", type=int, help="sources of each set")
    parser.add_argument("--work", type=Path, required=True, help="folder for the builds, reused")
    parser.add_argument("--slips", action="store_true")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_args(words)
    settings = Settings(
        tuple(options.kinds.split(",")),
        options.sites,
        options.policy,
        options.seed,
        options.sources,
    )
    found: dict[str, list[Outcome]] = defaultdict(list)
    options.work.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(options.jobs) as pool:
        for folder in options.folders:
            resolved = folder.resolve()
            name = "/".join(resolved.parts[-2:])
            found[name] = measured(resolved, pool, options.work, settings)
    everything = [one for each in found.values() for one in each]
    print("\n".join(lines({**found, "all": everything}, settings.kinds)))
    for one in everything if options.slips else ():
        if one.verdict != "equivalent" and (one.verdict != "pass") is not MUTATIONS[one.kind].drift:
            print(f"\n{one.kind} {one.verdict} {one.rules} {one.place}")
            print(f"  - {one.before[:300]}\n  + {one.after[:300]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
