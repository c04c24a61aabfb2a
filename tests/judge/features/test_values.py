import pytest

from skilljuror.judge.features.values import (
    continued_counts,
    surprise_bits,
    values_of,
    without_list_marker,
)


def test_values_have_one_spelling():
    assert values_of("1,200 rows in 0.50 s at 22:00 on 2024-01-15, 80%") == [
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
    assert without_list_marker(line) == rest


def test_round_and_small_values_surprise_least():
    assert surprise_bits("1") < surprise_bits("8") < surprise_bits("12") < surprise_bits("0.35")
    assert surprise_bits("100") < surprise_bits("137")
    assert surprise_bits("0") == 1.0


@pytest.mark.parametrize(
    ("values", "continued"),
    [
        (["1", "2", "3"], {"3"}),
        (["64", "16", "32"], {"64"}),
        (["10", "20", "50"], set()),
        (["22:00", "3", "5"], set()),
    ],
)
def test_numbers_that_count_on(values, continued):
    assert continued_counts(values) == continued
