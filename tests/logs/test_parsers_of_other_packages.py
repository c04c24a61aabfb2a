"""Parsers that no registry names: `package.module:Class` wherever a format is named."""

import json
import os
import shutil

import pytest

from skilljuror.base.errors import UsageError
from skilljuror.logs.discovery import LogFilter, discover
from skilljuror.logs.read import parser, read
from skilljuror.report.trajectory import look_up
from skilljuror.store.logs import ingest_logs
from skilljuror.store.questions import run
from tests.support.places import GOLDENS

CODEX = GOLDENS / "codex-rollout" / "skill-read" / "raw.jsonl"
TRIAL = GOLDENS / "harbor-trial" / "codex" / "raw"
SKILL = "/root/.claude/skills/tides/SKILL.md"
PACKAGE = """
from skilljuror.base.trajectory import AgentTraits
from skilljuror.logs.assembly import RecordParser, RecordReader
from skilljuror.logs.base import Parser
from skilljuror.logs.records import parse_head


class Reader(RecordReader):
    def on_start(self, record):
        self.session = record["session_id"]

    def on_ran(self, record):
        step = self.run.add_step()
        step.say(record["said"])
        call = self.run.add_call(step, None, "bash", {"command": record["command"]})
        call.result = self.run.result(record["output"], exit_code=0)
        self.ended = True


class Buoy(RecordParser):
    agent = "buoy"
    traits = AgentTraits(keeps_folder=False)
    reader = Reader
    opening = "start"

    def sniff(self, source):
        return "buoy" in parse_head(source.head).first


class Failing(Buoy):
    def sniff(self, source):
        head = parse_head(source.head).first
        return "buoy" in head and head["swell"] > 2


class Lonely(Buoy):
    def session_link(self, source):
        raise IndexError("no second buoy")


class Sunken(Buoy):
    folder_marker = "buoy.jsonl"

    def sniff(self, source):
        raise KeyError("swell")


class Unfinished(Parser):
    def sniff(self, source):
        return True
"""


@pytest.fixture
def buoys(tmp_path, monkeypatch, request):
    """Name of a parser in a package of its own, which is importable here and in what is run."""
    package = f"buoys_{abs(hash(request.node.nodeid))}"
    (tmp_path / "src" / package).mkdir(parents=True)
    (tmp_path / "src" / package / "parser.py").write_text(PACKAGE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "src")
    places = [str(tmp_path / "src"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, places)))
    return f"{package}.parser:Buoy"


def write_log(path, run="buoy-run-1", *, steps=2):
    """A log of some commands, the first of which reads a skill."""
    said = {"type": "ran", "said": "Reading", "command": f"cat {SKILL}", "output": "# Tides\n"}
    rows = [{"type": "start", "buoy": 1, "session_id": run}, *[said] * steps]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def rows(study, question):
    return run(study / "study.duckdb", question).rows


def test_a_log_is_claimed_only_where_its_parser_is_asked_for(tmp_path, buoys):
    log = write_log(tmp_path / "log.jsonl")
    assert [found.format for found in discover([log])] == [None]
    (found,) = discover([log], formats=[buoys])
    assert found.format == buoys
    (trajectory,) = read(found.source, buoys)
    assert (trajectory.format, trajectory.agent, len(trajectory.steps)) == (buoys, "buoy", 2)
    assert not trajectory.traits.keeps_folder


@pytest.mark.slow
def test_runs_are_ingested_and_read_again(tmp_path, buoys):
    logs = [
        write_log(tmp_path / "logs" / f"{number}.jsonl", f"buoy-run-{number}")
        for number in range(40)
    ]
    write_log(tmp_path / "logs" / "copy.jsonl", "buoy-run-0", steps=1)
    study = tmp_path / "study"
    summary = ingest_logs(study, [tmp_path / "logs"], wanted=LogFilter(formats=[buoys]), jobs=2)
    assert (summary.trajectories, summary.duplicates, summary.errors) == (len(logs), 1, 0)
    assert rows(study, "SELECT DISTINCT format FROM trajectories") == [(buoys,)]
    assert rows(study, "SELECT count(*) FROM events WHERE kind = 'read'") == [(2 * len(logs),)]
    seen = look_up(study, "buoy-run-0")
    assert seen.trajectory is not None
    assert [step.text for step in seen.trajectory.steps] == ["Reading", "Reading"]


@pytest.mark.parametrize("also", [[], ["harbor-trial"]], ids=["folder walked", "trial read"])
def test_logs_in_a_trial_of_harbor_are_read_by_it(tmp_path, buoys, also):
    trial = tmp_path / "trial"
    shutil.copytree(TRIAL, trial)
    write_log(trial / "agent" / "log.jsonl")
    found = [one for one in discover([trial], formats=[buoys, *also]) if one.format]
    (trajectory,) = read(found[0].source, str(found[0].format))
    assert trajectory.format == buoys
    assert (trajectory.outcome is not None) == bool(also)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nope", "unknown format 'nope'; choose one of atif"),
        (":Buoy", "cannot be loaded"),
        ("{package}:Gone", "cannot be loaded"),
        ("{package}:Unfinished", "that defines sniff"),
        ("pathlib:Path", "must be a subclass of"),
    ],
)
def test_a_name_that_leads_to_no_parser_is_refused(buoys, name, said):
    with pytest.raises(UsageError, match=said):
        parser(name.format(package=buoys.partition(":")[0]))


@pytest.mark.parametrize(
    ("name", "error"),
    [("Failing", "KeyError: 'swell'"), ("Lonely", "IndexError: no second buoy"), ("Sunken", "KeyError: 'swell'")],
)  # fmt: skip
def test_a_parser_that_fails_on_the_first_bytes_gives_an_error_row(buoys, tmp_path, name, error):
    write_log(tmp_path / "logs" / "sea" / "buoy.jsonl")
    shutil.copy(CODEX, tmp_path / "logs" / "c.jsonl")
    formats = (f"{buoys.rpartition(':')[0]}:{name}", "codex-rollout")
    summary = ingest_logs(
        tmp_path / "study", [tmp_path / "logs"], wanted=LogFilter(formats=formats)
    )
    assert (summary.trajectories, summary.errors) == (1, 1)
    ((problem,),) = rows(tmp_path / "study", "SELECT reason FROM sources WHERE status = 'error'")
    assert problem.endswith(f"{name} parser fail: {error}")
