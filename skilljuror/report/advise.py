"""Which layout should I ship? Build the layouts of a Skill in a temporary folder, and compare what a run reads.

A run that opens a Skill reads its root, and each file that it opens. With the share of runs that open a
file, its expected tokens are root + Σ share · tokens of the file. Scripts and data are run, not read.
"""

import shlex
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from skilljuror.base.build import BuildRecord, GateVerdict, VariantManifest
from skilljuror.base.errors import BundleError, TransformError
from skilljuror.base.files import StudyFolder
from skilljuror.base.skill import Bundle, missing_root
from skilljuror.layouts.build.build import BuildInProgress, PlanEngine, transforms_by_name
from skilljuror.layouts.build.folder import safe_target
from skilljuror.layouts.build.manifests import CONTEXT_LIMIT, READ_LIMIT, SMALL_FILE
from skilljuror.report.headline import say
from skilljuror.skill.revision import load_named
from skilljuror.store.connect import open_read
from skilljuror.store.questions import run

YOURS, PAGE, PD = "origin", "flat-files", "pd"
LAYOUTS = (YOURS, PAGE, "baseline", PD)
SHARES = (0.0, 0.25, 0.5, 1.0)
"""Shares of runs that open each file, if nothing was observed."""
WORTH_SHARE, WORTH_TOKENS = 0.1, SMALL_FILE
"""A layout is worth a study if it saves this share of your tokens, and this many of them."""
OBSERVED = "observed"
"""Condition of foreign runs."""
Decision = Literal["nothing", "keep", "study", "several"]


class ReadFile(Struct, frozen=True):
    """A file that a run reads only if it opens it."""

    path: str
    tokens: int
    opened: int | None = None
    """Observed runs that opened it; None if no observed run was offered it."""
    runs: int | None = None
    """Observed runs that opened its Skill."""
    clusters: int | None = None
    """Tasks of these runs, or folders of logs."""

    @property
    def share(self) -> float | None:
        """Share of these runs; None if unknown."""
        return None if self.opened is None or not self.runs else self.opened / self.runs


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
    verdict: GateVerdict | None


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
    """The answer in at most three sentences."""
    layouts: tuple[Layout, ...]
    not_built: dict[str, str]
    """Layout -> why it cannot be built."""


def advise(skill: str, study: Path | None = None) -> Advice:
    """Compare the layouts of the Skill at a path or REV:PATH; `study` has runs that opened it.

    Raises BundleError for a path without Skills, UsageError for the output of a build, StudyError for a study
    without a database.
    """
    bundle = load_named(skill)
    if not bundle.skills:
        raise BundleError(f"{skill!r} {missing_root(bundle.files)}", file=skill, field="skill")
    record, failed = _build(skill, bundle)
    manifests = {manifest.variant: manifest for manifest in record.variants}
    openings = Openings(study, bundle, manifests) if study else None
    source = manifests.get(YOURS, record.source)
    layouts = {
        name: _layout(manifests[name], source, openings) for name in LAYOUTS if name in manifests
    }
    yours, pd, page = (layouts.get(name) for name in (YOURS, PD, PAGE))
    decision: Decision
    if len(bundle.skills) > 1:
        decision = "several"
    elif yours is None:
        decision = "keep"
    elif pd is None or manifests[PD].pd_worth or not pd.on_demand:
        decision = "nothing"
    else:
        decision = "study" if pd.verdict == "pass" and _saves(pd, yours) else "keep"
    one = f"{skill.rstrip('/')}/{bundle.skills[0].directory}"
    ask = f"ask about one Skill, such as skilljuror advise {shlex.quote(one)}"
    ask = "unpack the file, and ask about one Skill" if Path(skill).is_file() else ask
    answer = [say(
        "advise_decision", decision=decision, yours=yours, pd=pd, failed=failed.get(PD),
        skills=len(bundle.skills), ask=ask,
    )]  # fmt: skip
    if decision in {"keep", "study"}:
        if openings:
            answer.append(say("advise_observed", yours=yours, pd=pd, **openings.basis()))
        elif page:
            answer.append(say(
                "advise_page", page=page, feasibility=manifests[PAGE].feasibility,
                read_limit=READ_LIMIT, context_limit=CONTEXT_LIMIT,
            ))  # fmt: skip
        on_disk = skill if Path(skill).exists() else skill.partition(":")[2]  # of REV:PATH
        answer.append(say("advise_study", skill=shlex.quote(on_disk)))
    return Advice(
        skill, tuple(each.name for each in bundle.skills), record.tokenizer, decision, tuple(answer),
        tuple(layouts.values()), failed,
    )  # fmt: skip


def _build(skill: str, bundle: Bundle) -> tuple[BuildRecord, dict[str, str]]:
    """Build every layout that can be built; with the reason of each that cannot."""
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="skilljuror-advise-") as place:
        safe_target(Path(place), Path(skill))
        build, engine = BuildInProgress(bundle, Path(place)), PlanEngine({})
        for name, transform in transforms_by_name(LAYOUTS).items():
            if transform.parent in failed:
                failed[name] = failed[transform.parent]
                continue
            try:
                engine.make(build, transform)
            except TransformError as error:
                failed[name] = error.message
        return build.finish(engine, LAYOUTS), failed


def _layout(
    manifest: VariantManifest, yours: VariantManifest, openings: "Openings | None"
) -> Layout:
    root, own = manifest.root_tokens, {file.path for file in yours.files}
    files, your_files = (
        tuple(
            ReadFile(file.path, file.tokens or 0)
            for file in one.files
            if file.resource_class == "support"
        )
        for one in (manifest, yours)
    )
    expected = None
    if openings is not None:
        files = tuple(openings.read(manifest.variant, file, own) for file in files)
        low = root + sum(file.tokens * file.share for file in files if file.share is not None)
        unknown = sum(file.tokens for file in files if file.share is None)
        expected = (low, low + unknown) if openings.rows else None
    demand, your_demand = (sum(file.tokens for file in those) for those in (files, your_files))
    less = root - yours.root_tokens, demand - your_demand
    return Layout(
        layout=manifest.variant,
        root_tokens=root,
        demand_tokens=demand,
        on_demand=files,
        at_share=tuple(root + share * demand for share in SHARES),
        cheaper="" if manifest.variant == YOURS else cheaper_at(*less),
        expected=expected,
        verdict=manifest.verdict,
    )


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


def _saves(pd: Layout, yours: Layout) -> bool:
    """Whether pd saves enough at the observed shares; if they leave it open, in a run that opens no file."""

    def saves_enough(tokens: float, your_tokens: float) -> bool:
        return your_tokens - tokens >= max(WORTH_TOKENS, WORTH_SHARE * your_tokens)

    if pd.expected and yours.expected:
        if saves_enough(pd.expected[1], yours.expected[0]):
            return True
        if not saves_enough(pd.expected[0], yours.expected[1]):
            return False
    return saves_enough(pd.root_tokens, yours.root_tokens)


_OFFERED = """
SELECT v.variant, v.parent, v.skills, v.tree_digest, list(f.path) AS paths
FROM variants AS v JOIN variant_files AS f ON f.build = v.build AND f.variant = v.variant
WHERE v.parent IS NOT NULL GROUP BY v.build, v.variant, v.parent, v.skills, v.tree_digest ORDER BY ALL
"""


class Openings:
    """What runs of a study opened of a Skill and of its layouts.

    Raises StudyError for a folder that is no study, StoreError for a database that cannot be read.
    """

    def __init__(
        self, study: Path, bundle: Bundle, manifests: Mapping[str, VariantManifest]
    ) -> None:
        skills = {skill.directory.rpartition("/")[2] for skill in bundle.skills}
        skills |= {skill for manifest in manifests.values() for skill in manifest.skills}
        self._study = study
        self._texts = {bundle.digest, *(one.tree_digest for one in manifests.values())}
        self._paths: dict[str, set[str]] = {}
        self._offered: dict[str, set[str]] = {}
        self._unchanged = {OBSERVED}
        with open_read(StudyFolder.existing(study).existing_database) as reader:
            rows = run(reader, "opening_shares").records()
            self.rows = [row for row in rows if _tail(row["skill"]) in skills]
            """Rows of `opening_shares` about the Skill."""
            offers = [row for row in run(reader, _OFFERED).records() if skills & {*row["skills"]}]
            scripted = "SELECT coalesce(bool_or(scripted), false) FROM trials"
            self._scripted = bool(run(reader, scripted).rows[0][0])
        for row in offers:
            self._paths.setdefault(row["variant"], set()).update(row["paths"])
            self._offered.setdefault(row["variant"], set()).add(row["tree_digest"])
            if row["parent"] == "given" or row["variant"] == YOURS:
                self._unchanged.add(row["variant"])

    def read(self, layout: str, file: ReadFile, own_paths: Iterable[str]) -> ReadFile:
        """How often a file of a layout was opened: by runs that were offered this layout, else by those
        that were offered the Skill as it is, of which `own_paths` are the files."""
        path, rows = file.path, [row for row in self.rows if row["variant"] == layout]
        if rows:
            known = path in self._paths.get(layout, ())
        else:
            rows = [
                row for row in self.rows if {row["condition"], row["variant"]} & self._unchanged
            ]
            own, inner = {*own_paths}, path.partition("/")[2]
            path = inner if inner in own else path  # a page of one of several Skills
            known = path in own
        skill, _, resource = path.partition("/")
        rows = [row for row in rows if _tail(row["skill"]) == skill]
        if not (known and rows):
            return file
        frames = {(row["skill"], row["condition"]): row for row in rows}
        opened = sum(row["opened"] for row in rows if row["resource"] == resource)
        runs = sum(row["runs"] for row in frames.values())
        clusters = max(row["clusters"] for row in frames.values())
        return ReadFile(file.path, file.tokens, opened, runs, clusters)

    def basis(self) -> dict[str, Any]:
        """Return what the shares rest on: runs, and what is unknown about them."""
        runs = {(row["skill"], row["condition"]): row["runs"] for row in self.rows}
        arms = dict.fromkeys((row["condition"], row["variant"]) for row in self.rows)
        different = [
            condition
            for condition, variant in arms
            if condition != OBSERVED and not self._offered.get(variant, set()) <= self._texts
        ]
        return {
            "study": self._study, "runs": sum(runs.values()), "scripted": self._scripted,
            "logs": any(condition == OBSERVED for condition, _ in arms), "different": different,
        }  # fmt: skip


def _tail(skill: Any) -> str:
    """Name of a Skill without its plugin."""
    return str(skill).rpartition(":")[2]
