"""Section ablation: the whole Skill against arms in which one section says something irrelevant."""

import pytest

from skilljuror.judge.study import judge_study
from skilljuror.report.computed import OPEN, Answers
from skilljuror.store.connect import open_read
from skilljuror.store.questions import run
from skilljuror.store.trials import ingest_trials
from skilljuror.study.run import run_study
from tests.support.studies import make_study

REDACTION = "without-incident-triage-references-redaction-md"
PERCENTILES = "without-latency-reports-references-percentiles-md"
ARMS = {
    "sham": "placebo-irrelevant",
    REDACTION: "without:incident-triage/references/redaction.md",
    PERCENTILES: "without:latency-reports/references/percentiles.md",
    "baseline": "baseline",
}
NAMED = [
    {"name": "named-whole", "variant": "baseline", "disclosure": "named"},
    {"name": "named-without", "variant": ARMS[REDACTION], "disclosure": "named"},
]
"""Arms with another prompt, before the others: they are compared with each other alone."""
PASSES = """
SELECT condition, task, avg(CAST(reward = 1 AS INTEGER)) AS rate FROM trials GROUP BY condition, task
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    base = tmp_path_factory.mktemp("ablation")
    arms = [{"name": name, "variant": variant} for name, variant in ARMS.items()]
    file = make_study(
        base, packaged=["redact-lines", "alert-rules"], trials=3, conditions=[*NAMED, *arms],
        vary=["skill", "disclosure"], agent={"name": "scripted"},
        contrast={"treatment": "baseline", "control": "sham"},
    )  # fmt: skip
    run_study(file, base / "out", jobs=2)
    ingest_trials(base / "out")
    judge_study(base / "out")
    return base / "out/study.duckdb"


@pytest.mark.slow
def test_a_section_has_its_effect_and_what_the_whole_skill_did_with_it(study):
    with open_read(study) as reader:
        rows = {row["condition"]: row for row in Answers(reader)("sections").records()}
    assert list(rows) == ["named-without", REDACTION, PERCENTILES]
    rates = {(c, t): rate for c, t, rate in run(study, PASSES).rows}
    for name, row in rows.items():
        whole = "named-whole" if name == "named-without" else "baseline"
        by_task = [rates[whole, t] - rates[name, t] for t in ("redact-lines", "alert-rules")]
        assert row["delta_rate"] == pytest.approx(sum(by_task) / 2)
        assert (row["tasks"], row["runs"], row["verdict"]) == (2, 6, OPEN)
    assert rows[REDACTION]["delta_rate"] > 0
    assert rows[REDACTION]["used_rate_low"] > 0
    assert rows[PERCENTILES]["used_rate_low"] == 0


@pytest.mark.slow
def test_two_arms_with_filler_do_not_contaminate_each_other(study):
    assert run(study, "SELECT * FROM contaminations").rows == []


def test_units_of_a_section_are_those_that_the_arm_lacks(study):
    rows = run(study, "section_runs").records()
    assert {(row["condition"], row["whole"]) for row in rows} == {
        (REDACTION, "baseline"), (PERCENTILES, "baseline"), ("named-without", "named-whole"),
    }  # fmt: skip
    texts = run(
        study,
        "SELECT DISTINCT text FROM units JOIN unit_places AS b USING (build, unit)"
        " WHERE b.variant = 'baseline' AND kind = 'heading' AND unit NOT IN"
        f" (SELECT unit FROM unit_places WHERE variant = '{REDACTION}')",
    ).rows
    assert ("What is masked",) in texts
    assert ("Percentiles",) not in texts
