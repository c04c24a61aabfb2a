"""The committed report of the demo: small, without a machine's paths, and of today's questions.

That its numbers are those of a demo is held where the wheel runs one, tests/e2e/test_wheel.py.
"""

import csv
import html
import re

from skilljuror.report.computed import PRIVATE, data, documentation
from skilljuror.report.tables import SCRIPTED
from tests.support.demo_report import REPORT

STALE = "write it anew: make reports"
STUDY = data("sections")["study"]
EVERY = [
    {"table": panel} if isinstance(panel, str) else panel
    for section in STUDY
    for panel in section["tables"]
]
PANELS = [panel for panel in EVERY if "needs" not in panel]
"""Those that every report has."""


def page():
    return (REPORT / "report.html").read_text(encoding="utf-8")


def test_it_has_at_most_a_megabyte_and_no_path_of_a_machine():
    files = [path for path in REPORT.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 1 << 20
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert re.search(r"/(home|tmp|work|Users)/", text) is None, path
    assert page().count(SCRIPTED) > page().count("<figure")  # in each, and on top


def test_it_asks_the_questions_of_today():
    told = html.unescape(page())
    headings = [section["title"] for section in STUDY if not section.get("open")] + [
        documentation(panel["table"]).question for panel in PANELS
    ]
    assert [
        one for one in headings if f">{one}</h" not in told and f"<dt>{one} " not in told
    ] == [], STALE


def test_its_tables_have_the_columns_of_today():
    found = {}
    for path in (REPORT / "tables").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            found[path.stem] = tuple(next(csv.reader(file)))
    expected = {
        panel["table"]: tuple(
            name for name in documentation(panel["table"]).columns if name not in PRIVATE
        )
        for panel in EVERY
    }
    shown = {panel["table"] for panel in PANELS} | (found.keys() & expected.keys())
    assert {name: found.get(name) for name in shown} == {name: expected[name] for name in shown}, (
        STALE
    )
    assert found.keys() - expected.keys() == {"headline"}, STALE


def test_every_file_that_the_page_names_is_there():
    named = {*re.findall(r'href="((?:tables|figures)/[^"]+)"', page())}
    there = {str(path.relative_to(REPORT)) for path in REPORT.glob("*/*")}
    assert named == there, STALE
