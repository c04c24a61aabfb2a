"""`skilljuror view` over HTTP: Skills, runs, timelines, trials, report and review of real studies; and its guard."""

import os
import re
import shutil
import subprocess
import sys

import duckdb
import httpx
import pytest

from skilljuror.base.files import read_jsonl
from skilljuror.judge.study import judge_study
from skilljuror.report import report_study
from skilljuror.review.view import ROWS
from skilljuror.store.connect import open_write
from skilljuror.store.logs import ingest_logs
from skilljuror.store.questions import run
from skilljuror.store.records import MeasureOptions
from skilljuror.store.trials import ingest_trials
from tests.support.claude_logs import assistant, tool_result, tool_use, user, write_lines
from tests.support.cli_process import call, complaint
from tests.support.jsonl_desk import XSS, review_page
from tests.support.places import GOLDENS, ROOT
from tests.support.review_client import Page, ReviewClient, asked
from tests.support.studies import run_example

ANSI = "a\x1b]0;owned\x07b\x1b[2Jc\u202ed"
SKILL = "/root/.claude/skills/brew/SKILL.md"
PLAIN = 104
"""Runs without a Skill."""


def view_page(study, **env):
    """The pages of a study; none: of the user's own logs."""
    words = [str(study)] if study else []
    return review_page("-m", "skilljuror", "view", *words, "--no-open", env={**os.environ, **env})


def hostile_study(base):
    """105 runs, of which one opens a Skill; with texts that would run in a browser or steer a terminal."""
    logs = base / "logs" / "projects" / "-w"
    write_lines(
        logs / "hostile.jsonl",
        user(1, f"Brew. {XSS} {ANSI}", sessionId="hostile", cwd=f"/home/ann/{XSS.replace('/', '')}"),
        assistant(2, tool_use("t1", "Read", file_path=SKILL), sessionId="hostile"),
        user(3, [tool_result("t1", f"# Brew {XSS} {ANSI}\nquarterly_ledger = 1\n")], sessionId="hostile"),
        assistant(4, tool_use("t2", "Bash", command=f"echo quarterly_ledger # {XSS} {ANSI}"), sessionId="hostile"),
        user(5, [tool_result("t2", XSS)], sessionId="hostile"),
    )  # fmt: skip
    for number in range(PLAIN):
        name, at = f"plain-{number:03}", 10 + 2 * number
        write_lines(
            logs / f"{name}.jsonl",
            user(at, "Hello", sessionId=name, cwd=f"/home/ann/p{number % 2}"),
            assistant(at + 1, {"type": "text", "text": "Hi"}, sessionId=name),
        )
    study = base / f"mine{ANSI.replace('/', '')}"
    ingest_logs(study, [logs], options=MeasureOptions(projects=True))
    judge_study(study)
    return study


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    study = hostile_study(tmp_path_factory.mktemp("view"))
    with view_page(study) as (address, _):
        yield study, address


@pytest.fixture
def client(mine):
    with ReviewClient(mine[1]) as client:
        yield client


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    study = run_example(tmp_path_factory.mktemp("planned"))
    ingest_trials(study)
    judge_study(study)
    with view_page(study) as (address, _):
        yield study, address


@pytest.fixture
def visitor(planned):
    with ReviewClient(planned[1]) as visitor:
        yield visitor


def listed(page):
    """Names of the runs of a page, in order."""
    links = [link for link in Page(page.text).links if link.startswith("/run?")]
    return [httpx.URL(link).params["name"] for link in links]


@pytest.mark.slow
def test_a_skill_leads_to_its_runs_and_a_run_to_its_timeline(mine, client):
    skills = client.get("/")
    assert '<td class="n" data-label="Opened">1</td>' in skills.text
    (of_skill,) = [link for link in Page(skills.text).links if "skill=brew" in link]
    runs = client.get(of_skill)
    assert "<h1>Runs of brew</h1>" in runs.text
    (name,) = listed(runs)
    timeline = client.get("/run", name=name).text
    assert "read brew/SKILL.md" in timeline
    database = mine[0] / "study.duckdb"
    verdicts = run(database, "verdicts_of").records()
    assert len(verdicts) == 1
    assert f"{verdicts[0]['label'].replace('yes', 'uptake')}: {verdicts[0]['category']}" in timeline
    assert "not judged" not in timeline


@pytest.mark.slow
def test_every_run_is_on_one_page_of_the_list(mine, client):
    database = mine[0] / "study.duckdb"
    first = client.get("/runs")
    assert f"1 to {ROWS} of {PLAIN + 1}" in first.text
    assert len(listed(first)) == ROWS
    (after,) = re.findall('<a rel="next"[^>]* href="([^"]+)"', first.text)
    second = client.get(after)
    assert 'rel="next"' not in second.text
    assert f"{ROWS + 1} to {PLAIN + 1} of {PLAIN + 1}" in second.text
    (before,) = re.findall('<a rel="prev"[^>]* href="([^"]+)"', second.text)
    assert listed(client.get(before)) == listed(first)
    latest = run(
        database, "SELECT trajectory FROM trajectories ORDER BY started_at DESC, trajectory"
    ).rows
    assert [*listed(first), *listed(second)] == [name for (name,) in latest]
    assert "No run is like this" in client.get("/runs", page="9").text
    for odd in ("0", "-1", "x", "9" * 30, "²"):
        assert listed(client.get("/runs", page=odd)) == listed(first)


@pytest.mark.slow
def test_filters_go_together_and_stay_on_the_next_page(client):
    half = client.get("/runs", project="p1")
    assert f"1 to {PLAIN // 2} of {PLAIN // 2}" in half.text
    assert '<option value="p1" selected>' in half.text
    assert "No run is like this" in client.get("/runs", project="p1", skill="brew").text
    assert len(listed(client.get("/runs", skill="brew", outcome="unknown"))) == 1
    (model,) = {*re.findall(r'data-label="Model">([^<]+)<', half.text)}
    (after,) = re.findall(
        '<a rel="next"[^>]* href="([^"]+)"', client.get("/runs", model=model).text
    )
    assert httpx.URL(after).params["model"] == model
    for name, value in (("outcome", "none"), ("skill", "none")):
        page = client.get("/runs", **{name: value})
        assert page.status_code == 404
        assert "none" in page.text


@pytest.mark.slow
def test_nothing_of_a_log_is_markup_or_steers(mine, client):
    (name,) = listed(client.get("/runs", skill="brew"))
    pages = [
        client.get(path, **words)
        for path, words in (
            ("/", {}), ("/runs", {}), ("/runs", {"project": XSS}), ("/runs", {"skill": XSS}), ("/run", {"name": name}),
            ("/run", {"name": XSS}), (f"/{XSS}", {}), ("/report", {}), ("/review/", {}), ("/review/next", {}),
        )
    ]  # fmt: skip
    for page in pages:
        found = Page(page.text)
        assert found.tags.count("script") == 1, page.url
        assert not {"img", "svg", "iframe", "style"} & {*found.tags}
        assert not any(name.startswith("on") or name == "style" for name in found.attributes)
        assert all(link.startswith(("/", "#")) and link[1:2] != "/" for link in found.links)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", page.text)
        assert page.text.count("7*7") == page.text.count("{{ 7*7 }}")
        assert "http:" not in page.text
    assert "&lt;script&gt;" in pages[4].text
    assert r"\x1b]0;owned" in pages[4].text


@pytest.mark.slow
def test_the_terminal_is_told_what_is_shown_and_is_not_steered(mine):
    command = [sys.executable, "-m", "skilljuror", "view", mine[0], "--no-open"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as served:
        assert served.stderr is not None
        told = [served.stderr.readline() for _ in range(2)]
        served.terminate()
    assert r"mine" + r"a\x1b]0;owned" in told[0]
    assert "page: http://127.0.0.1:" in told[1]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", "".join(told))


@pytest.mark.parametrize("path", ["/", "/skills", "/runs", "/run?name=x", "/report", "/review/", "/static/review.css"])  # fmt: skip
def test_nothing_is_shown_to_others(mine, client, path):
    found = asked(f"{client.origin}{path}")
    assert found.status_code == 403
    assert "brew" not in found.text
    assert "default-src 'none'" in found.headers["content-security-policy"]
    assert client.http.get(path, headers={"Host": "evil.example"}).status_code == 421
    assert client.http.post(path).status_code == 403, "a form without our origin"
    own = client.get(path).headers["content-security-policy"]
    assert "script-src 'self'" in own
    assert "unsafe" not in own


@pytest.mark.slow
def test_the_cells_of_a_plan_lead_to_its_trials(planned, visitor):
    page = visitor.get("/").text
    rows = run(planned[0] / "study.duckdb", "trials").records()
    assert len(rows) == 3
    for row in rows:
        mark = "passed" if row["strict"] else "failed"
        label = f'aria-label="{row["trial"]}: {row["unusable"] or mark}"'
        assert label in page
        assert f"<h1>{row['trial']}</h1>" in visitor.get("/run", name=row["trial"]).text
        found = visitor.get("/runs", task=row["task"], condition=row["condition"], outcome=mark)
        assert listed(found) == [row["trial"]]
    passes = sum(row["strict"] for row in rows)
    assert page.count(">1 of 1<") == passes
    assert page.count(">0 of 1<") == 3 - passes
    assert "Scripted policy" in page


@pytest.mark.slow
def test_a_trial_that_no_figure_may_use_counts_in_no_cell(tmp_path):
    """One of three trials is missing: its cell has a dash, not 0 of 1."""
    study = run_example(tmp_path)
    ingest_trials(study)
    trials = run(study / "study.duckdb", "trials").records()
    passed = next(row for row in trials if row["strict"])
    with duckdb.connect(str(study / "study.duckdb")) as database:
        database.execute("DELETE FROM trials WHERE trial = ?", [passed["trial"]])
    with view_page(study) as (address, _), ReviewClient(address) as client:
        page = client.get("/").text
    assert f'aria-label="{passed["trial"]}: missing"' in page
    assert page.count(" of 1<") == 2
    assert page.count(">–<") == 1


@pytest.mark.slow
def test_the_report_is_shown_if_it_is_as_new_as_the_database(planned, visitor):
    study = planned[0]
    shutil.rmtree(study / "report", ignore_errors=True)
    assert "No report yet. Write it: skilljuror report" in visitor.get("/report").text
    assert visitor.get("/report/report.html").status_code == 404
    report_study(study)
    shown = visitor.get("/report")
    assert shown.url.path == "/report/report.html"
    assert "skilljuror report" in shown.text
    policy = shown.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script" not in policy
    assert visitor.get("/report/tables/outcomes.csv").status_code == 200
    assert visitor.get("/report/../plan.json").status_code == 404
    assert visitor.get("/report/%2e%2e/plan.json").status_code == 404
    os.utime(study / "report" / "report.html", (1, 1))
    older = visitor.get("/report").text
    assert "older than the database" in older
    assert "/report/report.html" in Page(older).links


@pytest.mark.slow
def test_questions_are_answered_in_the_same_place(planned, visitor):
    item = visitor.get("/review/next", kind="uptake")
    assert item.url.path == "/review/item"
    fields = Page(item.text).fields
    form = {"token": fields["token"], "id": fields["id"], "answer": "unknown", "kind": "uptake"}
    origin = {"Origin": visitor.origin}
    done = visitor.http.post("/review/decide", data=form, headers=origin)
    assert done.url.path in {"/review/item", "/review/"}
    (row,) = read_jsonl(planned[0] / "reviews.jsonl")
    assert (row["item"], row["answer"]) == (fields["id"], "unknown")
    undone = visitor.http.post("/review/undo", data={"token": fields["token"]}, headers=origin)
    assert "Decision undone" in undone.text
    links = Page(undone.text).links
    assert {"/tasks", "/skills", "/runs", "/report", "/review/"} <= {*links}
    assert visitor.get("/review").url.path == "/review/"


@pytest.mark.slow
def test_other_commands_may_write_while_the_pages_are_open(mine, client):
    study, database = mine[0], mine[0] / "study.duckdb"
    assert client.get("/runs").status_code == 200
    with open_write(database):
        found = client.get("/runs")
        assert found.status_code == 503
        assert "in use" in found.text
    assert call("judge", study).returncode == 0
    assert client.get("/runs").status_code == 200


@pytest.mark.slow
def test_without_a_study_it_shows_the_users_own_logs(tmp_path):
    logs = tmp_path / ".claude" / "projects" / "-w-harbour"
    logs.mkdir(parents=True)
    shutil.copy(GOLDENS / "claude-session" / "skill-call" / "raw.jsonl", logs / "a.jsonl")
    served = view_page(None, HOME=str(tmp_path), XDG_DATA_HOME=str(tmp_path / "data"))
    with served as (address, _), ReviewClient(address) as client:
        assert len(listed(client.get("/runs"))) == 1
        assert 'data-label="Project"' in client.get("/runs").text
    assert (tmp_path / "data" / "skilljuror" / "usage" / "study.duckdb").is_file()


def test_what_cannot_be_shown_is_told_in_one_line(tmp_path):
    assert "view" not in complaint(call("view", tmp_path / "none"))
    (tmp_path / "empty").mkdir()
    assert "skilljuror ingest" in complaint(call("view", tmp_path / "empty"))
    assert "--json does not apply" in call("view", tmp_path, "--json").stdout


@pytest.mark.slow
def test_a_run_whose_log_is_gone_is_told(tmp_path):
    log = tmp_path / "projects" / "-w" / "one.jsonl"
    write_lines(log, user(1, "Hello", sessionId="one"))
    ingest_logs(tmp_path / "mine", [log])
    ((name,),) = run(tmp_path / "mine" / "study.duckdb", "SELECT trajectory FROM trajectories").rows
    log.unlink()
    with view_page(tmp_path / "mine") as (address, _), ReviewClient(address) as client:
        gone = client.get("/run", name=name)
        assert gone.status_code == 404
        assert "missing or has changed; rerun ingest" in gone.text
        assert name in listed(client.get("/runs"))
