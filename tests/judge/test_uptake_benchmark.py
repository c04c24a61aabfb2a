"""The comparison with uptake labels, on labels and a log of our own."""

import json

from benchmarks.uptake import compare, main


def test_absent_labels_are_said_and_no_failure(tmp_path, capsys):
    assert main(["--labels", str(tmp_path / "none.jsonl")]) == 0
    assert capsys.readouterr().out == "skipped: no uptake labels at 'none.jsonl'\n"


def test_a_disputed_label_counts_for_nothing(tmp_path):
    labels = tmp_path / "labels" / "uptake" / "events.jsonl"
    labels.parent.mkdir(parents=True)
    labels.write_text(json.dumps({"trajectory": "gone.jsonl", "label": "disputed"}) + "\n")
    assert compare(labels) == []
