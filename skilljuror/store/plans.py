"""Rows of a plan and of a build: small nested records, flattened."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from skilljuror.store import tables
from skilljuror.store.tables import Row, Table
from skilljuror.store.values import iso_microseconds, map_value

if TYPE_CHECKING:  # ingest of logs loads no pydantic
    from skilljuror.base.build import BuildRecord, Finding, GateResult, VariantManifest
    from skilljuror.base.review import JudgedAttribute, JudgedBuild
    from skilljuror.base.study import ArmSetting, Condition, StudyConfig, StudyPlan

TEXT_LIMIT = 300
"""Characters of a finding's text in the database; the gates' file has all of it."""

TableRows = tuple[Table, Sequence[Any]]


def plan_rows(plan: "StudyPlan") -> list[TableRows]:
    """Return the rows of all tables about the plan."""
    return [
        (tables.STUDY, [study_row(plan)]),
        (tables.TASKS, list(task_rows(plan))),
        (tables.TASK_ATTRIBUTES, list(attribute_rows(plan))),
        (tables.CONDITIONS, list(condition_rows(plan))),
        (tables.PLANNED_TRIALS, plan.trials),
        (tables.EXCLUDED_TASKS, plan.excluded),
    ]


def study_row(plan: "StudyPlan") -> Row:
    """Return the row of `study`."""
    config = plan.config
    treatment, control = headline(config)
    return {
        "study": config.name,
        "skilljuror_version": plan.skilljuror_version,
        "config_digest": plan.config_digest,
        "seed": config.seed,
        "trials_per_cell": config.trials_per_cell,
        "treatment": treatment,
        "control": control,
        "harness": config.harness.name,
        "agent": config.agent.name,
        "model": config.agent.model,
        "effort": config.agent.effort,
        "disclosure": config.disclosure,
        "vary": list(config.vary),
        "accept_skills": list(config.accept_skills),
        "primary_outcome": config.primary_outcome,
        "margin": config.margin,
        "healthy_first": config.healthy_first,
        "fewest_usable": config.fewest_usable,
        "config": config.model_dump_json(),
    }


def headline(config: "StudyConfig") -> tuple[str | None, str | None]:
    """Return treatment and control: as declared, else the last condition and the nearest before it that
    differs in one setting at most."""
    if config.contrast:
        return config.contrast.treatment, config.contrast.control
    *before, last = config.conditions
    for arm in reversed(before):
        if len(differing(config, last, arm)) < 2:
            return last.name, arm.name
    return None, None


def differing(config: "StudyConfig", one: "Condition", other: "Condition") -> "list[ArmSetting]":
    """Return the settings in which two arms differ."""
    after = config.settings(other)
    return [name for name, value in config.settings(one).items() if value != after[name]]


def setting(config: "StudyConfig", arm: "Condition") -> str:
    """Return everything of an arm but its Skill, JSON: arms with the same one differ in the Skill alone."""
    return json.dumps({k: v for k, v in config.settings(arm).items() if k != "skill"})


def condition_rows(plan: "StudyPlan") -> Iterator[Row]:
    """Rows of `conditions`."""
    config = plan.config
    treatment, control = headline(config)
    adopted = not any(task.environment_digest for task in plan.tasks)
    roles = {treatment: "treatment", control: "control"}
    for position, condition in enumerate(config.conditions):
        agent = config.agent_of(condition)
        yield {
            "condition": condition.name,
            "position": position,
            "variant": condition.offers,
            "role": roles.get(condition.name),
            "disclosure": condition.disclosure or config.disclosure,
            "agent": agent.name,
            "model": agent.model,
            "effort": agent.effort,
            "own_skills": bool(agent.options.get("bundled_skills", adopted)),
            "setting": setting(config, condition),
        }


def task_rows(plan: "StudyPlan") -> Iterator[Row]:
    """Rows of `tasks`."""
    for position, task in enumerate(plan.tasks):
        fields = task.model_dump(exclude={"name", "attributes"})
        substrate = {
            "substrate_digest": task.substrate_digest,
            "settings_digest": task.settings_digest or None,
            "judged_by": task.judged_by,
        }
        yield {"task": task.name, "position": position, **fields, **substrate}


def attribute_rows(plan: "StudyPlan", judged: "Iterable[JudgedAttribute]" = ()) -> Iterator[Row]:
    """Rows of `task_attributes`. Attributes of the study file or the task override a model's judgement;
    the default domain is the task's category, as in SkillsBench."""
    by_model = {(one.task, one.attribute): one for one in judged if one.value is not None}
    for task in plan.tasks:
        declared = dict(task.attributes)
        if "category" in declared:
            declared.setdefault("domain", declared["category"])
        rows: dict[str, tuple[str | None, str | None]] = {
            name: (value, None) for name, value in declared.items()
        }
        for (name, attribute), one in by_model.items():
            if name == task.name:
                rows.setdefault(attribute, (one.value, one.model))
        for attribute, (value, model) in sorted(rows.items()):
            yield {
                "task": task.name, "attribute": attribute, "value": value, "judged_by": model,
            }  # fmt: skip


def build_row(build: "BuildRecord") -> Row:
    """A row of `builds`."""
    return {
        "build": build.name,
        "skilljuror_version": build.skilljuror_version,
        "engine": build.engine,
        "tokenizer": build.tokenizer,
        "source_digest": build.source.tree_digest,
        "options": json.dumps(build.options, sort_keys=True),
        "assay": None if build.assay is None else json.dumps(build.assay, sort_keys=True),
    }


def variant_rows(build: "JudgedBuild") -> Iterator[Row]:
    """Rows of `variants`."""
    notes, layers = build.review_notes, build.layers
    for variant in (build.record.source, *build.record.variants):
        name = variant.variant
        yield _variant_row(build.record.name, variant, notes.get(name), layers.get(name, ()))


def _variant_row(
    build: str, variant: "VariantManifest", waivers: str | None = None, layers: Sequence[str] = ()
) -> Row:
    fields = variant.model_dump(exclude={"files"})
    return {"build": build, **fields, "waivers": waivers, "layers": ", ".join(layers)}


def file_rows(build: str, variant: "VariantManifest") -> Iterator[Row]:
    """Rows of `variant_files`."""
    for file in variant.files:
        yield {"build": build, "variant": variant.variant, **file.model_dump()}


def waiver_rows(build: "JudgedBuild") -> Iterator[Row]:
    """Rows of `waivers`."""
    for position, (waiver, stale) in enumerate(build.waivers):
        yield {
            "build": build.record.name,
            "position": position,
            "finding": waiver.finding,
            "reason": waiver.reason,
            "waived_by": waiver.by,
            "waived_at": waiver.at,
            "stale": stale,
        }


def rubric_rows(build: "JudgedBuild") -> Iterator[Row]:
    """Rows of `rubric_items`."""
    for state in build.items:
        verdict = state.verdict
        quote = verdict.quotes[0] if verdict and verdict.quotes else None
        yield {
            "build": build.record.name,
            "variant": state.variant,
            "item": state.item.id,
            "layer": state.item.layer,
            "question": state.item.question,
            "code": state.code,
            "model_answer": verdict and verdict.answer,
            "answer": state.answer,
            "outcome": state.outcome,
            "reason": verdict and verdict.reason,
            "evidence": verdict and verdict.evidence,
            "quoted_file": quote and quote.file,
            "quoted_line": quote and quote.line,
            "quote": quote and quote.text,
            "quotes_not_found": verdict and verdict.quotes_not_found,
            "model": verdict and verdict.model,
            "prompt_sha256": verdict and verdict.prompt_sha256,
            "adjudication": state.adjudication,
            "adjudicated_by": state.adjudicated_by,
            "adjudication_reason": state.adjudication_reason,
            "stale": state.stale,
        }


def decision_rows(build: "JudgedBuild") -> Iterator[Row]:
    """Rows of `decisions`."""
    for position, one in enumerate(build.decisions):
        yield {
            "build": build.record.name,
            "position": position,
            "kind": one.kind,
            "variant": one.variant,
            "subject": one.subject,
            "answer": one.decision.answer,
            "adjudication": one.decision.adjudication,
            "reason": one.decision.reason,
            "reviewer": one.decision.by,
            "decided_at": iso_microseconds(one.decision.at),
            "blind": one.decision.blind,
            "stale": one.stale,
        }


def gate_row(build: str, result: "GateResult") -> Row:
    """A row of `gate_results`."""
    return {
        "build": build,
        "variant": result.variant,
        "gate": result.gate,
        "parent": result.parent,
        "policy": result.policy,
        "verdict": result.verdict,
        "checked": map_value(result.checked),
    }


def finding_rows(build: str, result: "GateResult") -> Iterator[Row]:
    """Rows of `findings`."""
    for position, finding in enumerate(result.findings):
        yield {
            "build": build,
            "variant": result.variant,
            "gate": result.gate,
            "position": position,
            "id": finding.id,
            **_cut(finding),
        }


def _cut(finding: "Finding") -> Row:
    fields = finding.model_dump()
    for name in ("source_text", "variant_text"):
        text = fields[name]
        fields[name] = None if text is None else text[:TEXT_LIMIT]
    return fields


def build_rows(
    builds: "Sequence[JudgedBuild]", given: "Sequence[tuple[str, VariantManifest]]" = ()
) -> list[TableRows]:
    """Return the rows of all tables about builds, and about Skills that are offered unchanged."""
    variants = [
        (build.record.name, variant)
        for build in builds
        for variant in (build.record.source, *build.record.variants)
    ]
    variants += given
    results = [(build.record.name, result) for build in builds for result in build.results]
    return [
        (tables.BUILDS, [build_row(build.record) for build in builds]),
        (
            tables.VARIANTS,
            [row for build in builds for row in variant_rows(build)]
            + [_variant_row(*pair) for pair in given],
        ),
        (tables.VARIANT_FILES, [row for pair in variants for row in file_rows(*pair)]),
        (tables.GATE_RESULTS, [gate_row(*pair) for pair in results]),
        (tables.FINDINGS, [row for pair in results for row in finding_rows(*pair)]),
        (tables.WAIVERS, [row for build in builds for row in waiver_rows(build)]),
        (tables.RUBRIC_ITEMS, [row for build in builds for row in rubric_rows(build)]),
        (tables.DECISIONS, [row for build in builds for row in decision_rows(build)]),
    ]
