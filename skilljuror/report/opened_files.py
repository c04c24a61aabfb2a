"""How often runs of a study opened each file of a Skill that is at hand."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from skilljuror.base.build import VariantManifest
from skilljuror.base.files import StudyFolder
from skilljuror.base.skill import Bundle
from skilljuror.store.questions.run import Reader, open_read, run

OBSERVED = "observed"
"""Condition of foreign runs."""
AS_IT_IS = "origin"
"""The layout whose files a run is taken to have if its log does not name a variant."""
SCRIPTED = "a scripted policy ran, no language model: its shares say nothing about real agents"
LISTED = 4
"""Most names in a sentence."""
_OFFERED = """
SELECT v.variant, v.parent, v.skills, v.tree_digest, list(f.path) AS paths
FROM variants AS v JOIN variant_files AS f ON f.build = v.build AND f.variant = v.variant
WHERE v.parent IS NOT NULL GROUP BY v.build, v.variant, v.parent, v.skills, v.tree_digest ORDER BY ALL
"""


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


class Offer(NamedTuple):
    """A variant that a study offered to its runs."""

    as_it_is: bool  # unchanged by a layout
    digests: frozenset[str]  # of its text, one per distinct text
    paths: frozenset[str]


class Openings(Struct, frozen=True):
    """What runs of a study opened of a Skill."""

    rows: tuple[dict[str, Any], ...]
    """Rows of `opening_shares` about it."""
    offers: dict[str, Offer]
    """Variant or condition -> what its runs were offered."""
    sentences: tuple[str, ...]
    """What was observed, for people."""
    minutes: float | None = None
    """Mean minutes of a trial; None if unknown."""
    dollars: float | None = None
    """Mean cost of a trial, US dollars; None if unknown."""
    trials: int = 0
    """Trials behind these means."""

    def read(self, layout: str, file: ReadFile, own_paths: Iterable[str]) -> ReadFile:
        """How often a file of a layout was opened: by runs that were offered this layout, else by those
        that were offered the Skill as it is, of which `own_paths` are the files."""
        path, rows = file.path, [row for row in self.rows if row["variant"] == layout]
        if rows:
            known = layout in self.offers and path in self.offers[layout].paths
        else:
            rows = [row for row in self.rows if self._as_it_is(row)]
            own, inner = {*own_paths}, path.partition("/")[2]
            path = inner if inner in own else path  # a page of one of several Skills
            known = path in own
        skill, _, resource = path.partition("/")
        frames = {
            (row["skill"], row["condition"]): row for row in rows if _tail(row["skill"]) == skill
        }
        if not (known and frames):
            return file
        opened = (row["opened"] for row in rows if _names(row, skill, resource))
        runs = sum(row["runs"] for row in frames.values())
        clusters = max(row["clusters"] for row in frames.values())
        return ReadFile(file.path, file.tokens, sum(opened), runs, clusters)

    def _as_it_is(self, row: Mapping[str, Any]) -> bool:
        offer = self.offers.get(row["variant"])
        return row["condition"] == OBSERVED or (offer is not None and offer.as_it_is)


def openings_in(study: Path, bundle: Bundle, manifests: Mapping[str, VariantManifest]) -> Openings:
    """Return what runs of a study opened of a Skill and of its layouts `manifests`.

    Raises StudyError for a folder that is no study, StoreError for a database that cannot be read.
    """
    names = {one.directory.rpartition("/")[2] for one in bundle.skills}
    names |= {skill for manifest in manifests.values() for skill in manifest.skills}
    with open_read(StudyFolder.existing(study).existing_database) as reader:
        found = run(reader, "opening_shares").records()
        rows = tuple(row for row in found if _tail(row["skill"]) in names)
        offers = _offers(run(reader, _OFFERED).records(), names)
        scripted = run(reader, "SELECT coalesce(bool_or(scripted), false) FROM trials").rows[0][0]
        minutes, timed = _mean(reader, "time") if not scripted else (None, 0)
        dollars, _ = _mean(reader, "cost") if not scripted else (None, 0)
    digests = {name: one.tree_digest for name, one in manifests.items()}
    sentences = tuple(_sentences(study, rows, offers, {**digests, "": bundle.digest}, bundle))
    return Openings(
        rows,
        offers,
        (*sentences, *([SCRIPTED] if scripted and rows else ())),
        minutes,
        dollars,
        timed,
    )


def _tail(skill: str) -> str:
    return skill.rpartition(":")[2]


def _names(row: Mapping[str, Any], skill: str, resource: str) -> bool:
    return _tail(row["skill"]) == skill and row["resource"] == resource


def _offers(rows: Sequence[Mapping[str, Any]], names: set[str]) -> dict[str, Offer]:
    offers: dict[str, Offer] = {}
    for row in rows:
        if not names & {*row["skills"]}:
            continue
        before = offers.get(row["variant"], Offer(False, frozenset(), frozenset()))
        offers[row["variant"]] = Offer(
            row["parent"] == "given" or row["variant"] == AS_IT_IS,
            before.digests | {row["tree_digest"]},
            before.paths | {*row["paths"]},
        )
    return offers


def _mean(reader: Reader, resource: str) -> tuple[float | None, int]:
    """(mean over measured trials of the study, their number)."""
    rows = [one for one in run(reader, "efficiency").records() if one["resource"] == resource]
    measured = sum(one["measured"] for one in rows)
    total = sum(one["total"] or 0.0 for one in rows)
    return (total / measured if measured else None), measured


def _sentences(
    study: Path,
    rows: Sequence[Mapping[str, Any]],
    offers: Mapping[str, Offer],
    digests: Mapping[str, str],
    bundle: Bundle,
) -> Iterator[str]:
    """Say which runs were observed, and what is unknown about them."""
    if not rows:
        yield f"no run in {study} opened this Skill: the shares of its files are unknown"
        return
    frames = {(row["skill"], row["condition"], row["variant"]): row for row in rows}
    for (skill, condition, variant), row in frames.items():
        foreign = condition == OBSERVED
        what = "observed runs" if foreign else f"trials of condition {condition}"
        clusters = "tasks, or folders of logs" if foreign else "tasks"
        yield f"{skill} opened: {row['runs']} {what}, clusters ({clusters}): {row['clusters']}"
        if foreign:
            yield "the logs do not identify the version of the Skill: it may differ from this one"
        elif variant in offers and not offers[variant].digests <= {*digests.values()}:
            yield f"condition {condition} offered a different version of the Skill"
    tails = {skill for skill, _, _ in frames}
    if len(tails) > len({*map(_tail, tails)}):
        yield f"{', '.join(sorted(tails))} have the same name: their runs are counted together"
    if gone := _gone(rows, bundle):
        more = f" and {len(gone) - LISTED} more" if len(gone) > LISTED else ""
        yield f"files that observed runs opened but this Skill lacks: {', '.join(gone[:LISTED])}{more}"


def _gone(rows: Sequence[Mapping[str, Any]], bundle: Bundle) -> list[str]:
    """Opened files of foreign runs that the Skill does not have."""
    known = {path.partition("/")[2] for path in bundle.files}
    foreign = {row["resource"] for row in rows if row["condition"] == OBSERVED}
    return sorted(foreign - known)
