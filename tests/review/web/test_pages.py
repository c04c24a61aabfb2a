"""The pages over HTTP, by plain forms: one question after the other, blind, hostile texts, errors."""

import json

import pytest
from markupsafe import escape

from skilljuror.base.review import ReviewText
from tests.support.jsonl_desk import XSS, desk_page, finding, item, write_desk
from tests.support.review_client import Page, ReviewClient

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
        assert "49" not in page.text.replace("{{ 7*7 }}", "")
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
