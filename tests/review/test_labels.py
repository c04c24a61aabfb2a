"""Labels travel as lines; what does not fit is told by line, and then nothing is taken in."""

import json
import shutil
from datetime import datetime, timedelta, timezone

import pytest

from skilljuror.base.errors import StudyError, UsageError
from skilljuror.base.files import read_jsonl
from skilljuror.review.desk import StudyDesk
from skilljuror.review.labels import agreements, export_labels, import_labels
from tests.support.ingested import judged_logs
from tests.support.reviewed_builds import SKILL, doubtful_build


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    return judged_logs(tmp_path_factory.mktemp("judged") / "mine")


@pytest.fixture
def study(judged, tmp_path):
    shutil.copytree(judged, tmp_path / "mine")
    return tmp_path / "mine"


def write(path, *rows):
    path.write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    )
    return path


def items(study):
    return [one.id for one in StudyDesk(study).queue("Ann", False)]


@pytest.mark.slow
def test_what_is_exported_comes_back_once(study, judged, tmp_path):
    desk = StudyDesk(study)
    first, second = items(study)[:2]
    desk.decide("Ann", first, "yes", "it follows", True)
    desk.decide("Bob", second, "no", "", False)
    file = tmp_path / "labels.jsonl"
    assert export_labels(desk, file) == 2
    shutil.copytree(judged, tmp_path / "other")
    other = StudyDesk(tmp_path / "other")
    assert import_labels(other, file) == 2
    assert other.answers() == desk.answers()
    assert import_labels(other, file) == 0
    again = tmp_path / "again.jsonl"
    export_labels(other, again)
    assert again.read_bytes() == file.read_bytes()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Two builds with a finding that says the same."""
    place = tmp_path_factory.mktemp("built")
    for name in ("one", "other"):
        doubtful_build(place, SKILL, f"all/{name}")
    return place / "all"


@pytest.fixture
def builds(built, tmp_path):
    """The same twice, without any answer."""
    return [shutil.copytree(built, tmp_path / name) for name in ("all", "copy")]


def test_lines_on_repeats_are_one_answer(builds, tmp_path):
    desk, copy = map(StudyDesk, builds)
    desk.decide("Ann", desk.queue("Ann", False)[0].id, "reject", "so", False)
    assert export_labels(desk, tmp_path / "l.jsonl") == 2
    assert import_labels(copy, tmp_path / "l.jsonl") == 1
    assert copy.answers() == desk.answers()
    assert import_labels(copy, tmp_path / "l.jsonl") == 0


def test_repeats_that_were_answered_apart_stay_apart(builds, tmp_path):
    desk, copy = map(StudyDesk, builds)
    for name, answer in (("other", "packaging_artifact"), ("one", "reject")):
        alone = StudyDesk(builds[0] / name)
        alone.decide("Ann", alone.queue("Ann", False)[0].id, answer, "so", False)
        answers = desk.answers()
        export_labels(desk, tmp_path / "l.jsonl")
        assert import_labels(desk, tmp_path / "l.jsonl") == 0
        assert desk.answers() == answers
    assert import_labels(copy, tmp_path / "l.jsonl") == 2
    assert {row.answer for row in answers.values()} == {"packaging_artifact", "reject"}
    assert copy.answers() == answers


def test_a_line_on_one_of_some_repeats_answers_them_all(builds, tmp_path):
    desk = StudyDesk(builds[0])
    item = desk.queue("Ann", False)[0]
    line = {"item": item.repeats[0], "answer": "reject", "reason": "so", "by": "Ann"}
    assert import_labels(desk, write(tmp_path / "l.jsonl", line)) == 1
    assert desk.queue("Ann", False)[0].decided == "reject"


def test_an_export_takes_the_place_of_an_export_alone(builds, tmp_path):
    desk, file = StudyDesk(builds[0]), tmp_path / "labels.jsonl"
    item = desk.queue("Ann", False)[0].id
    new, notes = builds[0] / "reviews.jsonl", write(tmp_path / "notes.txt", "buy tea")
    for path in (new, notes):
        with pytest.raises(UsageError, match=f"{path.name}' is not a label export"):
            export_labels(desk, path)
    desk.decide("Ann", item, "reject", "so", False)
    store = builds[0] / "one" / "reviews.jsonl"
    (tmp_path / "link").symlink_to(store)
    kept = store.read_bytes()
    for path in (store, tmp_path / "link"):
        with pytest.raises(UsageError, match="is not a label export"):
            export_labels(desk, path)
    assert (new.exists(), notes.read_text(), store.read_bytes()) == (False, "buy tea\n", kept)
    assert [export_labels(desk, file), export_labels(desk, file)] == [2, 2]


@pytest.mark.slow
def test_an_older_answer_does_not_come_back(study, tmp_path):
    desk, item, file = StudyDesk(study), items(study)[0], tmp_path / "labels.jsonl"
    desk.decide("Ann", item, "yes", "", False)
    export_labels(desk, file)
    desk.decide("Ann", item, "no", "", False)
    assert import_labels(desk, file) == 0
    assert desk.answers()["Ann", item].answer == "no"
    desk.undo("Ann")
    desk.undo("Ann")
    assert import_labels(desk, file) == 0
    assert desk.answers() == {}
    desk.decide("Ann", item, "unknown", "", False)
    line = {"item": item, "by": "Ann"}
    later = datetime.now().astimezone(timezone(timedelta(hours=-9))).isoformat()
    rows = [line | {"answer": "no", "at": later}, line | {"answer": "yes", "at": "2026-01-01"}]
    assert import_labels(desk, write(file, *rows)) == 1
    assert desk.answers()["Ann", item].answer == "no"


def test_a_time_is_one_that_was(builds, tmp_path):
    desk, times = StudyDesk(builds[0]), ["yesterday", "", "0001-01-01T00:00+05:00", "9999-01-01"]
    line = {"item": desk.queue("Ann", False)[0].id, "answer": "reject", "reason": "so", "by": "Ann"}
    with pytest.raises(UsageError) as told:
        import_labels(desk, write(tmp_path / "l.jsonl", *(line | {"at": at} for at in times)))
    for number, at in enumerate(times[:3], 1):
        assert f"line {number}: {at!r} is not an ISO 8601 time" in told.value.message
    assert "line 4: '9999-01-01' is in the future" in told.value.message


def test_item_answer_and_name_are_enough(study, tmp_path):
    desk, item = StudyDesk(study), items(study)[0]
    file = write(tmp_path / "l.jsonl", {"item": item, "answer": "no", "by": "Ann"}, "")
    assert import_labels(desk, file) == 1
    (row,) = read_jsonl(study / "reviews.jsonl")
    assert (row["reason"], row["blind"]) == ("", False)
    assert row["at"]


def test_lines_that_do_not_fit_are_told_and_nothing_is_written(study, tmp_path):
    desk, item = StudyDesk(study), items(study)[0]
    good = {"item": item, "answer": "no", "by": "Ann"}
    file = write(
        tmp_path / "l.jsonl", good, good | {"item": "uptake:none#1"}, good | {"answer": "maybe"},
        good | {"answer": "reject"}, good | {"seen": "0"}, "{torn", good | {"label": 1},
    )  # fmt: skip
    with pytest.raises(UsageError) as told:
        import_labels(desk, file)
    for words in (
        "nothing was imported: line 2: unknown question 'uptake:none#1'",
        "line 3: field 'answer'",
        "line 4: invalid answer 'reject'",
        "line 5: the subject of",
        "line 6: Invalid JSON",
        "; and 1 more",
    ):
        assert words in told.value.message
    assert not (study / "reviews.jsonl").exists()
    with pytest.raises(StudyError, match="cannot be read"):
        import_labels(desk, tmp_path / "none.jsonl")


@pytest.mark.slow
def test_two_reviewers_agree_on_what_both_answered(study):
    desk = StudyDesk(study)
    names = items(study)
    assert agreements(desk) == []
    for number, item in enumerate(names):
        desk.decide("Ann", item, "yes" if number else "no", "", False)
    for item in names[:3]:
        desk.decide("Bob", item, "yes", "", False)
    (pair,) = agreements(desk)
    assert (pair.kind, pair.first, pair.second) == ("uptake", "Ann", "Bob")
    assert pair.agreement.items == 3
    assert pair.agreement.observed == pytest.approx(2 / 3)


def test_a_build_is_a_whole_whatever_its_name(tmp_path):
    for number in (1, 2):
        doubtful_build(tmp_path, SKILL.replace("500", str(number)), f"all/tea#{number}")
    desk = StudyDesk(tmp_path / "all")
    for item in desk.queue("Ann", False):
        for by in ("Ann", "Bob"):
            desk.decide(by, item.id, "reject", "so", False)
    (pair,) = agreements(desk)
    assert (pair.agreement.items, pair.agreement.clusters) == (2, 2)
