"""Trials in the sandbox that try to talk; run as a program, for another user has to run it as well.

`talking_trials.py FOLDER` tells on stdout what the second found of what the first left: after its end, at
the same time, and of what the operator has in the kernel's keyrings."""

import json
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from skilljuror.harness.sandbox import BubblewrapSandbox, Command, OutputFiles, search_path
from tests.support import talker


def trial(folder, *words):
    """A sandbox, and what runs a talker in it and returns what that says."""
    root = Path(tempfile.mkdtemp(dir=folder))
    shutil.copy(talker.__file__, root / "talker.py")
    said = OutputFiles(root.with_suffix(".out"), root.with_suffix(".err"))
    command = Command(("python3", "/talker.py", *words), {"PATH": search_path()}, "/")
    sandbox = BubblewrapSandbox(root)

    def run():
        outcome = sandbox.run(command, 60.0, said)
        assert outcome.exit_code == 0, said.stderr.read_text(encoding="utf-8")
        return json.loads(said.stdout.read_text(encoding="utf-8"))

    return sandbox, run


def main(folder):
    talker.call(talker.KEYCTL, 1, None)  # a session keyring of this test's own
    assert talker.put_key(talker.RINGS["session"], b"operator")
    told = {"operator's": trial(folder, "find", "operator")[1]()}
    first, left = trial(folder, "leave", "earlier")
    told["left"] = left()
    second, found = trial(folder, "find", "earlier")
    told["after its end"] = found()
    told["users"] = [first.user, second.user]
    holder, hold = trial(folder, "leave", "held-now")
    thread = threading.Thread(target=hold)
    thread.start()
    while thread.is_alive() and not (holder.root / "left").exists():
        time.sleep(0.02)
    told["at the same time"] = trial(folder, "find", "held-now")[1]()
    (holder.root / "stop").touch()
    thread.join()
    told["doors"] = trial(folder, "doors")[1]()
    sys.stdout.write(json.dumps(told))


main(sys.argv[1])
