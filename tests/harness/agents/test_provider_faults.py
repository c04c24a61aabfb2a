"""What becomes of a trial whose provider fails: real agents, a scripted model, and a table of it all."""

import sys

import pytest

from skilljuror.base.errors import HarnessError
from skilljuror.base.files import read_record
from skilljuror.base.study import TrialRecord
from skilljuror.study.run import run_study
from skilljuror.study.scheduling import _Unanswered
from tests.support.harness_tasks import make_task, needs_bwrap
from tests.support.live_agents import AGENTS, why_not
from tests.support.model_server import Step, model_server, shell
from tests.support.provider_faults import OWN_ENDS, RECOVERED, faults_of
from tests.support.studies import make_study

SECONDS = 20
"""Time limit of a trial; Claude Code asks again for minutes."""
PLACES = {"before": 0, "after": 1}
"""Before or after the first answer -> number of the turn that fails."""


def counted(record):
    """Whether the run's breaker counts a trial."""
    try:
        _Unanswered(1).count(record)
    except HarnessError:
        return True
    return False


def row(fault, place, record):
    """A row of the table."""
    scored = "not scored" if record.reward is None else f"reward {record.reward:g}"
    end, breaker = record.end, "counted" if counted(record) else "not counted"
    why = (record.message or "").rpartition("no answer of the model: ")[2][:70]
    return f"{fault:28} | {place:6} | {end:9} | {scored:10} | {breaker:11} | {why}"


@pytest.mark.live
@pytest.mark.timeout(600)
@needs_bwrap
@pytest.mark.parametrize("agent", AGENTS[:2], ids=str)
def test_a_table_of_faults(agent, tmp_path, monkeypatch):
    if why := why_not(agent):
        pytest.skip(why)
    faults = {
        (fault, place): f"{fault.replace(' ', '-').replace(',', '')}-{place}"
        for fault in faults_of(agent.name)
        for place in PLACES
    }
    for name in faults.values():
        make_task(tmp_path / name, **{"instruction.md": f"Write done to out.txt. [{name}]\n"})
    plays = {
        f"[{name}]": faults_of(agent.name)[fault]._replace(after=PLACES[place])
        for (fault, place), name in faults.items()
    }
    monkeypatch.setenv(agent.key, "sk-live-0123456789abcdef")
    work = [shell(agent.name, "echo late > out.txt"), Step("It is done.")]
    with model_server({"": work}, plays) as (address, _):
        study = make_study(
            tmp_path, trials=1, variants={"a": None}, tasks=[{"path": name} for name in faults.values()],
            agent=agent.choice(address), harness={"timeout_sec": SECONDS},
            stop_after_unanswered=len(faults) + 1,
        )  # fmt: skip
        run_study(study, tmp_path / "out", jobs=8)
    found = {
        key: read_record(TrialRecord, tmp_path / "out/trials" / f"{name}__a__1" / "trial.json")
        for key, name in faults.items()
    }
    head = f"{agent}: fault | before or after the first answer | end | reward | breaker | cause"
    lines = [head, *(row(*key, record) for key, record in found.items())]
    sys.stdout.write("\n".join(lines) + "\n")
    for (fault, place), record in found.items():
        own = fault == RECOVERED or (place == "after" and fault in OWN_ENDS)
        ended = ("scored", 0.0, False) if own else ("no_answer", None, True)
        assert (record.end, record.reward, counted(record)) == ended, (fault, place, record.message)
