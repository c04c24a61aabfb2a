"""Trials that end without an outcome are no dead end: they run again, or a person takes them as final."""

import json
import re
import shutil
from contextlib import contextmanager

import pytest

from skilljuror.base.errors import HarnessError, StudyError, UsageError
from skilljuror.base.files import StudyFolder, read_record, write_record
from skilljuror.base.review import Acceptance
from skilljuror.base.review_rows import rows_of
from skilljuror.base.study import AgentProgram, HarnessChoice, TrialRecord
from skilljuror.harness.agents import TRIED
from skilljuror.harness.harbor import prepare_task
from skilljuror.report.computed import Answers
from skilljuror.report.headline import headline
from skilljuror.report.page import build_report
from skilljuror.store.connect import open_read
from skilljuror.store.questions import catalog
from skilljuror.store.questions import run as ask
from skilljuror.store.trials import ingest_trials
from skilljuror.study import plan as planning
from skilljuror.study.check import check_study
from skilljuror.study.run import run_study
from skilljuror.study.trial import (
    accept_trial,
    checked_by_log,
    chosen_ends,
    is_machine_fault,
    set_aside,
    without_verifier,
)
from tests.support import fabricated_records as fake
from tests.support.claude_logs import assistant, row, tool_result, tool_use, user, write_lines
from tests.support.harbor_trials import TRIAL
from tests.support.harbor_venv import OPTIONS, needs_harbor
from tests.support.harness_tasks import make_job, make_task, write_tree
from tests.support.model_server import Fault, Step, model_server, shell
from tests.support.places import GOLDENS, ROOT
from tests.support.programs import KEY
from tests.support.studies import PROGRAMS, edit_study, make_study


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A run of two arms in which the verifier answers in one of them alone."""
    base = tmp_path_factory.mktemp("attempts")
    study = make_study(
        base, trials=1, variants={"a": None, "b": None}, script='echo "$4" > who.txt'
    )
    test = 'if [ -e "${0%/*}/fixed" ]; then echo 1 > "$LOGS_DIR/verifier/reward.txt"; fi\n'
    write_tree(base, {"tea/tests/test.sh": f"#!/bin/bash\n{test}"})
    run_study(study, base / "out")
    return base


@pytest.fixture
def unscored(original, tmp_path):
    """A copy of it: (study file, folder of the study)."""
    shutil.copytree(original, tmp_path / "copy")
    return tmp_path / "copy" / "study.yaml", tmp_path / "copy" / "out"


def records(out):
    folder = StudyFolder(out)
    return {
        name: read_record(TrialRecord, folder.trial_record(name))
        for name in folder.finished_trials()
    }


def title(out):
    with open_read(out / "study.duckdb") as reader:
        return headline(Answers(reader)).title


@pytest.mark.slow
def test_trials_of_an_end_run_again_and_their_records_stay(unscored):
    study, out = unscored
    before = records(out)
    assert {record.status for record in before.values()} == {"unscored"}
    assert run_study(study, out).ran == 0
    summary = run_study(study, out, rerun={"unscored"})
    assert (summary.finished, summary.ran, summary.rerun) == (2, 2, 2)
    folder = StudyFolder(out)
    assert folder.earlier_attempts() == [(name, 1) for name in sorted(before)]
    for name, record in before.items():
        assert read_record(TrialRecord, folder.attempt(name, 1) / "trial.json") == record
        assert (folder.attempt(name, 1) / "raw" / "artifacts.json").is_file()
        assert records(out)[name].started_at > record.started_at
    assert run_study(study, out, rerun={"error"}).ran == 0
    assert run_study(study, out, rerun={"unscored"}).rerun == 2
    assert [number for _, number in folder.earlier_attempts()] == [1, 2, 1, 2]


@pytest.mark.slow
def test_an_accepted_trial_is_final_and_the_report_has_its_headline(unscored):
    study, out = unscored
    ingest_trials(out)
    assert "have no final outcome" in title(out)
    accepted = accept_trial(out, "tea__a__1", " the host was down ", "Ann")
    assert rows_of(Acceptance, out / "reviews.jsonl") == [accepted]
    assert not (out / "trials/tea__a__1/accepted.json").exists()
    assert (accepted.by, accepted.reason) == ("Ann", "the host was down")
    again = run_study(study, out, rerun={"unscored", "error"})
    assert (again.ran, again.rerun) == (1, 1)
    assert StudyFolder(out).earlier_attempts() == [("tea__b__1", 1)]
    accept_trial(out, "tea__b__1", "the same")
    ingest_trials(out)
    assert "no final outcome" not in title(out)
    counts = ask(out / "study.duckdb", "coverage").records()
    assert [(row["attempts"], row["rerun"], row["accepted"]) for row in counts] == [
        (1, 0, 1), (2, 1, 1),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_trial_accepted_by_an_earlier_version_stays_accepted(unscored):
    study, out = unscored
    old = Acceptance(trial="tea__a__1", reason="down", by="Ann", at="2026-01-01T00:00:00+00:00")
    write_record(StudyFolder(out).acceptance("tea__a__1"), old)
    ingest_trials(out)
    (row,) = ask(out / "study.duckdb", "FROM acceptances").records()
    assert (row["trial"], row["accepted_by"]) == ("tea__a__1", "Ann")
    assert run_study(study, out, rerun={"unscored"}).rerun == 1


@pytest.mark.slow
def test_an_acceptance_is_of_the_end_that_the_person_saw(unscored):
    study, out = unscored
    accept_trial(out, "tea__a__1", "down", "Ann")
    set_aside(StudyFolder(out), "tea__a__1")
    run_study(study, out)
    ingest_trials(out)
    assert ask(out / "study.duckdb", "FROM acceptances").rows == []
    assert run_study(study, out, rerun={"unscored"}).rerun == 2


@pytest.mark.slow
def test_a_damaged_record_of_an_attempt_is_refused_and_the_rest_is_read(unscored):
    study, out = unscored
    run_study(study, out, rerun={"unscored"})
    (out / "attempts/tea__a__1__1/trial.json").write_text("{", encoding="utf-8")
    (out / "trials/tea__b__1/accepted.json").write_text("{}", encoding="utf-8")
    summary = ingest_trials(out)
    assert (summary.trials, summary.errors) == (2, 2)
    counts = ask(out / "study.duckdb", "coverage").records()
    assert [(row["attempts"], row["accepted"]) for row in counts] == [(1, 0), (2, 0)]


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    base = tmp_path_factory.mktemp("scored")
    run_study(make_study(base, trials=1, variants={"a": None}), base / "out")
    ingest_trials(base / "out")
    return base


@pytest.mark.slow
def test_a_scored_trial_of_its_arm_is_neither_run_again_nor_accepted(scored):
    study, out = scored / "study.yaml", scored / "out"
    before = records(out)
    assert run_study(study, out, rerun={"unscored", "contaminated", "error"}).ran == 0
    assert records(out) == before
    with pytest.raises(UsageError, match=r"'tea__a__1' \(scored\) is already final"):
        accept_trial(out, "tea__a__1", "so")


@pytest.mark.slow
def test_a_contaminated_trial_is_run_again_once(scored, tmp_path):
    """It says of itself that it ran under a variant which its arm does not offer."""
    shutil.copytree(scored, tmp_path / "copy")
    study, out = tmp_path / "copy" / "study.yaml", tmp_path / "copy" / "out"
    path = StudyFolder(out).trial_record("tea__a__1")
    text = path.read_text(encoding="utf-8").replace('"variant": null', '"variant": "pd"')
    path.write_text(text, encoding="utf-8")
    ingest_trials(out)
    assert run_study(study, out, rerun={"contaminated"}).rerun == 1
    again = run_study(study, out, rerun={"contaminated"})
    assert again.rerun == 0
    assert "1 finished trials are not ingested" in again.notes[0]


@pytest.mark.parametrize("reward", ["1.0", "null"])
def test_a_record_that_contradicts_its_verifier_is_refused(scored, tmp_path, reward):
    """When the run goes on as well as at ingest."""
    shutil.copytree(scored, tmp_path / "copy")
    study, out = tmp_path / "copy" / "study.yaml", tmp_path / "copy" / "out"
    said = out / "trials/tea__a__1/raw/verifier/reward.txt"
    said.write_text("0\n" if reward == "1.0" else "0.5\n", encoding="utf-8")
    path = StudyFolder(out).trial_record("tea__a__1")
    text = path.read_text(encoding="utf-8").replace('"reward": 1.0,', f'"reward": {reward},', 1)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StudyError, match=r"trial\.json': reward is .* says 0"):
        run_study(study, out)
    summary = ingest_trials(out)
    assert (summary.trials, summary.errors) == (0, 1)
    said.unlink()
    assert run_study(study, out).ran == 0


def test_without_a_database_nobody_knows_what_is_contaminated(unscored):
    with pytest.raises(StudyError, match="has no database, so contaminated trials are unknown"):
        run_study(*unscored, rerun={"contaminated"})


def test_a_trial_set_aside_by_a_run_that_was_killed_runs_in_the_next(unscored):
    study, out = unscored
    set_aside(StudyFolder(out), "tea__b__1")
    summary = run_study(study, out)
    assert (summary.finished, summary.ran) == (2, 1)
    assert StudyFolder(out).earlier_attempts() == [("tea__b__1", 1)]


@pytest.mark.parametrize(
    ("trial", "reason", "said"),
    [
        ("tea__a__1", "  ", "requires a reason"),
        ("tea__a__2", "so", r"'tea__a__2' .* mean 'tea__a__1'"),
    ],
)
def test_what_cannot_be_accepted_is_told(unscored, trial, reason, said):
    with pytest.raises((UsageError, StudyError), match=said):
        accept_trial(unscored[1], trial, reason)


def test_an_end_that_there_is_not_is_told():
    assert chosen_ends("error, unscored") == {"error", "unscored"}
    with pytest.raises(
        UsageError,
        match=r"unknown outcome 'timeout' .choose unscored, no_answer, contaminated, error",
    ):
        chosen_ends("error,timeout")


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


@pytest.mark.slow
def test_a_fault_of_the_machine_is_tried_again_and_stays_a_record(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY, "of great worth")
    summary = run_study(faulty(tmp_path, "flaky", retries=1), tmp_path / "out")
    assert (summary.statuses, summary.ran, summary.rerun) == ({"scored": 1}, 1, 0)
    (attempt,) = earlier(tmp_path / "out")
    assert (attempt.status, attempt.exception, attempt.reward) == ("error", "HarnessError", None)
    assert attempt.message == f"HarnessError: no sandbox yet [redacted {KEY}]"
    assert (tmp_path / "out/attempts/tea__faulty__1__1/raw/half.txt").is_file()


@pytest.mark.slow
def test_without_retries_it_stops_the_run_and_the_next_run_goes_on(tmp_path):
    study, out = faulty(tmp_path, "flaky"), tmp_path / "out"
    with pytest.raises(HarnessError, match="no sandbox yet"):
        run_study(study, out)
    assert len(earlier(out)) == 1
    assert run_study(study, out).statuses == {"scored": 1}


@pytest.mark.slow
def test_a_machine_that_stays_broken_stops_the_run_after_its_retries(tmp_path):
    with pytest.raises(HarnessError, match="no sandbox today"):
        run_study(faulty(tmp_path, "machine", retries=1), tmp_path / "out")
    assert len(earlier(tmp_path / "out")) == 2


@pytest.mark.slow
def test_a_fault_that_is_no_end_of_the_run_ends_the_trial(tmp_path):
    """Its last attempt is the trial, a row with status error; more retries are no other plan."""
    study, out = faulty(tmp_path, "unreachable", retries=1), tmp_path / "out"
    assert run_study(study, out).statuses == {"error": 1}
    assert [record.exception for record in earlier(out)] == ["ConnectionRefusedError"]
    edit_study(study, retries=0)
    assert run_study(study, out, rerun={"error"}).rerun == 1
    assert len(earlier(out)) == 2


@pytest.mark.slow
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


@pytest.mark.slow
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
    monkeypatch.setattr(planning, "agents_of", lambda config, harness: {"a": agent})
    harness = HarnessChoice(name="local", options={"isolation": "none"})
    plan = fake.plan(["tea"], ("a",))
    config = plan.config.model_copy(update={"harness": harness})
    plan = plan.model_copy(update={"config": config, "tasks": ()})
    *_, needed = planning.requirements_of(plan, tmp_path)
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

    monkeypatch.setattr("skilljuror.logs.codex.CodexRollout.parse", fail)


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


SCRIPT = ROOT / "tests" / "support" / "retrying_agent.py"
NO_ANSWER = ("unscored", None, "no_answer")
IN_HARBOR = {"name": "harbor", "options": OPTIONS, "timeout_sec": 30}


def agent(address, *, retries=0):
    argv = [str(SCRIPT), "{prompt}", "{logs}", str(retries)]
    return {"name": "command", "options": {"argv": argv, "env": {"BASE_URL": address}}}


@contextmanager
def studies(base, fault=None, *, command="echo done > out.txt", retries=0, **more):
    """(a study of one arm whose agent asks a server with a fault, where it runs to)."""
    steps = {"": [shell("mini-swe-agent", command), Step("It is done.")]}
    with model_server(steps, fault) as (address, _):
        study = make_study(
            base, **{"trials": 1, "variants": {"a": None}, "agent": agent(address, retries=retries)} | more
        )  # fmt: skip
        yield study, base / "out"


def outage_records(out):
    folder = StudyFolder(out)
    return [
        read_record(TrialRecord, folder.trial_record(name)) for name in folder.finished_trials()
    ]


def end(out):
    (record,) = outage_records(out)
    return record.status, record.reward, record.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "reward"),
    [(Fault(429), 0.0), (Fault(500, after=1), 1.0), (Fault(None, after=1), 1.0)],
    ids=["429 at once", "500 after an answer", "a hang after an answer"],
)
def test_a_trial_whose_provider_failed_is_unscored_whatever_its_reward(tmp_path, fault, reward):
    limit = {"options": {"isolation": "none"}, "timeout_sec": 4 if fault.status is None else 30}
    with studies(tmp_path, fault, harness=limit) as (study, out):
        assert run_study(study, out).statuses == {"no_answer": 1}
    assert end(out) == NO_ANSWER
    assert outage_records(out)[0].rewards == {"reward": reward}
    assert "no answer of the model" in outage_records(out)[0].message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "more", "ended"),
    [
        (Fault(429, after=1, times=1), {"retries": 1}, ("scored", 1.0, None)),
        (Fault(400, after=1), {}, ("scored", 1.0, None)),
        (None, {"command": "echo done > out.txt; sleep 60",
                "harness": {"options": {"isolation": "none"}, "timeout_sec": 2}}, ("timeout", 1.0, None)),
    ],
    ids=["recovered", "a request that is refused", "a long tool call"],
)  # fmt: skip
def test_what_an_agent_did_itself_is_scored(tmp_path, fault, more, ended):
    with studies(tmp_path, fault, **more) as (study, out):
        run_study(study, out)
    assert end(out) == ended


@pytest.mark.slow
def test_an_unanswered_trial_is_tried_again_after_a_pause(tmp_path):
    study_fields = {"stop_after_unanswered": 1}
    with studies(tmp_path, Fault(429, times=1), **study_fields) as (study, out):
        edit_study(study, retries=1)
        assert run_study(study, out).statuses == {"scored": 1}
    folder = StudyFolder(out)
    ((trial, number),) = folder.earlier_attempts()
    first = read_record(TrialRecord, folder.attempt(trial, number) / "trial.json")
    assert (first.status, first.reward, first.reason) == NO_ANSWER
    (last,) = outage_records(out)
    assert last.started_at > first.finished_at


@pytest.mark.slow
def test_a_run_stops_after_so_many_in_a_row_and_goes_on(tmp_path):
    arms = {"a": None, "b": None}
    fields = {"trials": 2, "variants": arms, "stop_after_unanswered": 2}
    with studies(tmp_path, Fault(429, times=2), **fields) as (study, out):
        with pytest.raises(HarnessError, match=r"2 trials in a row .* --rerun no_answer"):
            run_study(study, out)
        assert [(one.status, one.reward, one.reason) for one in outage_records(out)] == [
            NO_ANSWER
        ] * 2
        ingest_trials(out)
        rows = ask(out / "study.duckdb", "coverage").records()
        assert sum(row["no_answer"] for row in rows) == 2
        assert [(row["unscored"], row["scored"]) for row in rows] == [(0, 0)] * 2
        assert run_study(study, out, rerun={"no_answer"}).statuses == {"scored": 4}


@pytest.mark.slow
@pytest.mark.parametrize("harness", ["local", pytest.param("harbor", marks=needs_harbor)])
@pytest.mark.parametrize(("logs", "ended"), [
    ("{logs}", ("error", None, "no_log")), ("none", ("scored", 0.0, None)),
])  # fmt: skip
def test_an_agent_that_leaves_no_log_though_it_writes_one_is_an_error(
    tmp_path, harness, logs, ended
):
    cannot_start = {"name": "command", "options": {"argv": ["bash", "-c", "exit 1", logs]}}
    more = {"harness": IN_HARBOR} if harness == "harbor" else {}
    study = make_study(
        tmp_path, trials=1, variants={"a": None}, agent=cannot_start, retries=3, **more
    )
    run_study(study, tmp_path / "out")
    assert end(tmp_path / "out") == ended
    assert outage_records(tmp_path / "out")[0].left_out == ()
    assert StudyFolder(tmp_path / "out").earlier_attempts() == []


@needs_harbor
def test_an_outage_is_in_harbor_what_it_is_here(tmp_path):
    with studies(tmp_path, Fault(429, after=1), harness=IN_HARBOR) as (study, out):
        edit_study(study, stop_after_unanswered=1)
        with pytest.raises(HarnessError, match="no model answer"):
            run_study(study, out)
    assert end(out) == NO_ANSWER
    assert outage_records(out)[0].rewards == {"reward": 1.0}


RUBRIC = {"name": "evals", "items": [{"id": "1", "text": "out.txt says done"}]}
OF_GATES = {"gates", "rubric_counts", "variant_sizes", "adjudications"}
"""Questions about variants: gates pass, too."""
QUESTIONS = {query.name: query for query in catalog()}
TRIGGER = {"skill": "brew", "should_trigger": True}


def unverified(folder, kind="rubric", content=RUBRIC):
    """A task folder that `kind` judges."""
    make_task(folder, **{f"tests__{kind}.json": json.dumps(content)})
    (folder / "tests/test.sh").unlink()
    return folder


@pytest.fixture
def study(tmp_path):
    """A study of three tasks: verified, judged by a rubric, and by a trigger."""
    study = make_study(tmp_path, trials=1)
    unverified(tmp_path / "graded")
    unverified(tmp_path / "asked", "trigger", TRIGGER)
    edit_study(
        study,
        tasks=[{"path": name, "skills": "brew"} for name in ("tea", "graded", "asked")],
        stop_after_unanswered=1,
    )
    return study


@pytest.mark.slow
def test_a_trial_without_a_verifier_is_complete_and_usable_without_a_reward(study, tmp_path):
    out = tmp_path / "out"
    summary = run_study(study, out)
    assert summary.statuses == {"no_verifier": 4, "scored": 2}
    assert run_study(study, out, rerun={"unscored"}).ran == 0
    record = read_record(TrialRecord, StudyFolder(out).trial_record("graded__a__1"))
    assert (record.status, record.reason, record.reward) == ("unscored", "no_verifier", None)
    assert (record.message, record.verifier_seconds) == (None, None)
    assert not (out / "trials/graded__a__1/raw/verifier").exists()
    ingest_trials(out)
    coverage = ask(out / "study.duckdb", "coverage").records()
    assert [(row["final"], row["usable"], row["unscored"]) for row in coverage] == [(3, 3, 0)] * 2
    assert figures(out) == (1, 1.0, 1.0, 1, 1)


def test_a_run_of_tasks_without_a_verifier_is_no_outage(study, tmp_path):
    edit_study(study, tasks=[{"path": "graded", "skills": "brew"}], trials_per_cell=3)
    assert run_study(study, tmp_path / "out").statuses == {"no_verifier": 6}


def figures(out):
    """What the outcome questions say of arm b, and of both: a task without a verifier is in none."""
    database = out / "study.duckdb"
    outcomes = ask(database, "outcomes").records()[1]
    assert ask(database, "gain").rows
    return (
        outcomes["strict_passes"], outcomes["strict_rate"], outcomes["mean_reward"],
        len(ask(database, "task_deltas").rows), len(ask(database, "outcome_modes").rows) // 2,
    )  # fmt: skip


@pytest.mark.slow
def test_without_any_verifier_no_pass_rate_is_invented(study, tmp_path):
    edit_study(study, tasks=[{"path": "graded", "skills": "brew"}])
    out = tmp_path / "out"
    run_study(study, out)
    ingest_trials(out)
    assert figures(out) == (None, None, None, 0, 0)
    said = {
        (name, column)
        for name, question in QUESTIONS.items()
        for column in question.columns
        if re.search(r"strict|passes|pass_rate|reward|solved|delta_rate$", column)
        for row in ask(out / "study.duckdb", name).records()
        if row[column] is not None
    }
    assert {one for one in said if one[0] not in OF_GATES} == set()
    page = build_report(out / "study.duckdb", tmp_path / "report").path.read_text("utf-8")
    assert "0 of 1" not in page


def test_check_says_who_judges_and_proves_nothing(study):
    found = {one.task: one for one in check_study(study).tasks}
    assert {name: one.verdict for name, one in found.items()} == dict.fromkeys(found, "unknown")
    assert found["graded"].problems == (
        "it has no verifier: tests/rubric.json judges its trials, so nothing here was proved",
    )
    assert "tests/trigger.json" in found["asked"].problems[0]


def test_a_folder_that_nothing_judges_is_still_no_task(tmp_path):
    study = make_study(tmp_path)
    (tmp_path / "tea/tests/test.sh").unlink()
    with pytest.raises(StudyError, match=r"missing tests/test\.sh"):
        run_study(study, tmp_path / "out")


def test_in_harbor_the_missing_reward_is_no_fault(tmp_path):
    job = make_job(unverified(tmp_path / "tea"))
    copied = prepare_task(job, tmp_path / "copies")
    assert "no verifier" in (copied / "tests/test.sh").read_text()
    assert not (job.task_dir / "tests/test.sh").exists()
    ends = {
        "RewardFileNotFoundError": ("unscored", "no_verifier", None),
        "NonZeroAgentExitCodeError": ("unscored", "no_verifier", "NonZeroAgentExitCodeError"),
        "SandboxBuildFailedError": ("error", None, "SandboxBuildFailedError"),
    }
    for exception, end in ends.items():
        record = fake.trial("tea", "arm", status="error", reward=None, exception=exception)
        marked = without_verifier(record, job.task)
        assert (marked.status, marked.reason, marked.exception) == end
