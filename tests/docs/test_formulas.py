"""formulas.md names every measure, section, decision and estimator, and its examples are true."""

import doctest
import inspect
import re
from importlib import import_module
from pkgutil import iter_modules

from hypothesis import given, settings

from skilljuror import measures
from skilljuror.base.errors import resolve
from skilljuror.base.results import TrialContext
from skilljuror.measures.metrics import METRICS, definitions
from skilljuror.store.questions import catalog
from tests.support.every import every
from tests.support.metric_contexts import contexts
from tests.support.places import ROOT

CATALOG = definitions()
PAGE = (ROOT / "docs" / "formulas.md").read_text(encoding="utf-8")
SECTIONS = set(re.findall(r"^#+ (§[0-9.]+) ", PAGE, re.MULTILINE))
DECISIONS = set(re.findall(r"\bA-\d\d\b", PAGE))
CODE = "\n".join(
    path.read_text(encoding="utf-8")
    for pattern in ("*.py", "*.sql")
    for path in sorted((ROOT / "skilljuror").rglob(pattern))
)


def estimators():
    return [
        name
        for module in iter_modules(measures.__path__, f"{measures.__name__}.")
        if module.name.rpartition(".")[2] not in {"metrics", "run_measures"}
        for name, thing in inspect.getmembers(import_module(module.name), inspect.isfunction)
        if thing.__module__ == module.name and not name.startswith("_")
    ]


@every("name", CATALOG, "Add a row with its formula to a table of docs/formulas.md.")
def test_every_measure_is_a_row_of_a_table(name):
    row = rf"^\| (`\w+`, )*`{name}`(, `\w+`)* \| \S"
    assert re.search(row, PAGE, re.MULTILINE), f"formulas.md lacks `{name}`"


@every("name", CATALOG, "Cite a § of docs/formulas.md in @defines, or 'own'.")
def test_the_section_that_a_measure_cites_exists(name):
    source = CATALOG[name].source
    assert source == "own" or source in SECTIONS, f"{name} cites {source}"


@every("name", estimators, "Name it in docs/formulas.md, or begin its name with an underscore.")
def test_every_estimator_is_named(name):
    assert re.search(rf"`{name}[`(]|import .*\b{name}\b", PAGE), f"formulas.md lacks {name}"


def test_what_the_code_cites_exists():
    groups = re.findall(r"\bmeasures (§[^)]*)\)", CODE)
    cited = re.findall(r"§\d[\d.]*(?<!\.)", " ".join(groups))
    assert len(cited) > 20
    assert set(cited) - SECTIONS == set()
    decisions = set(re.findall(r"\bA-\d\d\b", CODE))
    assert len(decisions) > 8
    assert decisions - DECISIONS == set()


@settings(max_examples=60, deadline=None)
@given(context=contexts)
def test_every_reason_of_a_null_is_explained(context):
    reasons = _reasons(context) | _reasons(TrialContext("t"))
    assert {"no_record", "no_trajectory"} <= reasons
    assert {reason for reason in reasons if f"`{reason}`" not in PAGE} == set()


def _reasons(context):
    found = (row for family in METRICS for row in resolve(METRICS, family, "metric")(context))
    return {row.reason for row in found if row.value is None}


def test_questions_that_the_page_names_exist():
    named = re.findall(r"[Qq]uestions? `([a-z_]+)`", PAGE)
    assert len(named) > 8
    assert set(named) - {query.name for query in catalog()} == set()


def test_the_contents_lead_to_headings():
    anchors = {
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)
    }
    targets = set(re.findall(r"\]\(#([^)]+)\)", PAGE))
    assert len(targets) > 8
    assert targets - anchors == set()


def test_examples_give_what_they_say():
    blocks = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
    test = doctest.DocTestParser().get_doctest(blocks, {}, "formulas.md", "formulas.md", 0)
    said: list[str] = []
    outcome = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert outcome.attempted > 30
    assert outcome.failed == 0, "".join(said)
