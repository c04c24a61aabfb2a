"""The command with which people decide without a browser."""

import json

import pytest

from skilljuror.base.errors import UsageError
from skilljuror.cli.app import run
from tests.support.cli_process import call, complaint
from tests.support.reviewed_builds import TWO, doubtful_build


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("review")
    doubtful_build(place, TWO)
    return place


@pytest.fixture
def asked(place, monkeypatch, capsys):
    """What the command prints, and that it succeeds."""
    monkeypatch.chdir(place)

    def answer(*words):
        assert run(["review", "out", *words]) == 0
        return capsys.readouterr().out

    return answer


def test_from_the_list_to_an_answer_and_back(asked):
    listed = json.loads(asked("--list", "--json", "--reviewer", "Ann"))
    assert (listed["decided"], listed["total"], listed["reviewer"]) == (0, 2, "Ann")
    item = listed["items"][0]["id"]
    shown = asked(item, "--blind")
    assert "»Boil 500 ml of water.«" in shown
    assert "machine:" not in shown
    listed = json.loads(asked("--list", "--json", "--blind"))
    blind = next(one["id"] for one in listed["items"] if "»Boil" in asked(one["id"], "--blind"))
    assert blind not in item
    said = asked("--decide", f"{blind}=packaging_artifact", "--why", "so", "--reviewer", "Ann ")
    assert "1/2 decided by Ann" in said
    asked("--decide", f"{item}=reject", "--why", "so", "--reviewer", "Bob")
    told = asked("--list", "--reviewer", "Ann")
    assert "Ann and Bob on finding: 1 questions, agreement 0.00" in told
    assert "Ann and Bob" not in asked("--list", "--reviewer", "Ann", "--blind")
    assert f"withdrawn: {blind}" in asked("--undo", "--reviewer", "Ann", "--blind")
    asked("--decide", f"{blind}=packaging_artifact", "--why", "so", "--reviewer", "Ann", "--blind")
    assert "2 answers exported to labels.jsonl" in asked("--export", "labels.jsonl")
    assert f"withdrawn: {item}" in asked("--undo", "--reviewer", "Bob")
    assert "0 new answers imported" in asked("--import", "labels.jsonl")


def test_of_several_answers_none_is_kept_where_one_does_not_fit(asked):
    item, other = (one["id"] for one in json.loads(asked("--list", "--json"))["items"])
    words = ("--why", "so", "--reviewer", "Cid", "--decide")
    with pytest.raises(UsageError, match="invalid answer 'yes'"):
        asked(*words, f"{item}=reject", "--decide", f"{other}=yes")
    assert "0/2 decided by Cid" in asked("--list", "--reviewer", "Cid")
    said = asked(*words, f"{item}=reject", "--decide", f"{other}=packaging_artifact")
    assert "2/2 decided by Cid" in said


def test_bad_input_is_one_line(place):
    complaint(call("review", "out", "--decide", "nothing=yes", cwd=place))
    complaint(call("review", "out", "--list", "--undo", cwd=place))
    complaint(call("review", "none", "--list", cwd=place))
