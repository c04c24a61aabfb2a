"""Who reaches the review page at all, and what browsers are told about it."""

import socket

import httpx
import pytest

from tests.support.jsonl_desk import desk_page, item, write_desk
from tests.support.review_client import Page, ReviewClient, asked


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = write_desk(tmp_path_factory.mktemp("desk"), [item(1), item(2)])
    with desk_page(folder) as (address, _):
        yield folder, address


@pytest.fixture
def client(served):
    with ReviewClient(served[1]) as client:
        yield client


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
def test_a_name_that_was_pointed_here_is_refused(client, served, host):
    name = host.format(port=httpx.URL(served[1]).port)
    for address in ("/", served[1]):
        found = client.http.get(address, headers={"Host": name})
        assert found.status_code == 421
        assert "event" not in found.text
        assert "set-cookie" not in found.headers


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_tells_browsers_what_they_may_not(client, path):
    for found in (client.get(path), asked(f"{client.origin}{path}")):
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
def test_a_form_of_another_page_changes_nothing(client, served, path, origin):
    given = origin and origin.format(own=client.origin.removeprefix("http://"))
    before = answers(served)
    found = client.post(path, origin=given, id="uptake:trial/1", answer="yes")
    assert found.status_code == 403
    assert answers(served) == before


@pytest.mark.parametrize("token", ["", "guess", "\u00e4"])
def test_a_form_without_the_token_of_our_forms_changes_nothing(client, served, token):
    before = answers(served)
    found = client.post("/decide", token=token, id="uptake:trial/1", answer="yes")
    assert found.status_code == 403
    assert answers(served) == before


def test_a_link_decides_nothing(client, served):
    token = Page(client.get("/").text).fields["token"]
    before = answers(served)
    for path in ("/decide", "/undo"):
        found = client.get(path, id="uptake:trial/1", answer="yes", token=token)
        assert found.status_code == 405
    assert answers(served) == before


def test_other_kinds_of_connection_are_no_way_in(client):
    headers = {
        "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Origin": "http://evil.example",
    }  # fmt: skip
    found = asked(f"{client.origin}/", **headers)
    assert found.status_code == 403
