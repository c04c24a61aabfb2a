"""Commands that make, judge and compare variants of a Skill."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from skilljuror.base.errors import BundleError, SkilljurorError, UsageError
from skilljuror.cli.output import (
    Answer,
    ApiBase,
    Block,
    Budget,
    Build,
    By,
    Gates,
    Indented,
    Jobs,
    Reason,
    Table,
    Threads,
    command_line,
    counted,
    progress,
    records,
    to_plain,
    working,
)

if TYPE_CHECKING:
    from skilljuror.audit.changed import ChangedSkill

MAX_ISSUES = 8
"""Most issues of sources to print; build.json has all."""
MAX_LINE = 120
"""Most characters of a Skill's line to print."""
UNCLAIMED = "unclaimed"
"""Kind of a variant that claims no layout: it only has to keep what its source has."""
STATUS = {"pass": 0, "fail": 1, "review": 3}
Policy = Literal["strict", "edited", "rewritten"]


def build(
    sources: list[Path], out: Path, variants: str = "origin,flat-files,pd",
    engine: str = "plan", model: str | None = None, api_base: ApiBase = None,
    rounds: int | None = None, rubric: str | None = None, gates: Gates = None,
    assay: bool = False, jobs: Jobs = 1,
) -> Answer:  # fmt: skip
    """Build layout variants of a Skill that hold the same knowledge.

    The gates check that each variant differs from the source in layout only. A Skill that states no condition has
    nothing to disclose, and no pd.
    """
    from skilljuror.base.workers import Progress
    from skilljuror.layouts.build.assay import keep_assays
    from skilljuror.layouts.build.build import build_many, build_named, build_source
    from skilljuror.layouts.build.model_build import build_with_model, model_engine
    from skilljuror.layouts.build.reviews import reviewed

    names = tuple(name.strip() for name in variants.split(",") if name.strip())
    if not names:
        raise UsageError(
            "--variants is empty; name layouts, comma-separated, or leave it out", field="variants"
        )
    many = len(sources) > 1
    chosen: dict[str, Any] = {"variants": names, "gates": gates or ()}
    calls = out.parent / f"{out.name}.calls.jsonl"
    make: Any = partial(build_named if many else build_source, **chosen)
    if asked := model_engine(engine, model, calls, api_base, rounds, rubric):
        make, jobs = partial(build_with_model, engine=asked, **chosen), 1
    results: dict[str, Any] = {}
    if not many:
        with working("build"):
            record = make(sources[0], out)
        results[record.name] = record
    else:
        with progress() as listener:
            for name, result in build_many(sources, out, make, jobs):
                results[name] = result
                listener(Progress("build", len(results), len(sources), name))
    errors = {
        name: result for name, result in results.items() if isinstance(result, SkilljurorError)
    }
    folders = {name: out / name if many else out for name in results if name not in errors}
    if assay:
        with working("assay") as listener:
            keep_assays(dict.fromkeys(folders.values()), jobs=jobs, progress=listener)
    reviews = {name: reviewed(folder) for name, folder in folders.items()}
    if many and folders:
        from skilljuror.store.study_files import store_builds

        store_builds(out, list(folders))
    payload = [
        {"source": name, "error": errors[name].message}
        if name in errors
        else {"source": name, "record": reviews[name].record}
        for name in results
    ]
    verdicts = {item.verdict for one in reviews.values() for item in one.record.variants}
    status = 2 if errors else 1 if "fail" in verdicts else 3 if "review" in verdicts else 0
    blocks = _build_blocks(tuple(results), errors, out, reviews)
    return Answer(payload if many else payload[0], blocks, status)


def _build_blocks(
    names: tuple[str, ...], errors: dict[str, SkilljurorError], out: Path, reviews: dict[str, Any]
) -> Iterator[Block]:
    rows = [
        row
        for name in names
        for row in (
            [(name, "error", *[None] * 5, errors[name].message)]
            if name in errors
            else _variant_rows(name, reviews[name])
        )
    ]
    columns = ("source", "variant", "gates", "files", "root lines", "root tokens", "tokens", "note")
    yield Table(columns, rows)
    built = [review.record for review in reviews.values()]
    if len(names) > 1:
        yield f"{len(built)} of {len(names)} sources built"
    for record in built:
        yield from _source_lines(record)
    verdicts = {item.verdict for record in built for item in record.variants}
    if verdicts - {"pass", None}:
        rule = command_line("audit", "--rules", "RULE")
        yield f"list open findings: {command_line('waive', out)}   explain a rule: {rule}"
    if "review" in verdicts:
        yield f"decide reviews: {command_line('review', out, '--list')}"
    for name, review in reviews.items():
        yield from review.stale_notes
        yield from (f"{name}: {line}" for line in _model_lines(review.record, out))
    if built:
        yield (
            f"written to {out}: proof and plans in build.json, units in knowledge.jsonl; tokens counted with"
            f" {built[0].tokenizer}"
        )
    if built and len(names) > 1:
        yield f"table of all builds: {command_line('query', out, 'builds')}"


def _variant_rows(name: str, review: Any) -> Iterator[tuple[Any, ...]]:
    for item in review.record.variants:
        note, same = review.review_notes.get(item.variant), item.same_as
        verdict = (item.verdict or "–") + (f" with {note}" if note else "")
        warning = item.feasibility or ("control" if item.expected_findings else "")
        yield (
            name, item.variant, verdict, len(item.files), f"{item.root_lines:,}",
            f"{item.root_tokens:,}", f"{item.tokens:,}",
            f"the files of {same}" if same else f"pd_worth: {item.pd_worth}" if item.pd_worth else warning,
        )  # fmt: skip


def _source_lines(record: Any) -> Iterator[str]:
    """What could not be built, and problems of a source."""
    yield from (f"{record.name}: no {variant}: {why}" for variant, why in record.not_built.items())
    issues = [issue for issue in record.issues if issue["severity"] != "info"]
    for issue in issues[:MAX_ISSUES]:
        place = f"{issue['file']}:{issue['line'] or ''}".rstrip(":")
        yield f"source: {place}: {issue['message']}"
    if len(issues) > MAX_ISSUES:
        yield f"source: {len(issues) - MAX_ISSUES} more in build.json"


def _model_lines(record: Any, out: Path) -> Iterator[str]:
    """What the gates would catch, who judged which sections, and what a model's answers cost."""
    from skilljuror.base.build import AssayReport
    from skilljuror.layouts.build.assay import power_sentence

    if record.assay is not None:
        yield power_sentence(AssayReport.model_validate(record.assay))
    if scopes := record.options.get("scopes"):
        counts = Counter(scope["by"] for scope in scopes.values())
        judged = ", ".join(f"{count} by {by}" for by, count in counts.items())
        yield f"judged sections: {judged}; review them with {command_line('review', 'SOURCE')}"
    if calls := record.options.get("calls"):
        spent = calls["cost_usd"]
        cost = "cost unknown" if spent is None else f"${spent:.2f}"
        yield f"{calls['count']} answers, {cost}; they are in {out.name}.calls.jsonl"


def audit(
    source: str | None = None, variant: str | None = None,
    kind: Literal["baseline", "flat-files", "pd"] | None = None, policy: Policy = "edited",
    gates: Gates = None, details: bool = False,
    form: Literal["text", "markdown", "github", "sarif"] = "text", summary: Path | None = None,
    accepted: str | None = None, accept: list[str] | None = None, reason: Reason = "",
    by: By = None, rules: bool = False, changed: str | None = None,
) -> Answer:  # fmt: skip
    """Check whether a changed Skill keeps the knowledge of the original.

    Prints the verdict and what decided it. With --changed: audits every Skill that the commits from BASE to HEAD
    touch. --accept writes .skilljuror/accepted.yaml, which counts once it is in the revision of SOURCE or BASE.
    """
    if rules:
        return _rules(source)
    if changed is None:
        if summary:
            raise UsageError("--summary requires --changed; use --format markdown", field="summary")
        if source is None or variant is None:
            raise UsageError(
                f"missing argument {'VARIANT' if source else 'SOURCE'} (see skilljuror audit --help)"
            )
        return _audit_pair(
            source, variant, kind or UNCLAIMED, policy, gates or (), details, form, accepted,
            Acceptance(accept or [], reason, by),
        )  # fmt: skip
    if source or kind or form == "sarif":
        raise UsageError("--changed takes no SOURCE, VARIANT, --kind or --format sarif")
    skills = _changed_skills(changed, policy, gates or (), accepted or changed)
    if accept:
        return _accept_changed(skills, Acceptance(accept, reason, by))
    return _changed_answer(skills, changed, details, form, summary)


class Acceptance(NamedTuple):
    """Findings that a person accepts."""

    ids: list[str]
    reason: str
    by: str | None


def _audit_pair(
    source: str, variant: str, kind: str, policy: str, gates: Sequence[str], details: bool,
    form: str, accepted: str | None, acceptance: Acceptance,
) -> Answer:  # fmt: skip
    from skilljuror.audit.audit import audit as judge_pair
    from skilljuror.base.skill import missing_root
    from skilljuror.report.audit import FORMATS, AuditReport
    from skilljuror.review.waivers import ACCEPTED, accept, accept_known, read_accepted
    from skilljuror.skill.revision import file_at, load_named, revision_of

    version = load_named(variant)
    tops = {path.partition("/")[0] for path in version.files}
    under = tops.pop() if len(tops) == 1 else None  # the name of a single Skill's folder is nothing
    parent = load_named(source, under=under)
    if not parent.skills:
        problem = missing_root(parent.files)
        raise BundleError(f"{source!r} {problem}", file=source, field="source")
    with working("audit"):
        result = judge_pair(parent, version, kind, policy, gates=gates)
    named, skills = revision_of(source), [_in_repository(source), _in_repository(variant)]
    revision = accepted or (named[0] if named else None)
    if revision and (text := file_at(revision, ACCEPTED)) is not None:
        result = accept_known(result, read_accepted(text, f"{revision}:{ACCEPTED}"), skills)
    if acceptance.ids:
        file = _top(variant) / ACCEPTED
        acceptances = accept(result, *acceptance, skills[-1], file)
        line = f"{file}: accepted {len(acceptances)}; commit it to the base branch"
        return Answer(acceptances, [line])

    def path_of(side: str, file: str) -> str:
        """Path of a file of a bundle from the current folder; its root SKILL.md for ""."""
        name = source if side == "source" else variant
        folder = PurePosixPath(name if Path(name).exists() else name.partition(":")[2] or name)
        inner = PurePosixPath(file or f"{under or ''}/SKILL.md")
        if under and inner.parts[:1] == (under,) and not Path(folder, under).is_dir():
            inner = inner.relative_to(under)
        return str(folder / inner)

    report = AuditReport(source, variant, result, path_of, details=details)
    return Answer(_audit_payload(report), [FORMATS[form](report)], STATUS[result.verdict])


def _changed_skills(
    base: str, policy: str, gates: Sequence[str], accepted: str
) -> list["ChangedSkill"]:
    """The Skills that a change touches, worst first, without what the revision `accepted` accepts."""
    from skilljuror.audit.changed import audit_changed
    from skilljuror.base.build import VERDICTS
    from skilljuror.review.waivers import ACCEPTED, accept_known, read_accepted
    from skilljuror.skill.revision import file_at

    with working("audit") as listener:
        skills = audit_changed(base, policy, gates, progress=listener)
    if (text := file_at(accepted, ACCEPTED)) is not None:
        known = read_accepted(text, f"{accepted}:{ACCEPTED}")
        skills = tuple(
            one._replace(
                judged=accept_known(
                    one.judged, known, [name or "." for name in (one.folder, *one.before)]
                )
            )
            for one in skills
        )
    return sorted(skills, key=lambda one: (-VERDICTS.index(one.verdict), one.folder))


def _accept_changed(skills: Sequence["ChangedSkill"], acceptance: Acceptance) -> Answer:
    from skilljuror.review.waivers import ACCEPTED, accept

    file, rows = _top(".") / ACCEPTED, []
    known = {found.id for skill in skills for found in skill.judged.own}
    unknown = next((one for one in acceptance.ids if one not in known and one != "all"), None)
    if unknown:
        raise UsageError(f"unknown finding {unknown!r}; --details lists the ids", field="accept")
    for skill in skills:
        own = {"all", *(found.id for found in skill.judged.own)}
        chosen = acceptance._replace(ids=[one for one in acceptance.ids if one in own])
        rows += accept(skill.judged, *chosen, skill.folder or ".", file)
    return Answer(rows, [f"{file}: accepted {len(rows)}; commit it to the base branch"])


def _changed_answer(
    skills: Sequence["ChangedSkill"], base: str, details: bool, form: str, summary: Path | None
) -> Answer:
    from skilljuror.base.build import VERDICTS
    from skilljuror.report.changed import CHANGED_FORMATS, ChangedReport, changed_page

    report = ChangedReport(base, skills, details=details)
    if summary:
        with summary.open("a", encoding="utf-8") as appended:
            appended.write(changed_page(report))
    payload = [
        {"skill": skill.folder or ".", "before": skill.before, **_audit_payload(audited)}
        for skill, audited in report.audits
    ]
    worst = max((one.verdict for one in skills), key=VERDICTS.index, default="pass")
    return Answer(payload, [CHANGED_FORMATS[form](report)], STATUS[worst])


def _rules(name: str | None) -> Answer:
    from skilljuror.audit.edited import edit_rules
    from skilljuror.audit.gates.rules import RULES, explain

    known = {**edit_rules(), **RULES}
    if name is not None:
        text = explain(name, known)
        return Answer({"rule": name, "text": text}, [text])
    rows = [
        {"rule": name, "severity": entry.severity, "what": entry.what}
        for name, entry in sorted(known.items())
    ]
    return Answer(rows, [records(rows, "rule, severity, what: finding")._replace(cut=False)])


def _audit_payload(report: Any) -> dict[str, Any]:
    """What --json prints: paths start where the audit ran."""
    from skilljuror.report.audit import side_of

    fields = (
        "id", "rule", "severity", "source_text", "variant_text", "inherited", "waived", "message",
    )  # fmt: skip
    findings = [
        {name: getattr(finding, name) for name in fields}
        | {"file": report.path_of(side_of(finding), finding.file), "line": finding.line}
        for finding in report.judged.findings
    ]
    return {
        "verdict": report.judged.verdict,
        "policy": report.judged.policy,
        "findings": findings,
    }


def _top(name: str) -> Path:
    """The top of the repository around a folder, else the current folder."""
    place = Path(name).absolute()
    return next(
        (folder for folder in (place, *place.parents) if (folder / ".git").exists()), Path()
    )


def _in_repository(name: str) -> str:
    """Path of a bundle from the top of its repository; "." for the top."""
    from skilljuror.skill.revision import revision_of

    if named := revision_of(name):
        return str(PurePosixPath(named[1] or "."))
    place, top = Path(name).absolute(), _top(name).absolute()
    return place.relative_to(top).as_posix() if place.is_relative_to(top) else place.name


def waive(place: Path, finding: str | None = None, reason: Reason = "", by: By = None) -> Answer:
    """Accept a finding of a gate, a leak, or a trial's result, with a reason; or list open findings.

    An accepted finding stays listed as waived and no longer counts in the verdict. An accepted trial is not
    rerun; without a reward it counts as not passed.
    """
    from skilljuror.base.files import StudyFolder
    from skilljuror.review.waivers import open_findings, verdict_sentences, waive_finding

    if finding is None:
        payload = [row._asdict() for row in open_findings(place)]
        columns = "id, rule, variant, message, build, source_text: source text, variant_text: variant text"
        rows = [
            {**row["finding"].model_dump(), **row, "message": _place_of(row["finding"])}
            for row in payload
        ]
        return Answer(payload, [records(rows, columns) if rows else "no open findings"])
    if ":" not in finding and StudyFolder(place).planned:
        from skilljuror.study.trial import accept_trial

        trial = accept_trial(place, finding, reason, by)
        blocks = [
            f"{trial.trial} accepted by {trial.by}: {trial.reason}",
            f"next: {command_line('ingest', '--study', place)}",
        ]
        return Answer(trial, blocks)
    waivers = waive_finding(place, finding, reason, by)
    lines = [f"{one.build}: {one.finding} waived by {one.by}: {one.reason}" for one in waivers]
    return Answer(waivers, [*lines, *verdict_sentences(place)])


def _place_of(finding: Any) -> str:
    return f"{finding.file}{f':{finding.line}' if finding.line else ''}: {finding.message}"


def assay(
    builds: list[Path], sites: int = 2, seed: int = 0,
    policy: Literal["strict", "rewritten"] | None = None,
    keep: bool = False, jobs: Jobs = 1,
) -> Answer:  # fmt: skip
    """Measure how many planted errors the gates catch.

    Plants drift, which the gates must catch, and harmless edits, which they must not, in accepted
    variants.
    """
    from skilljuror.layouts.build.assay import (
        DEFAULT_SETTINGS,
        AssaySettings,
        assay_many,
        power_sentence,
    )

    settings = AssaySettings(policy, sites, seed)
    with progress() as listener:
        report = assay_many(builds, settings, jobs=jobs, keep=keep, progress=listener)
    if keep:
        from skilljuror.store.study_files import refresh

        for place in builds:
            refresh(place)
    options = zip(settings._fields, settings, DEFAULT_SETTINGS, strict=True)
    words = [
        word for name, value, usual in options if value != usual for word in (f"--{name}", value)
    ]
    rows = [{**to_plain(row), "kind": "drift" if row.drift else "harmless"} for row in report.rows]
    table = records(
        rows,
        "kind, mutation, mutants: planted, equivalent, flagged, failed, rate, low: from, high: to",
    )
    return Answer(
        report,
        [
            table._replace(title=f"{report.name}, policy {report.policy}, seed {report.seed}"),
            "flagged = verdict other than pass; equivalent mutants are excluded; from, to: Wilson's 95 % interval",
            "of this text alone, as if all places were independent; it says nothing of other sources",
            power_sentence(report),
            "stored in build.json and, if present, in the database"
            if keep
            else f"store it for a report: {command_line('assay', *builds, *words, '--keep')}",
        ],
    )


def verify(build: Build, source: str | None = None) -> Answer:
    """Rebuild variants from their source and compare the files on disk."""
    from skilljuror.layouts.verify import verify_build

    with working("verify"):
        proof = verify_build(build, source)
    if proof.problems:
        verdict = counted(len(proof.problems), "problem")
    else:
        result = "proved, except as listed above" if proof.unproved else "proved"
        verdict = f"{result if proof.made_again else 'not proved'}; {'; '.join(proof.grounds)}"
    return Answer(
        {"proved": proof.proved, **to_plain(proof)},
        [*(f"  {line}" for line in (*proof.problems, *proof.unproved)), f"{build}: {verdict}"],
        1 if proof.problems else 3 if proof.unproved else 0,
    )


def rubric(
    place: Path, model: str | None = None, api_base: ApiBase = None, budget: Budget = None,
    tasks: Path | None = None, threads: Threads = 16,
) -> Answer:  # fmt: skip
    """Rate variants by the construction rubric, with a model.

    Without --model, list the ratings so far. The rubric asks whether a variant uses progressive
    disclosure and whether its meaning drifted.
    """
    from skilljuror.base.llm import MOST_UNPARSED
    from skilljuror.judge.rubric import judge_tasks
    from skilljuror.layouts.build.rubric_audit import (
        RubricSummary,
        client_for,
        items_at,
        judge_builds,
    )
    from skilljuror.store.study_files import refresh

    if model is None:
        if api_base or tasks or budget is not None:
            raise UsageError("--api-base, --budget-usd and --tasks require --model", field="model")
        summary = RubricSummary(tuple(items_at(place)), 0, None)
    else:
        client = client_for(place, model, api_base, budget)
        with progress() as listener:
            if tasks is not None:
                given = judge_tasks(place, tasks, client, threads, listener)
                table = records(given, "task, attribute, value, reason, evidence, file, line")
                nothing = "nothing to classify: every task declares its attributes"
                unparsed = sum(row.reason == "unparsed" for row in given)
                too_many = unparsed > MOST_UNPARSED * len(given)
                return Answer(given, [table if given else nothing], int(too_many))
            summary = judge_builds(place, client, threads, listener)
        refresh(place)
    rows = [_item_row(one) for one in summary.items]
    payload = {
        "judged": summary.judged,
        "unparsed": summary.unparsed,
        "quotes_not_found": summary.quotes_not_found,
        "spent_usd": summary.spent_usd,
        "items": rows,
    }
    outcomes = {row["outcome"] for row in rows}
    rejected = summary.too_many_unparsed or "rejected" in outcomes
    undecided = outcomes & {"unresolved", "unanswered"}
    return Answer(
        payload, _rubric_blocks(summary, rows, place), 1 if rejected else 3 if undecided else 0
    )


def _item_row(rated: Any) -> dict[str, Any]:
    state, verdict = rated.state, rated.state.verdict
    if verdict is None:
        why = "the texts have changed since" if state.stale else ""
    else:
        says = f"code says {state.code}, the model {verdict.answer}" if state.disagrees else ""
        why = (
            ": ".join(filter(None, (says, verdict.reason))) + ": " if says or verdict.reason else ""
        )
        why += verdict.evidence
    return {
        "build": rated.build,
        "variant": state.variant,
        "item": state.item.id,
        "code": state.code,
        "model": verdict and verdict.answer,
        "answer": state.answer,
        "outcome": state.outcome,
        "why": why,
        "quotes": [] if verdict is None else [quote.model_dump() for quote in verdict.quotes],
    }


def _rubric_blocks(summary: Any, rows: list[dict[str, Any]], place: Path) -> Iterator[Block]:
    open_rows = [
        row
        for row in rows
        if row["outcome"] not in ("accepted", "overridden")
        and (row["outcome"] != "unanswered" or row["why"])
    ]
    if open_rows:
        yield records(open_rows, "build, variant, item, code, model, outcome, why")
    counts = Counter(row["outcome"] for row in rows)
    outcomes = ("accepted", "overridden", "rejected", "unresolved", "unanswered")
    shares = ", ".join(f"{counts[name]} {name}" for name in outcomes if counts[name])
    yield f"{len(rows)} rubric items: {shares or 'none'}"
    if summary.judged:
        spent = summary.spent_usd
        cost = "at unknown cost" if spent is None else f"for ${spent:.2f}"
        yield (
            f"{summary.judged} rated now, {cost}; {summary.unparsed} unusable answers, {summary.quotes_not_found}"
            " with a quote that is not in the text"
        )
    if counts["unanswered"]:
        yield f"rate with a model: {command_line('rubric', place, '--model', 'openai/gpt-5.4')}"


def advise(
    skill: str, checks: bool = False, source: str | None = None, task: Path | None = None,
) -> Answer:  # fmt: skip
    """Say whether another layout of a Skill is worth a study.

    Builds the layouts in a temporary folder: what would leave the root and when it is read, what would break.
    With --checks: score eight checks and six axes of the text, each with the line behind it and what would raise it.
    """
    from skilljuror.audit.skill_checks import check_skill
    from skilljuror.report.advise import advise as compare

    if not checks and (source or task):
        raise UsageError("--source and --task need --checks")
    if checks:
        checked = check_skill(skill, source, task)
        return Answer(checked, _check_blocks(checked))
    with working("advise"):
        advice = compare(skill)
    return Answer(advice, _advice_blocks(advice))


def _check_blocks(checked: Any) -> Iterator[Block]:
    from skilljuror.audit.skill_checks import AXES

    with_basis = f" (with {' and '.join(checked.basis)})" if checked.basis else ""
    yield Indented(
        f"{checked.skill} has {checked.words:,} words and scores {checked.overall:.0f} of 100{with_basis}, the mean of six"
        " axes; longer Skills score higher, and the score says nothing about outcomes."
    )
    rows = [
        (
            axis, f"{score:.0f}",
            ", ".join(f"{check} {checked.checks[check]:.0f}" for check in AXES[axis]),
        )
        for axis, score in checked.axes.items()
    ]  # fmt: skip
    yield Table(("axis", "score", "checks"), rows)
    for check in checked.checks:
        short = [
            signal for signal in checked.signals
            if signal.check == check and signal.met is not None and signal.met < 1
        ]  # fmt: skip
        if short:
            yield f"\n{check}"
        for signal in short:
            text = signal.found if len(signal.found) <= MAX_LINE else f"{signal.found[:MAX_LINE]}…"
            place = f"{signal.place}: " if signal.place else ""
            fix = f"; to raise it: {signal.fix}" if signal.fix else ""
            first = f"  {100 * signal.met:3.0f} {signal.signal}: "
            yield Indented(f"{place}{text}{fix}", first, "      ")
    yield "\nevery signal with the line behind it: --json"


def _advice_blocks(advice: Any) -> Iterator[Block]:
    yield from map(Indented, advice.answer)
    if advice.root_tokens is None:
        return
    yield ""
    after = advice.pd_root_tokens
    rows: list[tuple[Any, ...]] = [
        ("SKILL.md", f"{advice.root_tokens:,}", f"{after:,}" if after else None, "every run")
    ]
    rows += [
        (page.path, None if page.condition else f"{page.tokens:,}", f"{page.tokens:,}", page.condition or "as you say")
        for page in advice.pages
    ]  # fmt: skip
    yield Table(("file", "tokens in yours", "in pd", "a run reads it"), rows)
