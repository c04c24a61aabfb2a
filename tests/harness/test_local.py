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
from skilljuror.harness import process
from skilljuror.harness.local import LocalHarness, _machine_faults
from skilljuror.study.trial import MACHINE_FAULTS
from tests.support.harness_tasks import (
    ISOLATIONS,
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


def test_a_failing_agent_is_verified_all_the_same(run):
    record, _ = run("echo done > out.txt; exit 7")
    assert (record.status, record.reward, record.exit_code) == ("scored", 1.0, 7)
    assert record.exception == "NonZeroAgentExitCodeError"
    assert "status 7" in record.message


def test_a_killed_agent_has_the_shells_exit_code(run):
    record, _ = run("kill -TERM $$")
    assert record.exit_code == 143


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


def test_output_held_open_by_a_child_does_not_hang(run):
    record, _ = run("sleep 300 & echo done > out.txt")
    assert record.reward == 1.0
    assert record.agent_seconds < 200


def test_an_agent_that_closes_its_output_is_still_timed(run):
    record, _ = run("exec >&- 2>&-; sleep 300", timeout=0.4)
    assert record.status == "timeout"


def test_captured_output_is_bounded(run):
    limit = process.MAX_OUTPUT
    record, raw = run(f"head -c {limit + 5000} /dev/zero; echo done > out.txt")
    assert record.reward == 1.0
    tail = (raw / "agent-stdout.txt").read_bytes()[limit:]
    assert tail == b"\n[cut here: 5000 more bytes]\n"


def test_places_are_told_in_both_modes(run):
    places = (
        'echo "$APP_DIR|$LOGS_DIR|$TESTS_DIR|$SKILLS_DIR|$HOME"; pwd; cat "$1"; echo "$2|$3|$4"'
    )
    record, raw = run(places)
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


def test_canary_lines_do_not_reach_the_agent(run, tmp_path):
    text = "<!-- a CANARY line GUID 1 -->\nDo it.\n"
    task = make_task(tmp_path / "task", **{"instruction.md": text})
    assert stdout(run("cat $1", task=task)[1]) == "Do it.\n"


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


def test_the_no_skill_arm_has_no_skills_folder(run):
    record, raw = run('test -e "$3" || echo absent')
    assert stdout(raw) == "absent\n"
    assert (record.variant, record.variant_digest, record.skill_root) == (None, None, None)


def test_a_variant_changed_after_the_build_stops_the_run(tmp_path):
    variant = make_variant(tmp_path / "variant")
    job = make_job(make_task(tmp_path / "task"), variant=variant)
    write_tree(variant, {"brew/extra.md": "more"})
    (tmp_path / "raw").mkdir()
    with pytest.raises(HarnessError, match="changed after its gates"):
        LocalHarness({"isolation": "none"}).run(job, tmp_path / "raw")


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


def test_a_forged_reward_does_not_count(run):
    record, _ = run("mkdir -p $LOGS_DIR/verifier; echo 1 > $LOGS_DIR/verifier/reward.json; "
                    "echo 1 > $LOGS_DIR/verifier/reward.txt")  # fmt: skip
    assert record.reward == 0.0


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


def test_a_verifier_without_an_answer_leaves_the_trial_unscored(run, tmp_path):
    record, raw = run(task=make_task(tmp_path / "task", test="echo hello; echo oops >&2; exit 3\n"))
    assert (record.status, record.reward) == ("unscored", None)
    assert "neither reward.json nor reward.txt" in record.message
    said = (raw / "verifier" / "test-stdout.txt").read_text(encoding="utf-8")
    assert sorted(said.split()) == ["hello", "oops"]


@pytest.mark.parametrize(("end", "status"), [("exit 3", 3), ("kill -SEGV $$", 139)])
def test_a_verifier_that_dies_after_its_answer_is_on_the_record(run, tmp_path, end, status):
    test = f'echo 1 > "$LOGS_DIR/verifier/reward.txt"; {end}\n'
    record, _ = run(task=make_task(tmp_path / "task", test=test))
    assert (record.reward, record.message) == (1.0, f"the verifier ended with status {status}")


def test_a_verifier_that_hangs_is_stopped(run, tmp_path):
    test = 'echo 0 > "$LOGS_DIR/verifier/reward.txt"; sleep 300\n'
    record, _ = run(task=make_task(tmp_path / "task", test=test), verifier_timeout=0.4)
    assert (record.status, record.reward, record.rewards) == ("unscored", None, {"reward": 0.0})
    assert "verifier was stopped after 0.4 s" in record.message


def test_a_verifier_needs_no_execute_bit_and_no_shebang(run, tmp_path):
    task = make_task(tmp_path / "task")
    test = task / "tests" / "test.sh"
    test.write_text('echo 0.5 > "$LOGS_DIR/verifier/reward.txt"\n', encoding="utf-8")
    test.chmod(0o644)
    assert run(task=task)[0].reward == 0.5


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
        ({"speed": 1}, "unknown option 'speed'"),
    ],
)
def test_wrong_options_are_refused(options, said):
    with pytest.raises(UsageError, match=said):
        LocalHarness(options)


def test_a_stop_ends_the_running_program_at_once(tmp_path):
    """In a process of its own, for the order cannot be taken back."""
    raw, mark = tmp_path / "raw", f"mark-{uuid4().hex}"
    raw.mkdir()
    job = make_job(make_task(tmp_path / "task"), f"exec -a {mark} sleep 300", timeout=300)
    worker = multiprocessing.get_context("spawn").Process(target=stopped_soon, args=(job, raw))
    worker.start()
    worker.join(60)
    assert worker.exitcode == process.STOPPED
    assert not alive(mark)


def stopped_soon(job, raw):
    threading.Timer(0.3, process.request_stop).start()
    LocalHarness({"isolation": "none"}).run(job, raw)
