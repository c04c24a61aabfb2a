"""Attempts that the machine broke are tried again, as often as the study file says, and nothing else is."""

import json
import shutil

import pytest

from skilljuror.base.errors import HarnessError
from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.study import AgentProgram, HarnessChoice, TrialRecord
from skilljuror.harness.agents.tried_versions import TRIED
from skilljuror.harness.local import LocalHarness
from skilljuror.store.ingest.trials import ingest_trials
from skilljuror.study.faults import checked_by_log, is_machine_fault
from skilljuror.study.preflight import preflight
from skilljuror.study.run import run_study
from tests.support import fabricated_records as fake
from tests.support.claude_logs import assistant, row, tool_result, tool_use, user, write_lines
from tests.support.harbor_trials import TRIAL
from tests.support.places import GOLDENS
from tests.support.programs import KEY
from tests.support.studies import PROGRAMS, edit_study, make_study


def faulty(tmp_path, fault, **more):
    harness = {"name": f"{PROGRAMS}:Faulty", "options": {"fault": fault}}
    arms = {"faulty": None}
    return make_study(tmp_path, variants=arms, trials=1, harness=harness, **more)


def earlier(out):
    folder = StudyFolder(out)
    return [
        read_record(TrialRecord, folder.attempt(*one) / "trial.json")
        for one in folder.earlier_attempts()
    ]


def test_a_fault_of_the_machine_is_tried_again_and_stays_a_record(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY, "of great worth")
    summary = run_study(faulty(tmp_path, "flaky", retries=1), tmp_path / "out")
    assert (summary.statuses, summary.ran, summary.rerun) == ({"scored": 1}, 1, 0)
    (attempt,) = earlier(tmp_path / "out")
    assert (attempt.status, attempt.exception, attempt.reward) == ("error", "HarnessError", None)
    assert attempt.message == f"HarnessError: no sandbox yet [redacted {KEY}]"
    assert (tmp_path / "out/attempts/tea__faulty__1__1/raw/half.txt").is_file()


def test_without_retries_it_stops_the_run_and_the_next_run_goes_on(tmp_path):
    study, out = faulty(tmp_path, "flaky"), tmp_path / "out"
    with pytest.raises(HarnessError, match="no sandbox yet"):
        run_study(study, out)
    assert len(earlier(out)) == 1
    assert run_study(study, out).statuses == {"scored": 1}


def test_a_machine_that_stays_broken_stops_the_run_after_its_retries(tmp_path):
    with pytest.raises(HarnessError, match="no sandbox today"):
        run_study(faulty(tmp_path, "machine", retries=1), tmp_path / "out")
    assert len(earlier(tmp_path / "out")) == 2


def test_a_fault_that_is_no_end_of_the_run_ends_the_trial(tmp_path):
    """Its last attempt is the trial, a row with status error; more retries are no other plan."""
    study, out = faulty(tmp_path, "unreachable", retries=1), tmp_path / "out"
    assert run_study(study, out).statuses == {"error": 1}
    assert [record.exception for record in earlier(out)] == ["ConnectionRefusedError"]
    edit_study(study, retries=0)
    assert run_study(study, out, rerun={"error"}).rerun == 1
    assert len(earlier(out)) == 2


@pytest.mark.parametrize("fault", ["bug", "wrong"], ids=["a bug", "a wrong answer"])
def test_what_is_no_fault_of_the_machine_is_never_tried_again(tmp_path, fault):
    study = faulty(tmp_path, fault, retries=5, agent={
        "name": f"{PROGRAMS}:shell", "options": {"script": "exit 3"},
    })  # fmt: skip
    run_study(study, tmp_path / "out")
    assert not (tmp_path / "out" / "attempts").exists()


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"status": "error", "reward": None, "exception": "EnvironmentStartTimeoutError"}, True),
        ({"status": "unscored", "reward": None, "exception": "RateLimitError"}, True),
        ({"status": "scored", "reward": 0.0, "exception": "RateLimitError"}, False),
        ({"status": "timeout", "reward": None, "exception": "AgentTimeoutError"}, False),
        ({"status": "unscored", "reward": None, "exception": "NonZeroAgentExitCodeError"}, False),
    ],
)
def test_what_a_fault_of_the_machine_is(fields, fault):
    assert is_machine_fault(fake.trial("tea", "pd", **fields)) is fault


CODEX = GOLDENS / "codex-rollout" / "killed" / "raw.jsonl"


def rollout(place, *, answered):
    """A log of Codex; without an answer of a model, as a key that is refused leaves it."""
    lines = CODEX.read_text(encoding="utf-8").splitlines(keepends=True)
    made = ('"role":"assistant"', "function_call", "reasoning", "token_count")
    kept = [line for line in lines if answered or not any(one in line for one in made)]
    place.mkdir(parents=True, exist_ok=True)
    (place / "rollout-2026-03-01.jsonl").write_text("".join(kept), encoding="utf-8")


def add_item(place, item):
    """Let such a log go on."""
    with (place / "rollout-2026-03-01.jsonl").open("a", encoding="utf-8") as log:
        entry = {"timestamp": "2026-03-01T09:00:18.000Z", "type": "response_item", "payload": item}
        log.write(json.dumps(entry) + "\n")


@pytest.mark.parametrize(
    ("status", "answered", "ended"),
    [(1, False, ("unscored", None)), (1, True, ("scored", 0.0)), (0, False, ("unscored", None)),
     (1, None, ("scored", 0.0))],
    ids=["no answer", "an answer", "a clean end", "no log"],
)  # fmt: skip
def test_an_agent_that_failed_before_any_answer_of_a_model_is_no_failure_of_it(
    tmp_path, monkeypatch, status, answered, ended
):
    monkeypatch.setenv(KEY, "of no worth")
    copy = ""
    if answered is not None:
        rollout(tmp_path / "log", answered=answered)
        copy = f"cp {tmp_path}/log/* $2/; "
    script = f"{copy}echo late > out.txt; exit {status}"
    agent = {"name": f"{PROGRAMS}:talkative", "options": {"script": script}}
    study = make_study(tmp_path, trials=1, variants={"a": None}, agent=agent)
    summary = run_study(study, tmp_path / "out")
    record = read_record(TrialRecord, tmp_path / "out/trials/tea__a__1/trial.json")
    assert (record.status, record.reward) == ended
    assert summary.statuses == {"scored" if answered is not False else "no_answer": 1}
    assert record.rewards == {"reward": 0.0}  # what the verifier said is kept
    assert record.exception == ("NonZeroAgentExitCodeError" if status else None)
    assert ("no answer of the model" in (record.message or "")) == (answered is False)


@pytest.mark.parametrize("answered", [False, True])
def test_so_it_is_in_harbor(tmp_path, answered):
    raw = tmp_path / "raw"
    rollout(raw / "agent" / "sessions", answered=answered)
    shutil.copy(TRIAL / "result.json", raw)
    failed = fake.trial(
        "tea", "a", exception="NonZeroAgentExitCodeError", reward=0.0, harness="harbor"
    )
    record = checked_by_log(failed, raw)
    assert (record.status, record.reward) == (("scored", 0.0) if answered else ("unscored", None))
    scripted = failed.model_copy(update={"scripted": True})
    assert checked_by_log(scripted, raw) == scripted


def api_error(kind, status=None, text="it went wrong"):
    """What Claude Code says in place of an answer."""
    error = {"isApiErrorMessage": True, "error": kind, "apiErrorStatus": status}
    message = {"model": "<synthetic>", "role": "assistant", "content": text}
    return row(9, "assistant", message=message, **error)


def again(status):
    """What it writes before it asks again."""
    error = {"status": status, "formatted": "no luck", "message": "no luck"}
    return row(8, "system", subtype="api_error", error=error, retryInMs=9)


OUTAGE, OWN_END = ("unscored", None), ("timeout", 0.0)


@pytest.mark.parametrize(("rows", "ended"), [
    ([again(529)], OUTAGE),
    ([again(None)], OUTAGE),
    ([again(401)], OUTAGE),
    ([again(529), assistant(9, {"type": "text", "text": "So it is."})], OWN_END),
    ([api_error("unknown")], OUTAGE),
    ([api_error("model_not_found", 404)], OUTAGE),
    ([api_error("authentication_failed", 403)], OUTAGE),
    ([api_error("billing_error", 400, "Credit balance is too low")], OUTAGE),
    ([api_error("invalid_request", 400, "Prompt is too long")], OWN_END),
    ([api_error("max_output_tokens")], OWN_END),
    ([api_error("unknown", 400)], OWN_END),
])  # fmt: skip
def test_claude_codes_own_words_tell_an_outage_from_an_end_of_its_own(tmp_path, rows, ended):
    """It had worked for most of its time: how long the last request waited says nothing."""
    begun = [user(0, "Go."), assistant(1, tool_use("c1")), user(7, [tool_result("c1")])]
    write_lines(tmp_path / "agent" / "s.jsonl", *begun, *rows)
    record = fake.trial("tea", "a", status="timeout", reward=0.0, agent_seconds=540.0)
    record = checked_by_log(record, tmp_path, writes_log=True)
    assert (record.status, record.reward) == ended
    assert (record.reason == "no_answer") == (ended == OUTAGE)  # the run's breaker counts by it


@pytest.mark.parametrize(("said", "ended"), [
    ("Reconnecting... 2/5 (unexpected status 503 Service Unavailable)", OUTAGE),
    ("Reconnecting... 1/5 (We are experiencing high demand)", OUTAGE),
    ("Codex ran out of room in the model's context window.", OWN_END),
    (None, OWN_END),
])  # fmt: skip
def test_retries_that_only_the_output_holds_are_an_outage_too(tmp_path, said, ended):
    rollout(tmp_path / "agent", answered=True)
    done = {"type": "function_call_output", "call_id": "c3", "output": "7"}
    add_item(tmp_path / "agent", done)
    shown = [{"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"}]
    shown += [{"type": "error", "message": said}] if said else []
    write_lines(tmp_path / "agent-stdout.txt", *shown)
    record = fake.trial("tea", "a", status="timeout", reward=0.0, agent_seconds=20.0)
    record = checked_by_log(record, tmp_path, writes_log=True)
    assert (record.status, record.reward) == ended
    assert (said in (record.message or "")) if said and ended == OUTAGE else not record.message


@pytest.mark.parametrize(("version", "remarked"), [
    ("99.0.1", True), (TRIED["codex"][0], False), (TRIED["codex"][-1], False), (None, False),
])  # fmt: skip
def test_a_version_newer_than_tried_is_remarked_on(tmp_path, monkeypatch, version, remarked):
    monkeypatch.setenv(KEY, "of no worth")
    rollout(tmp_path / "agent", answered=True)
    scored = fake.trial("tea", "a", agent="codex", agent_version=version, agent_seconds=1.0)
    said = checked_by_log(scored, tmp_path).agent_untried
    agent = AgentProgram("codex", version, (), ("codex",), keys=(KEY,))
    harness = HarnessChoice(name="local", options={"isolation": "none"})
    config = fake.plan(["tea"], ("a",)).config.model_copy(update={"harness": harness})
    *_, needed = preflight(config, LocalHarness(harness.options), [agent], [])
    remark = (
        f"codex {version} is newer than {TRIED['codex'][-1]}, the newest version that was tried"
    )
    assert said == (remark if remarked else None)
    assert (remark in needed.detail) == remarked


def test_an_empty_first_answer_is_none_whatever_the_agent(tmp_path):
    claude = [user(0, "Go."), assistant(1, {"type": "text", "text": " "})]
    write_lines(tmp_path / "claude/agent/s.jsonl", *claude)
    rollout(tmp_path / "codex/agent", answered=False)
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": ""}],
    }
    add_item(tmp_path / "codex/agent", said)
    for agent in ("claude", "codex"):
        scored = fake.trial("tea", "a", reward=0.0, agent_seconds=1.0)
        record = checked_by_log(scored, tmp_path / agent, writes_log=True)
        assert (record.status, record.reward) == OUTAGE, agent


@pytest.fixture
def failing(monkeypatch):
    """A parser of Codex's logs that fails as none may."""

    def fail(*_):
        raise RecursionError("too deep")

    monkeypatch.setattr("skilljuror.logs.codex.rollout.CodexRollout.parse", fail)


def test_a_log_that_makes_its_reader_fail_leaves_the_trial_as_it_was(tmp_path, request):
    rollout(tmp_path / "agent", answered=False)
    scored = fake.trial("tea", "a", reward=0.0, agent_seconds=1.0)
    assert checked_by_log(scored, tmp_path).reason == "no_answer"
    request.getfixturevalue("failing")
    record = checked_by_log(scored, tmp_path, writes_log=True)
    assert (record.status, record.reward, record.reason) == ("scored", 0.0, None)
    (said,) = record.left_out
    assert "made the codex-rollout parser fail: RecursionError: too deep" in said


def test_such_a_log_is_an_error_row_and_an_unknown_cost(tmp_path, monkeypatch, failing):
    monkeypatch.setenv(KEY, "of no worth")
    rollout(tmp_path / "log", answered=True)
    agent = {"name": f"{PROGRAMS}:talkative", "options": {"script": f"cp {tmp_path}/log/* $2/"}}
    study = make_study(tmp_path, trials=1, variants={"a": None}, agent=agent, budget={"dollars": 9})
    summary = run_study(study, tmp_path / "out")
    assert "unknown (no_trajectory 1)" in next(one for one in summary.notes if "dollars" in one)
    ((path, why),) = ingest_trials(tmp_path / "out").failures
    assert path.endswith("rollout-2026-03-01.jsonl")
    assert "made the codex-rollout parser fail: RecursionError: too deep" in why
