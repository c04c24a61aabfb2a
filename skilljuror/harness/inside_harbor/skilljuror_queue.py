"""Run trials in one process of Harbor, in Harbor's Python: `skilljuror_queue.py job.json`.

Each starts when one of `at_once` slots is free, in the order of the file. When a trial has ended, its
name is a line of `ended.txt` beside that file. SIGTERM and SIGINT cancel all trials, in order.
"""

import asyncio
import json
import signal
import sys
from pathlib import Path

from harbor.models.trial.config import TrialConfig
from harbor.trial.queue import TrialQueue


async def run_all(file: Path) -> None:
    """Run every trial of a job file; what keeps one from having a result ends all."""
    for name in (signal.SIGINT, signal.SIGTERM):
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(name, task.cancel)
    said = json.loads(file.read_bytes())
    queue = TrialQueue(said["at_once"])  # without retries, which would delete what failed
    ended = file.with_name("ended.txt")

    async def run(config: TrialConfig) -> None:
        await queue.submit(config)
        with ended.open("a", encoding="utf-8") as lines:
            lines.write(config.trial_name + "\n")

    configs = [TrialConfig.model_validate(one) for one in said["trials"]]
    await asyncio.gather(*map(run, configs))


if __name__ == "__main__":
    asyncio.run(run_all(Path(sys.argv[1])))
