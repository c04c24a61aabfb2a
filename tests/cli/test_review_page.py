"""`skilljuror review` on a real build: the page that it opens, and how it ends."""

import json
import os
import signal
import socket

import pytest

from skilljuror.base.files import read_jsonl
from tests.support.cli_process import call, complaint
from tests.support.jsonl_desk import review_page
from tests.support.review_client import Page, ReviewClient, asked
from tests.support.reviewed_builds import SKILL, doubtful_build
from tests.support.studies import until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    base = tmp_path_factory.mktemp("review")
    doubtful_build(base)
    return base / "out"


def test_what_the_page_is_told_is_in_the_store_and_the_verdict(build):
    with review_page(
        "-m", "skilljuror", "review", str(build), "--no-open", "--reviewer", "ann"
    ) as (
        address,
        served,
    ):
        with ReviewClient(address) as client:
            page = client.get("/next")
            assert "<mark>Boil 500 ml of water.</mark>" in page.text
            assert "doubtful.water" in page.text
            item = Page(page.text).fields["id"]
            done = client.post("/decide", id=item, answer="controlled_repair", reason="<as> is")
            assert "All questions here are decided." in done.text
        served.send_signal(signal.SIGTERM)
        _, told = served.communicate(timeout=20)
        assert served.returncode == 143
        (line,) = told.splitlines()
        assert line.startswith("skilljuror: stopped; finished work is saved")
    (row,) = read_jsonl(build / "reviews.jsonl")
    assert (row["by"], row["answer"], row["reason"]) == ("ann", "controlled_repair", "<as> is")
    assert (row["item"], row["blind"]) == (item, False)
    shown = call("review", build, "--list", "--reviewer", "ann")
    assert "1/1 decided by ann" in shown.stdout


def test_listing_and_deciding_serve_nothing(build):
    listed = call("review", build, "--list", "--reviewer", "eve")
    assert "http://" not in listed.stdout + listed.stderr
    (item,) = json.loads(call("review", build, "--list", "--json").stdout)["items"]
    words = ("--decide", f"{item['id']}=controlled_repair", "--why", "so", "--reviewer", "eve")
    decided = call("review", build, *words)
    assert (decided.returncode, decided.stderr) == (0, "")
    assert "1/1 decided by eve" in decided.stdout


def test_the_browser_of_the_desktop_is_given_an_address_of_its_own(build, tmp_path):
    browser, mark = tmp_path / "browser", tmp_path / "mark"
    browser.write_text(f'#!/bin/sh\necho "$1" > {mark}.part; mv {mark}.part {mark}\n')
    browser.chmod(0o755)
    bare = {key: value for key, value in os.environ.items() if "DISPLAY" not in key}
    for words, opened in (((), True), (("--no-open",), False)):
        command = ("-m", "skilljuror", "review", str(build), "--reviewer", "ann", *words)
        mark.unlink(missing_ok=True)
        with review_page(*command, env={**bare, "BROWSER": f"{browser} %s"}) as (address, _):
            if opened:
                until(mark.exists)
                given = mark.read_text().strip()
                assert given.partition("?")[0] == address.partition("?")[0]
                assert [asked(one).status_code for one in (given, given, address)] == [
                    200, 403, 200,
                ]  # fmt: skip
        assert mark.exists() == opened


def test_nothing_to_review_opens_no_page(tmp_path):
    doubtful_build(tmp_path, SKILL.replace("water", "tea"))
    done = call("review", tmp_path / "out", "--no-open")
    assert (done.returncode, done.stdout) == (0, f"nothing to review in {tmp_path}/out\n")


def test_what_cannot_be_opened_is_one_line(build):
    assert "add --list or another option" in call("review", build, "--json").stdout
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = complaint(call("review", build, "--no-open", "--port", port))
        assert f"port {port} is unavailable" in said
    assert "less than or equal to 65535" in complaint(
        call("review", build, "--no-open", "--port", 70000)
    )
