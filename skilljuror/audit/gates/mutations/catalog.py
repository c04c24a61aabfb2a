"""The registry of mutations."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from skilljuror.audit.gates.mutations import (
    benign,
    line_drift,
    order_drift,
    outline_drift,
    routing_drift,
    shape_drift,
    word_drift,
)
from skilljuror.audit.gates.mutations.sites import MutationSite, MutationTarget


class Mutation(NamedTuple):
    """One kind of change."""

    drift: bool  # whether it changes what an agent must do; False for a benign one
    sites: Callable[[MutationTarget], Iterator[MutationSite]]  # yields every possible site


MUTATIONS: dict[str, Mutation] = {
    "drop-threshold": Mutation(True, line_drift.drop_threshold),
    "change-number": Mutation(True, line_drift.change_number),
    "weaken-must": Mutation(True, line_drift.weaken_must),
    "drop-negation": Mutation(True, line_drift.drop_negation),
    "rename-script": Mutation(True, shape_drift.rename_script),
    "drop-reference": Mutation(True, shape_drift.drop_reference),
    "retarget-link": Mutation(True, shape_drift.retarget_link),
    "contradict": Mutation(True, shape_drift.contradict),
    "add-requirement": Mutation(True, shape_drift.add_requirement),
    "swap-unit": Mutation(True, line_drift.swap_unit),
    "flip-comparator": Mutation(True, line_drift.flip_comparator),
    "swap-numbers": Mutation(True, line_drift.swap_numbers),
    "change-flag": Mutation(True, line_drift.change_flag),
    "swap-steps": Mutation(True, shape_drift.swap_steps),
    "swap-cells": Mutation(True, shape_drift.swap_cells),
    "drop-script-line": Mutation(True, shape_drift.drop_script_line),
    "move-context": Mutation(True, shape_drift.move_context),
    "antonym": Mutation(True, line_drift.antonym),
    "swap-files": Mutation(True, routing_drift.swap_files),
    "retarget-row": Mutation(True, routing_drift.retarget_row),
    "dull-cue": Mutation(True, routing_drift.dull_cue),
    "swap-sections": Mutation(True, order_drift.swap_sections),
    "swap-contents": Mutation(True, order_drift.swap_contents),
    "swap-conditions": Mutation(True, order_drift.swap_conditions),
    "retarget-code-path": Mutation(True, routing_drift.retarget_code_path),
    "drop-announcement": Mutation(True, routing_drift.drop_announcement),
    "swap-conjunction": Mutation(True, word_drift.swap_conjunction),
    "drop-condition": Mutation(True, word_drift.drop_condition),
    "weaken-quantifier": Mutation(True, word_drift.weaken_quantifier),
    "swap-agent": Mutation(True, word_drift.swap_agent),
    "strike-out": Mutation(True, word_drift.strike_out),
    "revoke": Mutation(True, word_drift.revoke),
    "look-alike": Mutation(True, word_drift.look_alike),
    "change-address": Mutation(True, word_drift.change_address),
    "drop-typographic-negation": Mutation(True, word_drift.drop_typographic_negation),
    "nest-item": Mutation(True, outline_drift.nest_item),
    "lift-item": Mutation(True, outline_drift.lift_item),
    "demote-heading": Mutation(True, outline_drift.demote_heading),
    "exchange-labels": Mutation(True, outline_drift.exchange_labels),
    "none": Mutation(False, benign.none),
    "rewrap": Mutation(False, benign.rewrap),
    "emphasis": Mutation(False, benign.emphasis),
    "bullets": Mutation(False, benign.bullets),
    "synonym": Mutation(False, benign.synonym),
    "paraphrase": Mutation(False, benign.paraphrase),
    "quotes": Mutation(False, benign.quotes),
    "contractions": Mutation(False, benign.contractions),
    "reference-links": Mutation(False, benign.reference_links),
    "thousands-comma": Mutation(False, benign.thousands_comma),
    "eg": Mutation(False, benign.eg),
    "spelling": Mutation(False, benign.spelling),
    "table-realigned": Mutation(False, benign.table_realigned),
}
"""name -> mutation, drift first."""
