"""A whole study reviewed in a real browser: `skilljuror review` on what `run`, `ingest` and `judge` left,
with text that would run in the Skill and so in what its tools printed."""

import json
import os
import shutil
import signal

import pytest
import yaml

from tests.support.browser import Tab, chromium
from tests.support.cli_process import call
from tests.support.jsonl_desk import XSS, review_page
from tests.support.places import EXAMPLES, ROOT
from tests.support.studies import PROGRAMS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

LINE = f"Keep water away from the logs. {XSS}"


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def study(browser, tmp_path_factory):
    """A study of one packaged task, with a gate that asks for a person."""
    base = tmp_path_factory.mktemp("study")
    shutil.copytree(EXAMPLES, base, dirs_exist_ok=True)
    source = base / "skills" / "log-triage" / "incident-triage" / "SKILL.md"
    source.write_text(source.read_text() + f"\n{LINE}\n")
    told = yaml.safe_load((base / "study.yaml").read_text())
    told |= {
        "tasks": [{"path": "tasks/alert-rules", "skills": "skills/log-triage"}],
        "trials_per_cell": 1,
        "build": {"gates": [f"{PROGRAMS}:Doubtful"]},
    }
    (base / "study.yaml").write_text(yaml.safe_dump(told))
    out = base / "out"
    for words in (("run", base / "study.yaml", "--out", out), ("ingest", "--study", out), ("judge", out)):  # fmt: skip
        done = run(*words)
        assert done.returncode == 0, done.stdout + done.stderr
    return out


def run(*words):
    return call(*words, env={**os.environ, "PYTHONPATH": str(ROOT)})


def page_of(study, reviewer, *more):
    return review_page(
        "-m", "skilljuror", "review", str(study), "--no-open", "--reviewer", reviewer, *more
    )


def items_of(study, reviewer):
    """The queue as the command line tells it."""
    told = run("review", study, "--list", "--reviewer", reviewer, "--json").stdout
    return json.loads(told)["items"]


def test_a_study_is_reviewed_by_keys_and_a_kill_loses_nothing(study, browser):
    queue = items_of(study, "ann")
    count = len(queue)
    coded = [one["answers"] for one in queue if "no" not in one["answers"]][1:]
    assert count - len(coded) > 4
    assert all("none" in answers for answers in coded), "failed trials come last, with codes"
    with page_of(study, "ann") as (address, served):
        tab = Tab(browser, address)
        assert tab.progress() == f"0/{count}"
        assert "Scripted policy" in tab.page.inner_text("[role=note]")
        tab.press("j")
        assert LINE in "".join(tab.page.locator("mark").all_inner_texts())
        assert "it says water" in tab.page.inner_text(".machine")
        tab.page.keyboard.press("3")
        tab.page.keyboard.type(f"the source says so {XSS}")
        tab.press("Enter")
        assert tab.progress() == f"1/{count}"
        tab.press("y")
        tab.check()
        os.kill(served.pid, signal.SIGKILL)
    shown = []
    with page_of(study, "ann") as (address, served):
        tab = Tab(browser, address)
        assert tab.progress() == f"2/{count}"
        tab.press("j")
        for answers in queue[2:]:
            shown += tab.page.locator("pre").all_inner_texts()
            tab.check()
            tab.press("1" if answers["answers"] in coded else "n")
        assert tab.progress() == f"{count}/{count}"
        served.send_signal(signal.SIGINT)
        assert served.wait(20) == 130
    assert any(XSS in text for text in shown), "no tool printed the Skill's text"
    answers = [one["decided"] for one in items_of(study, "ann")]
    yes_or_no = ["controlled_repair", "yes"] + ["no"] * (count - 2 - len(coded))
    assert answers == [*yes_or_no, *(codes[0] for codes in coded)]


def to_a_use(tab):
    """Past the codes of failed trials."""
    tab.press("j")
    while "no" not in tab.page.locator(".answers").inner_text().lower().split():
        tab.press("j")


def test_a_second_reviewer_is_blind_and_then_sees_how_far_they_agree(study, browser):
    with page_of(study, "bea", "--blind") as (address, _):
        tab = Tab(browser, address)
        tab.press("j")
        seen = [tab.page.content()]
        to_a_use(tab)
        tab.press("u")
        seen.append(tab.page.content())
        assert not any("tracing" in text or "it says water" in text for text in seen)
        tab.press("z")
        to_a_use(tab)
        tab.press("y", "q")
        seen.append(tab.page.content())
        trials = [path.name for path in (study / "trials").iterdir()]
        assert not any(name in text for text in seen for name in ("Agreement", *trials))
        tab.check()
    with page_of(study, "bea") as (address, _):
        tab = Tab(browser, address)
        row = tab.page.get_by_role("row", name="ann and bea")
        assert row.get_by_role("cell").all_inner_texts()[:3] == ["ann and bea", "uptake", "1"]
        tab.check()
    assert [one["decided"] for one in items_of(study, "bea")].count("yes") == 1
