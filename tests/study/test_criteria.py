"""Criteria of a requirement by its sections, and the tests that name them."""

from skilljuror.harness.tasks import criteria_of, read_tests

DOCUMENT = """# Tide table

## Requirements

- Print 24 rows.

## Acceptance Criteria

- The table has
  24 rows:
  - one for each hour
- [ ] `tides.csv` exists

### Levels

1. A level has two decimals.

```
- no criterion
```

## Notes

- AC-9 is not here.
"""
CODE = r'''
"""Never imported: raise SystemExit."""
raise SystemExit("\\d")

class TestTable:
    def test_rows_ac_1(self):
        """The table has 24 rows."""

    @pytest.mark.criterion("AC-3")
    def test_levels(self):
        """Each level has two decimals, AC-2 and AC-02."""

async def test_other():
    """Says "AC-9" only in a string: not in ACME-3 or MAC-3."""
    return "AC-4"

def check_ac_1():
    pass
'''


def test_criteria_are_the_items_at_the_margin_of_their_section():
    assert [(one.id, one.text, one.line) for one in criteria_of(DOCUMENT)] == [
        ("AC-1", "The table has 24 rows: - one for each hour", 9),
        ("AC-2", "`tides.csv` exists", 12),
        ("AC-3", "A level has two decimals.", 16),
    ]


def test_labels_of_the_document_count_if_every_item_has_one():
    items = "## Success criteria\n* **AC-7**: It runs.\n* AC-2 - It stops.\n"
    assert [(one.id, one.text) for one in criteria_of(items)] == [
        ("AC-7", "It runs."), ("AC-2", "It stops."),
    ]  # fmt: skip
    mixed = criteria_of(items.replace("AC-2 - ", ""))
    assert [one.id for one in mixed] == ["AC-1", "AC-2"]
    assert criteria_of("# Notes\n- It runs.\n") == ()


def test_a_test_names_a_criterion_in_its_name_docstring_or_marker_alone():
    assert [(one.name, one.criteria) for one in read_tests(CODE) or ()] == [
        ("TestTable::test_rows_ac_1", ("AC-1",)),
        ("TestTable::test_levels", ("AC-2", "AC-3")),
        ("test_other", ("AC-9",)),
    ]
    assert read_tests("def test(:") is None
