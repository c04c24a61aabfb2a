"""Names of fields, however they are set apart."""

import pytest

from skilljuror.judge.features.field_names import MOST_BITS, field_names, name_bits


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("the columns `lot`, `consignor` and `reserve`", ["lot", "consignor", "reserve"]),
        ("- **`metadata.machine`** records the host", ["machine"]),
        ("- **Sighting**: what and where", ["sighting"]),
        ('{"lot": 1, "re-serve": 250}', ["lot", "re_serve"]),
        ("""--metadata '{"machine":"'"$(hostname)"'","worker":"w1"}'""", ["machine", "worker"]),
        ("tick update --set machine=$(hostname) --set worker=w1", ["machine", "worker"]),
        ("lot,consignor,reserve", ["lot", "consignor", "reserve"]),
        ("| Lot | Consignor | Reserve |", ["lot", "consignor", "reserve"]),
        ("sourced_from: survey 12", ["sourced_from"]),
        ("see https://example.org and C:/x", []),
        ("if lot == 3 or std::vector", []),
        ("plain words of a sentence", []),
    ],
)
def test_field_names(line, expected):
    assert field_names(line) == expected


def test_a_long_name_surprises_more_than_a_short_one_up_to_a_limit():
    assert name_bits("lot") < name_bits("provenance") == name_bits("x" * 80) == MOST_BITS
