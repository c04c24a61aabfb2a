"""Attribution against labels made by careful reading of real logs, where they are at hand."""

import json

import pytest

from benchmarks.labels import LABELS, TARGET, Case, cases, compare, main, score, totals
from skilljuror.logs import FORMATS
from tests.support.attribution_runs import BUNDLE, SKILL, events_of, ran

needs_labels = pytest.mark.skipif(
    not LABELS.is_dir(), reason="no labels in ../shared/labels/events"
)


@pytest.fixture(scope="module")
def scores():
    """What attribution scores on every labelled log."""
    return [score(case) for case in cases(LABELS) if case.format in FORMATS]


@pytest.mark.shared
@needs_labels
def test_every_labelled_log_can_be_read(scores):
    assert scores
    assert [one.error for one in scores if one.error] == []


@pytest.mark.shared
@needs_labels
def test_every_format_reaches_the_target(scores):
    below = {}
    for format in {one.case.format for one in scores}:
        result = totals([one for one in scores if one.case.format == format])
        if min(result.precision, result.recall) < TARGET:
            below[format] = (result.precision, result.recall)
    assert below == {}


@pytest.mark.shared
@needs_labels
def test_the_whole_reaches_the_target_per_event_and_per_file(scores):
    result = totals(scores)
    assert (
        min(result.precision, result.recall, result.macro_precision, result.macro_recall) >= TARGET
    )


@pytest.mark.shared
@needs_labels
def test_no_read_in_a_run_that_read_nothing(scores):
    negatives = [one for one in scores if not one.case.events]
    assert negatives
    assert [one.case.name for one in negatives if one.extra] == []


def _label(**changes):
    base = {
        "line": 2, "call_id": "c1", "agent": "main", "skill": "any:ledger", "resource": "SKILL.md",
        "kind": "read", "ok": True, "content_exposed": "full", "lines": [1, 10], "via": "shell",
    }  # fmt: skip
    return base | changes


def _scored(*labels, tmp_path):
    case = Case("one", tmp_path, "claude-session", list(labels))
    return compare(case, events_of(ran(f"cat {BUNDLE}/SKILL.md", SKILL)))


def test_a_label_matches_by_the_last_part_of_the_skill(tmp_path):
    result = _scored(_label(), tmp_path=tmp_path)
    assert (result.precision, result.recall) == (1.0, 1.0)


def test_an_optional_label_is_neither_missed_nor_wrong(tmp_path):
    found = _scored(_label(optional=True), tmp_path=tmp_path)
    absent = _scored(_label(), _label(optional=True, kind="exec"), tmp_path=tmp_path)
    assert (found.extra, found.missed, absent.missed) == ([], [], [])


def test_an_alternative_line_is_accepted_where_there_is_no_call(tmp_path):
    result = _scored(_label(call_id=None, line=99, alt_lines=[2]), tmp_path=tmp_path)
    assert len(result.matched) == 1


def test_the_command_line_says_what_it_missed(tmp_path, capsys):
    folder = tmp_path / "labels" / "events"
    folder.mkdir(parents=True)
    document = {"trajectory": "none.jsonl", "format": "claude-session", "events": [_label()]}
    (folder / "a.json").write_text(json.dumps(document))
    assert main(["--labels", str(folder), "--verbose"]) == 1
    assert "MISSED read any:ledger SKILL.md" in capsys.readouterr().out
