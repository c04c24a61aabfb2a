"""Commands that make, judge and compare variants of a Skill."""

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from typer import Argument, Option

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
    progress,
    records,
    to_plain,
)

MAX_ISSUES = 8
"""Most issues of sources to print; build.json has all."""
MAX_FILES = 12
"""Most files on demand to print; JSON has all."""
MAX_HEADINGS = 12
"""Most headings of the main path to print."""
MAX_LINE = 120
"""Most characters of a Skill's line to print."""
UNCLAIMED = "unclaimed"
"""Kind of a variant that claims no layout: it only has to keep what its source has."""
STATUS = {"pass": 0, "fail": 1, "review": 3}


class Kind(StrEnum):
    """Layouts that `audit` judges."""

    baseline = "baseline"
    flat_files = "flat-files"
    pd = "pd"


class Form(StrEnum):
    """Output formats of `audit`."""

    text = "text"
    markdown = "markdown"
    github = "github"
    sarif = "sarif"


class Policy(StrEnum):
    """Severity policies."""

    strict = "strict"
    edited = "edited"


def build(
    sources: Annotated[
        list[Path],
        Argument(metavar="SOURCE", help="Skill, folder of Skills, .skill or .zip file."),
    ],
    out: Annotated[Path, Option("--out", metavar="DIR", help="Build folder to write.")],
    variants: Annotated[
        str, Option("--variants", help="Layouts, comma-separated.")
    ] = "origin,origin-flat,baseline,pd",
    engine: Annotated[
        str, Option("--engine", help="plan, assign (a model judges), rewrite (a model writes).")
    ] = "plan",
    model: Annotated[
        str | None, Option("--model", help="Model for assign and rewrite, named as in litellm.")
    ] = None,
    api_base: ApiBase = None,
    rounds: Annotated[
        int | None,
        Option("--rounds", metavar="N", min=1, help="Attempts per rewrite; default: 3."),
    ] = None,
    rubric: Annotated[
        str | None,
        Option("--rubric", metavar="MODEL", help="Model that rates rewrites by the rubric."),
    ] = None,
    gates: Gates = None,
    assay: Annotated[bool, Option("--assay", help="Also assay the gates.")] = False,
    jobs: Jobs = 1,
) -> Answer:
    """Build layout variants of a Skill that hold the same knowledge.

    The gates check that each variant differs from the source in layout only.
    """
    from skilljuror.base.workers import Progress
    from skilljuror.layouts.build.assay import keep_assays
    from skilljuror.layouts.build.model_build import Rewriting, model_engine
    from skilljuror.layouts.build.reviews import reviewed

    names = tuple(name.strip() for name in variants.split(",") if name.strip())
    if not names:
        raise UsageError(
            "--variants is empty; name layouts, comma-separated, or leave it out", field="variants"
        )
    chosen = {"variants": names, "gates": gates or ()}
    calls = out.parent / f"{out.name}.calls.jsonl"
    chosen_engine = model_engine(engine, model, calls, api_base, Rewriting(rounds, rubric))
    many = len(sources) > 1
    results: list[tuple[str, Any]] = []
    with progress() as listener:
        for done in _build_each(sources, out, jobs, chosen_engine, chosen):
            results.append(done)
            if many:
                listener(Progress("build", len(results), len(sources), done[0]))
    folders = {
        name: out / name if many else out
        for name, result in results
        if not isinstance(result, SkilljurorError)
    }
    if assay:
        keep_assays(dict.fromkeys(folders.values()), jobs=jobs)
    reviews = {name: reviewed(folder) for name, folder in folders.items()}
    results = [
        (name, reviews[name].record if name in reviews else error) for name, error in results
    ]
    if many and folders:
        from skilljuror.store.study_files import store_builds

        store_builds(out, list(folders))
    payload = [
        {"source": name, "error": result.message}
        if isinstance(result, SkilljurorError)
        else {"source": name, "record": result}
        for name, result in results
    ]
    verdicts = {item.verdict for one in reviews.values() for item in one.record.variants}
    return Answer(
        payload if many else payload[0],
        _build_blocks(results, out, reviews),
        2
        if len(folders) < len(results)
        else 1
        if "fail" in verdicts
        else 3 * ("review" in verdicts),
    )


def _build_each(
    sources: list[Path], out: Path, jobs: int, engine: Any, chosen: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    """(name, record or error) of each source; a single source is built into `out` and may raise."""
    from skilljuror.layouts.build.build import build_many, build_named, build_source
    from skilljuror.layouts.build.model_build import build_with_model

    single = len(sources) == 1
    make: Any = partial(build_source if single else build_named, **chosen)
    if engine:
        make, jobs = partial(build_with_model, engine=engine, **chosen), 1
    if single:
        record = make(sources[0], out)
        yield record.name, record
    else:
        yield from build_many(sources, out, make, jobs)


def _build_blocks(
    results: list[tuple[str, Any]], out: Path, reviews: dict[str, Any]
) -> Iterator[Block]:
    rows: list[tuple[Any, ...]] = []
    for name, result in results:
        if isinstance(result, SkilljurorError):
            rows.append((name, "error", *[None] * 5, result.message))
            continue
        notes = reviews[name].review_notes
        for item in result.variants:
            note = notes.get(item.variant)
            verdict = (item.verdict or "–") + (f" with {note}" if note else "")
            warning = item.feasibility or ("control" if item.expected_findings else "")
            rows.append((
                name, item.variant, verdict, len(item.files), item.root_lines, item.root_tokens,
                item.tokens, f"pd_worth: {item.pd_worth}" if item.pd_worth else warning,
            ))  # fmt: skip
    columns = ("source", "variant", "gates", "files", "root lines", "root tokens", "tokens", "note")
    yield Table(columns, rows)
    built = [one.record for one in reviews.values()]
    if len(results) > 1:
        yield f"{len(built)} of {len(results)} sources built"
    if not built:
        return
    yield from _problem_blocks(built, out)
    for one in reviews.values():
        yield from one.stale_notes
    yield f"tokens counted with {built[0].tokenizer}"
    from skilljuror.base.build import AssayReport
    from skilljuror.layouts.build.assay import power_sentence

    for record in built:
        if record.assay is not None:
            yield f"{record.name}: {power_sentence(AssayReport.model_validate(record.assay))}"
    yield f"written to {out}: proof and plans in build.json, units in knowledge.jsonl"
    if len(results) > 1:
        yield f"table of all builds: {command_line('query', out, 'builds')}"
    yield from _model_lines(built, out)


def _model_lines(built: list[Any], out: Path) -> Iterator[str]:
    """Who judged which sections, and what a model's answers used."""
    for record in built:
        if scopes := record.options.get("scopes"):
            judges = Counter(one["by"] for one in scopes.values())
            counts = ", ".join(f"{count} by {by}" for by, count in judges.items())
            decide = command_line("review", "SOURCE")
            yield f"{record.name}: judged sections: {counts}; review them with {decide}"
    if built[0].engine == "rewrite":
        yield f"model {built[0].options['model']}; its answers are in {out.name}.calls.jsonl"
        for record in built:
            yield f"{record.name}: {_usage(record.options['calls'])}"


def _problem_blocks(built: list[Any], out: Path) -> Iterator[str]:
    """Problems of the sources, and the commands for failed variants."""
    issues = [
        f"source: {issue['file']}:{issue['line'] or ''}".rstrip(":") + f": {issue['message']}"
        for record in built
        for issue in record.issues
        if issue["severity"] != "info"
    ]
    yield from issues[:MAX_ISSUES]
    if len(issues) > MAX_ISSUES:
        yield f"source: {len(issues) - MAX_ISSUES} more in build.json"
    verdicts = {item.verdict for record in built for item in record.variants}
    if verdicts - {"pass", None}:
        rule = command_line("audit", "--rules", "RULE")
        yield f"list open findings: {command_line('waive', out)}   explain a rule: {rule}"
    if "review" in verdicts:
        yield f"decide reviews: {command_line('review', out, '--list')}"


def _usage(calls: dict[str, Any]) -> str:
    """What the model's answers used; unknown totals stay unknown."""
    names = (("input_tokens", "input tokens"), ("output_tokens", "output tokens"))
    parts = [f"{calls['count']} answers"]
    parts += [
        f"{name} unknown" if calls[key] is None else f"{calls[key]:,} {name}" for key, name in names
    ]
    cost = calls["cost_usd"]
    parts.append("cost unknown" if cost is None else f"${cost:.2f}")
    why = ", ".join(f"{reason} {count}" for reason, count in calls.get("unknown", {}).items())
    return ", ".join(parts) + (f" ({why})" if why else "")


def audit(
    source: Annotated[
        str | None,
        Argument(
            metavar="SOURCE", help="Original: folder, zip or REV:PATH in git.", show_default=False
        ),
    ] = None,
    variant: Annotated[
        str | None,
        Argument(
            metavar="VARIANT", help="Changed version: folder, zip or REV:PATH.", show_default=False
        ),
    ] = None,
    kind: Annotated[
        Kind | None, Option("--kind", help="Layout the variant claims; default: none.")
    ] = None,
    policy: Annotated[Policy, Option("--policy", help="Severity policy.")] = Policy.edited,
    gates: Gates = None,
    details: Annotated[bool, Option("--details", help="List every finding with its id.")] = False,
    form: Annotated[Form, Option("--format", help="Output format.")] = Form.text,
    summary: Annotated[
        Path | None,
        Option("--summary", metavar="FILE", help="Also append the result as Markdown."),
    ] = None,
    accepted: Annotated[
        str | None,
        Option(
            "--accepted",
            metavar="REV",
            help="Revision whose accepted findings count; default: SOURCE's.",
        ),
    ] = None,
    accept: Annotated[
        list[str] | None,
        Option("--accept", metavar="ID", help="Accept a finding, or all; repeatable."),
    ] = None,
    reason: Reason = "",
    by: By = None,
    rules: Annotated[
        bool, Option("--rules", help="Explain all rules, or the one named in place of SOURCE.")
    ] = False,
) -> Answer:
    """Check whether a changed Skill keeps the knowledge of the original.

    Prints one line per changed section. --accept writes .skilljuror/accepted.yaml, which counts once it is
    in the revision of SOURCE.
    """
    from skilljuror.audit.audit import audit as judge_pair
    from skilljuror.base.skill import missing_root
    from skilljuror.report.audit import FORMATS, as_markdown
    from skilljuror.review.waivers import ACCEPTED, accept_known, read_accepted
    from skilljuror.review.waivers import accept as write_accepted
    from skilljuror.skill.revision import file_at, load_named, revision_of

    if rules:
        return _rules(source)
    if source is None or variant is None:
        raise UsageError(
            f"missing argument {'VARIANT' if source else 'SOURCE'} (see skilljuror audit --help)"
        )
    changed = load_named(variant)
    tops = {path.partition("/")[0] for path in changed.files}
    under = tops.pop() if len(tops) == 1 else None  # the name of a single Skill's folder is nothing
    parent = load_named(source, under=under)
    if not parent.skills:
        problem = missing_root(parent.files)
        raise BundleError(f"{source!r} {problem}", file=source, field="source")
    result = judge_pair(
        parent, changed, kind.value if kind else UNCLAIMED, policy.value, gates=gates or ()
    )
    named = revision_of(source)
    revision = accepted or (named[0] if named else None)
    skills = [_in_repository(source), _in_repository(variant)]
    if revision and (text := file_at(revision, ACCEPTED)) is not None:
        known = read_accepted(text, f"{revision}:{ACCEPTED}")
        result = accept_known(result, known, skills)
    if accept:
        file = _top(variant) / ACCEPTED
        rows = write_accepted(result, accept, reason, by, skills[-1], file)
        return Answer(rows, [f"{file}: accepted {len(rows)}; commit it to the base branch"])
    report = _audit_report(source, variant, parent, changed, result, under)
    report = report._replace(details=details)
    if summary:
        with summary.open("a", encoding="utf-8") as appended:
            appended.write(f"{as_markdown(report)}\n")
    return Answer(_audit_payload(report), [FORMATS[form.value](report)], STATUS[result.verdict])


def _rules(name: str | None) -> Answer:
    from skilljuror.audit.gates.rules import RULES, explain

    if name is not None:
        text = explain(name)
        return Answer({"rule": name, "text": text}, [text])
    rules = [
        {"rule": name, "severity": entry.severity, "what": entry.what}
        for name, entry in sorted(RULES.items())
    ]
    return Answer(rules, [records(rules, "rule, severity, what: finding")])


def _audit_report(
    source: str, variant: str, parent: Any, changed: Any, result: Any, under: str | None
) -> Any:
    from skilljuror.audit.audit import moves, reasons
    from skilljuror.audit.audit_sections import section_changes
    from skilljuror.report.audit import AuditReport

    def path_of(side: str, file: str) -> str:
        """Path of a file of a bundle from the current folder; its root SKILL.md for ""."""
        name = source if side == "source" else variant
        folder = PurePosixPath(name if Path(name).exists() else name.partition(":")[2] or name)
        inner = PurePosixPath(file or f"{under or ''}/SKILL.md")
        if under and inner.parts[:1] == (under,) and not Path(folder, under).is_dir():
            inner = inner.relative_to(under)
        return str(folder / inner)

    return AuditReport(
        source, variant, result, reasons(result), section_changes(parent, changed, result),
        moves(parent, changed), path_of,
    )  # fmt: skip


def _audit_payload(report: Any) -> dict[str, Any]:
    """What --json prints: paths start where the audit ran."""
    from skilljuror.report.audit import section_lines, side_of

    fields = (
        "id", "rule", "severity", "source_text", "variant_text", "inherited", "waived", "message",
    )  # fmt: skip
    findings = []
    for finding in report.judged.findings:
        row = to_plain(finding.model_dump() | {"id": finding.id})
        place = {"file": report.path_of(side_of(finding), finding.file), "line": finding.line}
        findings.append({name: row[name] for name in fields} | place)
    return {
        "verdict": report.judged.verdict, "policy": report.judged.policy, "reasons": report.reasons,
        "sections": section_lines(report), "findings": findings,
    }  # fmt: skip


def _top(name: str) -> Path:
    """The top of the repository around a folder, else the current folder."""
    place = Path(name).absolute()
    return next((one for one in (place, *place.parents) if (one / ".git").exists()), Path())


def _in_repository(name: str) -> str:
    """Path of a bundle from the top of its repository; "." for the top."""
    from skilljuror.skill.revision import revision_of

    named = revision_of(name)
    if named:
        return str(PurePosixPath(named[1] or "."))
    place, top = Path(name).absolute(), _top(name).absolute()
    return place.relative_to(top).as_posix() if place.is_relative_to(top) else place.name


def waive(
    place: Annotated[Path, Argument(metavar="DIR", help="Build or study folder.")],
    finding: Annotated[
        str | None,
        Argument(metavar="FINDING", help="Finding id, or trial; default: list open findings."),
    ] = None,
    reason: Reason = "",
    by: By = None,
) -> Answer:
    """Accept a finding of a gate, a leak, or a trial's result, with a reason; or list open findings.

    An accepted finding stays listed as waived and no longer counts in the verdict. An accepted trial is not
    rerun; without a reward it counts as not passed.
    """
    from skilljuror.base.files import StudyFolder
    from skilljuror.review.waivers import open_findings, verdict_sentences, waive_finding

    if finding is None:
        rows = [(one.build, one.variant, one.id, one.finding) for one in open_findings(place)]
        payload = [
            dict(zip(("build", "variant", "id", "finding"), row, strict=True)) for row in rows
        ]
        return Answer(payload, [_open_table(rows) if rows else "no open findings"])
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


def _open_table(rows: list[tuple[str, str, str, Any]]) -> Table:
    cells = [
        (
            build, variant, one.rule, name, one.source_text, one.variant_text,
            f"{one.file}{f':{one.line}' if one.line else ''}: {one.message}",
        )
        for build, variant, name, one in rows
    ]  # fmt: skip
    return Table(
        ("build", "variant", "rule", "id", "source text", "variant text", "message"), cells
    )


def assay(
    builds: Annotated[list[Path], Argument(metavar="DIR", help="Build or study folders.")],
    sites: Annotated[int, Option("--sites", min=1, help="Places per mutation and variant.")] = 2,
    seed: Annotated[int, Option("--seed", help="Random seed for the places.")] = 0,
    policy: Annotated[
        Policy | None, Option("--policy", help="Severity policy; default: the build's.")
    ] = None,
    keep: Annotated[
        bool, Option("--keep", help="Store results in build.json, for reports.")
    ] = False,
    jobs: Jobs = 1,
) -> Answer:
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

    settings = AssaySettings(policy and policy.value, sites, seed)
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
    rows = [
        (
            "drift" if row.drift else "harmless", row.mutation, row.mutants, row.equivalent,
            row.flagged, row.failed, row.rate, row.low, row.high,
        )
        for row in report.rows
    ]  # fmt: skip
    columns = (
        "kind", "mutation", "planted", "equivalent", "flagged", "failed", "rate", "from", "to",
    )  # fmt: skip
    return Answer(
        report,
        [
            Table(columns, rows, f"{report.name}, policy {report.policy}, seed {report.seed}"),
            "flagged = verdict other than pass; equivalent mutants are excluded; from, to: Wilson's 95 % interval",
            "of this text alone, as if all places were independent; it says nothing of other sources",
            power_sentence(report),
            "stored in build.json and, if present, in the database"
            if keep
            else f"store it for a report: {command_line('assay', *builds, *words, '--keep')}",
        ],
    )


def verify(
    build: Build,
    source: Annotated[
        str | None,
        Option("--source", metavar="PATH", help="Trusted source: folder, zip or REV:PATH."),
    ] = None,
) -> Answer:
    """Rebuild variants from their source and compare the files on disk."""
    from skilljuror.layouts.verify import verify_build

    proof = verify_build(build, source)
    if proof.problems:
        count = len(proof.problems)
        verdict = f"{count} problem{'s' if count > 1 else ''}"
    else:
        result = "proved, except as listed above" if proof.unproved else "proved"
        verdict = f"{result if proof.made_again else 'not proved'}; {'; '.join(proof.grounds)}"
    return Answer(
        {"proved": proof.proved, **to_plain(proof)},
        [*(f"  {line}" for line in (*proof.problems, *proof.unproved)), f"{build}: {verdict}"],
        1 if proof.problems else 3 if proof.unproved else 0,
    )


def rubric(
    place: Annotated[Path, Argument(metavar="DIR", help="Build, folder of builds, or study.")],
    model: Annotated[
        str | None, Option("--model", help="Model that rates, named as in litellm.")
    ] = None,
    api_base: ApiBase = None,
    budget: Budget = None,
    tasks: Annotated[
        Path | None,
        Option(
            "--tasks", metavar="STUDY.yaml", help="Study whose tasks to classify instead (RQ4)."
        ),
    ] = None,
    threads: Threads = 16,
) -> Answer:
    """Rate variants by the construction rubric, with a model.

    Without --model, list the ratings so far. The rubric asks whether a variant uses progressive
    disclosure and whether its meaning drifted.
    """
    from skilljuror.layouts.build.rubric_audit import (
        RubricSummary,
        client_for,
        items_at,
        judge_builds,
    )

    if model is None:
        if api_base or tasks or budget is not None:
            raise UsageError("--api-base, --budget-usd and --tasks require --model", field="model")
        summary = RubricSummary(tuple(items_at(place)), 0, None)
    else:
        client = client_for(place, model, api_base, budget)
        if tasks is not None:
            return _classify_tasks(place, tasks, client, threads)
        with progress() as listener:
            summary = judge_builds(place, client, threads, listener)
        from skilljuror.store.study_files import refresh

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


def _classify_tasks(place: Path, study_file: Path, client: Any, threads: int) -> Answer:
    from skilljuror.base.llm import MOST_UNPARSED
    from skilljuror.judge.rubric import judge_tasks

    with progress() as listener:
        rows = judge_tasks(place, study_file, client, threads, listener)
    table = records(rows, "task, attribute, value, reason, evidence, file, line")
    nothing = "nothing to classify: every task declares its attributes"
    unparsed = sum(row.reason == "unparsed" for row in rows)
    return Answer(rows, [table if rows else nothing], int(unparsed > MOST_UNPARSED * len(rows)))


def _item_row(rated: Any) -> dict[str, Any]:
    state, verdict = rated.state, rated.state.verdict
    if verdict is None:
        why = "the texts have changed since" if state.stale else ""
    else:
        disagree = (
            f"code says {state.code}, the model {verdict.answer}: " if state.disagrees else ""
        )
        why = f"{disagree}{f'{verdict.reason}: ' if verdict.reason else ''}{verdict.evidence}"
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
    if summary.unparsed or summary.quotes_not_found:
        yield (
            f"unknown: {summary.unparsed} unusable answers, {summary.quotes_not_found} with a quote that"
            " is not in the text"
        )
    if summary.judged:
        spent = summary.spent_usd
        cost = "at unknown cost" if spent is None else f"for ${spent:.2f}"
        yield f"{summary.judged} rated now, {cost}"
    if counts["unanswered"]:
        yield f"rate with a model: {command_line('rubric', place, '--model', 'openai/gpt-5.4')}"


def advise(
    skill: Annotated[str, Argument(metavar="SKILL", help="Skill: folder, zip or REV:PATH in git.")],
    study: Annotated[
        Path | None,
        Option("--study", metavar="STUDY", help="Study with runs that opened the Skill."),
    ] = None,
    checks: Annotated[
        bool, Option("--checks", help="Static checks of the text, without layouts.")
    ] = False,
    source: Annotated[
        str | None,
        Option("--source", metavar="DIR", help="With --checks: what the Skill was made from."),
    ] = None,
    task: Annotated[
        Path | None,
        Option("--task", metavar="DIR", help="With --checks: a task that the Skill is for."),
    ] = None,
) -> Answer:
    """Say which layout of a Skill to ship, and what only a study can tell.

    Builds the layouts in a temporary folder and compares the tokens that a run reads. With --checks: score eight
    checks and six axes of the text, each with the line behind it and what would raise it.
    """
    if checks and study:
        raise UsageError("--checks does not read a study; drop --study")
    if not checks and (source or task):
        raise UsageError("--source and --task need --checks")
    if checks:
        from skilljuror.audit.skill_checks import check_skill

        checked = check_skill(skill, source, task)
        return Answer(checked, _check_blocks(checked))
    from skilljuror.report.advise import advise as compare

    advice = compare(skill, study)
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
    yield ""
    yield _layout_table(advice.layouts)
    yield Indented(
        "root, on demand: tokens of instructions, and number of files. 0 % to 100 %: mean tokens that a run reads"
        " if each file is opened in this share of runs. Scripts and data are not counted."
    )
    for name, why in advice.not_built.items():
        yield Indented(f"{name} cannot be built: {why}")


def _layout_table(layouts: Any) -> Table:
    from skilljuror.report.advise import SHARES

    observed = any(layout.expected for layout in layouts)
    rows: list[tuple[Any, ...]] = []
    for layout in layouts:
        name = f"{layout.layout} (yours)" if layout.layout == "origin" else layout.layout
        demand = (
            f"{layout.demand_tokens:,} in {len(layout.on_demand)}" if layout.on_demand else None
        )
        tokens = [f"{count:,.0f}" for count in layout.at_share]
        ends = [f"{end:,.0f}" for end in layout.expected or ()]
        seen = ["–".join(dict.fromkeys(ends))] if observed else []
        rows.append((
            name, f"{layout.root_tokens:,}", demand, *tokens, *seen, layout.cheaper or None,
            layout.verdict,
        ))  # fmt: skip
    shares = [f"{100 * share:.0f} %" for share in SHARES]
    seen = ["observed"] if observed else []
    return Table(
        ("layout", "root", "on demand", *shares, *seen, "cheaper than yours", "gates"), rows
    )
