"""A server that sends the key back: it reaches neither the screen nor a file."""

import os
import subprocess
import sys

import pytest

from skilljuror.base.errors import ModelError, redact
from skilljuror.base.llm import ModelChoice, ModelClient
from tests.support.cli_process import call
from tests.support.harness_tasks import ISOLATIONS
from tests.support.loopback import model_server
from tests.support.studies import PROGRAMS, make_study

KEY = "sk-proj-0123456789abcdef"
OTHER = "hf_zyxwvutsrqponm"
ASK = [{"role": "user", "content": "yes or no?"}]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning"
    ),
]


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HF_TOKEN", OTHER)
    monkeypatch.setenv("SHORT_TOKEN", "yes")


@pytest.mark.parametrize("status", [401, 400])
def test_an_error_that_quotes_the_key(status, tmp_path):
    long = "x" * 100 + f" Incorrect API key provided: {KEY}, {OTHER}."
    with model_server(lambda body, n: (status, long)) as (address, _):
        choice = ModelChoice("openai/scripted", address, {}, 20, 0)
        with pytest.raises(ModelError) as raised:
            ModelClient(choice, tmp_path / "calls.jsonl").ask(ASK)
    assert KEY[:12] not in raised.value.message
    assert OTHER not in raised.value.message


def test_an_answer_that_quotes_the_key(tmp_path):
    calls = tmp_path / "calls.jsonl"
    with model_server(lambda body, n: f"yes, {KEY} and {OTHER}") as (address, _):
        choice = ModelChoice("openai/scripted", address, {}, 20, 0)
        answer = ModelClient(choice, calls).ask(ASK)
        again = ModelClient(choice, calls).ask(ASK)
    assert answer.text == again.text
    assert answer.text == "yes, [redacted OPENAI_API_KEY] and [redacted HF_TOKEN]"
    assert KEY not in calls.read_text()
    assert OTHER not in calls.read_text()


def test_a_key_among_the_parameters(tmp_path):
    given = "key-of-a-parameter"
    with model_server(lambda body, n: f"yes, {given}") as (address, _):
        choice = ModelChoice("openai/scripted", address, {"api_key": given}, 20, 0)
        assert ModelClient(choice).ask(ASK).text == "yes, [redacted]"


@pytest.mark.parametrize("form", [(), ("--json",), ("--debug",)], ids=["text", "json", "debug"])
def test_an_error_line_of_any_command(form):
    script = (
        "import sys, skilljuror.cli.app as app\n"
        "from skilljuror.base.errors import ModelError\n"
        "def run(words): raise ModelError('refused ' + sys.argv[1])\n"
        "app.run = run\n"
        "from skilljuror.cli.main import main\nmain()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, KEY, *form],
        env=dict(os.environ), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert KEY not in done.stdout + done.stderr
    assert "[redacted OPENAI_API_KEY]" in done.stdout + done.stderr


def test_words_are_no_secrets():
    assert redact("yes, they say no") == "yes, they say no"


PLANTED = "tea-key-0123456789/+abcdef" * 4
SPILL = (
    'echo "$TEA_API_KEY"; echo "$TEA_API_KEY" >&2; echo "$TEA_API_KEY" > "$2/log.txt"; env > "$2/env.txt";'
    ' echo done > out.txt; echo "$TEA_API_KEY" > told.txt'
)
VERIFIER = """env > "$LOGS_DIR/verifier/env.txt"
cat "$APP_DIR/told.txt" >&2
cat "$APP_DIR/told.txt" > "$LOGS_DIR/verifier/reward.txt"
"""


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_a_key_of_an_agent_is_in_nothing_that_a_trial_leaves(tmp_path, monkeypatch, isolation):
    monkeypatch.setenv("TEA_API_KEY", PLANTED)
    study = make_study(
        tmp_path, script=SPILL, trials=1, variants={"a": None},
        agent={"name": f"{PROGRAMS}:talkative", "options": {"script": SPILL}},
        harness={"options": {"isolation": isolation}},
    )  # fmt: skip
    (tmp_path / "tea" / "tests" / "test.sh").write_text(VERIFIER)
    out = tmp_path / "out"
    said = ""
    for words in (("run", study, "--out", out), ("ingest", "--study", out), ("report", out)):
        done = call(*words)
        assert done.returncode == 0, done.stderr
        said += done.stdout + done.stderr
    files = [path for path in out.rglob("*") if path.is_file()]
    raw = out / "trials/tea__a__1/raw"
    assert (raw / "agent-stdout.txt").read_text() == "[redacted]\n"
    assert "TEA_API_KEY=[redacted]" in (raw / "agent/env.txt").read_text()
    assert "TEA_API_KEY" not in (raw / "verifier/env.txt").read_text()
    assert [path for path in files if PLANTED[:26].encode() in path.read_bytes()] == []
    assert PLANTED[:26] not in said


def test_a_key_that_is_not_set_is_asked_for_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.delenv("TEA_API_KEY", raising=False)
    study = make_study(
        tmp_path, agent={"name": f"{PROGRAMS}:talkative", "options": {"script": "true"}}
    )
    done = call("run", study, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "the environment variable TEA_API_KEY, which is not set; export it" in done.stderr
    assert not (tmp_path / "out").exists()
