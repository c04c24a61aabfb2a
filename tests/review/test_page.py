"""The pages over HTTP, their guard, their style, and serving."""

import json
import re
import signal
import socket
import sys
from typing import Any, cast

import httpx
import pytest
from markupsafe import escape

from skilljuror.base.errors import UsageError
from skilljuror.base.review import ReviewText
from skilljuror.review.page import open_browser, review_app, serve
from skilljuror.review.reviewing import Reviewing
from tests.support.jsonl_desk import XSS, JsonlDesk, desk_page, finding, item, write_desk
from tests.support.places import ROOT
from tests.support.review_client import Page, ReviewClient, asked

HOSTILE = "finding:" + XSS + "\u202e&id=other"
MIXED = finding(5, id="rubric:build/pd/PD-1", kind="rubric", answers=("yes", "reject"))
ITEMS = [
    finding(1, repeats=("finding:build/pd/8", "finding:build/pd/9")),
    item(2),
    item(3),
    item(
        4,
        id=HOSTILE,
        title=XSS,
        question=XSS,
        machine=XSS,
        texts=(ReviewText(XSS, XSS + "\u202e", ((0, 9), (5, 40))),),
    ),
    MIXED,
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = write_desk(tmp_path_factory.mktemp("desk"), ITEMS)
    with desk_page(folder, "ann", "", "0", "Simulated study.") as (address, _):
        yield folder, address


@pytest.fixture
def client(desk):
    (desk[0] / "answers.jsonl").unlink(missing_ok=True)
    with ReviewClient(desk[1]) as client:
        yield client


def rows(desk):
    text = (desk[0] / "answers.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_the_queue_lists_suspicious_first_and_says_how_far_it_is(client):
    page = client.get("/")
    places = [page.text.index(title) for title in ("finding 1", "event 2", "event 3")]
    assert places == sorted(places)
    assert "<strong>0/5</strong> decided" in page.text
    assert "and 2 repeats" in page.text
    assert "Simulated study." in page.text
    assert "Agreement" not in page.text


def test_the_queue_by_kind_and_state(client):
    client.post("/decide", id="uptake:trial/2", answer="no")
    by_kind = client.get("/", kind="finding").text
    assert "finding 1" in by_kind
    assert "event 2" not in by_kind
    decided = client.get("/", state="decided").text
    assert "event 2" in decided
    assert "event 3" not in decided
    assert "event 2" not in client.get("/", state="open").text
    assert "No questions." in client.get("/", kind="rubric", state="decided").text
    assert "event 2" in client.get("/", kind="none", state="none").text


def test_a_decision_is_on_disk_and_the_next_question_shown(client, desk):
    page = client.post("/decide", id="uptake:trial/2", answer="yes", reason=" It was\r\nused. ")
    assert "event 3" in page.text
    assert "<strong>1/5</strong> decided" in page.text
    assert rows(desk) == [
        {
            "reviewer": "ann",
            "item": "uptake:trial/2",
            "answer": "yes",
            "reason": "It was\nused.",
            "blind": False,
        }
    ]
    again = client.get("/item", id="uptake:trial/2").text
    assert "Your answer: <strong>Yes</strong>" in again
    assert Page(again).buttons["yes"]["aria-pressed"] == "true"


def test_the_items_that_an_answer_is_for_are_named(client):
    page = client.get("/item", id="finding:build/pd/1").text
    assert "Repeats (2)" in page
    assert "finding:build/pd/8" in page
    assert "The same" not in client.get("/item", id="uptake:trial/2").text


def test_one_kind_is_gone_through_alone(client):
    page = client.post("/decide", id="uptake:trial/2", answer="yes", kind="uptake")
    assert "event 3" in page.text
    assert "decided (uptake)" in page.text
    page = client.post(
        "/decide", id="finding:build/pd/1", answer="reject", reason="x", kind="finding"
    )
    assert "All questions here are decided." in page.text


def test_what_is_put_off_comes_again_and_is_not_decided(client, desk):
    page = client.get("/next", after="uptake:trial/2")
    assert "event 3" in page.text
    assert not (desk[0] / "answers.jsonl").exists()
    last = client.get("/next", after=MIXED.id)
    assert "finding 1" in last.text
    assert "finding 1" in client.get("/next", after="gone").text


def test_undo_shows_the_question_again(client, desk):
    nothing = client.post("/undo")
    assert "You have no decision to undo" in nothing.text
    client.post("/decide", id="uptake:trial/2", answer="yes")
    client.post("/decide", id="uptake:trial/3", answer="no")
    page = client.post("/undo")
    assert "event 3" in page.text
    assert "Decision undone" in page.text
    assert "<strong>1/5</strong> decided" in page.text
    assert [row["answer"] for row in rows(desk)] == ["yes", "no", ""]


def test_undo_of_what_is_not_in_the_queue_leads_to_the_queue(client, desk):
    with (desk[0] / "answers.jsonl").open("w") as file:
        row = {"reviewer": "ann", "item": "uptake:beside", "answer": "yes"}
        file.write(json.dumps(row) + "\n")
    page = client.post("/undo")
    assert page.status_code == 200
    assert "Decision undone" in page.text
    assert "Review queue" in page.text


@pytest.mark.parametrize(
    "answer", ["source_idiosyncrasy", "packaging_artifact", "controlled_repair", "reject"]
)
def test_an_adjudication_needs_a_reason(client, desk, answer):
    page = client.post("/decide", id="finding:build/pd/1", answer=answer, reason=" \r\n ")
    assert page.status_code == 400
    assert "requires a reason" in page.text
    assert "finding 1" in page.text
    assert not (desk[0] / "answers.jsonl").exists()
    client.post("/decide", id="finding:build/pd/1", answer=answer, reason="because")
    assert [row["answer"] for row in rows(desk)] == [answer]


def test_only_answers_that_need_a_reason_ask_a_browser_for_it(client):
    page = Page(client.get("/item", id=MIXED.id).text)
    assert "formnovalidate" in page.buttons["yes"]
    assert "formnovalidate" not in page.buttons["reject"]
    assert "required" in page.attributes
    assert "required" not in Page(client.get("/item", id="uptake:trial/2").text).attributes


def test_a_refused_answer_keeps_the_reason_that_was_written(client, desk):
    page = client.post("/decide", id="uptake:trial/2", answer="maybe", reason="<b>so\nit is")
    assert page.status_code == 400
    assert "is none of its answers" in page.text
    assert ">\n&lt;b&gt;so\nit is</textarea>" in page.text
    assert not (desk[0] / "answers.jsonl").exists()


@pytest.mark.parametrize("path", ["/item", "/item?id=gone", "/nothing", "/static/../pages.py"])
def test_what_is_not_there(client, path):
    page = client.get(path)
    assert page.status_code == 404
    assert "Back to the queue" in page.text


def test_a_form_for_a_question_that_is_gone(client, desk):
    page = client.post("/decide", id="gone", answer="yes")
    assert page.status_code == 404
    assert "unknown or outdated" in page.text
    assert "Your answer was not saved" in page.text
    assert "Back to the queue" in page.text
    assert not (desk[0] / "answers.jsonl").exists()


def test_a_form_beyond_measure_is_refused(client, desk):
    page = client.post("/decide", id="uptake:trial/2", answer="yes", reason="x" * 70_000)
    assert page.status_code == 413
    assert not (desk[0] / "answers.jsonl").exists()


def test_text_of_strangers_is_text_everywhere(client, desk):
    wrong = client.post("/decide", id=HOSTILE, answer=XSS, reason=XSS)
    pages = [client.get("/"), client.get("/item", id=HOSTILE), wrong]
    assert [page.status_code for page in pages] == [200, 200, 400]
    for page in pages:
        found = Page(page.text)
        assert found.tags.count("script") == 1
        assert not {"img", "svg", "iframe"} & set(found.tags)
        assert not any(name.startswith("on") or name == "style" for name in found.attributes)
        assert not any(link.startswith("javascript") for link in found.links)
        assert page.text.count("7*7") == page.text.count("{{ 7*7 }}") > 0
        assert "\u202e" not in page.text.replace(str(escape(HOSTILE)), "")
    client.post("/decide", id=HOSTILE, answer="yes")
    assert rows(desk)[0]["item"] == HOSTILE


def test_links_lead_nowhere_else(client):
    for path in ("/", "/item?id=uptake:trial/2"):
        page = client.get(path)
        links = Page(page.text).links
        assert links
        assert all(link.startswith(("/", "#")) and not link.startswith("//") for link in links)
        assert "http" not in page.text


@pytest.mark.slow
def test_a_blind_page_does_not_hold_what_the_machine_said(tmp_path):
    folder = write_desk(tmp_path, ITEMS)
    with desk_page(folder, "ann", "blind") as (address, _), ReviewClient(address) as client:
        pages = [client.get("/").text, client.get("/item", id="uptake:trial/2").text]
        client.post("/decide", id="uptake:trial/2", answer="yes")
        with desk_page(folder, "bea") as (seen, _), ReviewClient(seen) as bea:
            bea.post("/decide", id="uptake:trial/2", answer="yes")
            assert "Reviewer agreement" in bea.get("/").text
        pages.append(client.get("/").text)
    for text in pages:
        assert "Agreement" not in text
        assert "machine says so" not in text
        assert "Machine" not in text
        assert "0.98" not in text
        assert "uspicion" not in text
        assert ">blind<" in text
    assert json.loads((folder / "answers.jsonl").read_text().splitlines()[0])["blind"] is True


def test_one_that_sees_is_told_what_the_machine_said(client):
    assert "machine says so of 2" in client.get("/item", id="uptake:trial/2").text
    assert "0.98" in client.get("/").text


@pytest.mark.slow
def test_two_reviewers_see_their_own_answers_and_how_far_they_agree(client, desk):
    for number, answer in ((2, "yes"), (3, "no")):
        client.post("/decide", id=f"uptake:trial/{number}", answer=answer)
    with desk_page(desk[0], "bea") as (address, _), ReviewClient(address) as bea:
        assert "<strong>0/5</strong>" in bea.get("/").text
        for number, answer in ((2, "yes"), (3, "yes")):
            bea.post("/decide", id=f"uptake:trial/{number}", answer=answer)
        page = bea.get("/").text
        client.http.cookies.update(bea.http.cookies)
        assert " · ann<" in client.get("/").text, "the cookie of another page was put in its place"
    assert (
        '<td>uptake</td><td class="n">2</td><td class="n">0.50 <small>0.00 to 1.00</small></td>'
        in page
    )
    assert "Reviewer agreement" in client.get("/").text


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = write_desk(tmp_path_factory.mktemp("desk"), [item(1), item(2)])
    with desk_page(folder) as (address, _):
        yield folder, address


@pytest.fixture
def visitor(served):
    with ReviewClient(served[1]) as visitor:
        yield visitor


def answers(served):
    path = served[0] / "answers.jsonl"
    return path.read_text() if path.exists() else ""


def test_it_listens_on_this_machine_alone(served):
    found = httpx.URL(served[1])
    assert found.host == "127.0.0.1"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", found.port or 0), 5)


PATHS = ("/", "/item?id=uptake:trial/1", "/next", "/static/review.js", "/nothing")


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_shown_without_the_token(served, path):
    origin = served[1].partition("/?")[0]
    for address in (f"{origin}{path}", f"{origin}/?token=guess", f"{origin}/?token=\u00e4"):
        found = asked(address)
        assert found.status_code == 403
        assert "skilljuror review" in found.text
        assert "event" not in found.text
        assert "set-cookie" not in found.headers
    cookie = f"skilljuror_review_{httpx.URL(served[1]).port}=guess"
    assert asked(f"{origin}{path}", Cookie=cookie).status_code == 403


def test_the_token_becomes_a_cookie_that_no_script_and_no_other_site_gets(tmp_path):
    with desk_page(write_desk(tmp_path, [item(1)])) as (address, _):
        assert httpx.head(address).status_code == 403
        found = asked(address)
        assert found.status_code == 200
        cookie = found.headers["set-cookie"]
        name, _, rest = cookie.partition("=")
        assert name == f"skilljuror_review_{httpx.URL(address).port}"
        secret, *words = rest.split("; ")
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(words)
        token = httpx.URL(address).params["token"]
        assert len(token) >= 40
        assert token not in found.text
        assert secret not in {token, ""}
        other = asked(address)
        assert other.status_code == 403
        assert "once" in other.text
        assert "set-cookie" not in other.headers
        assert asked(address, Cookie=f"{name}={token}").status_code == 403
        assert "event 1" in asked(address, Cookie=f"{name}={secret}").text


@pytest.mark.parametrize("host", ["evil.example", "localhost:{port}", "127.0.0.1", "127.0.0.1:1"])
def test_a_name_that_was_pointed_here_is_refused(visitor, served, host):
    name = host.format(port=httpx.URL(served[1]).port)
    for address in ("/", served[1]):
        found = visitor.http.get(address, headers={"Host": name})
        assert found.status_code == 421
        assert "event" not in found.text
        assert "set-cookie" not in found.headers


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_tells_browsers_what_they_may_not(visitor, path):
    for found in (visitor.get(path), asked(f"{visitor.origin}{path}")):
        assert found.headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; form-action 'self';"
            " frame-ancestors 'none'; base-uri 'none'"
        )
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["referrer-policy"] == "same-origin"
        assert found.headers["cache-control"] == "no-store"
        assert "server" not in found.headers


@pytest.mark.parametrize("path", ["/decide", "/undo"])
@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://127.0.0.1:1", "https://{own}"]
)
def test_a_form_of_another_page_changes_nothing(visitor, served, path, origin):
    given = origin and origin.format(own=visitor.origin.removeprefix("http://"))
    before = answers(served)
    found = visitor.post(path, origin=given, id="uptake:trial/1", answer="yes")
    assert found.status_code == 403
    assert answers(served) == before


@pytest.mark.parametrize("token", ["", "guess", "\u00e4"])
def test_a_form_without_the_token_of_our_forms_changes_nothing(visitor, served, token):
    before = answers(served)
    found = visitor.post("/decide", token=token, id="uptake:trial/1", answer="yes")
    assert found.status_code == 403
    assert answers(served) == before


def test_a_link_decides_nothing(visitor, served):
    token = Page(visitor.get("/").text).fields["token"]
    before = answers(served)
    for path in ("/decide", "/undo"):
        found = visitor.get(path, id="uptake:trial/1", answer="yes", token=token)
        assert found.status_code == 405
    assert answers(served) == before


def test_other_kinds_of_connection_are_no_way_in(visitor):
    headers = {
        "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Origin": "http://evil.example",
    }  # fmt: skip
    found = asked(f"{visitor.origin}/", **headers)
    assert found.status_code == 403


CSS = (ROOT / "skilljuror" / "review" / "static" / "review.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))
    for block in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
)


def luminance(colour):
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("front", "back", "least"),
    [
        ("ink", "paper", 7), ("ink", "card", 7), ("ink", "code", 7), ("ink", "mark", 7),
        ("soft", "paper", 4.5), ("accent", "paper", 4.5), ("accent", "card", 4.5),
        ("on-accent", "accent", 4.5), ("warn", "warn-paper", 4.5), ("warn", "card", 4.5),
        ("edge", "paper", 3), ("edge", "card", 3),
    ],
)  # fmt: skip
def test_contrast_is_what_wcag_asks(colours, front, back, least):
    bright, dim = sorted((luminance(colours[front]), luminance(colours[back])), reverse=True)
    assert (bright + 0.05) / (dim + 0.05) >= least


def test_nothing_moves_and_nothing_comes_from_elsewhere():
    assert not re.search("transition|animation|scroll-behavior|url\\(|@import", CSS)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_at_once_though_a_page_is_open(tmp_path, number):
    with desk_page(write_desk(tmp_path, [item(1)])) as (address, served):
        with ReviewClient(address) as client:
            client.post("/decide", id="uptake:trial/1", answer="yes")
            served.send_signal(number)
            served.wait(10)
        assert served.returncode in {1, -number, 128 + number}
    assert [row["answer"] for row in JsonlDesk(tmp_path).rows()] == ["yes"]


def test_a_port_that_another_program_has(tmp_path):
    desk = JsonlDesk(write_desk(tmp_path, [item(1)]))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} .*in use"):
            serve(review_app(Reviewing(cast(Any, desk), "ann", blind=False)), print, port)


def test_without_a_desktop_no_browser_takes_the_terminal(monkeypatch):
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert not open_browser("http://127.0.0.1:9/")
