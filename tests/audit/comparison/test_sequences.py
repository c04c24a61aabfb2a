import pytest

from skilljuror.audit.comparison.sequences import in_order


@pytest.mark.parametrize(
    ("above", "texts", "expected"),
    [
        ("Release workflow", ["Tag", "Build", "Announce"], [True, True]),
        ("Do this in the following order:", ["Tag", "Build"], [True]),
        ("Load-Fire-Cool", ["LOAD the kiln", "Check", "FIRE it", "COOL down"], [True, True, True]),
        ("", ["Overview", "Phase 1: Look", "Phase 2: Mend", "Notes"], [False, True, False]),
        ("", ["1. Look", "2. Mend"], [True]),
        ("", ["4.1 Look", "4.2 Mend"], [True]),
        ("", ["Tag it", "Build it", "Finally, tell them"], [False, True]),
        ("", ["Tag it", "Next, build it", "Next Steps"], [True, False]),
        ("Common workflows", ["Tag", "Build"], [False]),
        ("Notes", ["Tag", "Build"], [False]),
        ("Fire-Load-Cool", ["Load", "Fire", "Cool"], [False, False]),
        ("Load and Cool", ["Load", "Cool"], [False]),
        ("", ["Python 3", "Ruby 4"], [False]),
        ("", ["2. Mend", "1. Look"], [False]),
        ("", ["3D views", "4D views"], [False]),
        ("Workflow", ["Tag"], []),
    ],
)  # fmt: skip
def test_what_must_come_first(above, texts, expected):
    assert in_order(above, texts) == expected
