"""The review page in a real browser: by keyboard alone, with hostile texts, next to other sites,
without JavaScript."""

import json

import pytest

from skilljuror.base.review import ReviewText
from tests.support.browser import Tab, chromium, stand_in
from tests.support.jsonl_desk import XSS, JsonlDesk, desk_page, finding, item, write_desk

pytestmark = pytest.mark.slow

LONG = "\n".join(f"{n}. Step {n} of the work." for n in range(200))


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def open_tab(browser):
    tabs = []

    def opened(address, **options):
        tabs.append(Tab(browser, address, **options))
        return tabs[-1]

    yield opened
    for tab in tabs:
        tab.context.close()


def answers(folder):
    return [(row["reviewer"], row["item"], row["answer"]) for row in JsonlDesk(folder).rows()]


def test_everything_is_decided_by_keys_alone(tmp_path, open_tab):
    folder = write_desk(tmp_path, [finding(1), *(item(n) for n in range(2, 6)), finding(6)])
    with desk_page(folder) as (address, _):
        tab = open_tab(address)
        tab.press("j")
        assert tab.heading() == "finding 1"
        tab.page.keyboard.press("3")
        assert "Enter sends “Controlled repair”" in tab.page.inner_text("#hint")
        assert answers(folder) == []
        tab.page.keyboard.type("y n 1: the steps are the same")
        tab.press("Enter")
        assert (tab.heading(), tab.progress()) == ("event 2", "1/6")
        tab.press("y", "n")
        tab.press("l")
        assert (tab.heading(), tab.progress()) == ("event 5", "3/6")
        tab.press("k", "k")
        assert tab.heading() == "event 3"
        tab.press("j", "j")
        tab.press("u", "z")
        assert (tab.heading(), tab.progress()) == ("event 5", "3/6")
        tab.page.keyboard.press("r")
        tab.page.keyboard.type("not to be seen\nfrom here")
        tab.page.keyboard.press("Escape")
        tab.press("u")
        assert tab.heading() == "finding 6"
        tab.page.keyboard.press("?")
        assert tab.page.locator("#help").get_attribute("open") is not None
        tab.page.keyboard.press("4")
        tab.page.keyboard.type("drift")
        tab.press("Enter")
        assert (tab.heading(), tab.progress()) == ("event 4", "5/6")
        tab.press("y")
        assert (tab.heading(), tab.progress()) == ("Review queue", "6/6")
        assert "All questions here are decided." in tab.page.inner_text("main")
        tab.check()
    found = [
        (str(row["item"])[-1], row["answer"], row["reason"]) for row in JsonlDesk(folder).rows()
    ]
    assert found == [
        ("1", "controlled_repair", "y n 1: the steps are the same"),
        ("2", "yes", ""),
        ("3", "no", ""),
        ("5", "unknown", ""),
        ("5", "", ""),
        ("5", "unknown", "not to be seen\nfrom here"),
        ("6", "reject", "drift"),
        ("4", "yes", ""),
    ]  # fmt: skip


def test_a_key_that_is_held_down_or_pressed_twice_answers_once(tmp_path, open_tab):
    folder = write_desk(tmp_path, [item(n) for n in range(5)])
    with desk_page(folder) as (address, _):
        tab = open_tab(address)
        tab.press("j")
        with tab.page.expect_navigation():
            tab.page.evaluate(
                "for (const repeat of [false, true, false]) document.dispatchEvent("
                "new KeyboardEvent('keydown', {key: 'y', repeat, bubbles: true}))"
            )
        assert tab.progress() == "1/5"
        tab.page.keyboard.press("Control+n")
        tab.page.keyboard.press("Alt+y")
        assert tab.page.evaluate("location.search") == "?id=uptake%3Atrial%2F1"
    assert answers(folder) == [("ann", "uptake:trial/0", "yes")]


@pytest.mark.parametrize("leave", ["l", "j", "q", "click"])
def test_a_key_after_a_link_answers_nothing_of_the_page_that_is_left(tmp_path, open_tab, leave):
    folder = write_desk(tmp_path, [item(n) for n in range(3)])
    with desk_page(folder) as (address, _):
        tab = open_tab(address)
        tab.press("j")
        first = tab.page.url
        with tab.page.expect_navigation():
            tab.page.evaluate(
                "leave => { const press = (key) => document.dispatchEvent("
                "new KeyboardEvent('keydown', {key, bubbles: true}));"
                "leave === 'click' ? document.querySelector('.later').click() : press(leave);"
                "press('y'); }",
                leave,
            )
        assert tab.page.url != first
        assert answers(folder) == []
        tab.page.go_back()
        tab.press("y")
        assert answers(folder) == [("ann", "uptake:trial/0", "yes")]


def test_a_link_that_leads_nowhere_else_leaves_the_keys(tmp_path, open_tab):
    with desk_page(write_desk(tmp_path, [item(1), item(2)])) as (address, _):
        tab = open_tab(address)
        tab.press("j")
        tab.page.evaluate("document.querySelector('.skip').click()")
        tab.press("y")
        assert tab.progress() == "1/2"


def test_keys_can_be_switched_off(tmp_path, open_tab):
    folder = write_desk(tmp_path, [item(1), item(2)])
    with desk_page(folder) as (address, _):
        tab = open_tab(address)
        tab.press("j")
        tab.page.keyboard.press("?")
        tab.page.get_by_label("Single-key shortcuts").uncheck()
        tab.page.keyboard.press("y")
        tab.page.reload()
        tab.page.keyboard.press("y")
        assert answers(folder) == []
        with tab.page.expect_navigation():
            tab.page.get_by_role("button", name="Unknown").click()
        assert answers(folder) == [("ann", "uptake:trial/1", "unknown")]


def test_strangers_text_never_runs(tmp_path, open_tab):
    hostile = [
        finding(1, id=f"finding:{XSS}", title=XSS, question=XSS, machine=XSS,
            texts=(ReviewText(f"source · {XSS}", f"# Skill\n{XSS}\n{LONG}", ((0, 20), (12, 60))),
                   ReviewText("tool output", XSS * 3, ((3, 7), (40, 9000))))),
        item(2),
    ]  # fmt: skip
    folder = write_desk(tmp_path, hostile)
    with desk_page(folder) as (address, _):
        tab = open_tab(address)
        tab.check()
        tab.press("j")
        assert tab.heading() == XSS
        assert XSS in tab.page.locator("pre").first.inner_text()
        tab.page.mouse.move(600, 300)
        tab.page.locator("pre").last.hover()
        tab.check()
        tab.page.keyboard.press("1")
        tab.page.keyboard.type(XSS)
        tab.press("Enter", "k")
        assert tab.heading() == XSS
        tab.press("q")
        tab.check()
    assert JsonlDesk(folder).rows()[0]["reason"] == XSS


def test_the_policy_stops_what_escaping_would_let_through(tmp_path, open_tab):
    with desk_page(write_desk(tmp_path, [item(1)])) as (address, _):
        tab = open_tab(address)
        tab.page.evaluate(
            "document.body.insertAdjacentHTML('beforeend',"
            ' \'<img src=x onerror="window.ran=1"><iframe src="https://example.invalid"></iframe>\')'
        )
        tab.page.wait_for_function("window.violations.length >= 2")
        assert tab.page.evaluate("window.ran === undefined")
        assert not any("example.invalid" in url for url in tab.requests)


def test_the_marked_place_of_a_long_text_is_in_view(tmp_path, open_tab):
    at = LONG.index("150. ")
    folder = write_desk(
        tmp_path, [item(1, texts=(ReviewText("source", LONG, ((at, at + 9),)), ReviewText("pd", LONG)))]
    )  # fmt: skip
    with desk_page(folder) as (address, _):
        tab = open_tab(address)
        tab.press("j")
        mark, bar = (
            tab.page.locator("mark").bounding_box(),
            tab.page.locator("#decision").bounding_box(),
        )
        assert 100 < mark["y"] < bar["y"]
        one, other = (tab.page.locator("pre").nth(n).bounding_box() for n in (0, 1))
        assert one["y"] == other["y"]
        assert one["x"] + one["width"] <= other["x"]
        tab.page.set_viewport_size({"width": 400, "height": 800})
        one, other = (tab.page.locator("pre").nth(n).bounding_box() for n in (0, 1))
        assert other["y"] >= one["y"] + one["height"]
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= 400


def test_without_a_script_by_plain_forms(tmp_path, open_tab):
    folder = write_desk(tmp_path, [item(1), finding(2), item(3)])
    with desk_page(folder) as (address, _):
        page = open_tab(address, java_script_enabled=False).page
        page.get_by_role("link", name="event 1").click()
        page.get_by_label("Reason").fill("seen")
        page.get_by_role("button", name="Yes").click()
        assert page.inner_text("h1") == "finding 2"
        page.get_by_role("button", name="Reject").click()
        assert page.inner_text("h1") == "finding 2"
        page.get_by_label("Reason").fill("drift")
        page.get_by_role("button", name="Reject").click()
        page.get_by_role("link", name="Previous").click()
        page.get_by_role("button", name="Undo").click()
        assert page.inner_text("h1") == "finding 2"
        page.get_by_role("link", name="Later").click()
        assert page.inner_text("h1") == "event 3"
    assert [(row["answer"], row["reason"]) for row in JsonlDesk(folder).rows()] == [
        ("yes", "seen"),
        ("reject", "drift"),
        ("", ""),
    ]


def test_a_link_on_another_site_opens_the_page(tmp_path, open_tab, browser):
    """A terminal in a browser shows the address as a link of its own site."""
    folder = write_desk(tmp_path, [item(1)])
    with desk_page(folder) as (address, _):
        context = browser.new_context()
        page = context.new_page()
        stand_in(page, "http://terminal.example/", f'<a href="{address}">open</a>')
        page.get_by_role("link").click()
        page.wait_for_url(address.partition("?")[0])
        assert page.inner_text("h1") == "Review queue"
        context.close()


def test_a_form_on_another_site_decides_nothing(tmp_path, open_tab):
    folder = write_desk(tmp_path, [item(1)])
    with desk_page(folder) as (address, _):
        tab = open_tab(address)
        token = tab.page.locator("input[name=token]").first.get_attribute("value")
        for site in ("http://evil.example/", "http://127.0.0.1:9/"):
            page = tab.context.new_page()
            form = (
                f'<form method="post" action="{tab.origin}/decide"><input name="token" value="{token}">'
                '<input name="id" value="uptake:trial/1"><input name="answer" value="yes"></form>'
            )
            stand_in(page, site, form)
            with page.expect_navigation(url=f"{tab.origin}/decide") as answered:
                page.evaluate("document.forms[0].submit()")
            assert answered.value.status == 403
        page = tab.context.new_page()
        stand_in(page, "http://evil.example/", f'<iframe src="{address}"></iframe>')
        assert "Review queue" not in page.frames[1].content()
    assert answers(folder) == []


def test_what_a_screen_reader_is_told(tmp_path, open_tab):
    folder = write_desk(tmp_path, [finding(1), item(2)])
    with desk_page(folder) as (address, _):
        tab = open_tab(address)
        page = tab.page
        assert page.title() == "0/2 decided · skilljuror review"
        tab.press("j")
        assert page.title() == "0/2 · finding 1 · skilljuror review"
        assert page.get_by_role("progressbar", name="0/2 decided").count() == 1
        assert page.get_by_role("textbox", name="Reason").count() == 1
        assert page.get_by_role("group", name="Answer").get_by_role("button").count() == 4
        assert page.get_by_role("region", name="shown").count() == 1
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        order = []
        for _ in range(16):
            page.keyboard.press("Tab")
            order.append(page.evaluate("document.activeElement.tagName"))
        assert order.index("PRE") < order.index("TEXTAREA") < len(order) - 1
        page.get_by_role("button", name="Reject").click()
        assert page.evaluate("document.activeElement.id") == "reason"
    assert json.dumps(answers(folder)) == "[]"
