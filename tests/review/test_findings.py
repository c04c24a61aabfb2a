"""What stands beside a finding: the place in the source, and in the variant, that it is about."""

import pytest

from skilljuror.audit.gates.findings import Observation, finding
from skilljuror.base.build import GateResult
from skilljuror.review.findings import BuildTexts
from tests.support.reviewed_builds import SKILL, doubtful_build

PAGE = "brew/SKILL.md"
LONG = "Boil 500 ml of water " + "and wait for a while " * 20 + "at last."
TEXT = SKILL.replace("Boil 500 ml of water.", LONG).replace(
    "Serve.", "Serve.\n\nServe hot.\n\nServe."
)

RESULT = GateResult(
    gate="knowledge", variant="baseline", parent="source", policy="strict", verdict="review"
)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    place = tmp_path_factory.mktemp("beside")
    doubtful_build(place, TEXT)
    return BuildTexts(place / "out")


def marked(texts, found):
    """(side, marked text) of what is laid out."""
    return [
        (text.heading.partition(" ")[0], text.text[begin:end])
        for text in texts.both_sides(RESULT, found)
        for begin, end in text.marks
    ]


@pytest.mark.parametrize(("line", "text"), [(9, "Serve."), (13, "Serve."), (11, "Serve hot.")])
def test_what_is_missing_is_marked_in_the_source_alone(texts, line, text):
    missing = finding(Observation("knowledge.missing", None, PAGE, line), text)
    assert marked(texts, missing) == [("source", text)]
    (shown,) = texts.both_sides(RESULT, missing)
    assert shown.text[: shown.marks[0][0]].count("\n") == line - 1


def test_a_long_unit_is_found_by_what_the_gate_tells_of_it(texts):
    changed = finding(
        Observation("knowledge.number", None, PAGE, 7, LONG.replace("500", "600")), LONG
    )
    assert len(changed.source_text or "") < len(LONG)
    assert marked(texts, changed) == [("source", LONG), ("baseline", LONG)]
