import random

import pytest

from skilljuror.judge.rubric import load_rubric
from skilljuror.judge.signals.cooccurrence import FIELDS, CooccurrenceDetector, passages
from skilljuror.judge.tracing import TracingJudge
from tests.support.judge_cases import CaseBuilder

ROW = "| Tier 2 storefront | 8 | 12 minutes | 45 minutes | 3 pages | 22 | 6 |"
RULE = load_rubric().cooccurrence


def taught(*lines):
    detector = CooccurrenceDetector(RULE)
    list(detector.add(lines))
    detector.show(lines)
    return detector


def came_back(detector, *lines):
    return [set(match.values) for match in detector.used(lines)]


def test_passages_are_lines_and_stretches_without_a_gap():
    lines = ["1. First 7 rows", "then 19", "", "| a | 5 |", "| b | 6 |"]
    found = [list(passage) for passage in passages(lines) if passage]
    assert found == [["7"], ["19"], ["7", "19"], ["5"], ["6"]]


def test_a_long_stretch_is_no_passage():
    assert max(len(one) for one in passages([f"value {n}" for n in range(100)])) == 1


def test_a_row_that_comes_back_is_recognised_by_its_values():
    detector = taught(ROW)
    assert came_back(detector, "rule = Rule(8, 12, 45, 3, (22, 6))") == [
        {"8", "12", "45", "3", "22", "6"}
    ]


@pytest.mark.parametrize(
    "text",
    ["rule = Rule(9, 14, 50, 2, (21, 7))", "x = [8, 12]", "print(list(range(1, 100)))"],
)
def test_other_values_prove_nothing(text):
    assert came_back(taught(ROW), text) == []


def test_values_far_apart_do_not_stand_together():
    gap = [f"row {n} {n}" for n in range(1000, 1030)]
    assert came_back(taught(ROW), "a = 45", *gap, "b = 22", *gap, "c = 12") == []


def test_what_something_else_held_together_proves_nothing():
    detector = taught(ROW)
    assert detector.said_elsewhere(["defaults: 8 12 45 3 22 6"])
    assert came_back(detector, "rule = Rule(8, 12, 45, 3, (22, 6))") == []


def test_more_looking_needs_more_proof():
    once, often = taught("retry after 7, 19 and 53 s"), taught("retry after 7, 19 and 53 s")
    for n in range(2000):
        often.used([f"7 19 {n + 1000}", "53"])
    (first,), (later,) = once.used(["[7, 19, 53]"]), often.used(["[7, 19, 53]"]) or (None,)
    assert later is None or later.bits < first.bits


COMMON: list[float] = [
    1,
    2,
    3,
    4,
    5,
    6,
    8,
    10,
    12,
    15,
    16,
    20,
    24,
    25,
    30,
    32,
    40,
    45,
    50,
    60,
    64,
    80,
    90,
    100,
]
COMMON += [120, 128, 200, 250, 256, 300, 400, 404, 500, 512, 1000, 1024, 0.1, 0.25, 0.5, 0.75, 1.5]


DOMAINS = {"common": COMMON, "two digits": range(1, 100), "three digits": range(1, 1000)}


def rows(rng, domain):
    return [" | ".join(["", *(str(rng.choice(domain)) for _ in range(6)), ""]) for _ in range(12)]


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
@pytest.mark.parametrize("count", [6, 40])
def test_tables_are_hardly_ever_taken_up_by_chance(domain, count):
    """An agent that never saw the tables fills in values of its own, from the same stock."""
    rng = random.Random(20)
    labels = []
    for _ in range(60):
        text = "\n".join(f"limit({rng.choice(domain)})" for _ in range(count))
        case = {
            "run": [
                {"read": "references/x.md", "shows": "\n".join(rows(rng, domain))},
                {"write": "job.py", "text": text},
                {"say": "Done."},
            ]
        }
        built = CaseBuilder(case)
        made = TracingJudge().judge("t", built.trajectory, tuple(built.events), None)
        labels += [one.label for one in made]
    assert labels.count("yes") <= 1


RULE_OF_FIELDS = ["The catalogue has the columns `lot`, `consignor`, `estimate` and `reserve`."]


def fields(*lines):
    detector = CooccurrenceDetector(load_rubric().fields, FIELDS)
    list(detector.add(lines))
    detector.show(lines)
    return detector


@pytest.mark.parametrize(
    "text",
    ["lot,consignor,estimate,reserve", '{"lot": 1, "consignor": "H", "estimate": 3}',
     "sell --set lot=1 --set consignor=H --set reserve=250"],
)  # fmt: skip
def test_fields_of_a_rule_come_back(text):
    assert came_back(fields(*RULE_OF_FIELDS), text)


@pytest.mark.parametrize(
    "text",
    ["lot,seller,guess", "The consignor gave an estimate and a reserve for the lot.", "lot: 1"],
)
def test_two_names_or_mere_words_are_no_fields(text):
    assert came_back(fields(*RULE_OF_FIELDS), text) == []


def test_fields_that_everybody_uses_prove_nothing():
    detector = fields("Columns are `id`, `name`, `date`, `title` and `amount`.")
    assert came_back(detector, "id,name,date,title,amount") == []


def test_fields_that_the_data_had_prove_nothing():
    detector = fields(*RULE_OF_FIELDS)
    assert detector.said_elsewhere(["lot,consignor,estimate,reserve"])
    assert came_back(detector, "lot,consignor,estimate,reserve") == []
