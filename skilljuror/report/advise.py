"""Which layout should I ship? Build the layouts of a Skill in a temporary folder: what would leave the root and under
which condition, what would break, and what a study would cost."""

import shlex
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from skilljuror.audit.gates.rules import RULES
from skilljuror.base.build import GateResult, VariantManifest
from skilljuror.base.errors import BundleError, TransformError
from skilljuror.base.files import read_rows
from skilljuror.base.skill import Bundle, Generated, missing_root
from skilljuror.base.study import StudyConfig
from skilljuror.base.texts import tokenizer_name
from skilljuror.layouts.build.build import BuildInProgress, PlanEngine, transforms_by_name
from skilljuror.layouts.build.folder import GATE_RESULTS, safe_target
from skilljuror.report.headline import say
from skilljuror.skill.generated import POINTERS
from skilljuror.skill.revision import load_named

YOURS, PAGE, PD = "origin", "flat-files", "pd"
LAYOUTS = (YOURS, PAGE, PD)
BREAKING = frozenset({
    "layout.loader-text", "layout.prerequisite", "hygiene.unresolved-command", "hygiene.unresolved-path",
    "hygiene.unwritten-file", "knowledge.loader-text",
})  # fmt: skip
"""Rules about what a loader replaces, and about files that commands need."""
ARMS = 3
"""Conditions of the study that `init` writes: no Skill, flat-files and pd."""
Decision = Literal["keep", "study", "several"]


class Page(Struct, frozen=True):
    """A file of the layout pd that a run opens on demand."""

    path: str
    """Path from the Skill's folder."""
    tokens: int
    condition: str | None
    """When to open it, in words of the source; None for a file of the author, which is as it was."""


class Advice(Struct, frozen=True):
    """The answer."""

    skill: str
    tokenizer: str
    decision: Decision
    """keep: leave the Skill as it is; study: sections can leave the root, and only a study shows what agents do with
    that; several: the folder has several Skills, ask about one."""
    answer: tuple[str, ...]
    """The answer in at most three sentences."""
    root_tokens: int | None
    """Tokens of SKILL.md; None for several Skills."""
    pd_root_tokens: int | None
    """The same for pd; None if there is none."""
    pages: tuple[Page, ...]
    """Files of pd on demand, those that leave the root first."""
    breaks: dict[str, tuple[str, ...]]
    """Layout -> what its gates say would break."""


def advise(skill: str) -> Advice:
    """Compare the layouts of the Skill at a path or REV:PATH. Raises BundleError for a path without Skills,
    UsageError for the output of a build."""
    bundle = load_named(skill)
    if not bundle.skills:
        raise BundleError(f"{skill!r} {missing_root(bundle.files)}", file=skill, field="skill")
    if len(bundle.skills) > 1:
        one = shlex.quote(f"{skill.rstrip('/')}/{bundle.skills[0].directory}")
        ask = "unpack the file, and ask about one Skill" if Path(skill).is_file() else ""
        ask = ask or f"ask about one Skill, such as skilljuror advise {one}"
        said = say("advise_several", skills=len(bundle.skills), ask=ask)
        return Advice(skill, tokenizer_name(), "several", (said,), None, None, (), {})
    return _of_one(skill, bundle)


def _of_one(skill: str, bundle: Bundle) -> Advice:
    with tempfile.TemporaryDirectory(prefix="skilljuror-advise-") as place:
        safe_target(Path(place), Path(skill))
        build, engine = BuildInProgress(bundle, Path(place), asked=LAYOUTS), PlanEngine({})
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
        results = [*read_rows(GateResult, Path(place) / GATE_RESULTS)]
    manifests = {one.variant: one for one in record.variants}
    root, pd = manifests.get(YOURS, record.source).root_tokens, manifests.get(PD)
    pages = tuple(_pages(build, pd)) if pd else ()
    left = [page for page in pages if page.condition]
    breaks = {name: broken for name in LAYOUTS if (broken := tuple(_broken(name, results)))}
    decision: Decision = "study" if left and pd and pd.verdict == "pass" else "keep"
    why = failed.get(PD) or record.not_built.get(PD)
    answer = [
        say(
            "advise_decision", decision=decision, root=root, left=left, pages=pages, pd=pd, why=why
        ),
        say("advise_breaks", breaks=breaks, page=PAGE),
    ]
    if decision == "study":
        on_disk = skill if Path(skill).exists() else skill.partition(":")[2]  # of REV:PATH
        trials = StudyConfig.model_fields["trials_per_cell"].default
        answer.append(say("advise_study", skill=shlex.quote(on_disk), arms=ARMS, trials=trials))
    after = pd.root_tokens if pd else None
    return Advice(
        skill, record.tokenizer, decision, tuple(answer), root, after, pages if pd else (), breaks
    )


def _pages(build: BuildInProgress, pd: VariantManifest) -> Iterator[Page]:
    root = build.plans[PD].files[0]
    folder = f"{root.path.rpartition('/')[0]}/"
    rows = (
        piece
        for piece in root.pieces
        if isinstance(piece, Generated) and piece.template in POINTERS
    )
    led = {row.params["path"]: row.params.get("cue") or row.params["topics"] for row in rows}
    tokens = {
        file.path.removeprefix(folder): file.tokens or 0
        for file in pd.files
        if file.resource_class == "support"
    }
    yield from (Page(path, tokens[path], condition) for path, condition in led.items())
    yield from (Page(path, count, None) for path, count in tokens.items() if path not in led)


def _broken(layout: str, results: Sequence[GateResult]) -> Iterator[str]:
    """What a layout would break that the source does not: each rule with the number of its findings."""
    rules = Counter(
        finding.rule
        for result in results
        for finding in result.findings
        if result.variant == layout and not (finding.inherited or finding.waived)
        if finding.rule in BREAKING
    )
    for rule, count in rules.items():
        yield f"{RULES[rule].what}{f' ({count} times)' if count > 1 else ''}"
