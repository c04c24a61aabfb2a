"""Metrics that no registry names: `package.module:attribute` wherever metrics are asked for."""

import os

import pytest
import yaml

import skilljuror
from skilljuror.report import report_study
from skilljuror.store import open_write
from skilljuror.store.logs import ingest_logs
from skilljuror.store.questions import run
from skilljuror.store.records import MeasureOptions
from skilljuror.store.trials import ingest_trials
from skilljuror.study.run import run_study
from tests.support import fabricated_records as fake
from tests.support.cli_process import call, complaint
from tests.support.places import GOLDENS
from tests.support.studies import make_study

PACKAGE = """
from skilljuror.measures.metrics import Definition, defines, to_measures
from skilljuror.measures.metrics import Definition, defines, to_measures
from skilljuror.base.results import Measure


@defines({
    "buoys": Definition("Buoys in what the agent said", "buoys", "own"),
    "any_buoy": Definition("It named one", "flag", "own"),
})
def watch(context):
    if context.trajectory is None:
        return to_measures(context, {("buoys", ""): "no_trajectory", ("any_buoy", ""): "no_trajectory"})
    count = sum(step.text.count("buoy") for step in context.trajectory.steps)
    return to_measures(context, {("buoys", ""): count, ("any_buoy", ""): float(count > 0)})


@defines({"buoys": Definition("Buoys", "buoys", "own")})
def undefined(context):
    yield Measure(context.trial, "boats", 1.0)


@defines({"fanout": Definition("Another fanout", "resources", "own")})
def doubled(context):
    return ()


@defines({"buoys": "in words alone"})
def plain_words(context):
    return ()


def bare(context):
    return ()
"""


@pytest.fixture
def buoys(tmp_path, monkeypatch, request):
    """Name of a module in a package of its own, which is importable here and in what is run."""
    package = f"metric_{abs(hash(request.node.nodeid))}"
    (tmp_path / "src" / package).mkdir(parents=True)
    (tmp_path / "src" / package / "watch.py").write_text(PACKAGE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "src")
    places = [str(tmp_path / "src"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, places)))
    return f"{package}.watch"


def measured(study):
    sql = "SELECT metric, value, reason FROM measures WHERE metric LIKE '%buoy%' ORDER BY ALL"
    return run(study / "study.duckdb", sql).rows


def meanings(study):
    columns = ("metric", "definition", "unit", "level", "family")
    rows = run(study / "study.duckdb", "metrics").records()
    return [tuple(row[name] for name in columns) for row in rows if "buoy" in row["metric"]]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_logs_are_measured_by_it_in_every_worker(buoys, tmp_path, jobs):
    study, options = tmp_path / "s", MeasureOptions(metrics=(f"{buoys}:watch",))
    ingest_logs(study, [GOLDENS], options=options, jobs=jobs)
    runs = run(study / "study.duckdb", "SELECT count(*) FROM trajectories").rows[0][0]
    assert len(measured(study)) == 2 * runs
    assert meanings(study) == [
        ("any_buoy", "It named one", "flag", "trial", f"{buoys}:watch"),
        ("buoys", "Buoys in what the agent said", "buoys", "trial", f"{buoys}:watch"),
    ]


@pytest.mark.slow
def test_a_study_file_names_it_and_the_command_line_may_name_more(buoys, tmp_path):
    path = make_study(tmp_path, trials=1, variants={"a": None})
    plan = yaml.safe_load(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump({**plan, "metrics": [f"{buoys}:watch"]}), encoding="utf-8")
    run_study(path, tmp_path / "out")
    ingest_trials(tmp_path / "out")
    nulls = [("any_buoy", None, "no_trajectory"), ("buoys", None, "no_trajectory")]
    assert measured(tmp_path / "out") == nulls
    ingest_trials(tmp_path / "out", options=MeasureOptions(metrics=(f"{buoys}:watch", "outcome")))
    assert measured(tmp_path / "out") == nulls


@pytest.mark.slow
def test_the_report_and_notebooks_know_its_unit(buoys, tmp_path):
    options = MeasureOptions(metrics=(f"{buoys}:watch",))
    ingest_logs(tmp_path / "s", [], options=options)
    values = {"baseline": (1.0, 0.0), "pd": (3.0, 1.0)}
    with open_write(tmp_path / "s" / "study.duckdb") as store:
        store.put_plan(fake.plan(["a", "b"], ("baseline", "pd")))
        store.put("trials", [fake.trial(task, name) for task in "ab" for name in values])
        fake.put(store, [
            fake.run(f"{task}-{name}", trial=fake.name_of(task, name), values={"buoys": n, "any_buoy": f})
            for task in "ab"
            for name, (n, f) in values.items()
        ])  # fmt: skip
    study = skilljuror.open_study(tmp_path / "s")
    assert study.contrast("pd", "baseline", "buoys").unit == "buoys"
    assert study.contrast("pd", "baseline", "any_buoy").delta == 100.0
    report = report_study(tmp_path / "s").path
    tables = report.parent / "tables"
    rows = (tables / "contrasts.csv").read_text(encoding="utf-8").splitlines()
    assert "buoys,buoys,2,2,2,2.0,,no variation between tasks,,0.5,0.5," in rows
    assert "any_buoy,pp,2,2,2,100.0,,no variation between tasks,,0.5,0.5," in rows
    assert "buoys" in report.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("nobody", "unknown metric 'nobody'", id="no such name"),
        pytest.param("no.such.place:watch", "No module named", id="no such module"),
        pytest.param("{buoys}:nobody", "has no attribute 'nobody'", id="no such attribute"),
        pytest.param("{buoys}:bare", "is not valid: missing definitions", id="no metric"),
        pytest.param("{buoys}:plain_words", "'buoys' must be a Definition", id="no definition"),
        pytest.param(
            "{buoys}:doubled", "'fanout', which 'process' already defines", id="a name twice"
        ),
        pytest.param("{buoys}:undefined", "returns the undefined measure 'boats'", id="undefined"),
    ],
)
def test_a_bad_one_is_refused_in_one_line(buoys, tmp_path, name, said):
    name = name.format(buoys=buoys)
    jobs = (
        2 if name.endswith(":undefined") else 1
    )  # a worker finds that one, the command the others
    done = call("ingest", GOLDENS, "--study", tmp_path / "s", "--metric", name, "-j", jobs)
    line = complaint(done)
    assert said in line
    assert repr(name) in line
