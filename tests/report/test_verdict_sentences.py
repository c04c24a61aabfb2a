"""One study, one verdict: the report, the terminal, a plan from it and a notebook say the same."""

import pytest

import skilljuror
from skilljuror.base.errors import QueryError
from skilljuror.report.forecast import forecast
from skilljuror.report.page import build_report
from skilljuror.store import open_write
from tests.support import fabricated_records as fake
from tests.support.cli_process import call
from tests.support.harness_tasks import make_task
from tests.support.studies import edit_study, make_study

DEMO = {
    "a": (1, 5), "b": (3, 5), "c": (3, 4), "d": (1, 2),
    "e": (3, 3), "f": (5, 4), "g": (3, 2), "h": (4, 2),
}  # fmt: skip
"""Task -> passes of baseline and pd of five, as in the demo: +10 points."""
CEILING = dict.fromkeys("abc", (5, 5))


def make(folder, passes, *, spoilt=(), unsettled=0, models=None):
    """A study in `folder`: trials of `spoilt` conditions ran on another substrate; the first
    `unsettled` ones have no final outcome; the logs name the `models` of conditions."""
    trials = [
        (task, arm, number, float(number <= count))
        for task, counts in passes.items()
        for arm, count in zip(("baseline", "pd"), counts, strict=True)
        for number in range(1, 6)
    ]
    records = [
        fake.trial(
            task, arm, number,
            reward=None if place < unsettled else passed,
            status="error" if place < unsettled else "scored",
            substrate_digest="another" if arm in spoilt else fake.SUBSTRATE,
        )
        for place, (task, arm, number, passed) in enumerate(trials)
    ]  # fmt: skip
    measured = [
        fake.run(
            one.trial, trial=one.trial, model=models[one.condition],
            values={"strict_pass": float(one.strict_pass)},
        ) if models
        else fake.unread(one.trial, {"strict_pass": float(one.strict_pass)})
        for one in records
    ]  # fmt: skip
    with open_write(folder / "study.duckdb") as store:
        store.put_plan(fake.plan(list(passes), ("baseline", "pd"), 5))
        store.put("trials", records)
        fake.put(store, measured)
    return folder


@pytest.fixture
def new_study(tmp_path):
    """A study file that may be planned from another study."""
    arms = {"baseline": "baseline", "pd": "pd"}
    path = make_study(tmp_path, variants=arms, agent={"name": "scripted"})
    make_task(tmp_path / "ink")
    tasks = [{"path": name, "skills": "brew"} for name in ("tea", "ink")]
    edit_study(path, tasks=tasks, contrast={"treatment": "pd", "control": "baseline"})
    return path


ALL_SPOILT = "40 of 40 trials of pd are contaminated (substrate_changed); without them, no task has a value in both arms"
OPEN = "30 of 80 planned trials have no final outcome (pd 15, baseline 15)"
NO_VARIATION = "no variation between tasks"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("passes", "fields", "reason"),
    [
        (DEMO, {"spoilt": ("pd",)}, ALL_SPOILT),
        (
            DEMO,
            {"models": {"baseline": "claude-opus-5", "pd": "claude-sonnet-5"}},
            ALL_SPOILT.replace("substrate_changed", "other_model"),
        ),
        (CEILING, {}, NO_VARIATION),
        (DEMO, {"unsettled": 30}, OPEN),
    ],
    ids=["contaminated", "other model", "ceiling", "unsettled"],
)
def test_every_door_says_that_it_is_undetermined_and_why(
    tmp_path, new_study, passes, fields, reason
):
    folder = make(tmp_path / "pilot", passes, **fields)
    summary = build_report(folder / "study.duckdb", folder / "report")
    page = summary.path.read_text(encoding="utf-8")
    sentence = f"Undetermined: {reason}."
    assert summary.title == sentence
    assert f"<h2>{sentence}</h2>" in page
    assert "95 % interval" not in page.split('<section id="tasks">')[0]
    assert "interval" not in summary.number.replace("no interval", "")
    study = skilljuror.open_study(folder)
    equal = study.equivalence("pd", "baseline", "strict_pass", margin=50)
    assert (equal.verdict, equal.reason, equal.interval) == ("undetermined", reason, None)
    assert reason in repr(study.contrast("pd", "baseline", "strict_pass"))
    (refusal,) = study.contrasts("pd", "baseline", ["strict_pass"])["refusal"]
    assert refusal == ("" if reason == NO_VARIATION else reason)
    with pytest.raises(QueryError, match="undetermined: "):
        study.power("pd", "baseline", "strict_pass")
    effect = forecast(new_study, folder).figures[0]
    assert effect.value is None
    assert effect.source.startswith("undetermined: ")
    assert reason in effect.source


@pytest.mark.slow
def test_the_sentence_goes_before_the_number_in_the_terminal_and_on_the_page(tmp_path):
    folder = make(tmp_path / "demo", DEMO)
    lines = call("report", folder).stdout.splitlines()
    assert lines[:2] == [
        "Inconclusive: it is not shown whether pd is better or worse than baseline.",
        "pd minus baseline: +10.0 pp in strict pass rate (95 % interval −22.2 pp to +42.2 pp, 8 tasks)",
    ]
    page = (folder / "report" / "report.html").read_text(encoding="utf-8")
    assert page.index(lines[0]) < page.index('<span class="big">+10.0 pp</span>')


@pytest.mark.slow
def test_a_contaminated_arm_is_named_with_the_result_without_it(tmp_path):
    """Both passes of pd on d are spoilt: 2 of 5 to 0 of 3 there, against 1 of 5."""
    folder = make(tmp_path / "demo", DEMO)
    with open_write(folder / "study.duckdb") as store:
        store.put("trials", [fake.trial("d", "pd", n, substrate_digest="another") for n in (1, 2)])
    summary = build_report(folder / "study.duckdb", folder / "report")
    assert summary.title == (
        "Inconclusive: it is not shown whether pd is better or worse than baseline;"
        " 2 of 40 trials of pd are contaminated (substrate_changed);"
        " without them, the difference is +5.0 pp (95 % interval −28.1 pp to +38.1 pp, 8 tasks)."
    )
    page = summary.path.read_text(encoding="utf-8")
    assert "38 of 40 trials of pd usable (2 contaminated)" in page
    said = "Substrate changed: 2 trials of pd (instruction, environment or verifier is not as planned)."
    assert f'<p class="doubt">{said}</p>' in page
    rate = skilljuror.open_study(folder).rate("pd")
    assert repr(rate).startswith(
        "not quotable, 2 of 40 trials of pd are contaminated (substrate_changed): 0.675 ("
    )
