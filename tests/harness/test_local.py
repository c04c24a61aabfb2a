import errno
import json
import multiprocessing
import sys
import tempfile
import threading
from uuid import uuid4

import pytest
from msgspec.structs import replace

from skilljuror.base.errors import HarnessError, UsageError
from skilljuror.base.files import digest_tree
from skilljuror.harness.local import LocalHarness, _machine_faults
from skilljuror.harness.sandbox import MAX_OUTPUT, STOPPED, request_stop
from skilljuror.study.trial import MACHINE_FAULTS
from tests.support.harness_tasks import (
    ISOLATIONS,
    REWARD,
    alive,
    make_job,
    make_task,
    make_variant,
    needs_bwrap,
    shell_agent,
    write_tree,
)


@pytest.fixture(params=ISOLATIONS)
def run(request, tmp_path):
    """Run a script as the agent of a task; the answer is (record, raw folder)."""
    return runner(request.param, tmp_path)


@pytest.fixture
def isolated(tmp_path):
    return runner("bwrap", tmp_path)


def runner(isolation, tmp_path):
    def go(script="", *, task=None, **more):
        task = task or make_task(tmp_path / "task")
        raw = tmp_path / "raw"
        raw.mkdir()
        harness = LocalHarness({"isolation": isolation})
        assert harness.prepare() == isolation
        return harness.run(make_job(task, script, **more), raw), raw

    return go


def stdout(raw):
    return (raw / "agent-stdout.txt").read_text(encoding="utf-8")


def test_a_good_agent_is_scored(run):
    record, raw = run("cat input.txt; echo done > out.txt; echo '{}' > $2/log.jsonl")
    assert (record.status, record.reward, record.strict_pass) == ("scored", 1.0, True)
    assert (record.exception, record.message, record.exit_code) == (None, None, 0)
    assert stdout(raw) == "tea\n"
    assert (raw / "agent" / "log.jsonl").read_text(encoding="utf-8") == "{}\n"
    assert (raw / "verifier" / "reward.txt").read_text(encoding="utf-8") == "1\n"


def test_what_the_agent_made_is_listed_with_digests(run):
    _, raw = run("echo done > out.txt; ln -s / link")
    listed = json.loads((raw / "artifacts.json").read_text(encoding="utf-8"))
    assert [file["path"] for file in listed["files"]] == ["input.txt", "out.txt"]
    assert listed["others"] == ["link: not a regular file"]


def kept(raw):
    return {
        str(path.relative_to(raw / "work")): path.read_text(encoding="utf-8")
        for path in (raw / "work").rglob("*")
        if path.is_file()
    }


def test_the_text_files_that_the_agent_changed_are_kept_without_its_keys(
    run, tmp_path, monkeypatch
):
    monkeypatch.setenv("TEA_API_KEY", "tea-0123456789")
    task = make_task(
        tmp_path / "task", **{"environment/old.md": "steep\n", "environment/same.md": "sip\n"}
    )
    script = (
        "echo done > out.txt; echo brewed >> old.md; mkdir -p a/node_modules; echo $TEA_API_KEY > a/b.md;"
        "echo x > a/node_modules/c.md; printf 'a\\0b' > n.bin; head -c 300000 input.txt /dev/zero > big.txt;"
        "ln -s input.txt link"
    )
    agent = replace(shell_agent(script), keys=("TEA_API_KEY",))
    _, raw = run(task=task, agent=agent)
    assert kept(raw) == {
        "out.txt": "done\n", "old.md": "steep\nbrewed\n", "a/b.md": "[redacted]\n",
    }  # fmt: skip
    listed = json.loads((raw / "artifacts.json").read_text(encoding="utf-8"))
    assert [one.partition(":")[0] for one in listed["not_kept"]] == ["big.txt", "n.bin"]


def test_a_study_names_the_files_to_keep_within_the_limit(run):
    script = "for i in {1..20}; do head -c 250000 /dev/zero | tr '\\0' a > $i.txt; done; echo done > out.md"
    _, raw = run(script, keep=("*.txt",))
    files = kept(raw)
    assert (files.pop("input.txt"), len(files)) == ("tea\n", 16)


ONE = 'echo 1 > "$LOGS_DIR/verifier/reward.txt"; '
FORGES = "mkdir -p $LOGS_DIR/verifier; echo 1 | tee $LOGS_DIR/verifier/reward.json > $LOGS_DIR/verifier/reward.txt"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "test", "status", "reward", "exit_code", "message"),
    [
        ("echo done > out.txt; exit 7", REWARD, "scored", 1.0, 7, "the agent ended with status 7"),
        ("kill -TERM $$", REWARD, "scored", 0.0, 143, "the agent ended with status 143"),
        ("sleep 300 & echo done > out.txt", REWARD, "scored", 1.0, 0, None),
        ("exec >&- 2>&-; sleep 300", REWARD, "timeout", 0.0, None, "the agent was stopped after 2 s"),
        (FORGES, REWARD, "scored", 0.0, 0, None),
        ("", "echo oops >&2; exit 3\n", "unscored", None, 0, "the verifier ended with status 3; the verifier wrote"
            " neither reward.json nor reward.txt"),
        ("", ONE + "exit 3", "scored", 1.0, 0, "the verifier ended with status 3"),
        ("", ONE + "kill -SEGV $$", "scored", 1.0, 0, "the verifier ended with status 139"),
        ("", ONE + "sleep 300", "unscored", None, 0, "the verifier was stopped after 2 s"),
    ],
)  # fmt: skip
def test_how_a_trial_ends(run, tmp_path, script, test, status, reward, exit_code, message):
    record, _ = run(
        script, task=make_task(tmp_path / "task", test=test), timeout=2, verifier_timeout=2
    )
    assert (record.status, record.reward, record.exit_code, record.message) == (
        status, reward, exit_code, message,
    )  # fmt: skip
    fault = {None: "AgentTimeoutError", 0: None}.get(exit_code, "NonZeroAgentExitCodeError")
    assert record.exception == fault


@pytest.mark.slow
def test_timeout_ends_grandchildren_and_the_verifier_still_runs(run):
    mark = f"mark-{uuid4().hex}"
    script = f"echo done > out.txt; (exec -a {mark} sleep 300) & exec -a {mark} sleep 300"
    record, _ = run(script, timeout=2)
    assert (record.status, record.reward, record.exit_code) == ("timeout", 1.0, None)
    assert record.exception == "AgentTimeoutError"
    assert 2 <= record.agent_seconds < 200
    assert not alive(mark)


@needs_bwrap
def test_a_daemon_does_not_outlive_the_agent_in_bwrap(isolated):
    mark = f"mark-{uuid4().hex}"
    spawn = f"setsid bash -c 'touch up; exec -a {mark} sleep 300' >/dev/null 2>&1 & "
    record, _ = isolated(spawn + "until [ -e up ]; do :; done; echo done > out.txt")
    assert record.reward == 1.0
    assert not alive(mark)


def test_captured_output_is_bounded(run):
    limit = MAX_OUTPUT
    record, raw = run(f"head -c {limit + 5000} /dev/zero; echo done > out.txt")
    assert record.reward == 1.0
    tail = (raw / "agent-stdout.txt").read_bytes()[limit:]
    assert tail == b"\n[cut here: 5000 more bytes]\n"


def test_places_are_told_in_both_modes(run, tmp_path):
    places = (
        'echo "$APP_DIR|$LOGS_DIR|$TESTS_DIR|$SKILLS_DIR|$HOME"; pwd; cat "$1"; echo "$2|$3|$4";'
        ' test -e "$3"'
    )
    text = "<!-- a CANARY line GUID 1 -->\nWrite done to out.txt.\n"
    record, raw = run(places, task=make_task(tmp_path / "task", **{"instruction.md": text}))
    assert record.exit_code == 1
    assert (record.variant, record.variant_digest, record.skill_root) == (None, None, None)
    names, here, told, arguments = stdout(raw).splitlines()
    app, logs, tests, skills, home = names.split("|")
    assert app == here
    assert app.endswith("/app")
    assert tests.endswith("/tests")
    assert skills == ""  # no Skill is offered
    assert told == "Write done to out.txt."
    assert arguments == f"{logs}/agent|{home}/.agents/skills|{record.seed}"


@needs_bwrap
def test_bwrap_shows_the_real_paths(isolated):
    _, raw = isolated('echo "$APP_DIR $LOGS_DIR $TESTS_DIR $HOME"; ls -A ~ /app')
    first = stdout(raw).splitlines()[0]
    assert first == "/app /logs /tests /root"


def test_python_of_the_trial_is_the_base_interpreter(run):
    _, raw = run("python3 -c 'import sys; print(sys.base_prefix)'")
    assert stdout(raw).strip() == sys.base_prefix


def test_the_prompt_can_be_an_argument(tmp_path):
    argv = ("bash", "-c", 'printf %s "$1"', "agent", "{prompt}{seed}")
    program = replace(shell_agent(""), argv=argv)
    record, raw = runner("none", tmp_path)(agent=program)
    assert stdout(raw) == f"Write done to out.txt.\n{record.seed}"


def test_the_skill_is_a_copy_at_user_level(run, tmp_path):
    variant = make_variant(tmp_path / "variant")
    look = 'find "$3" -type f | sort | sed "s#$HOME##"; find "$3" -type l; echo x >> "$3/brew/SKILL.md"'
    record, raw = run(look, variant=variant)
    root = "/.agents/skills/brew"
    assert stdout(raw).split() == [f"{root}/SKILL.md", f"{root}/references/time.md"]
    assert record.variant_digest == digest_tree(variant)
    assert record.skill_root.endswith("/.agents/skills")
    assert "x" not in (variant / "brew/SKILL.md").read_text(encoding="utf-8")[-2:]


def test_a_variant_changed_after_the_build_stops_the_run(tmp_path):
    variant = make_variant(tmp_path / "variant")
    job = make_job(make_task(tmp_path / "task"), variant=variant)
    write_tree(variant, {"brew/extra.md": "more"})
    (tmp_path / "raw").mkdir()
    with pytest.raises(HarnessError, match="changed after its gates"):
        LocalHarness({"isolation": "none"}).run(job, tmp_path / "raw")


@pytest.mark.slow
def test_baked_skills_never_reach_the_agent(run, tmp_path):
    docker = "FROM scratch\nWORKDIR /work\nCOPY skills /root/.agents/skills\nCOPY . .\nRUN make\n"
    baked = {"environment/Dockerfile": docker, "environment/skills/brew/SKILL.md": "baked"}
    _, raw = run("pwd; ls -A; find ~ . -name SKILL.md",
                 task=make_task(tmp_path / "task", **baked))  # fmt: skip
    assert stdout(raw).splitlines()[0].endswith("/work")
    assert stdout(raw).splitlines()[1:] == ["input.txt"]
    listed = json.loads((raw / "artifacts.json").read_text(encoding="utf-8"))
    assert listed["not_followed"] == ["RUN make"]


@pytest.mark.parametrize("offered", [False, True])
@pytest.mark.parametrize("linked", [False, True])
def test_a_task_that_takes_the_place_of_skills_is_refused_in_every_arm(tmp_path, offered, linked):
    task = make_task(tmp_path / "task", environment__Dockerfile="COPY home /root\n")
    home = write_tree(task / "environment/home", {"agents/skills/notes.txt": "notes"})
    (home / "agents").rename(home / ".agents")
    if linked:
        (home / ".agents").rename(tmp_path / "host")
        (home / ".agents").symlink_to(tmp_path / "host")
    variant = make_variant(tmp_path / "variant") if offered else None
    with pytest.raises(HarnessError, match=r"contains '/root/\.agents/skills'"):
        runner("none", tmp_path)(task=task, variant=variant)


def test_contamination_of_the_no_skill_arm_stops_the_run(tmp_path):
    task = make_task(tmp_path / "task")
    job = make_job(task)
    write_tree(task, {"environment/docs/Skill.md": "leak"})
    (tmp_path / "raw").mkdir()
    with pytest.raises(HarnessError, match=r"app/docs/Skill\.md"):
        LocalHarness({"isolation": "none"}).run(job, tmp_path / "raw")


@needs_bwrap
@pytest.mark.parametrize(
    "place",
    ["agent/instruction.md", "agent/tool.sh", "etc/resolv.conf", "etc/passwd"],
)
def test_links_of_a_task_are_not_written_through(isolated, tmp_path, place):
    host = write_tree(tmp_path / "host", {"kept": "kept", "tool.sh": "true"})
    task = make_task(tmp_path / "task", environment__Dockerfile="COPY all /\n")
    link = task / "environment/all" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(host / "kept")
    agent = replace(shell_agent("true", files=[host / "tool.sh"]), scripted=False)
    isolated(task=task, agent=agent)
    assert (host / "kept").read_text(encoding="utf-8") == "kept"


def test_a_test_that_is_a_link_to_the_host_gets_no_other_permissions(run, tmp_path):
    host = write_tree(tmp_path, {"host": "kept"}) / "host"
    host.chmod(0o600)
    task = make_task(tmp_path / "task")
    (task / "tests/test.sh").unlink()
    (task / "tests/test.sh").symlink_to(host)
    run(task=task)
    assert host.stat().st_mode & 0o777 == 0o600


@needs_bwrap
@pytest.mark.parametrize(
    "place", ["/tests", "/solution", "/logs/verifier", "{host}", "/etc/shadow"]
)
def test_the_agent_cannot_see_the_verifier_or_the_host(isolated, tmp_path, place):
    _, raw = isolated(f"ls {place.format(host=tmp_path)} && echo visible")
    assert stdout(raw) == ""
    errors = (raw / "agent-stderr.txt").read_text(encoding="utf-8")
    assert "No such file or directory" in errors


@needs_bwrap
def test_the_sandbox_has_no_network_no_privilege_and_a_read_only_system(isolated):
    probe = (
        "import os, socket\n"
        "print(sorted(name for _, name in socket.if_nameindex()))\n"
        "print([p for p in ('/usr','/etc','/bin','/proc/sys') if not os.statvfs(p).f_flag & 1])\n"
        "print([l.split()[1] for l in open('/proc/self/status') if l.startswith('CapEff')])\n"
        "print(len([p for p in os.listdir('/proc') if p.isdigit()]) < 6)\n"
    )
    _, raw = isolated(f'python3 -c "{probe}"')
    assert stdout(raw).splitlines() == ["['lo']", "[]", "['0000000000000000']", "True"]


@needs_bwrap
def test_links_planted_by_the_agent_are_not_followed(isolated, tmp_path):
    host = write_tree(tmp_path / "host", {"secret.txt": "secret"})
    plant = f"rm -rf /logs /app; ln -s {host} /logs; ln -s {host} /app; ln -s {host} /tests"
    record, raw = isolated(f"cd /; {plant}")
    assert record.status == "scored"
    assert sorted(path.name for path in host.iterdir()) == ["secret.txt"]
    assert "secret" not in (raw / "artifacts.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("left", ["ln -s /etc/passwd $2/p", "mkfifo $2/p", "ln -s / $2/p"])
def test_only_plain_files_are_kept(run, left):
    _, raw = run(f"{left}; echo x > $2/log")
    assert [path.name for path in (raw / "agent").iterdir()] == ["log"]
    assert "agent" not in stdout(raw)
    listed = json.loads((raw / "artifacts.json").read_text(encoding="utf-8"))
    assert listed["left_out"] == ["p: not a regular file"]


def test_unreadable_leftovers_are_removed(run, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    run("mkdir -p deep/er; touch deep/er/file; chmod 0 deep/er deep")
    assert not list((tmp_path / "scratch").iterdir())


def test_a_missing_program_is_a_broken_machine(run):
    with pytest.raises(HarnessError, match="no-such-agent"):
        run(agent=replace(shell_agent(""), argv=("no-such-agent",)))


def test_a_key_is_in_nothing_that_a_broken_trial_leaves(tmp_path, monkeypatch):
    monkeypatch.setenv("TEA_PASS", "of-great-worth-0123")
    agent = replace(shell_agent("echo it is $TEA_PASS"), keys=("TEA_PASS",))
    job = make_job(make_task(tmp_path / "task"), agent=agent)
    (job.task_dir / "tests/test.sh").rename(tmp_path / "gone")
    (tmp_path / "raw").mkdir()
    with pytest.raises(RuntimeError, match="cannot access a file"):
        LocalHarness({"isolation": "none"}).run(job, tmp_path / "raw")
    assert stdout(tmp_path / "raw") == "it is [redacted]\n"


def test_a_full_disk_is_a_broken_machine():
    with pytest.raises(HarnessError, match="No space left"), _machine_faults():
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_file_that_the_agent_locked_is_no_fault_that_is_tried_again():
    with pytest.raises(RuntimeError, match="/root") as raised, _machine_faults():
        raise PermissionError(errno.EACCES, "Permission denied", "/root")
    assert raised.type.__name__ not in MACHINE_FAULTS


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"isolation": "jail"}, "auto, bwrap, sealed, none"),
        ({"speed": 1}, "unknown field `speed`; choose from isolation"),
    ],
)
def test_wrong_options_are_refused(options, said):
    with pytest.raises(UsageError, match=said):
        LocalHarness(options)


@pytest.mark.slow
def test_a_stop_ends_the_running_program_at_once(tmp_path):
    """In a process of its own, for the order cannot be taken back."""
    raw, mark = tmp_path / "raw", f"mark-{uuid4().hex}"
    raw.mkdir()
    job = make_job(make_task(tmp_path / "task"), f"exec -a {mark} sleep 300", timeout=300)
    worker = multiprocessing.get_context("spawn").Process(target=stopped_soon, args=(job, raw))
    worker.start()
    worker.join(60)
    assert worker.exitcode == STOPPED
    assert not alive(mark)


def stopped_soon(job, raw):
    threading.Timer(0.3, request_stop).start()
    LocalHarness({"isolation": "none"}).run(job, raw)


SETTINGS = {".tool/settings.json": '{"quiet": true}\n'}
LOGS = "mkdir -p ~/.tool/logs/day; echo said > ~/.tool/logs/day/one.jsonl"


@pytest.fixture
def agent_run(run, tmp_path):
    """Run a script as an agent with fields of its own; the answer is (record, raw folder)."""

    def go(script, *, task=None, variant=False, **fields):
        given = make_variant(tmp_path / "variant") if variant else None
        return run(task=task, variant=given, agent=replace(shell_agent(script), **fields))

    return go


def test_files_and_variables_of_the_agent_are_there(agent_run):
    _, raw = agent_run(
        'cat ~/.tool/settings.json; echo "$QUIET $TERM"',
        home_files=SETTINGS, env={"QUIET": "yes", "TERM": "other"},
    )  # fmt: skip
    assert stdout(raw) == '{"quiet": true}\nyes other\n'


def test_its_own_logs_are_kept_under_their_name_in_its_home(agent_run):
    _, raw = agent_run(f'{LOGS}; echo own > "$2/own.txt"', logs=("~/.tool/logs", "~/.other"))
    assert (raw / "agent/tool/logs/day/one.jsonl").read_text() == "said\n"
    assert (raw / "agent/own.txt").read_text() == "own\n"
    left_out = json.loads((raw / "artifacts.json").read_text())["left_out"]
    assert left_out == ["~/.other: no folder"]


def test_a_link_in_place_of_its_logs_is_not_followed(agent_run, tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key.txt").write_text("secret")
    _, raw = agent_run(f"ln -s {tmp_path} ~/.tool", logs=("~/.tool/secret",))
    assert not list((raw / "agent").rglob("*"))


def test_a_link_of_the_task_in_place_of_its_settings_is_not_followed(agent_run, tmp_path):
    task = make_task(tmp_path / "task", environment__Dockerfile="FROM x\nCOPY home /root\n")
    (tmp_path / "outside").mkdir()
    (task / "environment/home").mkdir()
    (task / "environment/home/.tool").symlink_to(tmp_path / "outside")
    _, raw = agent_run("cat ~/.tool/settings.json", task=task, home_files=SETTINGS)
    assert stdout(raw) == SETTINGS[".tool/settings.json"]
    assert not list((tmp_path / "outside").iterdir())


def test_skills_lie_where_the_agent_looks_for_them(agent_run):
    record, raw = agent_run(
        'ls ~/.tool/skills "$SKILLS_DIR" "$3"', variant=True, skills="~/.tool/skills"
    )
    assert stdout(raw).count("brew") == 3
    assert record.skill_root.endswith("/.tool/skills")
    assert record.variant_digest == record.variant_digest_after


def test_an_agent_that_knows_no_skills_is_told_of_them_in_its_prompt(agent_run):
    record, raw = agent_run('cat "$1"', variant=True, skills=None)
    said = stdout(raw)
    assert said.startswith("Write done to out.txt.\n")
    place = f"{record.skill_root}/brew/SKILL.md"
    skill = f"<name>brew</name>\n<description>How to brew tea.</description>\n<location>{place}<"
    assert skill in said


def test_without_a_skill_its_prompt_says_nothing_of_them(agent_run):
    _, raw = agent_run('cat "$1"', skills=None)
    assert stdout(raw) == "Write done to out.txt.\n"


def test_how_it_was_started_is_kept_with_the_names_of_its_keys_alone(agent_run, monkeypatch):
    monkeypatch.setenv("TEA_API_KEY", "tea-key-0123456789")
    _, raw = agent_run("true", keys=("TEA_API_KEY",), home_files=SETTINGS, effort="high")
    kept = json.loads((raw / "agent.json").read_text())
    assert (kept["keys"], kept["effort"], kept["home_files"]) == (["TEA_API_KEY"], "high", SETTINGS)
    assert kept["argv"][-5:] == ["{instruction}", "{logs}", "{skills}", "{seed}", "{agent_dir}"]


KEY = "the key\n"
COMPARES = 'if cmp -s "$APP_DIR/{}" "$TESTS_DIR/key.txt"; then r=1; else r=0; fi; echo $r > "$LOGS_DIR/verifier/reward.txt"\n'
OUT = COMPARES.format("out.txt")
LOADS = """cd "$APP_DIR"
python3 - <<END > "$LOGS_DIR/verifier/reward.txt"
import json, pathlib
print(json.loads('{"mark": 0}')["mark"])
END
"""


@pytest.fixture
def trapped(tmp_path):
    """Run a script as the agent of a task with some test, in a sandbox; the answer is (record, raw folder)."""

    def go(script, test, isolation="bwrap", **files):
        (tmp_path / "raw").mkdir()
        task = make_task(tmp_path / "task", test=test, tests__key__txt=KEY, **files)
        (task / "tests/key/txt").rename(task / "tests/key.txt")
        job = make_job(task, script, verifier_timeout=5)
        return LocalHarness({"isolation": isolation}).run(job, tmp_path / "raw"), tmp_path / "raw"

    return go


@needs_bwrap
@pytest.mark.parametrize(
    ("trap", "test", "flagged"),
    [
        ("ln -s /tests/key.txt out.txt", OUT, "app/out.txt: a link out of the work"),
        ("ln -s /tests sub", COMPARES.format("sub/key.txt"), "app/sub: "),
        ("ln -s / sub", COMPARES.format("sub/tests/key.txt"), "app/sub: "),
        ("mkdir d; ln -s /root d/up; ln -s d/up/../tests/key.txt out.txt", OUT, "app/out.txt: "),
        ("ln -s /proc/self/root/tests/key.txt out.txt", OUT, "app/out.txt: "),
        ("ln -s /root/one out.txt; ln -s /tests/key.txt ~/one", OUT, "root/one: a link out of the work"),
        ("mkdir d; ln -s /tests/key.txt d/out; chmod 111 d", COMPARES.format("d/out"), "app/d/out: "),
        ("touch /tmp/key; ln -s /tmp/key out.txt", "cp /tests/key.txt /tmp/key; " + OUT, "app/out.txt: "),
        ("mkfifo out.txt", OUT, "app/out.txt: not a regular file; the verifier did not get it"),
        ("echo 'loads = lambda text: {\"mark\": 1}' > json.py", LOADS, None),
    ],
)  # fmt: skip
def test_a_trap_earns_nothing_and_is_flagged(trapped, trap, test, flagged):
    record, _ = trapped(trap, test)
    assert (record.status, record.reward) == ("scored", 0.0)
    assert any(line.startswith(flagged or "-") for line in record.left_out) is bool(flagged)


LINKS = (
    "mkdir -p d/e; echo done > d/out; ln -s d/out out.txt; ln -s /usr/bin/env env; ln -s ../.. d/e/up;"
    " echo kept > ~/kept; ln -s ~/kept kept; ln -s $PWD/d/e/up/out.txt again"
)


@pytest.mark.parametrize("isolation", [pytest.param("bwrap", marks=needs_bwrap), "none"])
def test_links_within_the_work_and_into_the_system_stay(trapped, isolation):
    test = 'cd "$APP_DIR"; for one in env kept again d/e/up/input.txt; do [ -e $one ] || echo $one; done\n'
    record, raw = trapped(LINKS, test + REWARD, isolation)
    said = (raw / "verifier/test-stdout.txt").read_text(encoding="utf-8")
    assert (record.reward, record.left_out, said) == (1.0, (), "")


@pytest.mark.parametrize("isolation", [pytest.param("bwrap", marks=needs_bwrap), "none"])
def test_a_verifier_imports_its_own_modules_and_the_work(trapped, isolation):
    """After all others: a module of the work named like one of Python is not that."""
    test = (
        'cd "$APP_DIR"; python3 -c "import solution, json; print(solution.TEA, json.__file__)";'
        ' python3 "$TESTS_DIR/check.py"; git config --global user.name me\n'
    )
    check = "import helper, solution, os\nprint(helper.CUP, os.path.basename(os.environ['HOME']))\n"
    files = {"tests__check.py": check, "tests__helper.py": "CUP = 2\n"}
    record, raw = trapped(
        "echo TEA = 1 > solution.py; echo done > out.txt; touch json.py", test + REWARD, isolation, **files
    )  # fmt: skip
    said = (raw / "verifier/test-stdout.txt").read_text(encoding="utf-8").splitlines()
    assert (record.reward, said[1:]) == (1.0, ["2 verifier"])
    assert said[0].endswith("/json/__init__.py")
    listed = json.loads((raw / "artifacts.json").read_text(encoding="utf-8"))
    assert "out.txt" in [file["path"] for file in listed["files"]]
