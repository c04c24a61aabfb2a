import random

import pytest

from skilljuror.judge.features.key_values import settings, told_by_tables
from skilljuror.judge.features.values import counting_on, plain_bits, unnumbered, values
from skilljuror.judge.rubric import load_eru
from skilljuror.judge.signals.cooccurrence import Together, passages
from skilljuror.judge.tracing import TracingJudge
from tests.support.judge_cases import CaseBuilder

ROW = "| Tier 2 storefront | 8 | 12 minutes | 45 minutes | 3 pages | 22 | 6 |"
RULE = load_eru().together


def taught(*lines):
    book = Together(RULE)
    list(book.add(lines))
    book.show(lines)
    return book


def came_back(book, *lines):
    return [set(match.values) for match in book.used(lines)]


def test_values_have_one_spelling():
    assert values("1,200 rows in 0.50 s at 22:00 on 2024-01-15, 80%") == [
        "1200", "0.5", "22:00", "2024-01-15", "80",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ("3. wait 12 s", "wait 12 s"),
        ("  - 12 s", "12 s"),
        ("between 5 - 10 rows", "between 5 - 10 rows"),
        ("take 4 * 6 of 20) or so", "take 4 * 6 of 20) or so"),
    ],
)
def test_only_the_mark_of_a_list_item_is_no_value(line, rest):
    assert unnumbered(line) == rest


def test_round_and_small_values_surprise_least():
    assert plain_bits("1") < plain_bits("8") < plain_bits("12") < plain_bits("0.35")
    assert plain_bits("100") < plain_bits("137")
    assert plain_bits("0") == 1.0


@pytest.mark.parametrize(
    ("found", "on"),
    [
        (["1", "2", "3"], {"3"}),
        (["64", "16", "32"], {"64"}),
        (["10", "20", "50"], set()),
        (["22:00", "3", "5"], set()),
    ],
)
def test_numbers_that_count_on(found, on):
    assert counting_on(found) == on


def test_passages_are_lines_and_stretches_without_a_gap():
    lines = ["1. First 7 rows", "then 19", "", "| a | 5 |", "| b | 6 |"]
    found = [list(passage) for passage in passages(lines) if passage]
    assert found == [["7"], ["19"], ["7", "19"], ["5"], ["6"]]


def test_a_long_stretch_is_no_passage():
    assert max(len(one) for one in passages([f"value {n}" for n in range(100)])) == 1


def test_a_row_that_comes_back_is_recognised_by_its_values():
    book = taught(ROW)
    assert came_back(book, "rule = Rule(8, 12, 45, 3, (22, 6))") == [
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
    book = taught(ROW)
    assert book.hear(["defaults: 8 12 45 3 22 6"])
    assert came_back(book, "rule = Rule(8, 12, 45, 3, (22, 6))") == []


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


def test_a_table_names_its_cells():
    lines = ["| Tier | Burn window |", "|---|:--:|", "| 2 | 12 minutes |", "", "| 3 | 4 |"]
    told = [part for _, parts in told_by_tables(lines) for part in parts]
    assert told == ["Tier: 2", "Burn window: 12"]
    assert dict(settings(told[1])) == {"burn window=12": 2}
