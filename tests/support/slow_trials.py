"""Trials whose agents leave what takes long to read; run as a program, for another user has to run it as well.

`slow_trials.py FOLDER` tells on stdout, attack by attack, how the trial ended."""

import json
import sys
import tempfile
import time
from pathlib import Path

from skilljuror.harness import artifacts, sandbox
from skilljuror.harness.local import LocalHarness
from skilljuror.harness.sandbox import search_path
from tests.support.harness_tasks import REWARD, make_job, make_task, make_variant

SLOW_COPY = "mkdir /slow; printf '#!/bin/sh\\nsleep 60\\n' > /slow/cp; chmod +x /slow/cp"
"""Puts a program in the trial's files that a copy finds in place of cp, where PATH begins with its folder."""
NEST = "import os\nfor _ in range(1800): os.mkdir('folder'); os.chdir('folder')\nopen('file', 'w')"
ATTACKS = {
    "sparse files": "for f in 1 2 $2/3 $2/4 $3/5; do truncate -s 3900000000 $f; done",
    "deep folders": f'cd $2; python3 -c "{NEST}"',
    "locked folders": "mkdir -p a/b; touch a/b/c; chmod 0 a/b a; mkdir $2/d; touch $2/d/e; chmod 0 $2/d",
    "brackets": "python3 -c \"print('[' * 200000)\"",
    "many files": "touch $2/1 $2/2 $2/3 4 5 6",
    "slow copy": SLOW_COPY,
    "deep folders, slow copy": f'{SLOW_COPY}; python3 -c "{NEST}"',
}
LIMITS = {
    "many files": (artifacts, "MAX_FILES", 5),
    "slow copy": (sandbox, "_COPY_SECONDS", 0.5),
    "deep folders, slow copy": (sandbox, "_COPY_SECONDS", 0.5),
}


def trial(folder, name):
    """One trial with an attack: what is on its record, and how long it took."""
    folder.mkdir()
    (folder / "raw").mkdir()
    task = make_task(folder / "task", test='ls -A "$APP_DIR" >&2\n' + REWARD)
    script = f"echo done > out.txt; echo log > $2/a; {ATTACKS[name]}"
    job = make_job(task, script, variant=make_variant(folder / "variant"), timeout=60)
    began = time.monotonic()
    record = LocalHarness({"isolation": "bwrap"}).run(job, folder / "raw")
    output = folder / "raw" / "verifier" / "test-stdout.txt"
    return {
        "status": record.status,
        "reward": record.reward,
        "message": record.message,
        "left out": record.left_out,
        "skill": record.variant_digest_after,
        "judged": output.read_text(encoding="utf-8").split() if output.exists() else [],
        "logs": sorted(path.name for path in (folder / "raw" / "agent").iterdir()),
        "listed": (folder / "raw" / "artifacts.json").exists(),
        "seconds": time.monotonic() - began,
    }


def main(folder):
    sandbox.search_path = lambda: f"slow:{search_path()}"  # of a copy: the trial's own files
    told: dict[str, object] = {}
    for number, name in enumerate(ATTACKS):
        module, limit, value = LIMITS.get(name, (artifacts, "MAX_FILES", 50_000))
        usual = getattr(module, limit)
        setattr(module, limit, value)
        told[name] = trial(folder / str(number), name)
        setattr(module, limit, usual)
    told["left behind"] = [path.name for path in Path(tempfile.gettempdir()).glob("trial-*")]
    sys.stdout.write(json.dumps(told))


main(Path(sys.argv[1]))
