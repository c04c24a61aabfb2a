"""The mutations that measure the gates: drift that must be caught, and changes that must pass."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from skilljuror.gates import benign_mutations as benign
from skilljuror.gates import line_mutations as line
from skilljuror.gates import shape_mutations as shape
from skilljuror.gates.target import MutationSite, MutationTarget


class Mutation(NamedTuple):
    """One kind of change."""

    drift: bool
    """Whether it changes what an agent must do; a benign one does not."""
    sites: Callable[[MutationTarget], Iterator[MutationSite]]
    """Every place where it can be made."""


MUTATIONS: dict[str, Mutation] = {
    "drop-threshold": Mutation(True, line.drop_threshold),
    "change-number": Mutation(True, line.change_number),
    "weaken-must": Mutation(True, line.weaken_must),
    "drop-negation": Mutation(True, line.drop_negation),
    "rename-script": Mutation(True, shape.rename_script),
    "drop-reference": Mutation(True, shape.drop_reference),
    "retarget-link": Mutation(True, shape.retarget_link),
    "contradict": Mutation(True, shape.contradict),
    "add-requirement": Mutation(True, shape.add_requirement),
    "swap-unit": Mutation(True, line.swap_unit),
    "flip-comparator": Mutation(True, line.flip_comparator),
    "swap-numbers": Mutation(True, line.swap_numbers),
    "change-flag": Mutation(True, line.change_flag),
    "swap-steps": Mutation(True, shape.swap_steps),
    "swap-cells": Mutation(True, shape.swap_cells),
    "drop-script-line": Mutation(True, shape.drop_script_line),
    "move-context": Mutation(True, shape.move_context),
    "none": Mutation(False, benign.none),
    "rewrap": Mutation(False, benign.rewrap),
    "emphasis": Mutation(False, benign.emphasis),
    "bullets": Mutation(False, benign.bullets),
    "synonym": Mutation(False, benign.synonym),
    "paraphrase": Mutation(False, benign.paraphrase),
}
"""name -> mutation, drift first."""
