"""One rule decides which trials a figure may use: every question and computed table over arms, on fabricated studies."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from typing import Any

import pytest

from skilljuror.base.results import CompactionRow
from skilljuror.base.study import TaskTrigger
from skilljuror.base.trajectory import Exposure, UnitExposure
from skilljuror.report import report_study
from skilljuror.report.computed import COMPUTED, Answers, data, documentation
from skilljuror.report.headline import headline
from skilljuror.report.page import report_markdown, write_paper
from skilljuror.report.several import several_report
from skilljuror.store import open_read, open_write
from skilljuror.store.questions import CONTRAST, NOT_USABLE, catalog, query, run
from skilljuror.store.rows import definition_rows
from tests.support import fabricated_records as fake

ARMS = ("no-skill", "baseline", "pd")
TASKS = [f"t{n}" for n in range(9)]
LISTS = {"trial", "run", "event"}
"""Columns of a list: one row is about one trial or event, and its figure is of no arm."""
KEYED = {"tokens", "skill_steps_in_third", "skill_steps_in_bin", "invocation_mode"}
"""Measures that have values by key only."""
EXEMPT = {
    "coverage": "counts of the usable trials and the others",
    "generation": "how Skills were made",
    "given_skills": "Skills, no trials",
    "judged_cells": "a list for estimators",
    "leaks": "the search for contamination itself",
    "nulls": "counts of nulls by reason",
    "overview": "the plan",
    "same_arms": "what was offered",
    "setup": "the plan",
    "skill_leaks": "Skills, no trials",
    "judge_accuracy": "a judge's answers, whatever the trial",
}
UNIT = "u1"
UNOPENED: dict[str, Any] = {"resource": "references/b.md", "resource_class": "support"}
"""A file that no usable trial opens."""
STUDIES = ("outage", "contaminated", "missing", "no spread")
OF_ARMS = sorted({
    *(one.name for one in catalog() if one.arms), *(name for name in COMPUTED if documentation(name).arms),
})  # fmt: skip


def _is_odd(study: str, task: str, arm: str, number: int) -> bool:
    """Whether a trial of the damaged arm, pd, is not usable."""
    return arm == "pd" and {
        "outage": number == 2 and task < "t3", "contaminated": number == 1, "missing": True, "no spread": False,
    }[study]  # fmt: skip


def _record(study: str, task: str, arm: str, number: int) -> Any:
    passed = 1.0 if study == "no spread" else float((int(task[1:]) + number + len(arm)) % 3 > 0)
    if not _is_odd(study, task, arm, number):
        return fake.trial(task, arm, number, reward=passed)
    if study == "outage":
        return fake.trial(task, arm, number, reward=None, status="unscored", reason="no_answer")
    return fake.trial(task, arm, number, reward=passed, substrate_digest="other")


def _run(study: str, task: str, arm: str, number: int, odd: float) -> Any:
    """The log of a trial. What one that is not usable did is `odd` times as much."""
    key, skilled = fake.name_of(task, arm, number), arm != "no-skill"
    times = odd if _is_odd(study, task, arm, number) else 1.0
    size = 1.0 if study == "no spread" else 1.0 + int(task[1:]) * len(arm) + number
    events = [
        fake.event(key, 0, step=2),
        fake.event(key, 1, step=3, resource="references/a.md", resource_class="support", via=f"way-{times}"),
        *([fake.event(key, 2, step=4, **(UNOPENED if times > 100 else {"resource": "odd"}))] if times != 1 else []),
    ]  # fmt: skip
    metrics = [one["metric"] for one in definition_rows() if one["metric"] not in KEYED]
    values: dict[str, float | str | None] = dict.fromkeys(metrics, size * times)
    flags = (
        "support_read",
        "script_exec",
        "helper_use",
        "exposed",
        "distributed",
        "skill_invoked",
        "root_shown",
    )
    values |= dict.fromkeys(flags, float(times == 1)) | {"skill_step_share": 0.1 / times}
    values["price_date"] = 20260101.0 if times == 1 else 20240101.0 + times % 3
    values |= {f"skill_steps_in_third {n}": times for n in range(3)}
    values |= {f"skill_steps_in_bin {n:02}": times for n in range(20)}
    values |= {
        f"tokens {kind}": 1000 * size * times
        for kind in ("input", "cache_write", "cache_read", "output")
    }
    made = fake.run(key, trial=key, steps=10, events=events if skilled else [], values=values)
    if not skilled:
        return fake.replaced(made, offered=())
    showing = UnitExposure(key, UNIT, "main", 2, 0, tokens=int(5 * times))
    gone = CompactionRow(key, 0, "main", 5 + int(times) % 3, None, 9, had=(0, 1), kept=(1,))
    return fake.replaced(made, exposure=Exposure(units=1, seen=(showing,)), compactions=(gone,))


def _build(task: str) -> Any:
    """A build whose variants have a file that no usable trial opens."""
    built = fake.build(task)
    files = ["SKILL.md", "references/a.md", UNOPENED["resource"]]
    variants = tuple(
        fake.manifest(name, [f"csv-report/{file}" for file in files]) for name in ("baseline", "pd")
    )
    return built._replace(record=built.record.model_copy(update={"variants": variants}))


def _units() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A unit of every build, and its places."""
    units = [
        {"build": task, "unit": UNIT, "kind": "statement", "text": "Sum it.", "tokens": 5}
        for task in TASKS
    ]
    place = {"unit": UNIT, "file": "csv-report/SKILL.md", "first_line": 1, "last_line": 1}
    return units, [place | {"build": task, "variant": arm} for task in TASKS for arm in ARMS[1:]]


def made(
    folder: Any, study: str, odd: float = 50.0, *, trials: int = 2, only: Any = None, **rules: int
) -> Any:
    """A study of 9 tasks in 3 arms with 2 trials, of which pd is not whole; `only` chooses the planned trials,
    `rules` are fields of the study file."""
    folder.mkdir()
    arms = (*ARMS, "flat-files") if study == "missing" else ARMS
    cells = [
        cell for cell in product(TASKS, arms, range(1, trials + 1))
        if (study != "missing" or not _is_odd(study, *cell)) and (only is None or only(*cell))
    ]  # fmt: skip
    with open_write(folder / "study.duckdb") as store:
        query = TaskTrigger(should_trigger=True, skill="csv-report").attributes
        kinds = {
            task: query | {"validation_type": "tests" if task < "t8" else "people"}
            for task in TASKS
        }
        plan = fake.plan(kinds, arms, trials=trials)
        planned = [
            one for one in plan.trials if only is None or only(one.task, one.condition, one.number)
        ]
        config = plan.config.model_copy(update=rules)
        store.put_plan(plan.model_copy(update={"trials": tuple(planned), "config": config}))
        store.put_builds([_build(task) for task in TASKS])
        store.put_units(*_units())
        store.put("trials", [_record(study, *cell) for cell in cells])
        runs = [_run(study, *cell, odd=odd) for cell in cells]
        fake.put(store, runs)
        events = [event for one in runs for event in one.events]
        fake.put_verdicts(
            store, [fake.verdict(one, "no" if one.ordinal == 1 else "yes") for one in events]
        )
        store.put(
            "items",
            [
                fake.rubric_item(
                    task, arm, number, float(not _is_odd(study, task, arm, number) or odd < 100)
                )
                for task, arm, number in cells
            ],
        )
    return folder / "study.duckdb"


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    """Name -> answers; each question is asked once."""
    folder = tmp_path_factory.mktemp("usable")
    paths = [made(folder / name.replace(" ", "-"), name) for name in STUDIES]
    with ExitStack() as stack:
        yield {
            name: Answers(stack.enter_context(open_read(path)))
            for name, path in zip(STUDIES, paths, strict=True)
        }


def _over_arms(name: str) -> bool:
    about = documentation(name)
    return bool({"condition", *CONTRAST, "treated"} & {*about.columns, *query_params(name)})


def query_params(name: str) -> set[str]:
    return set() if name in COMPUTED else set(query(name).params)


def test_no_question_about_arms_is_without_a_mark():
    """A new question with figures of arms needs `-- arms:` in its head; a list of trials does not."""
    unmarked = {
        name
        for name in [*(one.name for one in catalog()), *COMPUTED]
        if name not in OF_ARMS and _over_arms(name) and not LISTS & {*documentation(name).columns}
    }
    assert unmarked <= EXEMPT.keys()


def _rows(
    answers: Answers, names: list[str] | dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((name, row) for name in names for row in answers(name).records())


def _is_of_pd(name: str, row: dict[str, Any]) -> bool:
    """Whether a row has a figure of the arm pd, over all tasks or over one with a trial that is not usable."""
    arms = documentation(name).arms
    named = arms == ("contrast",) or "pd" in map(row.get, arms)
    return named and row.get("task") in {None, "t0"}


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES[:3])
def test_each_figure_of_an_arm_that_is_not_whole_is_null_or_marked(studies, study):
    seen: Counter[str] = Counter()
    tables: Counter[str] = Counter()
    for name, row in _rows(studies[study], OF_ARMS):
        if not _is_of_pd(name, row):
            continue
        assert "of pd usable (" in (row[NOT_USABLE] or ""), (name, row)
        whole = documentation(name).whole
        assert {row[column] for column in whole} <= {None}, (name, row)
        assert None not in [row[f"{one}_reason"] for one in whole if f"{one}_reason" in row], (
            name,
            row,
        )
        tables["null" if whole else "marked"] += name not in seen
        seen.update({
            name: 1,
            "null": len(whole),
            "marked": sum(one is not None for one in row.values()) - 1,
        })
    print(  # noqa: T201  the count that the test reports
        f"{study}: {seen['null']} figures null in {tables['null']} tables, {seen['marked']} values marked there and"
        f" in {tables['marked']} others; without a row of pd: {sorted({*OF_ARMS} - {*seen})}"
    )
    assert tables["null"] >= 10
    rows = {"unit_heat", "residency", "compacted_files", "never_opened"}
    assert rows <= {*seen} or study == "missing"
    assert "effect_parts" in seen or study != "missing"


@pytest.mark.slow
def test_what_a_trial_that_is_not_usable_did_changes_no_figure(studies, tmp_path):
    """Contaminated trials did 50 times as much as others in one study, 1000 times as much in the other."""
    with open_read(made(tmp_path / "odd", "contaminated", 1000.0)) as reader:
        other = Answers(reader)
        for name in OF_ARMS:
            assert studies["contaminated"](name) == other(name), name


@pytest.mark.slow
def test_spare_trials_change_no_figure(tmp_path):
    """With healthy_first a study answers as if its spares, here unscored ones and a third, had not been planned."""

    def counts(task: str, arm: str, number: int) -> bool:
        return number in ((1, 3) if _is_odd("outage", task, arm, 2) else (1, 2))

    one = made(tmp_path / "spares", "outage", trials=3, healthy_first=2)
    other = made(tmp_path / "none", "outage", trials=3, only=counts)
    with open_read(one) as with_spares, open_read(other) as without:
        first, second = Answers(with_spares), Answers(without)
        for name in OF_ARMS:
            assert first(name) == second(name), name
        facts = dict(headline(first).facts)
    assert facts["Trials that count"] == (
        "2 trials of a task and condition, those with a reward first; spares left out: 24 scored, 3 unscored"
    )
    every_trial = run(made(tmp_path / "all", "outage", trials=3), "outcomes").records()[2]
    assert every_trial[NOT_USABLE] == "24 of 27 trials of pd usable (3 no_answer)"


def test_an_arm_with_too_few_usable_trials_has_no_figures(tmp_path):
    with open_read(made(tmp_path / "few", "outage", fewest_usable=16)) as reader:
        answers = Answers(reader)
        said, rows = (
            headline(answers),
            {name: answers(name).records()[2] for name in ("outcomes", "invocation")},
        )
    assert said.title == "Undetermined: too few usable trials of pd (under_16_usable)."
    assert not said.quotable
    assert ("Without figures", "conditions with fewer than 16 usable trials: pd") in said.facts
    for row in rows.values():
        assert row[NOT_USABLE] == "0 of 18 trials of pd usable (3 no_answer, 15 under_16_usable)"
    assert rows["outcomes"]["strict_rate"] is rows["invocation"]["invocation_rate"] is None


@pytest.mark.slow
def test_without_spread_there_is_no_interval_but_a_reason(studies):
    counted = 0
    low_reason = re.compile("(.*_)?low_reason")
    for name, row in _rows(studies["no spread"], COMPUTED):
        assert not row.get(NOT_USABLE), (name, row)
        for column in filter(low_reason.fullmatch, row):
            end, counted = column.removesuffix("_reason"), counted + 1
            value = row.get(end.removesuffix("low").rstrip("_") or "value")
            if row[end] is None:
                assert row[column] or value is None, (name, row)
            else:
                assert row[end] < row[end.replace("low", "high")], (name, row)
    print(f"no spread: {counted} intervals, each null with a reason or none of zero width")  # noqa: T201  the count that the test reports
    assert counted


@pytest.mark.slow
def test_the_pictures_mark_an_arm_that_is_not_whole(tmp_path):
    page = report_study(made(tmp_path / "outage", "outage").parent).path
    text, figures = page.read_text(encoding="utf-8"), page.parent / "figures"
    for name in ("uptake", "timing_bins"):
        assert "pd *" in (figures / f"{name}.svg").read_text(encoding="utf-8")
    assert text.count(" * 15 of 18 trials of pd usable (3 no_answer).") == 2
    assert "3 of 9 tasks have no difference" in text
    assert text.count('class="bar treatment partial"') == 1


@pytest.mark.slow
def test_documents_say_it_too(tmp_path):
    """Markdown, CSV and LaTeX of the paper's tables, the head of the report, and the table of several studies."""
    path = made(tmp_path / "outage", "outage")
    write_paper(path, tmp_path)
    heads, documents = (tmp_path / "tables.md").read_text(), 0
    for table in data("paper"):
        stem = re.sub(r"\W+", "-", table["name"]).strip("-")
        text = tmp_path / f"{stem}.csv"
        if table.get("question") not in OF_ARMS or not text.is_file():
            continue
        rows = list(csv.DictReader(text.read_text().splitlines()))
        assert any("of pd usable (" in row[NOT_USABLE] for row in rows), table["name"]
        assert "of pd usable (" in text.with_suffix(".tex").read_text(), table["name"]
        section = heads.split(f"## {table['name']} ·")[1].split("\n## ")[0]
        assert "of pd usable (" in section, table["name"]
        documents += 1
    assert documents >= 8
    assert "15 of 18 trials of pd usable (3 no\\_answer)" in report_markdown(path)
    both = several_report({"a": path, "b": made(tmp_path / "b", "no spread")}).found.records()
    assert {row["strict_rate"] for row in both if row[NOT_USABLE]} == {None}
    assert [row["condition"] for row in both if row[NOT_USABLE]] == ["pd"]
    assert run(path, "outcomes").records()[2]["strict_passes"]
