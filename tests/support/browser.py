"""Debian's Chromium, driven by Playwright, which downloads nothing."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

RAN = "window.ran"
"""What a script of a stranger would set."""
_WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(event.violatedDirective + " " + event.blockedURI));
"""


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser; the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no Chromium (Debian: apt-get install chromium)")
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=options)
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """One tab of a person of their own, on the review page; it keeps what the browser complained of."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 800}, **options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("dialog", self._on_dialog)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("request", lambda request: self.requests.append(request.url))
        if options.get("java_script_enabled", True):
            self.page.add_init_script(_WATCH)
        self.page.goto(address)
        self.origin = address.partition("/?")[0]
        self.page.wait_for_url(f"{self.origin}/")

    def _on_dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def press(self, *keys: str) -> None:
        """Press keys, each of which leads to another page, and wait for it."""
        for key in keys:
            with self.page.expect_navigation():
                self.page.keyboard.press(key)

    def check(self) -> None:
        """Nothing of a stranger ran, nothing was asked of another host, and the policy had nothing to
        stop, our own script and style included."""
        assert self.page.evaluate(f"{RAN} === undefined")
        assert self.page.evaluate("window.violations") == []
        assert self.complaints == []
        assert all(url.startswith(self.origin + "/") for url in self.requests), self.requests

    def heading(self) -> str:
        """What the page is about."""
        return str(self.page.inner_text("h1"))

    def progress(self) -> str:
        """Such as 17/100."""
        return str(self.page.inner_text(".progress strong"))


def stand_in(page: Any, address: str, body: str) -> None:
    """Open a page of another site, which is answered here."""
    page.route(address, lambda route: route.fulfill(body=body, content_type="text/html"))
    page.goto(address)
