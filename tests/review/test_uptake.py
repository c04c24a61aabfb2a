"""Sampled events: what was shown and what the agent then did; a label holds as long as its event does."""

import shutil
import subprocess
import sys

import duckdb
import pytest

from skilljuror.base.errors import UsageError
from skilljuror.base.files import append_jsonl, read_record, write_record
from skilljuror.base.review import LabelSample, blind_id
from skilljuror.cli.app import run as command
from skilljuror.judge.by_model import load_definition
from skilljuror.review.desk import StudyDesk
from skilljuror.review.questions import event_texts, sampled_events
from skilljuror.store.logs import ingest_logs
from skilljuror.store.questions import run
from tests.support.ingested import CALL, READ, judged_logs

SESSION = "01b00000-0000-7000-8000-000000000001"
"""Of the log `READ`: the name of its run."""
HOLD = """\
import sys
import duckdb
with duckdb.connect(sys.argv[1]):
    print("open", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    return judged_logs(tmp_path_factory.mktemp("judged") / "mine")


@pytest.fixture
def study(judged, tmp_path):
    shutil.copytree(judged, tmp_path / "mine")
    return tmp_path / "mine"


def events(study, where="counted"):
    sql = f"SELECT event FROM events WHERE {where} ORDER BY event"
    return [row[0] for row in run(study / "study.duckdb", sql).rows]


def labels(study):
    found = run(study / "study.duckdb", "FROM current_labels ORDER BY ALL").records()
    return [(row["event"], row["reviewer"], row["label"], row["blind"]) for row in found]


@pytest.mark.slow
def test_events_come_in_the_order_in_which_they_were_drawn(study):
    items = StudyDesk(study).queue("Ann", False)
    assert [one.id for one in items] == [f"uptake:{event}" for event in sampled_events(study)]
    assert {one.answers for one in items} == {("yes", "no", "unknown")}
    assert all("tracing/" in (one.machine or "") for one in items)


def test_people_are_asked_the_question_of_the_model_and_read_what_counts(study):
    definition = load_definition()
    items = StudyDesk(study).queue("Ann", False)
    assert {one.question for one in items} == {definition.question}
    details = event_texts(study, items[0].title.partition(" · ")[0], items[0].id[7:], False)
    (counts,) = [one.text for one in details if one.heading == "what counts"]
    assert all(rule in counts for rule in definition.rules)


def test_before_a_judge_has_looked_nothing_is_drawn(tmp_path):
    ingest_logs(tmp_path / "new", [READ])
    assert list(StudyDesk(tmp_path / "new").queue("Ann", False)) == []
    assert not (tmp_path / "new" / "label-sample.json").exists()


def test_nothing_is_drawn_before_every_run_is_judged_but_those_whose_log_is_gone(study, caplog):
    with duckdb.connect(str(study / "study.duckdb")) as database:
        for table, run in (("verdict_counts", "trajectory"), ("verdicts", "trial")):
            database.execute(
                f"DELETE FROM {table} WHERE {run} = (SELECT min(trajectory) FROM uses)"
            )
    assert list(StudyDesk(study).queue("Ann", False)) == []
    assert "1 runs are not judged; run `skilljuror judge" in caplog.text
    assert not (study / "label-sample.json").exists()
    with duckdb.connect(str(study / "study.duckdb")) as database:
        database.execute("UPDATE trajectories SET source = '/gone.jsonl'")
    assert sampled_events(study)


def test_uses_that_came_after_the_draw_are_told_once(study, caplog):
    assert sampled_events(study)
    assert caplog.text == ""
    with duckdb.connect(str(study / "study.duckdb")) as database:
        database.execute("INSERT INTO events SELECT * REPLACE (event || 'x' AS event) FROM events")
    desk = StudyDesk(study)
    for _ in range(2):
        desk.queue("Ann", False)
    (said,) = caplog.messages
    assert "label-sample.json samples" in said
    assert "delete it to resample" in said


def test_what_was_shown_and_what_came_after_is_read_from_the_log(study):
    item = next(one for one in StudyDesk(study).queue("Ann", False) if " read " in one.title)
    texts = {text.heading: text.text for text in item.texts}
    assert texts["what was shown"]
    assert texts["what the agent then did"].startswith("step ")
    assert texts["the task"]


def test_the_texts_of_a_run_of_any_name_are_found(tmp_path):
    names = ("a · one#3", "a · two")
    logs = [tmp_path / f"{number}.jsonl" for number in range(len(names))]
    for name, log in zip(names, logs, strict=True):
        log.write_text(READ.read_text().replace(SESSION, name))
    study = tmp_path / "mine"
    ingest_logs(study, logs)
    desk, wanted = (
        StudyDesk(study),
        ["what was shown", "what the agent then did", "the task", "what counts"],
    )
    for name in names:
        (event, *_) = events(study, f"counted AND trajectory = '{name}'")
        texts = desk.asked(f"uptake:{event}", "Ann", False).texts
        assert [text.heading for text in texts] == wanted


@pytest.mark.slow
def test_a_log_that_is_gone_is_told(study, tmp_path):
    with duckdb.connect(str(study / "study.duckdb")) as database:
        database.execute("UPDATE trajectories SET source = '/gone.jsonl'")
        database.execute("UPDATE files SET path = '/gone.jsonl'")
    (text,) = StudyDesk(study).queue("Ann", False)[0].texts
    assert text.heading == "the log cannot be read"
    assert "is missing or has changed" in text.text
    (text,) = StudyDesk(study).queue("Ann", True)[0].texts
    assert (text.heading, text.text) == ("the log cannot be read", "")


@pytest.mark.slow
def test_a_blind_reviewer_is_told_neither_judge_nor_run_nor_event(study):
    seeing, blind = (StudyDesk(study).queue("Ann", given) for given in (False, True))
    assert {(one.machine, one.suspicion) for one in blind} == {(None, 0)}
    assert [one.id for one in blind] == sorted(blind_id(one.id) for one in seeing)
    assert {one.title for one in blind} == {f"event {one.id}" for one in blind}
    assert next(iter(blind[0].texts)).heading == "what was shown"


@pytest.mark.slow
def test_labels_are_one_row_for_each_event_and_person(study):
    desk = StudyDesk(study)
    event = sampled_events(study)[0]
    desk.decide("Ann", f"uptake:{event}", "no", "", False)
    desk.decide("Ann", f"uptake:{event}", "yes", "it follows", True)
    desk.decide("Bob", f"uptake:{event}", "unknown", "", False)
    assert labels(study) == [(event, "Ann", "yes", True), (event, "Bob", "unknown", False)]
    desk.undo("Bob")
    desk.undo("Ann")
    assert labels(study) == [(event, "Ann", "no", False)]


@pytest.mark.slow
def test_any_event_may_be_labelled_but_none_that_there_is_not(study):
    (study / "label-sample.json").unlink(missing_ok=True)
    desk = StudyDesk(study)
    with pytest.raises(UsageError, match="unknown question 'uptake:none#1'"):
        desk.decide("Ann", "uptake:none#1", "yes", "", False)
    for event in events(study):
        desk.decide("Ann", f"uptake:{event}", "no", "", False)
    assert len(labels(study)) == len(events(study))
    assert len(StudyDesk(study).answers()) == len(events(study))


def test_an_event_beside_the_sample_is_shown_by_its_id(study, capsys):
    sample = LabelSample(seed=0, judge=None, uses=0, sample=())
    write_record(study / "label-sample.json", sample)
    beside = f"uptake:{events(study)[0]}"
    assert command(["review", str(study), beside]) == 0
    shown = capsys.readouterr().out
    assert f"{beside}\n" in shown
    assert "── what was shown" in shown
    assert "decided: not yet" in shown


@pytest.mark.slow
def test_who_labels_beside_the_sample_sees_it_in_the_queue_and_nobody_else(study):
    assert sampled_events(study)
    sample = read_record(LabelSample, study / "label-sample.json")
    rest = sample.model_copy(update={"sample": sample.sample[1:]})
    write_record(study / "label-sample.json", rest)
    beside = f"uptake:{sample.sample[0].event}"
    StudyDesk(study).decide("Ann", beside, "yes", "", False)
    desk = StudyDesk(study)
    assert beside in [one.id for one in desk.queue("Ann", False) if one.decided]
    assert beside not in [one.id for one in desk.queue("Bob", False)]
    StudyDesk(study).decide("Ann", blind_id(beside), "no", "", True)
    assert StudyDesk(study).asked(beside, "Ann", False).decided == "no"
    assert StudyDesk(study).asked(beside, "Bob", True).decided is None


@pytest.mark.slow
def test_an_answer_is_kept_while_others_have_the_database_open(study, caplog):
    desk = StudyDesk(study)
    first, second = sampled_events(study)[:2]
    desk.queue("Ann", False)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, study / "study.duckdb"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with holder:
        assert holder.stdout
        assert holder.stdout.readline() == "open\n"
        desk.decide("Ann", f"uptake:{first}", "yes", "", False)
        holder.communicate("\n")
    assert "the answer is saved" in caplog.text
    assert labels(study) == []
    desk.decide("Ann", f"uptake:{second}", "no", "", False)
    assert {row[0] for row in labels(study)} == {first, second}


@pytest.mark.slow
def test_a_label_is_stale_where_the_event_is_another_one(study):
    desk = StudyDesk(study)
    event = sampled_events(study)[0]
    desk.decide("Ann", f"uptake:{event}", "yes", "", False)
    with duckdb.connect(str(study / "study.duckdb")) as database:
        database.execute("UPDATE events SET line = line + 1 WHERE event = ?", [event])
    assert labels(study) == []
    (row,) = run(study / "study.duckdb", "reviews").records()
    assert (row["kind"], row["subject"], row["stale"]) == ("uptake", event, True)
    assert StudyDesk(study).queue("Ann", False)[0].decided is None


@pytest.mark.slow
def test_a_database_that_is_made_again_has_the_labels(study):
    desk = StudyDesk(study)
    event = sampled_events(study)[0]
    desk.decide("Ann", f"uptake:{event}", "yes", "", False)
    (study / "study.duckdb").unlink()
    ingest_logs(study, [READ, CALL])
    assert labels(study) == [(event, "Ann", "yes", False)]


def test_other_rows_of_the_store_are_left_alone(study):
    row = {"kind": "acceptance", "trial": "t", "reason": "so", "by": "Ann", "at": "2026-01-01"}
    append_jsonl(study / "reviews.jsonl", row)
    assert StudyDesk(study).undo("Ann") is None
    assert StudyDesk(study).answers() == {}
