"""What verifiers report becomes rows, in whichever format; what cannot be read is one line and no row."""

import json
import os
import subprocess
import sys

import pytest

from skilljuror.store.checks import MAX_FILE, failure_label, read_checks
from skilljuror.store.questions import run
from skilljuror.store.records import MeasureOptions
from skilljuror.store.trials import ingest_trials
from skilljuror.study.run import run_study
from tests.support.harness_tasks import REWARD, write_tree
from tests.support.studies import make_study

TESTS = """
import pytest

@pytest.fixture
def server():
    raise RuntimeError("no server at 10.0.0.1")

class TestMass:
    def test_close(self):
        secret_expectation = 15.6
        assert secret_expectation <= 1.0

    def test_ac_3_names(self):
        assert {"a", "b"} == {"a", "c"}, "the names differ"

    def test_passes(self):
        pass

def test_key():
    {}["volume"]

def test_file():
    open("/nowhere/out.csv")

def test_server(server):
    pass

def test_skipped():
    pytest.skip("no gpu")
"""
REPORTER = """
import json

ROWS = {}

def pytest_runtest_logreport(report):
    row = ROWS.setdefault(report.nodeid, {"name": report.nodeid, "status": "passed"})
    if report.outcome != "passed":
        row |= {"status": report.outcome, "trace": report.longreprtext, "retries": 0}
    if report.failed:
        row |= {"raw_status": report.when + "_failed", "message": "The test failed in the call phase"}

def pytest_sessionfinish(session):
    with open("ctrf.json", "w") as file:
        json.dump({"results": {"tool": {"name": "pytest"}, "tests": list(ROWS.values())}}, file)
"""


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A folder with a CTRF and a JUnit file of the same run."""
    folder = tmp_path_factory.mktemp("reported")
    write_tree(
        folder, {"checks/test_out.py": TESTS, "conftest.py": REPORTER, "pytest.ini": "[pytest]\n"}
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    alone = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, "--junitxml", "junit.xml"],
        cwd=folder,
        env=alone,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    return folder


def verified(folder, **files):
    """Raw artifacts whose verifier left some files; a name's __ is its dot."""
    for name, data in files.items():
        path = folder / "verifier" / name.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return folder


def ctrf(*tests, **more):
    return {"results": {"tests": [{"status": "passed"} | test for test in tests], **more}}


def outcomes(raw):
    return {row.name: (row.outcome, row.award) for row in read_checks(raw, "t")[0]}


@pytest.mark.slow
def test_the_rows_of_one_run_are_equal_in_both_formats_and_hold_no_source(tmp_path, reported):
    files = [(reported / name).read_bytes() for name in ("ctrf.json", "junit.xml")]
    rows, left = read_checks(verified(tmp_path / "c", ctrf__json=files[0]), "t")
    others, _ = read_checks(verified(tmp_path / "j", junit__xml=files[1]), "t")
    found = [(row.name, row.outcome, row.award, row.label, row.criterion, row.said) for row in rows]
    assert found == [
        (row.name, row.outcome, row.award, row.label, row.criterion, row.said) for row in others
    ]
    module = "checks/test_out.py::"
    assert found == [
        (f"{module}TestMass::test_close", "failed", 0, "numeric", None, "assert 15.6 <= 1.0"),
        (
            f"{module}TestMass::test_ac_3_names", "failed", 0, "rule", "AC-3",
            "AssertionError: the names differ\nassert {'a', 'b'} == {'a', 'c'}",
        ),
        (f"{module}TestMass::test_passes", "passed", 1, None, None, None),
        (f"{module}test_key", "failed", 0, "interface", None, "KeyError: 'volume'"),
        (
            f"{module}test_file", "failed", 0, "asset", None,
            "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/out.csv'",
        ),
        (f"{module}test_server", "error", 0, "runtime", None, "RuntimeError: no server at 10.0.0.1"),
        (f"{module}test_skipped", "skipped", None, None, None, None),
    ]  # fmt: skip
    assert left == ()
    both = verified(tmp_path / "both", ctrf__json=files[0], junit__xml=files[1])
    assert read_checks(both, "t") == (rows, ())


def test_a_fixture_that_breaks_is_an_error_when_the_reporter_drops_its_phase(tmp_path):
    """As pytest-json-ctrf 0.3.5, which also joins the cases of a parametrised test."""
    test = {"name": "test_a.py::test_b", "status": "failed", "trace": "E   OSError: closed"}
    joined = test | {"name": "test_a.py::test_c", "retries": 3}
    raw = verified(
        tmp_path, ctrf__json=ctrf(test | {"retries": 0}, joined, tool={"name": "pytest"})
    )
    assert outcomes(raw) == {"test_a.py::test_b": ("error", 0), "test_a.py::test_c": ("failed", 0)}


def test_several_reports_of_a_trial_and_its_steps_count(tmp_path):
    raw = verified(
        tmp_path,
        ctrf_black__json=ctrf({"name": "a"}, {"name": "a", "status": "other"}),
        ctrf_white__json=ctrf({"name": "a", "status": "pending"}),
        reward__json={"reward": 1.0},
        agent__json={"results": [1], "tests": []},
        chart__xml=b"<!DOCTYPE svg><svg/>",
    )  # fmt: skip
    kit = {
        "style": {"score": 0.5, "criteria": [
            {"name": "short", "value": 0.5, "weight": 4, "raw": 2},
            {"name": "kind", "value": 0, "error": "the judge was stopped"},
        ]},
        "status": "whole",
    }  # fmt: skip
    (raw / "steps" / "one").mkdir(parents=True)
    verified(raw / "steps" / "one", **{"reward-details__json": kit})
    rows, left = read_checks(raw, "t")
    assert left == ()
    assert [(row.source, row.name, row.outcome, row.points, row.award) for row in rows] == [
        ("ctrf_black.json", "a", "passed", 1, 1),
        ("ctrf_black.json", "a #2", "error", 1, 0),
        ("ctrf_white.json", "a", "skipped", 1, None),
        ("steps/one/reward-details.json", "style.short", "failed", 4, 2),
        ("steps/one/reward-details.json", "style.kind", "error", 1, 0),
    ]


HOSTILE = {
    "a million rows": ("x.json", b'{"results":{"tests":[' + b'{"name":"a","status":"passed"},' * 600_000
                       + b'{"name":"a","status":"passed"}]}}', "more than 10000 tests in a trial"),
    "endless points": ("reward-details.json", b'{"r": {"criteria": [{"name": "a", "value": 1, "weight": 1e999}]}}',
                       "out of range"),
    "XML that is cut off": ("x.xml", b"<testsuites><testsuite>", "no element found"),
    "a value above 1": ("reward-details.json", b'{"r": {"criteria": [{"name": "a", "value": 2}]}}', "<= 1"),
    "an unknown status": ("x.json", b'{"results":{"tests": [{"name":"a","status":"fine"}]}}', "fine"),
    "cut off": ("x.json", b'{"results":{"tests": [{"name":"a"', "truncated"),
    "nested": ("x.json", b'{"tests": [' + b"[" * 100_000, "recursion"),
    "not UTF-8": ("x.json", b'{"results":{"tests": [{"name":"\xff","status":"passed"}]}}', "utf-8"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_report_is_one_line_and_no_row(tmp_path, name):
    file, data, reason = HOSTILE[name]
    raw = verified(tmp_path, **{file.replace(".", "__"): data})
    rows, (line,) = read_checks(raw, "t")
    assert rows == ()
    assert line.reason is not None
    assert (line.status, line.path) == ("error", str(raw / "verifier" / file))
    assert reason in line.reason
    assert "\n" not in line.reason


def test_large_files_links_and_pipes_are_one_line(tmp_path):
    raw = verified(tmp_path, big__json=ctrf({"name": "a"}), other__json=b'{"speed": [')
    folder = raw / "verifier"
    for name in ("big.json", "other.json"):  # holes, so that they take no room
        os.truncate(folder / name, 5 * MAX_FILE)
    (folder / "link.json").symlink_to(folder / "big.json")
    os.mkfifo(folder / "pipe.json")
    (folder / "folder.json").mkdir()
    rows, left = read_checks(raw, "t")
    assert rows == ()
    assert [(line.path.rsplit("/")[-1], line.reason) for line in left] == [
        ("big.json", "test report: 100000000 bytes are more than 20000000"),
        ("link.json", "test report: a link"),
        ("other.json", "test report: 100000000 bytes are more than 20000000"),
    ]


@pytest.mark.parametrize(
    ("said", "label"),
    [
        ("AssertionError: /root/report.md is missing\nassert False", "asset"),
        ("AssertionError: the output file does not exist", "asset"),
        ("AssertionError: Missing column 'mass'\nassert 'mass' in ['a']", "interface"),
        ("AssertionError: Missing bonus for A\nassert 'A' in {'B': 7, 'C': 3}", "interface"),
        ("Failed: Box 'no' (pattern: B61) not found. There are: ['P[0].Lia[0].B5[0]']", None),
        ("AssertionError: flows: expected 214, got 218\nassert False", "numeric"),
        ("assert (inf == '' or False)", "rule"),
        ("TypeError: f() got an unexpected keyword argument 'x'", "interface"),
        ("subprocess.TimeoutExpired: Command 'x' timed out after 5 seconds", "runtime"),
        ("AssertionError: bash: jq: command not found", "runtime"),
        ("assert 15.6 <= 1.0", "numeric"),
        ("AssertionError: off\nassert np.float64(0.7) < 1e-06", "numeric"),
        ("assert 3.2 == approx(3.5 ± 3.5e-06)", "numeric"),
        ("assert 'v1beta1' == 'v1'", "rule"),
        ("assert 3 in {1, 2}", "rule"),
        ("assert False is True", "rule"),
        ("AssertionError: 0.4 != 0.7 within 0.001 delta (0.3 difference)", "numeric"),
        ("AssertionError: 'tea' not found in ['coffee']", "rule"),
        (
            "AssertionError: not so\nassert False\n+  where False = isinstance('3', int)",
            "interface",
        ),
        (
            "AssertionError: no\nassert 1 == 0\n+  where 1 = CompletedProcess(args='make')",
            "runtime",
        ),
        ("assert False", None),
        ("ValueError: bad", None),
    ],
)
def test_failures_are_labelled_by_their_words_alone(said, label):
    assert failure_label("failed", said) == label
    assert failure_label("passed", said) is None


def test_a_label_rests_on_where_the_values_come_from_and_what_is_said_does_not_hold_it(tmp_path):
    trace = "E   assert 1 == 0\nE    +  where 1 = CompletedProcess(args='secret').returncode"
    test = {"name": "a", "status": "failed", "trace": trace}
    (row,), _ = read_checks(verified(tmp_path, x__json=ctrf(test)), "t")
    assert (row.label, row.said) == ("runtime", "assert 1 == 0")


VERIFIER = """
mkdir -p "$LOGS_DIR/verifier"
echo '{"results": {"tests": [{"name": "AC-1 tea", "status": "failed", "message": "cold"}]}}' > "$LOGS_DIR/verifier/ctrf.json"
"""


@pytest.mark.slow
def test_ingest_stores_rows_of_local_trials_and_forgets_what_they_said_without_quotes(tmp_path):
    study = make_study(tmp_path, trials=1, variants={"a": None})
    test = tmp_path / "tea" / "tests" / "test.sh"
    test.write_text("#!/bin/bash\n" + VERIFIER + REWARD)
    run_study(study, tmp_path / "out")
    sql = "SELECT trial, source, name, outcome, award, said, criterion FROM check_results"

    def stored():
        return [
            tuple(row.values()) for row in run(tmp_path / "out" / "study.duckdb", sql).records()
        ]

    ingest_trials(tmp_path / "out")
    assert stored() == [("tea__a__1", "ctrf.json", "AC-1 tea", "failed", 0, "cold", "AC-1")]
    ingest_trials(tmp_path / "out")
    assert len(stored()) == 1
    ingest_trials(tmp_path / "out", options=MeasureOptions(quotes=False))
    assert [row[-2] for row in stored()] == [None]
