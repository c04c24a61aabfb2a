"""Several studies in one table, worked out by hand on fabricated studies."""

import csv

import pytest

from skilljuror.base.errors import StoreError
from skilljuror.base.study import Contrast
from skilljuror.report.several import several_markdown, several_report, table_of
from skilljuror.store import open_write
from tests.support import fabricated_records as fake
from tests.support.cli_process import call, complaint

ARMS = ("baseline", "pd")


def study(folder, passes, *, trials=2, arms=ARMS, changed="", digest=fake.DIGEST, **more):
    """A study whose tasks pass so often in (baseline, pd); a None is a trial that was never run.

    `changed` is a task with another instruction, `digest` that of every variant of pd; six minutes a trial.
    """
    plan = fake.plan(list(passes), arms, trials=trials)
    other = {"instruction_digest": "e" * 64}
    tasks = tuple(
        task.model_copy(update=other if task.name == changed else more.get("task", {}))
        for task in plan.tasks
    )
    lacks = more.get("lacks", ())
    agent = plan.config.agent.model_copy(update={"model": more.get("model")})
    config = plan.config.model_copy(
        update={"agent": agent, "contrast": Contrast(treatment=arms[-1], control=arms[0])}
    )
    with open_write(folder / "study.duckdb") as store:
        planned = tuple(one for one in plan.trials if (one.task, one.condition) not in lacks)
        store.put_plan(
            plan.model_copy(update={"tasks": tasks, "config": config, "trials": planned})
        )
        store.put_builds([
            fake.build(task) if digest == fake.DIGEST else _other(task, digest)
            for task in passes
        ])  # fmt: skip
        ended = [
            (task, arm, number, count)
            for task, counts in passes.items()
            for arm, count in zip(arms, counts, strict=True)
            for number in range(1, trials + 1)
            if (count is not None or number > 1) and (task, arm) not in lacks
        ]
        store.put("trials", [
            fake.trial(
                task, arm, number, reward=float(number <= (count or 0)), variant_digest=None,
                substrate_digest=next(one.substrate_digest for one in tasks if one.name == task),
            )
            for task, arm, number, count in ended
        ])  # fmt: skip
        fake.put(store, [
            fake.run(
                name, trial=name, model=more.get("answered"), values={"agent_minutes": 6.0, "display_tokens": 1000.0},
                events=[fake.event(name)] if arm == "pd" else [],
            )
            for name, arm in ((fake.name_of(*one[:3]), one[1]) for one in ended)
        ])  # fmt: skip
    return folder / "study.duckdb"


def _other(task, digest):
    """The build with another text of pd."""
    build = fake.build(task)
    variants = tuple(
        one.model_copy(update={"tree_digest": digest}) if one.variant == "pd" else one
        for one in build.record.variants
    )
    return build._replace(record=build.record.model_copy(update={"variants": variants}))


def compared(**databases):
    report = several_report(databases)
    return report, {(row["study"], row["condition"]): row for row in report.found.records()}


@pytest.fixture
def one(tmp_path):
    return study(tmp_path / "one", {"a": (1, 2), "b": (0, 2), "c": (1, 1)})


@pytest.mark.slow
def test_the_table_is_over_the_tasks_of_all(tmp_path, one):
    """Over a and b: (1 + 0) / 4 and (2 + 2) / 4; deltas 50 and 100 points; 24 minutes for 1 or 4 passes."""
    two = study(tmp_path / "two", {"b": (2, 1), "a": (1, 0), "d": (0, 2)}, model="m")
    report, found = compared(one=one, two=two)
    assert report.matched.startswith(
        "Same in all: 2 tasks (left out: 2 tasks that not every study has), "
    )
    assert "Different: model (one: none; two: m)." in report.matched
    first = found["one", "baseline"], found["one", "pd"]
    assert [row["tasks"] for row in first] == [2, 2]
    assert [row["strict_rate"] for row in first] == [0.25, 1.0]
    assert [row["minutes_per_pass"] for row in first] == pytest.approx([24.0, 6.0])
    assert [row["tokens_per_pass"] for row in first] == pytest.approx([4000.0, 1000.0])
    assert first[1]["delta_rate"] == pytest.approx(0.75)
    assert first[0]["delta_rate"] is first[0]["verdict"] is None
    assert found["two", "pd"]["delta_rate"] == pytest.approx(-0.5)
    assert found["two", "pd"]["delta_rate_reason"] == "no variation between tasks"
    assert (found["two", "pd"]["model"], found["one", "pd"]["model"]) == ("m", None)


@pytest.mark.slow
def test_alone_or_beside_another_a_study_has_the_same_numbers(tmp_path, one):
    """With the same tasks in both, each difference is the headline of the study's own report."""
    two = study(tmp_path / "two", {"a": (1, 2), "b": (0, 2), "c": (1, 1)})
    report, found = compared(one=one, two=two)
    assert report.matched.startswith(
        "Same in all: 3 tasks, conditions baseline, pd, trials per cell 2,"
    )
    assert "Different" not in report.matched
    own = call("report", one.parent, "--format", "markdown").stdout
    assert "+50.0 pp in strict pass rate" in own
    assert (
        found["one", "pd"]["delta_rate"] == found["two", "pd"]["delta_rate"] == pytest.approx(0.5)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("models", "said"),
    [
        (("claude-opus-5", "claude-opus-5"), "answered by claude-opus-5, "),
        (
            ("claude-opus-5", "claude-sonnet-5"),
            "Different: answered by (one: claude-opus-5; two: claude-sonnet-5).",
        ),
        (
            ("gpt-5.4-20260101", "gpt-5.4-20260701"),
            "Different: answered by (one: gpt-5.4-20260101; two: gpt-5.4-20260701).",
        ),
        (("gpt-5.4", None), "Not known: answered by (one: gpt-5.4; two: none)."),
    ],
)
def test_the_models_that_answered_are_compared(tmp_path, models, said):
    report, found = compared(**{
        name: study(tmp_path / name, {"a": (1, 2), "b": (0, 2)}, answered=model)
        for name, model in zip(("one", "two"), models, strict=True)
    })
    assert said in report.matched
    assert found["two", "pd"]["answered_by"] == models[1]


@pytest.mark.slow
def test_a_task_with_other_contents_is_another_task(tmp_path, one):
    two = study(tmp_path / "two", {"a": (1, 2), "b": (0, 2)}, changed="b")
    report, found = compared(one=one, two=two)
    assert (
        "1 task (left out: 1 task that not every study has and 1 task whose instruction, environment or"
        " verifier differs)" in report.matched
    )
    assert found["one", "pd"]["tasks"] == 1
    assert found["one", "pd"]["verdict"] == "undetermined: one task gives no interval"
    assert found["one", "pd"]["delta_rate"] == pytest.approx(0.5)
    assert found["one", "pd"]["delta_rate_low"] is None


@pytest.mark.slow
def test_adopted_tasks_are_matched_by_name_and_this_is_told(tmp_path, one):
    unknown = {"instruction_digest": "", "environment_digest": "", "verifier_digest": ""}
    two = study(tmp_path / "two", {"a": (1, 2), "b": (0, 2), "c": (1, 1)}, task=unknown)
    report, _ = compared(one=one, two=two)
    assert "3 tasks (3 by name alone, their contents are not known)" in report.matched


@pytest.mark.slow
def test_what_differs_is_told(tmp_path, one):
    two = study(
        tmp_path / "two", {"a": (1, 2), "b": (0, 2), "c": (3, 1)}, trials=3, digest="f" * 64
    )
    report, _ = compared(one=one, two=two)
    assert "Different: trials per cell (one: 2; two: 3), text of pd in 3 tasks." in report.matched


@pytest.mark.slow
def test_open_trials_have_no_rate_and_no_difference(tmp_path, one):
    two = study(tmp_path / "two", {"a": (1, 2), "b": (0, None), "c": (1, 1)})
    _, found = compared(one=one, two=two)
    row = found["two", "pd"]
    assert row["strict_rate"] is row["delta_rate"] is row["minutes_per_pass"] is None
    assert row["strict_rate_reason"] == "5 of 6 trials of pd usable (1 missing)"
    assert row["verdict"].startswith("undetermined: 1 of 12 planned trials has no final outcome")
    assert found["one", "pd"]["strict_rate"] == pytest.approx(5 / 6)


@pytest.mark.slow
def test_without_a_pass_or_a_verdict_there_is_a_reason(tmp_path, one):
    two = study(tmp_path / "two", {"a": (0, 0), "b": (0, 0), "c": (0, 0)})
    report, found = compared(one=one, two=two)
    row = found["two", "pd"]
    assert (row["strict_rate"], row["minutes_per_pass"]) == (0.0, None)
    assert row["minutes_per_pass_reason"] == "zero_passes"
    assert (row["eru_rate"], row["eru_rate_reason"]) == (None, "not_judged")
    shown = [column.name for column in table_of(report.found).columns]
    assert "usd_per_pass" not in shown  # known in no study
    assert "eru_rate" not in shown


@pytest.mark.slow
def test_uptake_is_that_of_the_only_judge(tmp_path, one):
    def judge(path, name, events):
        with open_write(path) as store:
            runs = [f"{task}__pd__{number}" for task in "abc" for number in (1, 2)]
            fake.put_verdicts(store, [
                fake.verdict(fake.event(run), "yes" if "__1" in run else "no", judge=name)
                for run in runs[:events]
            ])  # fmt: skip

    two = study(tmp_path / "two", {"a": (1, 2), "b": (0, 2)})
    three = study(tmp_path / "three", {"a": (1, 2), "b": (0, 2)})
    judge(one, "tracing/4", 6)
    judge(two, "tracing/4", 3)
    judge(three, "tracing/4", 4)
    judge(three, "other", 4)
    report, found = compared(one=one, two=two, three=three)
    assert found["one", "pd"]["eru_rate"] == pytest.approx(0.5)  # of a and b: four of six uses
    assert found["two", "pd"]["eru_rate_reason"] == "3 of 4 uses judged"
    assert found["three", "pd"]["eru_rate_reason"] == "2 judges, see uptake"
    assert "judge (one: tracing/4; two: tracing/4; three: other; tracing/4)" in report.matched


def test_arms_with_fewer_tasks_are_counted(tmp_path, one):
    """pd on a alone: the difference is over a, the rate of baseline over all its tasks."""
    two = tmp_path / "two" / "study.duckdb"
    plan = fake.plan(["a", "b", "c"], ARMS, trials=2)
    kept = tuple(one for one in plan.trials if one.condition == "baseline" or one.task == "a")
    with open_write(two) as store:
        store.put_plan(plan.model_copy(update={"trials": kept}))
        store.put("trials", [fake.trial(one.task, one.condition, one.number) for one in kept])
    report, found = compared(one=one, two=two)
    assert (found["two", "baseline"]["tasks"], found["two", "pd"]["tasks"]) == (3, 1)
    assert found["two", "pd"]["verdict"] == "undetermined: one task gives no interval"
    assert "Not known: text of baseline in 3 tasks, text of pd in 1 task." in report.matched


@pytest.mark.slow
def test_contaminated_trials_are_named(tmp_path, one):
    two = study(tmp_path / "two", {"a": (1, 2), "b": (0, 2), "c": (1, 1)})
    with open_write(two) as store:
        store.put("trials", [fake.trial("c", "pd", 1, variant="baseline", reward=1.0)])
    _, found = compared(one=one, two=two)
    assert "1 of 6 trials of pd is contaminated (other_variant)" in found["two", "pd"]["verdict"]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["html", "markdown"])
def test_logs_and_studies_without_a_common_task_are_refused(tmp_path, one, form):
    with open_write(tmp_path / "logs" / "study.duckdb") as store:
        fake.put(store, [fake.run("a", events=[fake.event("a")])])
    study(tmp_path / "two", {"z": (1, 2)})
    where = ("--out", "x") if form == "html" else ("--format", "markdown")
    done = call("report", "one", "logs", *where, cwd=tmp_path)
    assert "'logs' has logs and no planned trials" in complaint(done)
    done = call("report", "one", "two", *where, cwd=tmp_path)
    assert "no task is the same in 'one' and 'two'" in complaint(done)
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_the_matrix_has_the_rate_of_each_task_by_model(tmp_path, one):
    """b of pd in two has a trial that was never run, a of baseline was not planned there."""
    plan_lacks = {("a", "baseline")}
    two = study(tmp_path / "two", {"a": (1, 2), "b": (0, None)}, model="m-1", lacks=plan_lacks)
    text = several_markdown(compared(one=one, two=two)[0])
    head, _, *rows = [line for line in text.partition("each task pass?")[2].splitlines() if line]
    assert head.split(" | ")[1:3] == ["one · baseline (no model)", "one · pd (no model)"]
    assert head.endswith("| two · baseline (m-1) | two · pd (m-1) |")
    assert rows == [
        "| a | 50.0 % (of 2) | 100.0 % (of 2) |  | 100.0 % (of 2) |",
        "| b | 0.0 % (of 2) | 100.0 % (of 2) | 0.0 % (of 2) | – (1 of 2 trials of pd usable (1 missing)) |",
    ]


def test_a_database_of_another_schema_is_refused(tmp_path, one):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "study.duckdb").write_bytes(b"")
    with pytest.raises(StoreError, match=r"old/study\.duckdb"):
        several_report({"one": one, "old": tmp_path / "old" / "study.duckdb"})


@pytest.mark.slow
def test_the_page_and_its_csv_are_written(tmp_path, one):
    study(tmp_path / "two<b>", {"a": (1, 2), "b": (0, 1)})
    assert "add --out DIR" in complaint(call("report", "one", "two<b>", cwd=tmp_path))
    done = call("report", "one", "two<b>", "--out", "both", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "report: both/report.html" in done.stdout
    page = (tmp_path / "both" / "report.html").read_text(encoding="utf-8")
    assert "<b>" not in page
    assert "Same in all: 2 tasks (left out: 1 task that not every study has)" in page
    assert "+75.0 pp" in page
    assert "two&lt;b&gt; · pd" in page
    assert (
        len((tmp_path / "both" / "tables" / "matrix.csv").read_text().splitlines()) == 1 + 2 * 2 * 2
    )
    with (tmp_path / "both" / "tables" / "studies.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["study"], row["condition"], row["strict_rate"]) for row in rows[:2]] == [
        ("one", "baseline", "0.25"), ("one", "pd", "1.0"),
    ]  # fmt: skip


@pytest.mark.slow
def test_markdown_has_intervals_and_reasons_in_its_cells(tmp_path, one):
    two = study(tmp_path / "two", {"a": (0, 2), "b": (0, 1), "c": (0, 1)})
    report, _ = compared(one=one, two=two)
    text = several_markdown(report)
    rows = [
        line
        for line in text.partition("### How often does each task")[0].splitlines()
        if line.startswith("| ")
    ]
    assert len({line.count(" | ") for line in rows}) == 1
    assert "| 0.0 % (fewer than 8 tasks) | – (zero passes) |" in text


@pytest.mark.slow
def test_studies_without_a_verifier_have_no_rate_and_say_so(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        study(tmp_path / name, {"mix": (1, 2)}, task={"judged_by": "rubric"})
    found = several_report({name: tmp_path / name / "study.duckdb" for name in ("one", "two")})
    rows = found.found.records()
    assert {(row["strict_rate"], row["strict_rate_reason"]) for row in rows} == {
        (None, "no task has a verifier")
    }
    assert "| mix | – (no verifier) | – (no verifier) |" in several_markdown(found)
