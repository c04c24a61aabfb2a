"""What an agent leaves for its verifier: its work, and nothing that speaks for it."""

import json

import pytest

from skilljuror.harness.local import LocalHarness
from tests.support.harness_tasks import REWARD, make_job, make_task, needs_bwrap

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
def run(tmp_path):
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
def test_a_trap_earns_nothing_and_is_flagged(run, trap, test, flagged):
    record, _ = run(trap, test)
    assert (record.status, record.reward) == ("scored", 0.0)
    assert any(line.startswith(flagged or "-") for line in record.left_out) is bool(flagged)


LINKS = (
    "mkdir -p d/e; echo done > d/out; ln -s d/out out.txt; ln -s /usr/bin/env env; ln -s ../.. d/e/up;"
    " echo kept > ~/kept; ln -s ~/kept kept; ln -s $PWD/d/e/up/out.txt again"
)


@pytest.mark.parametrize("isolation", [pytest.param("bwrap", marks=needs_bwrap), "none"])
def test_links_within_the_work_and_into_the_system_stay(run, isolation):
    test = 'cd "$APP_DIR"; for one in env kept again d/e/up/input.txt; do [ -e $one ] || echo $one; done\n'
    record, raw = run(LINKS, test + REWARD, isolation)
    said = (raw / "verifier/test-stdout.txt").read_text(encoding="utf-8")
    assert (record.reward, record.left_out, said) == (1.0, (), "")


@pytest.mark.parametrize("isolation", [pytest.param("bwrap", marks=needs_bwrap), "none"])
def test_a_verifier_imports_its_own_modules_and_the_work(run, isolation):
    """After all others: a module of the work named like one of Python is not that."""
    test = (
        'cd "$APP_DIR"; python3 -c "import solution, json; print(solution.TEA, json.__file__)";'
        ' python3 "$TESTS_DIR/check.py"; git config --global user.name me\n'
    )
    check = "import helper, solution, os\nprint(helper.CUP, os.path.basename(os.environ['HOME']))\n"
    files = {"tests__check.py": check, "tests__helper.py": "CUP = 2\n"}
    record, raw = run(
        "echo TEA = 1 > solution.py; echo done > out.txt; touch json.py", test + REWARD, isolation, **files
    )  # fmt: skip
    said = (raw / "verifier/test-stdout.txt").read_text(encoding="utf-8").splitlines()
    assert (record.reward, said[1:]) == (1.0, ["2 verifier"])
    assert said[0].endswith("/json/__init__.py")
    listed = json.loads((raw / "artifacts.json").read_text(encoding="utf-8"))
    assert "out.txt" in [file["path"] for file in listed["files"]]
