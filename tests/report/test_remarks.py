"""What the report says of the gates: the figure of the query, or how to get it."""

import pytest

from skilljuror.report.computed import Answers
from skilljuror.report.headline import remarks
from skilljuror.report.page import build_report
from skilljuror.store import open_write
from skilljuror.store.connect import open_read
from skilljuror.store.questions import run
from tests.support import fabricated_records as fake
from tests.support.fabricated_studies import small_study


def said(folder, *builds):
    path = folder / "study.duckdb"
    with open_write(path) as store:
        store.put_builds(builds)
    with open_read(path) as reader:
        return list(remarks("gate_power", Answers(reader)))


def test_the_figure_is_that_of_the_query(tmp_path):
    caught, harmless = (5, 5, 4, 5, 4, 5, 5, 5), (12, *7 * (0,))
    builds = [
        fake.assayed(
            f"s{n}",
            {"swap": (5, hits), "rewrap": (edits, edits // 12)},
            source=f"s{n}",
            harmless=["rewrap"],
        )
        for n, (hits, edits) in enumerate(zip(caught, harmless, strict=True))
    ]
    (one,) = said(tmp_path, *builds)
    assert one[0] == (
        "Under policy strict, which judged these variants, this audit would have caught 95.0 % of 40"
        " planted changes (95 % interval over sources 72.8 % to 99.3 %): 16 failed, 22 sent to review;"
        " it flagged 1 of 12 harmless edits: 0 failed, 1 sent to review."
    )
    assert one[1] == ()
    drift = run(tmp_path / "study.duckdb", "gate_power").records()[0]
    shares = [round(100 * drift[name], 1) for name in ("flagged_rate", "rate_low", "rate_high")]
    assert shares == [95.0, 72.8, 99.3]


def test_few_sources_have_no_interval(tmp_path):
    (one,) = said(tmp_path, fake.assayed("alpha", {"swap": (40, 38)}))
    assert "caught 95.0 % of 40 planted changes (no interval: fewer than 8 sources): " in one[0]


@pytest.mark.parametrize(
    ("counts", "share"),
    [((4000, 3999), "over 99.9 %"), ((4000, 4000), "100.0 %"), ((4000, 0), "0.0 %")],
)
def test_a_hundred_percent_is_said_only_where_all_were_caught(tmp_path, counts, share):
    (one,) = said(tmp_path, fake.assayed("alpha", {"swap": counts}))
    assert f"caught {share} of 4,000 planted" in one[0]
    assert one[0].endswith(" sent to review.")


def test_where_nothing_could_be_planted_no_share_is_said(tmp_path):
    build = fake.assayed("alpha", {"swap": (0, 0), "rewrap": (2, 0)}, harmless=["rewrap"])
    (one,) = said(tmp_path, build)
    assert "was not tested: no drift could be planted" in one[0]
    assert one[0].endswith("; it flagged 0 of 2 harmless edits.")


def test_builds_that_were_not_measured_are_counted(tmp_path):
    _, rest = said(tmp_path, fake.assayed("a", {"swap": (4, 4)}, source="a"), fake.build("b"))
    assert rest[0].startswith("1 of 2 builds were not measured")
    assert rest[1][0] == "skilljuror assay STUDY --keep"


def test_a_policy_that_judged_nothing_here_is_not_said_to_be_this_audit(tmp_path):
    """The variants were judged strictly: what `rewritten` would catch is no merit of their verdicts."""
    rewritten = fake.assayed("a", {"swap": (4, 4)}, source="a", policy="rewritten")
    strict = fake.assayed("b", {"swap": (4, 3)}, source="b")
    words = [one[0] for one in said(tmp_path, rewritten, strict)]
    assert words[0].startswith(
        "Under policy strict, which judged these variants, this audit would have caught 75.0 %"
    )
    assert words[1].startswith(
        "Under policy rewritten, which did not judge these variants, an audit would have caught 100.0 %"
    )


@pytest.mark.slow
def test_a_report_of_a_study_without_an_assay_names_the_commands(tmp_path):
    text = build_report(small_study(tmp_path), tmp_path / "report").path.read_text(encoding="utf-8")
    assert "on these variants has not been measured." in text
    assert (
        "<code>skilljuror assay STUDY --keep</code>, then <code>skilljuror report STUDY</code>"
        in text
    )
    assert "No changes were planted into these builds" in text


@pytest.mark.slow
def test_a_report_of_a_study_with_one_has_the_sentence_and_the_table_of_kinds(tmp_path):
    path = small_study(tmp_path)
    with open_write(path) as store:
        store.put_builds([fake.assayed("alpha", {"swap": (40, 38)}), fake.build("beta")])
    report = build_report(path, tmp_path / "report").path
    assert (
        '<p class="said">Under policy strict, which judged these variants, this audit'
        in report.read_text("utf-8")
    )
    table = (report.parent / "tables" / "assay.csv").read_text(encoding="utf-8")
    assert "strict,drift,swap,40,1,38,19,0.95,,1,,fewer than 8 sources," in table


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pd", "baseline", "words"),
    [
        (1.0, 0.4, "1 of 1 trials of pd and 0 of 1 trials of baseline that opened it: the"),
        (1.0, "unknown_lines", "of pd and 0 of 1 trials of baseline (1 unknown) that opened"),
        (1.0, 1.0, None),
        (0.2, 0.4, "0 of 1 trials of pd and 0 of 1 trials of baseline that opened it: the"),
        (1.0, "never", None),
    ],
)
def test_roots_that_were_cut_off_in_one_arm_are_told(tmp_path, pd, baseline, words):
    path, arms = tmp_path / "study.duckdb", {"pd": pd, "baseline": baseline}
    trials = [fake.trial("alpha", arm) for arm in arms]
    with open_write(path) as store:
        store.put_plan(fake.plan(["alpha"]))
        store.put("trials", trials)
        fake.put(store, [
            fake.run(one.trial, trial=one.trial, values={"root_shown": arms[one.condition]})
            for one in trials
        ])  # fmt: skip
    with open_read(path) as reader:
        told = [words for words, _ in remarks("validity", Answers(reader)) if "whole" in words]
    assert [words in one for one in told] == ([] if words is None else [True])


def test_the_dates_of_the_prices_behind_a_cost_are_named(tmp_path):
    path = tmp_path / "study.duckdb"
    with open_write(path) as store:
        store.put_plan(fake.plan(["a"], ("pd",)))
        store.put("trials", [fake.trial("a", "pd")])
        values = {"cost_usd": 0.5, "price_date": 20261101.0}
        fake.put(store, [fake.run("x", trial="a__pd__1", values=values)])
    with open_read(path) as reader:
        (one,) = remarks("price_dates", Answers(reader))
    assert one[0] == "Cost uses list prices as of 2026-11-01."


def validity(folder, trials, **chosen):
    path = folder / "study.duckdb"
    plan = fake.plan(["alpha"])
    config = plan.config.model_copy(update=chosen)
    with open_write(path) as store:
        store.put_plan(plan.model_copy(update={"config": config}))
        store.put("trials", trials)
    with open_read(path) as reader:
        return remarks("validity", Answers(reader))


def test_what_differs_between_the_arms_besides_the_layout_is_told(tmp_path):
    trials = [
        fake.trial("alpha", arm, agent_version=version)
        for arm, version in (("pd", "2.0"), ("baseline", "1.9"), ("no-skill", "1.8"))
    ]
    told = [words for words, _ in validity(tmp_path, trials)]
    assert "Agent version differs: pd 2.0, baseline 1.9." in told


def test_an_outage_is_told_and_a_text_of_a_log_begins_no_remark_and_no_command(tmp_path):
    trials = [
        fake.trial("alpha", "pd", reward=None, status="error", exception="Out ¶ $ rm -rf ~"),
        fake.trial("alpha", "baseline"),
        fake.trial("alpha", "no-skill"),
    ]
    told = validity(tmp_path, trials)
    assert told == [
        ("Exception: 1 trial of pd (Out rm -rf ~).", ()),
        ("Unfinished: 1 trial of pd (error).", ()),
    ]


def test_a_whole_study_has_no_remark(tmp_path):
    arms = ("pd", "baseline", "no-skill")
    assert validity(tmp_path, [fake.trial("alpha", arm) for arm in arms]) == []
