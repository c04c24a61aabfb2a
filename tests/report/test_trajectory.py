"""The page of one run, or of several side by side."""

import json
import re

import pytest

from skilljuror.report.trajectory import LONGEST, place_of, run_view
from tests.support import fabricated_records as fake
from tests.support.claude_logs import assistant, tool_result, tool_use, user, write_lines
from tests.support.cli_process import call

EVIL = "<script>alert(1)</script>"
SKILL = "/w/.claude/skills/brew/SKILL.md"


def log(path, reads, text=EVIL):
    first = 100 * reads  # two sessions have no record in common
    lines = [user(first + 1, f"Brew. {text}")]
    for n in range(first // 2, first // 2 + reads):
        lines += [
            assistant(2 * n + 2, tool_use(f"t{n}", "Read", file_path=SKILL)),
            user(2 * n + 3, [tool_result(f"t{n}", "     1→# Brew\n     2→Steep for 3 minutes.\n")]),
        ]
    write_lines(path, *lines, assistant(first + 90, {"type": "text", "text": text}))


@pytest.fixture
def place(tmp_path):
    for name, reads in (("a", 2), ("b", 0)):
        log(tmp_path / "projects" / f"-{name}" / f"{name}.jsonl", reads)
    assert call("ingest", "projects", "--study", "mine", cwd=tmp_path).returncode == 0
    return tmp_path


def runs(place):
    found = json.loads(call("query", "mine", "trajectories", "--json", cwd=place).stdout)
    return sorted(row["trajectory"] for row in found)


@pytest.mark.slow
def test_runs_stand_side_by_side_and_nothing_in_them_is_markup(place):
    done = call("show", "mine", *runs(place), "--html", "page.html", cwd=place)
    assert (done.returncode, done.stdout) == (0, "page: page.html\n")
    page = (place / "page.html").read_text(encoding="utf-8")
    assert "<h1>2 runs</h1>" in page
    assert EVIL not in page
    assert page.count("&lt;script&gt;") >= 4
    assert re.search(
        r'<th scope="row">brew/SKILL.md</th><td [^>]+><a href="#r0-1">step 1</a></td><td [^>]+>–</td>',
        page,
    )
    assert page.count('<details id="r0-') == 4  # the prompt and three steps
    anchors = re.findall(r'href="#([^"]+)"', page)
    assert {*anchors} == {*re.findall(r'<details id="([^"]+)"', page)}


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (None, ""), (((1, 80),), " lines 1-80"), (((3, 3), (7, 9)), " lines 3, 7-9"),
        (tuple((n, n) for n in range(1, 42, 2)), " lines 1, 3, 5 and 18 more places"),
    ],
)  # fmt: skip
def test_many_lines_of_a_search_are_counted(lines, shown):
    event = fake.event("r", lines=lines)
    assert place_of(event) == f"{event.skill}/{event.resource}{shown}"


@pytest.mark.slow
def test_several_runs_need_a_page(place):
    done = call("show", "mine", *runs(place), cwd=place)
    assert (done.returncode, done.stdout) == (2, "")
    assert "add --html FILE" in done.stderr
    answers = json.loads(call("show", "mine", *runs(place), "--json", cwd=place).stdout)
    assert [one["name"] for one in answers] == runs(place)


@pytest.mark.slow
def test_a_store_without_quotes_has_a_page_without_texts(place):
    assert call("ingest", "projects", "--study", "quiet", "--no-quotes", cwd=place).returncode == 0
    assert call("show", "quiet", runs(place)[0], "--html", "page.html", cwd=place).returncode == 0
    page = (place / "page.html").read_text(encoding="utf-8")
    assert "brew/SKILL.md" in page
    assert "Steep" not in page
    assert "Brew." not in page


@pytest.mark.slow
def test_a_long_text_is_cut_and_says_so(place):
    from skilljuror.report.trajectory import look_up

    before = runs(place)
    log(place / "projects" / "-c" / "c.jsonl", 1, "x" * (LONGEST + 7))
    assert call("ingest", "projects", "--study", "mine", cwd=place).returncode == 0
    (name,) = {*runs(place)} - {*before}
    view = run_view(look_up(place / "mine", name))
    assert view["steps"][-1]["text"].endswith("\n… 7 more characters")
    assert view["steps"][0]["mark"] == "other"
    assert view["steps"][1]["mark"] == "skill"
