"""Layouts of bundles in memory, each made from the one that its transform takes for its parent."""

from functools import cache

from skilljuror.audit.plans.render import render
from skilljuror.audit.plans.verify import verify
from skilljuror.base.errors import resolve
from skilljuror.base.skill import Bundle, Plan
from skilljuror.layouts import TRANSFORMS
from skilljuror.layouts.base import Transform, needed, plan_of
from skilljuror.skill.bundles import make_bundle
from tests.support.bundle_corpus import bundle

CONTROLS = ("placebo-irrelevant", "placebo-unrouted")
"""Variants that leave knowledge out on purpose."""


def transform(variant: str) -> Transform:
    """A registered transform."""
    made: Transform = resolve(TRANSFORMS, variant, "variant")()
    return made


def plan_again(name: str, variant: str, parent: Bundle) -> Plan:
    """The plan of a variant for a parent that is given anew."""
    maker = transform(variant)
    plans = {one: built(name, one)[0] for one in needed(maker) if one != "source"}
    return plan_of(maker, parent, {}, plans)


@cache
def built(name: str, variant: str) -> tuple[Plan, Bundle, Bundle]:
    """(plan, parent, variant) of a bundle of the synthetic corpus."""
    maker = transform(variant)
    parent = bundle(name) if maker.parent == "source" else built(name, maker.parent)[2]
    plan = plan_again(name, variant, parent)
    return plan, parent, make_bundle(name, render(plan, parent))


def laid_out(source: Bundle, *variants: str) -> dict[str, Bundle]:
    """The source and its variants by name, each proved; each stands behind the one it is made from."""
    made, plans = {"source": source}, dict[str, Plan]()
    for variant in variants:
        parent = made[transform(variant).parent]
        plan = plans[variant] = plan_of(transform(variant), parent, {}, plans)
        made[variant] = make_bundle(source.name, render(plan, parent))
        assert verify(plan, parent, made[variant]) == (), variant
    return made
