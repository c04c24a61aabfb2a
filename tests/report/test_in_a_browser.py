"""The report in a real browser: no table is cut or needs scrolling, on a screen and on a phone."""

import pytest

from skilljuror.judge.study import judge_study
from skilljuror.report.page import build_report
from tests.support import report_piles as piles
from tests.support.browser import chromium
from tests.support.fabricated_studies import ingested, small_study

pytestmark = pytest.mark.slow

OPEN = "document.querySelectorAll('.chapter, .fold').forEach((one) => one.open = true)"
OVERFLOW = """[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth + 1)
    .map((one) => `${one.closest('article, figure')?.id} ${one.scrollWidth} > ${one.clientWidth}`)"""
PAGE = "document.documentElement.scrollWidth"


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


def logs(folder):
    path = ingested(folder, "goldens")
    judge_study(folder)
    return path


@pytest.mark.parametrize("make", [small_study, piles.scripted_study, piles.observed_logs, logs])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_table_is_wider_than_its_panel(browser, tmp_path, make, width):
    page = build_report(make(tmp_path), tmp_path / "report").path
    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.goto(page.as_uri())
    tab.evaluate(OPEN)
    assert tab.evaluate(OVERFLOW) == []
    assert tab.evaluate(PAGE) == width
    tab.close()


def test_a_wide_table_of_few_rows_is_turned_and_a_column_without_values_named(browser, tmp_path):
    page = build_report(small_study(tmp_path), tmp_path / "report").path
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(page.as_uri())
    tab.evaluate(OPEN)
    head, first = (
        tab.locator("#table-coverage table").locator(where).first.bounding_box()
        for where in ("thead th:nth-child(2)", "tbody tr td:nth-child(2)")
    )
    assert head["y"] == pytest.approx(first["y"])
    assert head["x"] < first["x"]
    assert "Without a value in any row: model, effort, margin, healthy first, " in tab.inner_text(
        "#table-setup"
    )
    tab.close()


@pytest.mark.parametrize(("width", "screens"), [(1280, 3), (390, 5)])
def test_the_answer_has_few_screens_and_the_keyboard_opens_the_rest(
    browser, tmp_path, width, screens
):
    page = build_report(piles.scripted_study(tmp_path), tmp_path / "report").path
    tab = browser.new_page(viewport={"width": width, "height": 800})
    tab.goto(page.as_uri())
    assert tab.evaluate("document.documentElement.scrollHeight") <= 800 * screens
    assert not tab.locator("#table-gates").is_visible()
    tab.locator("#rq1 summary").first.press("Enter")
    tab.locator("#table-gates summary").first.press("Enter")
    assert tab.locator("#table-gates .proof").is_visible()
    tab.locator("a[href='#table-task_deltas']").first.press("Enter")
    assert tab.locator("#table-task_deltas").is_visible()
    assert tab.locator(".banner").is_visible()
    tab.close()
