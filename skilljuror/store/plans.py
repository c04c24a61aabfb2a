"""Rows of a plan and of a build: small records with nested parts, made flat."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from skilljuror.store import tables
from skilljuror.store.tables import Row, Table
from skilljuror.store.values import map_value

if TYPE_CHECKING:  # ingest of logs loads no pydantic
    from skilljuror.models.build import BuildRecord, VariantManifest
    from skilljuror.models.gate import Finding, GateResult
    from skilljuror.models.study import StudyConfig, StudyPlan

TEXT_LIMIT = 300
"""Characters of a finding's text that are kept; the gates' own file has it all."""

TableRows = tuple[Table, Sequence[Any]]


def plan_rows(plan: "StudyPlan") -> list[TableRows]:
    """The rows of all tables about the plan."""
    return [
        (tables.STUDY, [study_row(plan)]),
        (tables.TASKS, list(task_rows(plan))),
        (tables.TASK_ATTRIBUTES, list(attribute_rows(plan))),
        (tables.CONDITIONS, list(condition_rows(plan.config))),
        (tables.PLANNED_TRIALS, plan.trials),
    ]


def study_row(plan: "StudyPlan") -> Row:
    """The one row of `study`."""
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
        "config": config.model_dump_json(),
    }


def headline(config: "StudyConfig") -> tuple[str | None, str | None]:
    """Treatment and control: as declared, else the last condition against the one before it."""
    if config.contrast:
        return config.contrast.treatment, config.contrast.control
    if len(config.conditions) < 2:
        return None, None
    return config.conditions[-1].name, config.conditions[-2].name


def condition_rows(config: "StudyConfig") -> Iterator[Row]:
    """Rows of `conditions`."""
    treatment, control = headline(config)
    roles = {treatment: "treatment", control: "control"}
    for position, condition in enumerate(config.conditions):
        yield {
            "condition": condition.name,
            "position": position,
            "variant": condition.variant,
            "role": roles.get(condition.name),
        }


def task_rows(plan: "StudyPlan") -> Iterator[Row]:
    """Rows of `tasks`."""
    for position, task in enumerate(plan.tasks):
        fields = task.model_dump(exclude={"name", "attributes"})
        substrate = {"substrate_digest": task.substrate_digest}
        yield {"task": task.name, "position": position, **fields, **substrate}


def attribute_rows(plan: "StudyPlan") -> Iterator[Row]:
    """Rows of `task_attributes`."""
    for task in plan.tasks:
        for attribute, value in sorted(task.attributes.items()):
            yield {"task": task.name, "attribute": attribute, "value": value}


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


def variant_row(build: str, variant: "VariantManifest") -> Row:
    """A row of `variants`."""
    fields = variant.model_dump(exclude={"files"})
    return {"build": build, **fields}


def file_rows(build: str, variant: "VariantManifest") -> Iterator[Row]:
    """Rows of `variant_files`."""
    for file in variant.files:
        yield {"build": build, "variant": variant.variant, **file.model_dump()}


def waiver_rows(build: "BuildRecord") -> Iterator[Row]:
    """Rows of `waivers`."""
    for position, waiver in enumerate(build.waivers):
        yield {
            "build": build.name,
            "position": position,
            "finding": waiver.get("id", ""),
            "reason": waiver.get("reason", ""),
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
            **_cut(finding),
        }


def _cut(finding: "Finding") -> Row:
    fields = finding.model_dump()
    for name in ("source_text", "variant_text"):
        text = fields[name]
        fields[name] = None if text is None else text[:TEXT_LIMIT]
    return fields


def build_rows(builds: "Sequence[tuple[BuildRecord, Sequence[GateResult]]]") -> list[TableRows]:
    """The rows of all tables about builds."""
    variants = [
        (build.name, variant) for build, _ in builds for variant in (build.source, *build.variants)
    ]
    results = [(build.name, result) for build, found in builds for result in found]
    return [
        (tables.BUILDS, [build_row(build) for build, _ in builds]),
        (tables.VARIANTS, [variant_row(*pair) for pair in variants]),
        (tables.VARIANT_FILES, [row for pair in variants for row in file_rows(*pair)]),
        (tables.GATE_RESULTS, [gate_row(*pair) for pair in results]),
        (tables.FINDINGS, [row for pair in results for row in finding_rows(*pair)]),
        (tables.WAIVERS, [row for build, _ in builds for row in waiver_rows(build)]),
    ]
