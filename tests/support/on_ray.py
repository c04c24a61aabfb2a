"""A driver of a Ray cluster, run as a program: `on_ray.py kill FOLDER` reads two shards, the worker of each killed once in
the middle; `on_ray.py refuse` calls what raises."""

import os
import signal
import sys
from pathlib import Path

from skilljuror.base.cluster import map_on_ray
from skilljuror.base.errors import UsageError
from skilljuror.judge.study import judge_study
from skilljuror.logs.discovery import LogFilter
from skilljuror.store.logs import ingest_logs
from tests.support.places import GOLDENS

FOLDERS = [path for path in sorted(GOLDENS.iterdir()) if path.is_dir()]


def read_and_die(shard):
    """Read and judge a shard; the first time, this process is killed when some files are read."""
    number, _, count = shard.name.split("-")
    died = shard.parent / f"died-{number}"

    def progress(report):
        if report.done and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    ingest_logs(
        shard, FOLDERS, wanted=LogFilter(shard=(int(number), int(count))), progress=progress
    )
    judge_study(shard)
    return died.exists()


def refuse(number):
    raise UsageError(f"{number} is refused; use another", field="number")


if __name__ == "__main__":
    if sys.argv[1] == "kill":
        shards = [Path(sys.argv[2], f"{k}-of-2") for k in (1, 2)]
        assert dict(map_on_ray(read_and_die, shards)) == dict.fromkeys(shards, True)
    else:
        try:
            list(map_on_ray(refuse, [7]))
        except UsageError as error:
            sys.stdout.write(f"{error}\n")
