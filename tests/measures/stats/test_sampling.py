from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from skilljuror.measures.stats.sampling import stratified_sample

STRATA = {f"e{n:03}": ("pd" if n % 2 else "flat", "no" if n < 5 else "yes") for n in range(100)}


def test_every_stratum_gives_by_the_square_root_of_its_size():
    drawn = stratified_sample(STRATA, 20)
    assert Counter(one.stratum for one in drawn) == {
        ("flat", "no"): 2, ("flat", "yes"): 8, ("pd", "no"): 2, ("pd", "yes"): 8,
    }  # fmt: skip
    chances = {one.stratum: one.probability for one in drawn}
    assert chances == {
        ("flat", "no"): 2 / 3, ("flat", "yes"): 8 / 47, ("pd", "no"): 1.0, ("pd", "yes"): 8 / 48,
    }  # fmt: skip


def test_whoever_stops_early_has_a_sample_of_both_arms():
    drawn = stratified_sample(STRATA, 40)
    assert {one.stratum for one in drawn[:14]} == set(STRATA.values())
    assert [one.item for one in stratified_sample(STRATA, 12)] == [one.item for one in drawn[:12]]


def test_a_seed_gives_one_sample_and_another_seed_another():
    shuffled = dict(sorted(STRATA.items(), reverse=True))
    assert stratified_sample(shuffled, 30, seed=1) == stratified_sample(STRATA, 30, seed=1)
    assert stratified_sample(STRATA, 30, seed=2) != stratified_sample(STRATA, 30, seed=1)


def test_items_are_drawn_alike():
    """8 of 47 items of a stratum are drawn each time: no place is favoured."""
    times = Counter(
        one.item
        for seed in range(300)
        for one in stratified_sample(STRATA, 20, seed)
        if one.stratum == ("flat", "yes")
    )
    assert sum(times.values()) == 2400
    assert len(times) == 47
    assert 25 < min(times.values()) < max(times.values()) < 80  # 51.1 on the mean, sd 6.5


@given(
    st.dictionaries(st.text(max_size=3), st.sampled_from("abc"), max_size=30), st.integers(0, 40)
)
def test_a_sample_holds_no_item_twice(strata, size):
    drawn = stratified_sample(strata, size)
    assert len({one.item for one in drawn}) == len(drawn) == min(size, len(strata))
    assert all(0 < one.probability <= 1 for one in drawn)
