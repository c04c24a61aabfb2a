"""What holds against a program that means harm: real processes in real sandboxes."""

import json
import socket
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest
from msgspec.structs import replace

from skilljuror.base.errors import HarnessError, StudyError
from skilljuror.harness import sandbox
from skilljuror.harness.artifacts import GONE
from skilljuror.harness.local import LocalHarness
from skilljuror.harness.sandbox import (
    MEGABYTE,
    OVER_LIMIT,
    BubblewrapSandbox,
    Command,
    Limits,
    OutputFiles,
    search_path,
)
from tests.support.as_user import WHO, told_by
from tests.support.harness_tasks import (
    REWARD,
    alive,
    make_job,
    make_task,
    make_variant,
    needs_bwrap,
    shell_agent,
    write_tree,
)
from tests.support.planted_homes import MARK, planted_home

pytestmark = needs_bwrap
ENV = {"PATH": search_path(), "HOME": "/root"}
LOOK = 'ls -A "$APP_DIR" >&2\n' + REWARD
"""A verifier that tells what it finds."""


@pytest.fixture
def run(tmp_path):
    """Run a script as the agent of a task; the answer is (record, raw folder)."""

    def go(script="", *, task=None, **more):
        task = task or make_task(tmp_path / "task", test=LOOK)
        raw = tmp_path / uuid4().hex
        raw.mkdir()
        harness = LocalHarness({"isolation": "bwrap"})
        return harness.run(make_job(task, script, **more), raw), raw

    return go


@pytest.fixture
def box(tmp_path):
    """Run a script in a sandbox with some limits; the answer is (outcome, its output)."""

    def go(script, seconds=20.0, *, hidden=(), shown=(), network=False, **most):
        root = tmp_path / uuid4().hex
        root.mkdir()
        said = tmp_path / "said"
        command = Command(("bash", "-c", script), ENV, "/", network=network)
        made = BubblewrapSandbox(root, Limits(**most), hidden, shown)
        outcome = made.run(command, seconds, OutputFiles(said, said))
        made.close()
        return outcome, said.read_text(encoding="utf-8", errors="replace")

    return go


def stdout(raw):
    return (raw / "agent-stdout.txt").read_text(encoding="utf-8")


def judged(raw):
    return (raw / "verifier" / "test-stdout.txt").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_fork_bomb_stays_within_its_processes(run):
    mark = f"mark-{uuid4().hex}"
    bomb = (
        "import os\n"
        "for n in range(2000):\n"
        "    try: child = os.fork()\n"
        "    except BlockingIOError: break\n"
        f"    if not child: os.execv('/bin/sleep', ['{mark}', '300'])\n"
        "print(n)\n"
    )
    record, raw = run(f'echo done > out.txt; python3 -c "{bomb}"')
    assert 400 < int(stdout(raw)) < Limits().processes
    assert record.reward == 1.0
    assert not alive(mark)


@pytest.mark.slow
def test_a_bomb_that_never_ends_is_stopped_in_time(run):
    record, _ = run("echo done > out.txt; bomb() { bomb | bomb & }; bomb; sleep 60", timeout=2)
    assert (record.status, record.reward) == ("timeout", 1.0)


def test_processes_are_counted_for_each_sandbox_alone(box):
    """Another sandbox, or a desk with thousands of processes, takes none of them away."""
    outcome, said = box("for i in 1 2 3; do sleep 0.1 & done; wait; echo well", processes=12)
    assert (outcome.exit_code, said) == (0, "well\n")


def test_programs_are_no_root_and_have_no_privilege(box):
    _, said = box("id -u; id -un; cat /proc/self/status")
    lines = said.splitlines()
    assert int(lines[0]) > 60_000
    assert lines[1] == "agent"
    assert {"NoNewPrivs:\t1", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000"} <= set(
        lines
    )


@pytest.mark.slow
def test_removing_everything_harms_nobody(run, tmp_path):
    host = write_tree(tmp_path / "host", {"kept.txt": "kept"})
    record, raw = run(
        "rm -rf --no-preserve-root /root /app /tmp /logs /agent /etc /home /usr/bin / 2>/dev/null"
    )
    assert (record.status, record.reward) == ("scored", 0.0)
    assert (host / "kept.txt").read_text(encoding="utf-8") == "kept"
    assert Path("/usr/bin/env").exists()
    assert (raw / "artifacts.json").exists()


@pytest.mark.parametrize("place", ["/usr", "/etc", "/dev", "/bin", "/proc/sys/kernel", "{python}"])
def test_writing_outside_is_refused(box, place):
    python = Path(search_path().split(":")[0]).resolve()
    _, said = box(f"touch {place.format(python=python)}/planted")
    assert "Read-only" in said or "Permission denied" in said or "No such file" in said
    assert not Path(place.format(python=python), "planted").exists()


@pytest.mark.slow
def test_the_verifier_and_the_solution_cannot_be_read(run, tmp_path):
    files = {"solution__solve.sh": "echo secret-answer\n"}
    task = make_task(tmp_path / "task", test=LOOK + "# secret-answer\n", **files)
    hunt = (
        f"cat {task}/solution/solve.sh {task}/tests/test.sh; find / -name solve.sh 2>/dev/null;"
        " ls /tests /solution; grep -rs secret-answer /agent /app /etc /logs /tmp /root/.agents"
    )
    _, raw = run(hunt, task=task)
    assert stdout(raw) == ""


def test_a_hidden_folder_of_the_system_is_empty(box):
    """The packaged tasks lie in /usr, or below Python's own folder, where pip installed them."""
    assert box("ls /usr/share | head -n 1")[1]
    assert box("ls /usr/share", hidden=(Path("/usr/share"),))[1] == ""
    with pytest.raises(StudyError, match=r"'/usr/local' holds '.*', which trials need; move the"):
        box("true", hidden=(Path("/usr/local"),))


def test_certificates_and_the_settings_of_tls_can_be_read(box):
    """Node reads its settings at every start; other programs need certificates to ask a model."""
    there = [path for path in ("/etc/ssl/certs", "/etc/ssl/openssl.cnf") if Path(path).exists()]
    outcome, said = box(f"ls -d {' '.join(there)} && head -c 1 {there[-1]} > /dev/null")
    assert (outcome.exit_code, said.split()) == (0, there)


def test_what_an_agent_needs_of_this_machine_is_shown_read_only_at_its_own_place(box):
    with TemporaryDirectory(dir="/tmp") as place:  # a sandbox has a /dev/shm of its own
        base = write_tree(Path(place), {"tool/run": "1", "tool.bin": "2", "secret": "3"})
        shown = (base / "tool", base / "tool.bin")
        outcome, said = box(f"cd {base}; cat tool/run tool.bin; ls; echo x > tool/run", shown=shown)
        assert outcome.exit_code == 1
        assert said.startswith("12tool\ntool.bin\n")
        assert "Read-only file system" in said
        assert (base / "tool/run").read_text() == "1"


def test_a_link_that_an_agent_needs_is_a_link_and_the_users_own_folder_is_never_shown(
    box, monkeypatch
):
    with TemporaryDirectory(dir="/tmp") as place:
        base = write_tree(Path(place), {"python/bin/tool": "1", ".local/secret": "3"})
        (base / ".local/bin").mkdir()
        (base / ".local/bin/tool").symlink_to(base / "python/bin/tool")
        shown = (base / ".local/bin/tool", base / "python")
        look = f"cd {base}; readlink .local/bin/tool; cat .local/bin/tool; ls -A .local"
        assert box(look, shown=shown)[1] == f"{base}/python/bin/tool\n1bin\n"
        monkeypatch.setenv("HOME", place)
        for folder in (base, base / ".local"):
            with pytest.raises(StudyError, match=r"would see .*, which holds your own files"):
                box("true", shown=(folder,))


def test_the_verifier_works_on_a_copy_in_a_machine_of_its_own(run, tmp_path):
    """Same path and content, another file; what it does is nothing that the agent left."""
    test = (
        'stat -c %i "$APP_DIR/input.txt"; rm "$APP_DIR/input.txt"; echo done > "$APP_DIR/out.txt"\n'
        'touch "$LOGS_DIR/agent/late"\n'
    )
    task = make_task(tmp_path / "task", test=test + REWARD)
    record, raw = run("stat -c %i input.txt; echo note > $2/log", task=task)
    assert record.reward == 1.0
    assert judged(raw) != stdout(raw)
    listed = json.loads((raw / "artifacts.json").read_text(encoding="utf-8"))
    assert [file["path"] for file in listed["files"]] == ["input.txt"]
    assert [path.name for path in (raw / "agent").iterdir()] == ["log"]


def test_the_copy_holds_what_its_owner_locked(run):
    script = (
        "echo done > out.txt; mkdir deep; echo x > deep/a; mkfifo pipe; ln -s /nowhere link;"
        " echo y > /root/kept; echo z > /tmp/kept; chmod 0 deep/a deep"
    )
    record, raw = run(script)
    assert record.reward == 1.0
    assert judged(raw).split() == ["deep", "input.txt", "out.txt"]


def test_a_part_of_the_files_is_not_judged(tmp_path):
    write_tree(tmp_path, {"first/big": "x" * 2 * MEGABYTE})
    said = OutputFiles(tmp_path / "said", tmp_path / "said")
    small = BubblewrapSandbox(tmp_path / "first", Limits(storage=MEGABYTE))
    with pytest.raises(HarnessError, match=r"take more than 1 MB; set storage_mb"):
        small.run(Command(("true",), ENV, "/"), 5.0, said)
    small.close()


@pytest.mark.slow
def test_a_path_of_too_many_characters_is_left_out_and_told(run, tmp_path):
    script = (
        "echo done > out.txt; python3 -c \"import os\nfor _ in range(1100): os.mkdir('folder'); os.chdir('folder')\n"
        "open('file', 'w')\""
    )
    record, raw = run(script, timeout=60)
    assert (record.status, record.reward) == ("scored", 1.0)
    listed = json.loads((raw / "artifacts.json").read_text(encoding="utf-8"))
    assert [line.rpartition(": ")[2] for line in listed["others"]] == ["File name too long"]


def test_a_swapped_folder_does_not_stop_the_verifier(run):
    """A folder on the way to something that is mounted may be moved; a link in its place is none."""
    record, _ = run("echo done > out.txt; mv /root /r; ln -s /app /root; rmdir /proc /home")
    assert (record.status, record.reward) == ("scored", 1.0)


@pytest.mark.parametrize("lock", ["chmod 000 /logs", "chmod 700 .; chmod 000 /root"])
def test_a_folder_that_the_agent_locked_is_no_fault_of_the_machine(run, tmp_path, lock):
    """Else it would get another try, until one does not lock it."""
    record, _ = run(f"echo done > out.txt; {lock}", variant=make_variant(tmp_path / "variant"))
    assert (record.status, record.reward) == ("scored", 1.0)


@pytest.mark.parametrize(
    ("edit", "edited"),
    [
        ("cat $3/brew/SKILL.md", False),
        ("chmod 000 . /", False),
        ("echo more >> $3/brew/SKILL.md", True),
        ("echo more > $3/brew/notes.md", True),
        ("rm -r $3", True),
        ("mkfifo $3/pipe", True),
        ("rm -r $3; ln -s /usr/share $3", True),
    ],
)
def test_an_edited_skill_is_known(run, tmp_path, edit, edited):
    record, _ = run(edit, variant=make_variant(tmp_path / "variant"))
    assert (record.variant_digest_after != record.variant_digest) is edited
    assert record.variant_digest_after == GONE or len(record.variant_digest_after) == 64


@pytest.mark.parametrize(
    ("edit", "edited"),
    [
        ("mkdir $3/brew/scripts; echo steep > $3/brew/scripts/steep.sh", False),
        ("mkdir $3/brew/scripts; echo steep > $3/brew/scripts/other.sh", True),
        ("mkdir $3/brew/scripts; echo steep | tee $3/brew/scripts/{steep.sh,notes.md}", True),
        ("ln -s /usr/share $3/brew/scripts", True),
        (
            "mkdir $3/brew/scripts; cd $3/brew/scripts; echo 'x = 1' > hot.py; python3 -c 'import hot'",
            False,
        ),
    ],
)
def test_what_the_page_says_to_write_is_no_edit(tmp_path, edit, edited):
    job = make_job(make_task(tmp_path / "task"), edit, variant=make_variant(tmp_path / "variant"))
    (tmp_path / "raw").mkdir()
    job = replace(job, announced=("brew/scripts/hot.py", "brew/scripts/steep.sh"))
    record = LocalHarness({"isolation": "bwrap"}).run(job, tmp_path / "raw")
    assert (record.variant_digest_after != record.variant_digest) is edited


def test_without_a_skill_no_digest_is_taken(run):
    assert run()[0].variant_digest_after is None


def test_a_daemon_is_gone_before_the_verifier_starts(run, tmp_path):
    mark = f"mark-{uuid4().hex}"
    daemon = (
        "python3 -c \"import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  open('up', 'w')\n"
        f"  os.execv('/bin/sleep', ['{mark}', '300'])\""
    )
    test = f"grep -l {mark} /proc/[0-9]*/cmdline | grep -v self; " + REWARD
    record, raw = run(f"{daemon}; until [ -e up ]; do :; done; echo done > out.txt",
                      task=make_task(tmp_path / "task", test=test))  # fmt: skip
    assert record.reward == 1.0
    assert mark not in judged(raw).replace(test, "")
    assert not alive(mark)


@pytest.mark.slow
def test_a_gigabyte_of_output_is_bounded(run):
    begun = time.monotonic()
    record, raw = run(
        "echo done > out.txt; head -c 1000000000 /dev/zero | tee /dev/stderr", timeout=60
    )
    assert record.reward == 1.0
    assert sum(path.stat().st_size for path in raw.rglob("*") if path.is_file()) < 10 * MEGABYTE
    assert time.monotonic() - begun < 60


def test_many_files_grow_to_the_limit_of_all(box):
    many = "i=0; while :; do head -c 5000000 /dev/zero > f$i; i=$((i + 1)); sleep 0.02; done"
    outcome, _ = box(many, storage=20 * MEGABYTE)
    assert (outcome.exit_code, outcome.limit) == (OVER_LIMIT, "its files took more than 20 MB")


def test_files_never_take_more_than_their_limit(box):
    """However fast they come: the kernel refuses the next byte."""
    fill = (
        "for i in {1..400}; do head -c 1000000 /dev/zero > $i || exit; echo $i; done 2> /dev/null"
    )
    assert int(box(fill, storage=20 * MEGABYTE)[1].split()[-1]) in range(10, 20)


def test_memory_of_all_processes_is_limited(box):
    eat = "python3 -c 'import time; x = b\"x\" * 60_000_000; time.sleep(20)'"
    outcome, _ = box(f"{eat} & {eat} & wait", memory=100 * MEGABYTE)
    assert (outcome.exit_code, outcome.limit) == (OVER_LIMIT, "it used more than 100 MB of memory")
    assert outcome.seconds < 15
    outcome, _ = box("python3 -c 'x = b\"x\" * 60_000_000'", memory=100 * MEGABYTE)
    assert (outcome.exit_code, outcome.limit) == (0, None)


def test_a_machine_without_memory_is_a_broken_machine(box, monkeypatch):
    monkeypatch.setattr(sandbox, "_SPARE", 1e18)
    with pytest.raises(HarnessError, match=r"out of memory.*run fewer at once \(--jobs\)"):
        box("sleep 20")


def test_shared_memory_is_limited(box):
    _, said = box("head -c 100000000 /dev/zero > /dev/shm/big; stat -c %s /dev/shm/big")
    assert "No space left" in said
    assert int(said.splitlines()[-1]) < 70 * MEGABYTE


@pytest.mark.slow
def test_a_limit_is_told_on_the_trial(run):
    record, _ = run("echo done > out.txt; python3 -c 'x = b\"x\" * 6 * 10**9'", timeout=60)
    assert (record.reward, record.exit_code) == (1.0, OVER_LIMIT)
    assert record.exception == "NonZeroAgentExitCodeError"
    assert record.message == "the agent was stopped: it used more than 4096 MB of memory"


def test_only_an_agent_with_a_model_has_a_network(run):
    look = "python3 -c 'import socket; print(len(socket.if_nameindex()))'; cat /etc/resolv.conf | wc -l"
    scripted, raw = run(look)
    assert (scripted.network, stdout(raw).split()) == ("none", ["1", "0"])
    program = replace(shell_agent(look), scripted=False)
    record, raw = run(agent=program)
    assert record.network == "host"
    assert int(stdout(raw).split()[0]) == len(socket.if_nameindex())


def test_the_verifier_has_no_network_whatever_the_agent_has(run, tmp_path):
    test = "python3 -c 'import socket; print(len(socket.if_nameindex()))'; exit\n"
    program = replace(shell_agent("true"), scripted=False)
    _, raw = run(agent=program, task=make_task(tmp_path / "task", test=test))
    assert judged(raw).split() == ["1"]


@pytest.mark.parametrize(
    ("said", "recorded"),
    [
        ("", None),
        ("[environment]\nallow_internet = true\n", "allowed"),
        ("[environment]\nallow_internet = false\n", "refused"),
        ('[environment]\nnetwork_mode = "no-network"\n', "no-network"),
    ],
)
def test_the_tasks_own_word_on_the_network_is_kept(run, tmp_path, said, recorded):
    task = make_task(tmp_path / "task")
    (task / "task.toml").write_text(said, encoding="utf-8")
    assert run(task=task)[0].task_network == recorded


@pytest.mark.slow
@pytest.mark.parametrize("skilled", [False, True])
def test_no_skill_and_no_instruction_of_this_machines_user_is_found(
    run, tmp_path, monkeypatch, skilled
):
    monkeypatch.setenv("HOME", str(planted_home(tmp_path / "home")))
    names = " -o ".join(
        f"-iname {name}.md" for name in ("SKILL", "AGENTS", "CLAUDE", "GEMINI", "QWEN")
    )
    look = f"find / -path /proc -prune -o \\( -name '*{MARK}*' -o {names} \\) -print"
    given = {"variant": make_variant(tmp_path / "variant")} if skilled else {}
    found = stdout(run(look, **given)[1]).splitlines()
    assert found == (["/root/.agents/skills/brew/SKILL.md"] if skilled else [])


def test_places_are_the_same_in_every_condition(run, tmp_path):
    look = 'env | grep -v "^_=" | sort; pwd; id -un; hostname; ls -A / ~; echo "$1 $2 $3"'
    bare, skilled = run(look), run(look, variant=make_variant(tmp_path / "variant"))
    with_skill = stdout(skilled[1]).splitlines()
    own = {".agents", "SKILLS_DIR=/root/.agents/skills"}
    assert own <= set(with_skill)
    assert [line for line in with_skill if line not in own] == stdout(bare[1]).splitlines()
    assert "HOME=/root" in with_skill


def test_a_program_that_is_not_there_is_named_before_anything_starts(box, tmp_path):
    empty = BubblewrapSandbox(tmp_path)
    said = OutputFiles(tmp_path / "said", tmp_path / "said")
    with pytest.raises(HarnessError, match=r"'no-such-program': not found on its PATH"):
        empty.run(Command(("no-such-program",), ENV, "/"), 5.0, said)


def test_no_description_of_another_file_is_inherited(box):
    """Whoever could write to bubblewrap's status would pass for it."""
    assert box("ls /proc/self/fd")[1].split() == ["0", "1", "2", "3"]


@pytest.fixture(scope="module", params=WHO)
def told(request):
    """Attack -> how its trial ended."""
    return told_by("slow_trials.py", request.param, 400)


@pytest.mark.slow
def test_sparse_files_cost_no_time_and_are_judged(told):
    """Wherever they are: as a result, as a log, in the Skill."""
    trial = told["sparse files"]
    assert trial["seconds"] < 60
    assert (trial["reward"], trial["judged"]) == (1.0, ["1", "2", "input.txt", "out.txt"])
    assert (trial["skill"], trial["logs"]) == (GONE, ["a"])
    left_out = [Path(line.partition(":")[0]).name for line in trial["left out"]]
    assert left_out == ["5", "3", "4", "1", "2"]


@pytest.mark.slow
def test_folders_of_any_depth_are_judged_in_time(told):
    trial = told["deep folders"]
    assert trial["seconds"] < 300
    assert (trial["status"], trial["reward"], trial["logs"]) == ("scored", 1.0, ["a"])


@pytest.mark.slow
def test_what_is_read_after_the_agent_has_one_budget(told):
    trial = told["many files"]
    assert trial["reward"] == 1.0
    assert trial["judged"][-3:] == ["6", "input.txt", "out.txt"]
    assert trial["left out"][0].endswith("more than 5 files and folders")


@pytest.mark.slow
@pytest.mark.parametrize("attack", ["locked folders", "brackets"])
def test_no_output_of_an_agent_voids_its_trial(told, attack):
    trial = told[attack]
    assert (trial["status"], trial["reward"], trial["left out"]) == ("scored", 1.0, [])


@pytest.mark.slow
@pytest.mark.parametrize("attack", ["slow copy", "deep folders, slow copy"])
def test_a_trial_whose_files_take_too_long_to_copy_is_unscored(told, attack):
    """As a folder is that is nested some thousands deep; its files are removed all the same."""
    trial = told[attack]
    assert (trial["status"], trial["reward"], trial["judged"]) == ("unscored", None, [])
    assert "copying the trial's files took more than 0.5 s" in trial["message"]
    assert trial["listed"]


@pytest.mark.slow
def test_nothing_of_a_trial_stays(told):
    assert told["left behind"] == []
