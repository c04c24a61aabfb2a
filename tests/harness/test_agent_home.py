"""What an agent finds in its HOME, and what is kept of it."""

import json

import pytest
from msgspec.structs import replace

from skilljuror.harness.local import LocalHarness
from tests.support.harness_tasks import ISOLATIONS, make_job, make_task, make_variant, shell_agent

SETTINGS = {".tool/settings.json": '{"quiet": true}\n'}
LOGS = "mkdir -p ~/.tool/logs/day; echo said > ~/.tool/logs/day/one.jsonl"


@pytest.fixture(params=ISOLATIONS)
def run(tmp_path, request):
    """Run a script as an agent with fields of its own; the answer is (record, raw folder)."""

    def go(script, *, task=None, variant=False, **fields):
        agent = replace(shell_agent(script), **fields)
        given = make_variant(tmp_path / "variant") if variant else None
        job = make_job(task or make_task(tmp_path / "task"), variant=given, agent=agent)
        raw = tmp_path / "raw"
        raw.mkdir()
        return LocalHarness({"isolation": request.param}).run(job, raw), raw

    return go


def stdout(raw):
    return (raw / "agent-stdout.txt").read_text(encoding="utf-8")


def test_files_and_variables_of_the_agent_are_there(run):
    _, raw = run(
        'cat ~/.tool/settings.json; echo "$QUIET $TERM"',
        home_files=SETTINGS, env={"QUIET": "yes", "TERM": "other"},
    )  # fmt: skip
    assert stdout(raw) == '{"quiet": true}\nyes other\n'


def test_its_own_logs_are_kept_under_their_name_in_its_home(run):
    _, raw = run(f'{LOGS}; echo own > "$2/own.txt"', logs=("~/.tool/logs", "~/.other"))
    assert (raw / "agent/tool/logs/day/one.jsonl").read_text() == "said\n"
    assert (raw / "agent/own.txt").read_text() == "own\n"
    left_out = json.loads((raw / "artifacts.json").read_text())["left_out"]
    assert left_out == ["~/.other: no folder"]


def test_a_link_in_place_of_its_logs_is_not_followed(run, tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key.txt").write_text("secret")
    _, raw = run(f"ln -s {tmp_path} ~/.tool", logs=("~/.tool/secret",))
    assert not list((raw / "agent").rglob("*"))


def test_a_link_of_the_task_in_place_of_its_settings_is_not_followed(run, tmp_path):
    task = make_task(tmp_path / "task", environment__Dockerfile="FROM x\nCOPY home /root\n")
    (tmp_path / "outside").mkdir()
    (task / "environment/home").mkdir()
    (task / "environment/home/.tool").symlink_to(tmp_path / "outside")
    _, raw = run("cat ~/.tool/settings.json", task=task, home_files=SETTINGS)
    assert stdout(raw) == SETTINGS[".tool/settings.json"]
    assert not list((tmp_path / "outside").iterdir())


def test_skills_lie_where_the_agent_looks_for_them(run):
    record, raw = run('ls ~/.tool/skills "$SKILLS_DIR" "$3"', variant=True, skills="~/.tool/skills")
    assert stdout(raw).count("brew") == 3
    assert record.skill_root.endswith("/.tool/skills")
    assert record.variant_digest == record.variant_digest_after


def test_an_agent_that_knows_no_skills_is_told_of_them_in_its_prompt(run):
    record, raw = run('cat "$1"', variant=True, skills=None)
    said = stdout(raw)
    assert said.startswith("Write done to out.txt.\n")
    place = f"{record.skill_root}/brew/SKILL.md"
    skill = f"<name>brew</name>\n<description>How to brew tea.</description>\n<location>{place}<"
    assert skill in said


def test_without_a_skill_its_prompt_says_nothing_of_them(run):
    _, raw = run('cat "$1"', skills=None)
    assert stdout(raw) == "Write done to out.txt.\n"


def test_how_it_was_started_is_kept_with_the_names_of_its_keys_alone(run, monkeypatch):
    monkeypatch.setenv("TEA_API_KEY", "tea-key-0123456789")
    _, raw = run("true", keys=("TEA_API_KEY",), home_files=SETTINGS, effort="high")
    kept = json.loads((raw / "agent.json").read_text())
    assert (kept["keys"], kept["effort"], kept["home_files"]) == (["TEA_API_KEY"], "high", SETTINGS)
    assert kept["argv"][-5:] == ["{instruction}", "{logs}", "{skills}", "{seed}", "{agent_dir}"]
