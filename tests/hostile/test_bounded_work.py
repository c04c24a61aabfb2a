"""Inputs that once took a reader minutes, or broke it: bounded by design, and told where they are cut."""

import json

import pytest

from skilljuror.base.work_budget import (
    LEAST_TURNS,
    TURNS_PER_BYTE,
    WorkBudgetExceeded,
    charge,
    work_budget,
)
from skilljuror.events.attribute import attribute
from skilljuror.events.commands.pipeline import command_accesses
from skilljuror.events.resolution.resolver import MOST_ACCESSES
from skilljuror.events.shell.wrappers import unwrap
from skilljuror.judge.signals import load_rubric
from skilljuror.judge.tracing import TracingJudge
from tests.support.atif_documents import agent_step, document, tool_call
from tests.support.attribution_runs import BUNDLE, FRONT, events_of, observed_events, ran, run_of
from tests.support.cli_process import call
from tests.support.counted_work import lines_run
from tests.support.generated_texts import soon
from tests.support.growing_inputs import each, line
from tests.support.shell_texts import read_shell


def accesses(command):
    commands = unwrap(read_shell(command, "/w", "/h"), "/h")
    return command_accesses(list(commands), "/h")


@pytest.mark.parametrize("count", [24, 40, 4000])
def test_braces_are_counted_before_they_are_expanded(count):
    found = soon(accesses, f"cat /s/SKILL.md; cat {'{a,b}' * count}")
    assert found[0].path == "/s/SKILL.md"
    assert len(found) <= 2


def test_an_output_of_equal_lines_takes_work_by_its_length():
    text = FRONT + "one line over and over\n" * 3000
    assert lines_run(lambda: observed_events(ran(f"cat {BUNDLE}/SKILL.md", text))) < 1_500_000
    (event,) = observed_events(ran(f"cat {BUNDLE}/SKILL.md", text))
    assert (event.content_exposed, event.lines) == ("full", ((1, 3004),))


@pytest.mark.parametrize(
    "text",
    ["| xargs '" * 30, "{ a; } <<E 2>&1 | xargs '\n" * 3, "<<E <<E | xargs '" * 9, "(a) > \n"],
)
def test_a_redirection_of_nothing_is_read(text):
    accesses(f"cat /s/SKILL.md\n{text}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["*** Update File: a\nexport ", "x=(99999999999999999999", ")-n 9999999999", "case case x\n", "x=(a=case "],
)  # fmt: skip
def test_text_that_is_no_shell_is_read_soon(unit):
    found = soon(accesses, f"cat /s/SKILL.md\n{unit * (40_000 // len(unit))}")
    assert "/s/SKILL.md" in {one.path for one in found}


def test_a_call_that_names_very_many_files_is_cut_and_says_so():
    count = MOST_ACCESSES + 50
    command = "cat " + each(count, lambda i: f"{BUNDLE}/r/{i}.md ")
    found = attribute(run_of(ran(command, each(count, line))), None)
    assert len(found.events) == MOST_ACCESSES
    assert [event.resource for event in found.events[-1:]] == [f"r/{MOST_ACCESSES - 1}.md"]
    assert found.warnings == (
        f"at 2: the call names too many files; only the first {MOST_ACCESSES} are followed",
    )
    assert attribute(run_of(ran(f"cat {BUNDLE}/SKILL.md", "x")), None).warnings == ()


def test_a_shell_text_of_which_the_end_is_not_read_says_so():
    """Valid shell, of more commands than are parsed; the last one opens a resource."""
    last = f"cat {BUNDLE}/SKILL.md"
    warnings = [
        attribute(run_of(ran("echo kiln\n" * count + last, "x")), None).warnings
        for count in (20, 6000)
    ]
    told = "at 2: the shell command is too long; its end is ignored"
    assert [told in some for some in warnings] == [False, True]


def test_an_id_that_all_calls_share_tells_no_event_from_another():
    run = run_of(*(ran(f"cat {BUNDLE}/r/{i}.md", line(i), line=10 * i + 2) for i in range(60)))
    events = attribute(run, None).events
    assert len(events) == 60
    load_rubric()
    judged = lines_run(lambda: list(TracingJudge().judge("t", run, events, None)))
    assert judged < 200_000


def test_work_is_counted_and_ends_where_it_is_too_much():
    charge(10**12)
    with work_budget(1000):
        charge(LEAST_TURNS + 1000 * TURNS_PER_BYTE)
        with pytest.raises(WorkBudgetExceeded, match="steps of work"):
            charge(1)
    charge(10**12)


def many_skills(folder, steps):
    """A log that names very many skills, so that every call is looked through for all of them."""
    skills = each(16_000, lambda i: f"/s/x{i}/SKILL.md ")
    calls = [agent_step("", tool_call(f"c{i}", f"echo {i}\n")) for i in range(steps)]
    given = document({"source": "user", "message": skills}, *calls, session_id=f"s{steps}")
    folder.mkdir(parents=True)
    (folder / "trajectory.json").write_text(json.dumps(given), encoding="utf-8")


def test_a_log_that_takes_too_much_work_is_an_error_row_and_the_rest_goes_on(tmp_path):
    many_skills(tmp_path / "logs" / "bad", 1200)
    many_skills(tmp_path / "logs" / "good", 2)
    for _ in range(2):
        done = call("ingest", "logs", "--strict", "--study", "out", cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        rows = call("query", "out", "sources", "--json", cwd=tmp_path).stdout
        found = {row["path"].split("/")[-2]: row for row in json.loads(rows)}
        assert found["good"]["status"] == "parsed"
        assert found["bad"]["status"] == "error"
        assert "steps of work" in found["bad"]["reason"]
        runs = json.loads(call("query", "out", "trajectories", "--json", cwd=tmp_path).stdout)
        assert len(runs) == 1


def test_events_tells_of_a_log_that_takes_too_much_work(tmp_path):
    many_skills(tmp_path / "bad", 1200)
    done = call("events", "bad", cwd=tmp_path)
    assert "steps of work" in done.stderr + done.stdout
    assert events_of(ran("ls")) == []
