"""The pages of `skilljuror view` in a real browser: by keyboard alone, with hostile texts, on a screen and a phone."""

import pytest

from skilljuror.judge.study import judge_study
from skilljuror.store.logs import ingest_logs
from tests.support.browser import Tab, chromium
from tests.support.claude_logs import assistant, tool_result, tool_use, user, write_lines
from tests.support.jsonl_desk import XSS, review_page

pytestmark = pytest.mark.slow

SKILL = f"/root/.claude/skills/brew/{'long-' * 20}references/steep.md"


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    base = tmp_path_factory.mktemp("view")
    for number in range(101):
        name, at = f"run-{number:03}{'-long' * 12}", 1 + 4 * number
        write_lines(
            base / "projects" / "-w" / f"{number}.jsonl",
            user(at, f"Brew. {XSS}", sessionId=name),
            assistant(at + 1, tool_use(f"t{at}", "Read", file_path=SKILL), sessionId=name),
            user(at + 2, [tool_result(f"t{at}", f"Steep. {XSS} {'x' * 300}")], sessionId=name),
        )
    ingest_logs(base / "mine", [base / "projects"])
    judge_study(base / "mine")
    return base / "mine"


def page_of(study):
    return review_page("-m", "skilljuror", "view", str(study), "--no-open")


def focus(tab, text):
    """Press Tab until the focus is on what has this text, and is to be seen."""
    for _ in range(60):
        tab.page.keyboard.press("Tab")
        if text in tab.page.evaluate("document.activeElement.innerText"):
            style = "getComputedStyle(document.activeElement).outlineStyle"
            assert tab.page.evaluate(style) != "none"
            return
    raise AssertionError(f"Tab does not reach {text!r}")


def test_from_a_skill_to_a_step_by_keys_alone(address, browser):
    with page_of(address) as (url, _):
        tab = Tab(browser, url)
        focus(tab, "brew")
        tab.press("Enter")
        assert tab.heading() == "Runs of brew"
        tab.press("j")
        assert "101 to 101 of 101" in tab.page.inner_text("main")
        tab.press("k")
        focus(tab, "run-")
        tab.press("Enter")
        assert tab.heading().startswith("run-")
        step = tab.page.locator("details.skill, details.taken").first
        assert step.get_attribute("open") is None
        focus(tab, "step 1")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_function("document.querySelector('details:target').open")
        assert XSS in tab.page.inner_text("details:target")
        tab.check()


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_wider_than_the_window(address, browser, width):
    with page_of(address) as (url, _):
        tab = Tab(browser, url)
        tab.page.set_viewport_size({"width": width, "height": 900})
        for path in ("/", "/runs", "/report", "/review/", "/run?name=run-007"):
            tab.page.goto(tab.origin + path)
            tab.page.evaluate(
                "document.querySelectorAll('details').forEach(one => one.open = true)"
            )
            assert tab.page.evaluate("document.documentElement.scrollWidth") == width, path
        tab.check()
