"""What every registered metric promises: pure, total, the same rows for every trial."""

import math

import pytest
from hypothesis import given, settings

from skilljuror.base.errors import resolve
from skilljuror.base.results import TrialContext
from skilljuror.measures.metrics import METRICS, definitions
from tests.support.metric_contexts import contexts

EMPTY = TrialContext(trial="t")
FAMILIES = sorted(METRICS)
DEFINITIONS = definitions()


def measured(family, context):
    return list(resolve(METRICS, family, "metric")(context))


def names(measures):
    return [(measure.metric, measure.key) for measure in measures]


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=40, deadline=None)
@given(context=contexts)
def test_the_same_rows_come_out_for_every_trial(family, context):
    assert names(measured(family, context)) == names(measured(family, EMPTY))


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=40, deadline=None)
@given(context=contexts)
def test_a_value_is_finite_and_a_null_has_a_reason(family, context):
    for measure in measured(family, context):
        if measure.value is None:
            assert measure.reason, measure
        else:
            assert measure.reason is None
            assert math.isfinite(measure.value)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=40, deadline=None)
@given(context=contexts)
def test_a_metric_is_pure(family, context):
    assert measured(family, context) == measured(family, context)


@settings(max_examples=40, deadline=None)
@given(context=contexts)
def test_shares_and_flags_stay_in_the_unit_interval(context):
    for measure in (row for family in FAMILIES for row in measured(family, context)):
        if measure.value is not None and DEFINITIONS[measure.metric].unit in {"share", "flag"}:
            assert 0 <= measure.value <= 1, measure


def test_nothing_known_gives_nulls_only():
    values = {row.metric: row.value for family in FAMILIES for row in measured(family, EMPTY)}
    assert set(values.values()) == {None}


def test_every_metric_is_in_the_catalog_and_no_other():
    emitted = [name for family in FAMILIES for name in names(measured(family, EMPTY))]
    assert len(emitted) == len(set(emitted))
    assert {metric for metric, _ in emitted} == set(DEFINITIONS)
    keyed = {metric for metric, key in emitted if key}
    assert keyed == {name for name, definition in DEFINITIONS.items() if definition.keys}
