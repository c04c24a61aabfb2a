"""The desk: what waits for a person comes suspicious first and collapsed, every answer is on disk."""

import json

import msgspec
import pytest

from skilljuror.base.errors import StudyError, UsageError
from skilljuror.base.files import append_jsonl, read_jsonl
from skilljuror.base.review import blind_id
from skilljuror.review.desk import StudyDesk
from skilljuror.review.questions import ASKED
from tests.support.reviewed_builds import SKILL, TWO, doubtful_build


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    """A folder of four builds: two are of one source, one of another with the same line, one fails."""
    place = tmp_path_factory.mktemp("desk")
    doubtful_build(place, TWO, "all/one")
    doubtful_build(place, TWO, "all/other")
    doubtful_build(place, SKILL, "all/plain")
    doubtful_build(place, SKILL.replace("Serve.", "Add no acid."), "all/sour")
    return place / "all"


@pytest.fixture
def place(builds):
    """The same without any answer."""
    for store in builds.rglob("reviews.jsonl"):
        store.unlink()
    return builds


def rows(place):
    return {store.parent.name: list(read_jsonl(store)) for store in place.rglob("reviews.jsonl")}


def test_what_a_decision_settles_comes_first_and_repeats_are_one_question(place):
    items = StudyDesk(place).queue("Ann", False)
    assert [(one.title, len(one.repeats), one.suspicion) for one in items] == [
        ("one/baseline · brew/SKILL.md:7", 1, 0.9),
        ("one/baseline · brew/SKILL.md:9", 1, 0.9),
        ("plain/baseline · brew/SKILL.md:7", 0, 0.9),
        ("sour/baseline · brew/SKILL.md:7", 0, 0.45),
    ]
    assert items[0].repeats[0].startswith("finding:other/baseline/doubtful.water:")


def test_source_and_variant_stand_side_by_side_with_the_unit_marked(place):
    source, variant = StudyDesk(place).queue("Ann", False)[0].texts
    assert source.heading.startswith("source · brew/SKILL.md:")
    assert variant.heading.startswith("baseline · brew/SKILL.md:")
    for text in (source, variant):
        ((begin, end),) = text.marks
        assert text.text[begin:end] == "Boil 500 ml of water."


def test_a_blind_reviewer_is_told_nothing_of_what_the_gate_said(place):
    desk = StudyDesk(place)
    seeing, blind = desk.queue("Ann", False), desk.queue("Ann", True)
    assert "doubtful.water" in (seeing[0].machine or "")
    assert "gate failed the variant" in (seeing[3].machine or "")
    assert {(one.machine, one.suspicion, one.question) for one in blind} == {(None, 0, ASKED)}
    told = msgspec.json.encode(blind).decode()
    assert not [word for word in ("doubtful", "baseline", "sour/", "one/") if word in told]
    assert [one.id for one in blind] == sorted(blind_id(one.id) for one in seeing)
    assert len({one.title for one in blind}) == 4
    assert {text.heading.partition(" · ")[0] for one in blind for text in one.texts} == {
        "source", "variant",
    }  # fmt: skip


def test_what_a_blind_reviewer_answers_is_kept_under_the_true_id(place):
    first = StudyDesk(place).queue("Ann", False)[0]
    name = blind_id(first.id)
    desk = StudyDesk(place)
    with pytest.raises(UsageError) as told:
        desk.decide("Ann", name, "yes", "", True)
    assert "doubtful" not in told.value.message
    desk.decide("Ann", name, "reject", "so", True)
    assert desk.asked(name, "Ann", True).decided == "reject"
    assert rows(place)["one"][0]["item"] == first.id
    assert rows(place)["other"][0]["item"] == first.repeats[0]
    assert desk.asked(first.id, "Ann", False).decided == "reject"


def test_one_answer_settles_all_that_say_the_same_and_so_does_undo(place):
    desk = StudyDesk(place)
    first, second, *_ = desk.queue("Ann", False)
    desk.decide("Ann", first.id, "packaging_artifact", " so ", True)
    assert [one.decided for one in desk.queue("Ann", False)] == [
        "packaging_artifact", None, None, None,
    ]  # fmt: skip
    assert [one.decided for one in desk.queue("Bob", False)] == [None] * 4
    stored = rows(place)
    assert [row["item"] for row in stored["one"] + stored["other"]] == [first.id, *first.repeats]
    (row,) = stored["other"]
    assert (row["reason"], row["by"], row["blind"]) == ("so", "Ann", True)
    desk.decide("Ann", second.id, "reject", "so", False)
    assert desk.undo("Ann") == second.id
    assert desk.undo("Ann") == first.id
    assert desk.undo("Ann") is None
    assert [one.decided for one in desk.queue("Ann", False)] == [None] * 4


def test_undo_brings_the_answer_before_back(place):
    desk = StudyDesk(place)
    item = desk.queue("Ann", False)[1].id
    desk.decide("Ann", item, "reject", "so", False)
    desk.decide("Ann", item, "controlled_repair", "so", False)
    desk.undo("Ann")
    assert desk.queue("Ann", False)[1].decided == "reject"


def test_two_who_take_back_at_once_take_one_answer_back(place):
    desk = StudyDesk(place)
    item = desk.queue("Ann", False)[1].id
    desk.decide("Ann", item, "reject", "so", False)
    desk.decide("Ann", item, "controlled_repair", "so", False)
    desk.undo("Ann")
    undone = rows(place)["one"][-1]
    append_jsonl(place / "one" / "reviews.jsonl", undone)
    assert desk.queue("Ann", False)[1].decided == "reject"


def test_the_latest_answer_by_its_time_counts_and_one_without_a_time_is_before_all(place):
    desk, store = StudyDesk(place), place / "plain" / "reviews.jsonl"
    item = desk.queue("Ann", False)[2].id
    desk.decide("Ann", item, "reject", "so", False)
    (row,) = rows(place)["plain"]
    for at in ("yesterday", "2026-01-01", "2026-01-01T00:00:00+00:00"):
        append_jsonl(store, row | {"answer": "controlled_repair", "at": at})
    assert desk.queue("Ann", False)[2].decided == "reject"
    assert desk.undo("Ann") == item
    assert desk.queue("Ann", False)[2].decided == "controlled_repair"


def test_another_desk_and_a_new_one_see_it(place):
    desk, other = StudyDesk(place), StudyDesk(place)
    item = other.queue("Ann", False)[2].id
    desk.decide("Ann", item, "reject", "so", False)
    assert other.queue("Ann", False)[2].decided == "reject"
    assert list(other.answers()) == list(StudyDesk(place).answers()) == [("Ann", item)]


def test_a_torn_last_line_loses_that_line_alone(place):
    desk = StudyDesk(place)
    item = desk.queue("Ann", False)[1].id
    desk.decide("Ann", item, "reject", "so", False)
    store = place / "one" / "reviews.jsonl"
    store.write_bytes(store.read_bytes() + b'{"kind":"decision","item":"fin')
    assert desk.queue("Ann", False)[1].decided == "reject"
    desk.decide("Ann", item, "controlled_repair", "so", False)
    assert desk.queue("Ann", False)[1].decided == "controlled_repair"


@pytest.mark.parametrize(
    ("item", "answer", "by", "said"),
    [
        ("finding:one/baseline/doubtful.water:0", "reject", "Ann", "did you mean 'finding:one/"),
        (None, "yes", "Ann", "invalid answer 'yes' to .* .choose source_idiosyncrasy"),
        (None, "reject", " ", "invalid reviewer name"),
        (None, "reject", "A\x1b[2J", "invalid reviewer name"),
        ("uptake:run#1", "yes", "Ann", "unknown question 'uptake:run#1'"),
    ],
)
def test_what_cannot_be_recorded_is_refused(place, item, answer, by, said):
    desk = StudyDesk(place)
    with pytest.raises(UsageError, match=said):
        desk.decide(by, item or desk.queue("Ann", False)[0].id, answer, "so", False)
    assert rows(place) == {}


def test_a_class_needs_a_reason(place):
    desk = StudyDesk(place)
    with pytest.raises(UsageError, match="'reject' requires a reason"):
        desk.decide("Ann", desk.queue("Ann", False)[0].id, "reject", "  ", False)


def test_a_study_that_is_not_there_is_told(tmp_path):
    with pytest.raises(StudyError, match="does not exist"):
        StudyDesk(tmp_path / "none")


def test_a_row_that_is_none_of_ours_is_told_by_file_and_row(place):
    store = place / "one" / "reviews.jsonl"
    store.write_text(json.dumps({"kind": "decision", "item": 3}) + "\n")
    with pytest.raises(StudyError, match=r"one/reviews\.jsonl': row 1"):
        StudyDesk(place).queue("Ann", False)
