import pytest

from skilljuror.judge.features.key_values import settings, with_table_settings


@pytest.mark.parametrize(
    "line",
    [
        "- Cut-off: 3.5",
        "cut_off = 3.50",
        "| Cut off | 3.5 |",
        '"cut_off": 3.5,',
        "--cut-off 3.5",
        "run --cut-off=3.5",
        "**Cut-off:** `3.5`",
        "the cut-off is 3.5",
    ],
)
def test_spellings_of_one_setting(line):
    assert dict(settings(line)) == {"cut off=3.5": 2}


@pytest.mark.parametrize("line", ["Note: this is so", "x = foo(3)", "def main(): pass", "is: it"])
def test_what_is_no_setting(line):
    assert dict(settings(line)) == {}


def test_a_table_names_its_cells():
    lines = ["| Tier | Burn window |", "|---|:--:|", "| 2 | 12 minutes |", "", "| 3 | 4 |"]
    cells = [part for _, parts in with_table_settings(lines) for part in parts]
    assert cells == ["Tier: 2", "Burn window: 12"]
    assert dict(settings(cells[1])) == {"burn window=12": 2}
