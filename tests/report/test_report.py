"""The report as files: complete, self-contained, deterministic, and silent where it must be."""

import csv
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from skilljuror.report import report_paper
from skilljuror.report.computed import documentation
from skilljuror.report.page import build_report, report_markdown
from skilljuror.report.tables import SCRIPTED
from skilljuror.store.logs import ingest_logs
from skilljuror.store.records import MeasureOptions
from tests.support import report_piles as piles
from tests.support.changing_logs import ChangingLogs
from tests.support.fabricated_studies import small_study


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    return build_report(small_study(folder), folder / "report")


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


class Page(HTMLParser):
    """Ids, links and loaded things of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if tag == "a" else []
        self.loads += [found[name] for name in ("src", "srcset", "data", "poster") if name in found]
        self.loads += [found["href"]] if tag == "link" else []


@pytest.mark.slow
def test_the_same_database_gives_the_same_bytes(built, tmp_path):
    again = build_report(small_study(tmp_path), tmp_path / "again")
    assert files(again.path.parent) == files(built.path.parent)


@pytest.mark.slow
def test_the_page_loads_nothing_and_runs_nothing(built):
    text = built.path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.loads == []
    assert not {"script", "link", "iframe", "object", "form"} & set(page.tags)
    assert not re.search(r"url\((?!#)|@import", text)


def test_every_link_leads_somewhere(built):
    page = Page(built.path.read_text(encoding="utf-8"))
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        if link.startswith("#"):
            assert link[1:] in page.ids
        else:
            assert (built.path.parent / link).is_file(), link


def test_every_table_has_a_csv_with_the_columns_of_its_question(built):
    tables = sorted((built.path.parent / "tables").glob("*.csv"))
    assert len(tables) > 20
    for path in tables:
        header = next(csv.reader(path.read_text(encoding="utf-8").splitlines()))
        if path.stem != "headline":
            assert tuple(header) == documentation(path.stem).columns


def test_every_figure_has_its_data_beside_it(built):
    figures = built.path.parent / "figures"
    pictures = {path.stem for path in figures.glob("*.svg")}
    assert pictures == {"task_deltas", "timing_bins", "uptake"}  # strata: too few tasks
    assert {path.stem for path in figures.glob("*.csv")} == pictures


def test_a_study_with_open_trials_has_no_headline(built):
    assert built.title.startswith("Undetermined: 2 of 8 planned trials have no final outcome")
    assert not built.number
    assert 'class="interval"' not in built.path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_scripted_trial_marks_the_page_and_every_figure(tmp_path):
    built = build_report(piles.scripted_study(tmp_path), tmp_path / "report")
    text = built.path.read_text(encoding="utf-8")
    figures = list((built.path.parent / "figures").glob("*.svg"))
    assert built.scripted
    assert f'role="note">{SCRIPTED}' in text.split("<header>")[0]
    assert figures
    assert all(SCRIPTED in path.read_text(encoding="utf-8") for path in figures)


def test_an_honest_study_carries_no_such_mark(built):
    assert SCRIPTED not in built.path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_logs_alone_make_another_report(tmp_path):
    built = build_report(piles.observed_logs(tmp_path), tmp_path / "report")
    text = built.path.read_text(encoding="utf-8")
    assert built.observed
    assert built.headline == (("pdf-tools", 2, 1, 2, 3),)
    assert "never-used" in text
    assert "quotes people&#39;s logs" in text or "quotes people's logs" in text
    assert piles.SECRET in text
    assert "RQ2" not in text


@pytest.mark.slow
def test_without_quotes_nothing_private_is_written_and_old_files_go(tmp_path):
    database, target = piles.observed_logs(tmp_path), tmp_path / "report"
    build_report(database, target)
    build_report(database, target, quotes=False)
    assert (target / "tables" / "evidence.csv").is_file()
    assert not [name for name, data in files(target).items() if piles.SECRET.encode() in data]
    for name in ("report.html", "tables/sources.csv", "tables/source_counts.csv"):
        assert piles.HARMLESS in (target / name).read_text(encoding="utf-8"), name


@pytest.mark.slow
def test_without_quotes_what_was_left_out_of_real_logs_is_still_told(tmp_path):
    """The reasons for which files were left out stay, wherever they lie and whatever they are called; the
    names of folders, people and projects go, in every output."""
    logs = ChangingLogs(tmp_path / "correct-horse" / "logs")
    logs.grow_head(0, 3)
    logs.grow_agent(0, 0, 2)
    agent = logs.agent(0, 0)
    copy = agent.parent.parent / "correct horse" / agent.name
    logs.write(copy, agent.read_text(encoding="utf-8").splitlines()[:2])
    (logs.root / "correct-horse.txt").write_text("correct-horse")
    (logs.root / "correct-horse.jsonl").write_text('{"correct-horse": ')
    ingest_logs(tmp_path / "study", [logs.root], options=MeasureOptions(projects=True))
    target, database = tmp_path / "report", tmp_path / "study" / "study.duckdb"
    build_report(database, target, quotes=False)
    report_paper(tmp_path / "study", target / "paper")
    (target / "head.md").write_text(report_markdown(database), encoding="utf-8")
    told = (target / "tables" / "source_counts.csv").read_text(encoding="utf-8")
    assert "unsupported log format" in told
    assert "shorter copy of a part of [path]" in told
    planted = re.compile(b"correct.horse|" + re.escape(str(tmp_path).encode()))
    assert not [name for name, data in files(target).items() if planted.search(data)]


@pytest.mark.slow
@pytest.mark.parametrize("quotes", [True, False])
def test_a_report_of_nothing_says_so(tmp_path, quotes):
    built = build_report(piles.nothing(tmp_path), tmp_path / "report", quotes=quotes)
    assert "0 runs read" in built.title
    assert "No log could be read" in built.path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_hostile_texts_stay_text(tmp_path):
    built = build_report(piles.hostile_study(tmp_path), tmp_path / "report")
    text = built.path.read_text(encoding="utf-8")
    page = Page(text)
    assert "script" not in page.tags
    assert not re.search(r"<[a-z]+ [^>]*onerror", text)
    assert "&lt;script&gt;" in text
    assert "'=HYPERLINK" in (built.path.parent / "tables" / "findings.csv").read_text(
        encoding="utf-8"
    )


def test_other_files_in_the_target_are_left_alone(tmp_path):
    target = tmp_path / "report"
    target.mkdir()
    (target / "notes.txt").write_text("mine", encoding="utf-8")
    build_report(piles.nothing(tmp_path), target)
    assert (target / "notes.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.slow
def test_the_callers_style_is_neither_used_nor_changed(built, tmp_path):
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 30.0, "axes.facecolor": "black"}):
        again = build_report(small_study(tmp_path), tmp_path / "report")
        assert mpl.rcParams["font.size"] == 30.0
    assert again.path.read_bytes() == built.path.read_bytes()
