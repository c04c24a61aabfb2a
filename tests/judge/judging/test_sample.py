"""Which uses people are asked about."""

import subprocess
import sys
from collections import Counter

import duckdb
import pytest

from skilljuror.base.errors import StudyError
from skilljuror.base.files import StudyFolder
from skilljuror.judge.judging.sample import label_sample
from skilljuror.store.logs import ingest_logs
from skilljuror.store.questions import run
from tests.support.fabricated_studies import small_study
from tests.support.places import GOLDENS


def test_a_sample_comes_from_every_condition_and_every_answer(tmp_path):
    small_study(tmp_path)
    made = label_sample(tmp_path, size=6)
    uses = run(tmp_path / "study.duckdb", "SELECT count(*) FROM uses").rows[0][0]
    assert made.uses == uses > len(made.sample) == 6
    drawn = Counter((use.condition, use.answer) for use in made.sample)
    assert {condition for condition, _ in drawn} == {"baseline", "pd"}
    assert {answer for _, answer in drawn} == {"yes", "no", "unknown"}


def test_probabilities_are_those_of_the_strata(tmp_path):
    small_study(tmp_path)
    made = label_sample(tmp_path, size=7)
    drawn = Counter((use.condition, use.answer) for use in made.sample)
    everything = label_sample_of_all(tmp_path)
    there = Counter((use.condition, use.answer) for use in everything.sample)
    assert {use.probability for use in everything.sample} == {1.0}
    for use in made.sample:
        stratum = (use.condition, use.answer)
        assert use.probability == pytest.approx(drawn[stratum] / there[stratum])


def label_sample_of_all(study):
    StudyFolder(study).label_sample.unlink()
    return label_sample(study, size=1000)


def test_it_is_drawn_once(tmp_path):
    small_study(tmp_path)
    made = label_sample(tmp_path, size=5, seed=3)
    kept = StudyFolder(tmp_path).label_sample.read_bytes()
    assert label_sample(tmp_path, size=9, seed=4) == made
    StudyFolder(tmp_path).label_sample.unlink()
    label_sample(tmp_path, size=5, seed=3)
    assert StudyFolder(tmp_path).label_sample.read_bytes() == kept


def test_a_database_that_missed_the_sample_gets_it_at_the_next_look(tmp_path):
    small_study(tmp_path)
    made = label_sample(tmp_path, size=5)
    with duckdb.connect(str(tmp_path / "study.duckdb")) as database:
        database.execute("DELETE FROM label_sample")
    label_sample(tmp_path)
    assert events_in(tmp_path) == [use.event for use in made.sample]


@pytest.mark.slow
def test_a_sample_that_others_kept_from_the_database_comes_with_the_next_look(tmp_path, caplog):
    small_study(tmp_path)
    reading = "import sys, duckdb; one = duckdb.connect(sys.argv[1], read_only=True); print('open', flush=True); input()"
    holder = subprocess.Popen(
        [sys.executable, "-c", reading, tmp_path / "study.duckdb"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with holder:
        assert holder.stdout
        assert holder.stdout.readline() == "open\n"
        made = label_sample(tmp_path, size=5)
        holder.communicate("\n")
    assert "the next use or ingest stores it" in caplog.text
    assert events_in(tmp_path) == []
    assert label_sample(tmp_path) == made
    assert events_in(tmp_path) == [use.event for use in made.sample]


def events_in(study):
    sql = "SELECT event FROM label_sample ORDER BY position"
    return [row[0] for row in run(study / "study.duckdb", sql).rows]


def test_a_study_without_a_database_says_how_to_make_one(tmp_path):
    with pytest.raises(StudyError, match="skilljuror ingest"):
        label_sample(tmp_path)


def test_the_sample_is_rows_of_a_new_database_too(tmp_path):
    ingest_logs(tmp_path, [GOLDENS])
    made = label_sample(tmp_path, size=4)
    StudyFolder(tmp_path).database.unlink()
    ingest_logs(tmp_path, [])
    rows = run(
        tmp_path / "study.duckdb", "SELECT event, probability FROM label_sample ORDER BY position"
    ).rows
    assert rows == [(use.event, use.probability) for use in made.sample]
