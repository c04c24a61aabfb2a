"""`query` where something is missing, and moments of every command: what a user is told."""

import os
import shutil
import time

import pytest

from tests.support.cli_process import call, complaint
from tests.support.places import ROOT

LOG = ROOT / "trajectories" / "codex-rollout"
DAY = 86_400


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    """A folder with logs, one of them 30 days old, and the study `my logs` of the last week."""
    place = tmp_path_factory.mktemp("mine")
    for name, days in (("new", 1), ("old", 30)):
        shutil.copytree(LOG, place / "logs" / name)
        for file in (place / "logs" / name).rglob("*"):
            os.utime(file, (time.time() - days * DAY,) * 2)
    read = call("ingest", "logs", "--study", "my logs", "--since", "7d", cwd=place)
    assert read.returncode == 0, read.stderr
    return place


def asked(place, *words):
    done = call("query", "my logs", *words, "--format", "csv", cwd=place)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[1:], done.stderr


def test_logs_are_read_since_a_week_ago(mine):
    read, _ = asked(mine, "SELECT path FROM sources WHERE status = 'parsed'")
    assert read
    assert all("/new/" in path for path in read)
    refused = complaint(call("ingest", "logs", "--study", "x", "--since", "last week", cwd=mine))
    assert "'last week' is not a date; use 2026-01-31" in refused
    assert "7d" in refused


def test_a_question_of_studies_names_the_one_that_fits_logs(mine):
    found, told = asked(mine, "outcomes")
    assert found == []
    assert "`skilljuror query 'my logs' observed_outcomes`" in told


def test_a_measure_that_is_not_there_lists_those_that_are(mine):
    words = ("measure_by_task", "--param", "metric=nonsense")
    refused = complaint(call("query", "my logs", *words, cwd=mine))
    assert "metric 'nonsense' is not in this study; it has " in refused
    assert "agent_steps" in refused


def test_a_share_that_nobody_counted_says_how_to_get_it(mine):
    found, told = asked(mine, "process")
    assert found
    assert "skill_token_share is empty: tokens were not counted" in told
    assert "`skilljuror ingest --count-tokens --study 'my logs'`" in told


def test_skills_are_told_by_week(mine):
    assert asked(mine, "by_skill")[0]
    assert asked(mine, "by_skill", "--param", "since=1h")[0] == []
