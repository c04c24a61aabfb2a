"""The scripted model on a container's own loopback device: `python3 -m tests.support.model_in_container PORT`."""

import sys
import time

from tests.support.model_server import Step, model_server, shell

READS = shell("codex", "cat ~/.agents/skills/brew/SKILL.md")
SCRIPTS = {
    "How to brew tea": [READS, shell("codex", "echo done > out.txt"), Step("It is done.")],
    "": [shell("codex", "echo late > out.txt"), Step("It is done.")],
}
"""With the Skill offered it is read, and the task done; without, the answer is wrong."""

if __name__ == "__main__":
    with model_server(SCRIPTS, port=int(sys.argv[1])):
        while True:
            time.sleep(60)
