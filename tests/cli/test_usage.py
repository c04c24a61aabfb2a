"""`usage`: the logs of this machine without a study, and the alert of the docs over three weeks of them."""

import csv
import io
import json
import os
import re
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.cli_process import call, complaint
from tests.support.places import GOLDENS, ROOT

LOG = GOLDENS / "claude-session" / "skill-call" / "raw.jsonl"
CODEX = GOLDENS / "codex-rollout" / "skill-read" / "raw.jsonl"
PAGE = ROOT / "docs" / "read-your-logs.md"
COLUMNS = (
    "skill,project,person,model,offered,opened,opened_offered,unknown,open_rate,offered_before,opened_before,"
    "opened_offered_before,unknown_before,open_rate_before,change,change_low,change_high,uses,failed,tokens_shown,"
    "tokens_shown_before,usd,usd_unknown,listing_month_usd,listing_month_usd_unknown,period_start,period_end"
)
TODAY = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)


def write_session(folder, number, days_ago, *, opened=True):
    """A committed log under another session and date, whole or up to the listing of its Skills."""
    day = TODAY - timedelta(days=days_ago, hours=13)
    text = LOG.read_text(encoding="utf-8").replace("2026-03-02T10", f"{day:%Y-%m-%dT%H}")
    name = f"5e551000-0000-4000-8000-{number:012}"
    text = text.replace("5e551000-0000-4000-8000-000000000001", name).replace(
        '"claude-x"', '"claude-sonnet-4-5"'
    )
    text = re.sub(r'"(id":"msg_|uuid":")', rf'"\g<1>{number}-', text)
    lines = text.splitlines(keepends=True)
    kept = lines if opened else [*lines[:4], *lines[-5:-2]]
    (folder / f"{name}.jsonl").write_text("".join(kept), encoding="utf-8")


@pytest.fixture
def home(tmp_path):
    """A home with logs of Claude Code, among them an empty, a cut and a foreign file."""
    logs = tmp_path / ".claude" / "projects" / "-w-harbour"
    logs.mkdir(parents=True)
    (logs / "empty.jsonl").touch()
    (logs / "cut.jsonl").write_bytes(LOG.read_bytes()[:900])
    (logs / "foreign.jsonl").write_text('{"level": "info", "message": "started"}\n' * 3)
    return tmp_path


def ask(home, *words, **more):
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "PYTHONPATH"}}
    env = {**kept, "HOME": str(home), "COLUMNS": "80", **more}
    return call(*words, cwd=home, env=env)


@pytest.mark.slow
def test_the_alert_of_the_docs_fires_in_the_week_of_a_real_drop_alone(home):
    """Weeks of 12, 12 and 12 sessions, in which 11, 11 and 1 opened the Skill; each week it runs as cron."""
    (recipe,) = re.findall(r"^\S+ \S+ \S+ \S+ \S+  skilljuror (.*)$", PAGE.read_text(), re.M)
    logs = home / ".claude" / "projects" / "-w-harbour"
    found = []
    for week in range(3):
        for earlier in range(week + 1):
            for n in range(12):
                opens = n == 0 if earlier == 2 else n != 0
                write_session(
                    logs, 100 * earlier + n + 1, 7 * (week - earlier) + n % 6, opened=opens
                )
        found.append(ask(home, *recipe.split()))
    assert [done.returncode for done in found] == [0, 0, 1], [done.stderr for done in found]
    assert [done.stdout for done in found[:2]] == ["", ""]  # cron sends no mail
    assert [done.stderr for done in found[:2]] == ["", ""]
    period, line = found[2].stdout.splitlines()
    drop = "tide-table: opened in 1 of 12 runs (8%) that were offered it, before in 11 of 12 runs (92%): -83 points"
    assert line.startswith(drop)
    assert period.endswith("UTC")
    unknown = ask(home, "usage", "--since", "7d", "--rows", "unknown", "--fail-on-rows")
    assert (unknown.returncode, unknown.stdout) == (0, "")


@pytest.mark.slow
def test_seven_days_are_seven_days_for_each_question(home):
    """To the hour, and without what a wrong clock dates in the future."""
    logs = home / ".claude" / "projects" / "-w-harbour"
    for number, hours in enumerate((1, 7 * 24 - 1, 7 * 24 + 2, -48)):
        started = datetime.now(UTC) - timedelta(hours=hours)
        write_session(logs, number, 0)
        file = logs / f"5e551000-0000-4000-8000-{number:012}.jsonl"
        text = file.read_text(encoding="utf-8")
        file.write_text(
            re.sub(r"\d{4}-\d\d-\d\dT\d\d", f"{started:%Y-%m-%dT%H}", text), encoding="utf-8"
        )
    for by, name in (("skill", "opened"), ("version", "runs")):
        (row,) = (
            row
            for row in json.loads(ask(home, "usage", "--by", by, "--since", "7d", "--json").stdout)
            if row["skill"] == "tide-table"
        )
        assert row[name] == 2, by


@pytest.mark.slow
def test_what_a_log_does_not_list_is_unknown_and_opened_is_opened(tmp_path):
    """Gemini's logs have no list of Skills; `usage` and the list of Skills count the same runs as opened."""
    gemini = GOLDENS / "gemini-chat"
    assert call("ingest", gemini, "--study", "s", cwd=tmp_path).returncode == 0
    rows = json.loads(call("usage", "s", "--json", cwd=tmp_path).stdout)
    skills = json.loads(call("query", "s", "skills_opened", "--json", cwd=tmp_path).stdout)
    assert rows
    assert {row["offered"] for row in rows} == {None}
    assert {row["open_rate"] for row in rows} == {None}
    opened = {row["skill"]: row["opened"] for row in skills}
    assert {row["skill"]: row["opened"] for row in rows} == opened


@pytest.mark.slow
def test_own_logs_need_no_study_and_a_second_look_reads_nothing(home):
    write_session(home / ".claude" / "projects" / "-w-harbour", 1, 2)
    first = ask(home, "usage")
    assert first.returncode == 0, first.stderr
    place = home / ".local" / "share" / "skilljuror" / "usage"
    assert f"into {place}; delete that folder to forget them" in first.stderr
    assert "2 were offered and never used; listing them costs $0.00 a month" in first.stderr
    second = ask(home, "usage")
    assert second.stdout == first.stdout
    assert "into" not in second.stderr
    elsewhere = ask(home, "usage", XDG_DATA_HOME=str(home / "data"))
    assert elsewhere.stdout == first.stdout
    assert (home / "data" / "skilljuror" / "usage" / "study.duckdb").is_file()


@pytest.mark.slow
def test_rows_are_the_same_numbers_in_each_format(home):
    logs = home / ".claude" / "projects" / "-w-harbour"
    for number in (1, 2, 3):
        write_session(logs, number, number)
    rows = json.loads(ask(home, "usage", "--json").stdout)
    plain = ask(home, "usage", "--format", "csv").stdout
    assert [row["skill"] for row in csv.DictReader(io.StringIO(plain))] == [
        row["skill"] for row in rows
    ]
    assert plain.splitlines()[0] == COLUMNS
    tides = rows[0]
    assert (tides["skill"], tides["offered"], tides["opened"]) == ("tide-table", 3, 3)
    assert tides["usd"] > 0
    assert tides["usd_unknown"] == 0
    (project,) = {
        row["project"] for row in json.loads(ask(home, "usage", "--by", "project", "--json").stdout)
    }
    assert project == "harbour"
    assert {
        row["model"] for row in json.loads(ask(home, "usage", "--by", "model", "--json").stdout)
    } == {"claude-sonnet-4-5"}
    versions = json.loads(ask(home, "usage", "--by", "version", "--json").stdout)
    assert versions[0]["runs"] == 3
    unused = ask(home, "usage", "--rows", "unused").stdout
    assert "listing_month_usd" in unused
    assert "tide-table" not in unused


@pytest.mark.slow
def test_a_machine_without_logs_and_a_wrong_date_are_refused(tmp_path, home):
    write_session(home / ".claude" / "projects" / "-w-harbour", 1, 2)
    wrong = ask(home, "usage", "--since", "soon")
    assert wrong.returncode == 2
    assert "skilljuror: since 'soon' is not a date" in wrong.stderr
    (tmp_path / "empty").mkdir()
    assert "no usual log folder" in complaint(ask(tmp_path / "empty", "usage"))


@pytest.mark.slow
def test_the_table_of_the_readme_is_that_of_the_command(tmp_path):
    assert call("ingest", GOLDENS, "--study", "gold", cwd=tmp_path).returncode == 0
    done = ask(tmp_path, "usage", "gold", "--since", "2026-02-01")
    shown = [
        line.rstrip()
        for line in done.stdout.splitlines()
        if " = " not in line and "UTC" not in line
    ]
    assert "\n".join(shown) in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_dollars_are_those_that_a_reader_of_the_log_computes(home):
    """An entry of the list of Skills is a quarter of its bytes in tokens, sent with every request of the run."""
    logs = home / ".claude" / "projects" / "-w-harbour"
    write_session(logs, 1, 0)
    lines = (logs / "5e551000-0000-4000-8000-000000000001.jsonl").read_text(encoding="utf-8")
    answers = dict(re.findall(r'"id":"(msg_[^"]+)".*?"usage":(\{[^{}]*)', lines))
    shares = []
    for text in answers.values():
        fresh, written, read = (
            int(re.search(rf'"{name}":(\d+)', text)[1])  # type: ignore[index]
            for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        )
        if fresh + written + read:  # the agent's own message of an error is no request
            shares.append(read / (fresh + written + read))
    per_token = sum((1 - share) * 3.75 + share * 0.30 for share in shares) / 1e6  # list prices
    rows = {row["skill"]: row for row in json.loads(ask(home, "usage", "--json").stdout)}
    for skill, entry in (("init", "- init: Start."), ("sea:buoys", "- sea:buoys: Find buoys.")):
        month = len(entry) / 4 * per_token * 30 / 7  # the logs are of one day: at least seven count
        assert rows[skill]["listing_month_usd"] == pytest.approx(month, rel=1e-6)
    assert rows["init"]["usd"] == 0.0
    assert 0 < rows["tide-table"]["usd"] < rows["tide-table"]["tokens_shown"] * per_token


@pytest.mark.slow
def test_an_alert_that_can_read_no_log_is_refused(tmp_path):
    """An agent that changes its format must not silence the alarm."""
    logs = tmp_path / ".claude" / "projects" / "-w-harbour"
    logs.mkdir(parents=True)
    changed = LOG.read_text(encoding="utf-8").replace('"message"', '"msg"')
    (logs / "changed.jsonl").write_text(changed, encoding="utf-8")
    done = ask(tmp_path, "usage", "--fail-on-rows")
    assert done.returncode == 2
    assert "no log could be read (1 file): skilljuror query" in complaint(done)
