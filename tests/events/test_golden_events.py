"""Events of whole logs, from the raw file to the event."""

import pytest

from skilljuror.events.attribute import attribute
from tests.support import goldens

EXPECTED = {
    "codex-rollout/argument-lists": [
        (3, "read", "SKILL.md", "shell", "full", ((1, 7),), True),
        (5, "read", "references/ports.md", "shell", "full", ((1, 3),), True),
        (9, "read", "references/ports.md", "python", "full", ((1, 3),), True),
        (11, "read", "references/ports.md", "shell", "partial", ((1, 2),), True),
        (13, "read", "references/ports.md", "read-tool", "full", ((1, 3),), True),
        (15, "edit", "references/ports.md", "shell", "none", None, True),
        (19, "exec", "scripts/height.py", "shell", "none", None, True),
    ],
    "mini-swe-agent/fences": [
        (3, "read", "SKILL.md", "shell", "full", ((1, 6),), True),
        (7, "read", "references/ports.md", "shell", "partial", None, True),
        (9, "exec", "scripts/height.py", "shell", "none", None, False),
    ],
    "claude-session/background": [
        (2, "read", "SKILL.md", "shell", "full", ((1, 7),), True),
        (4, "exec", "scripts/height.py", "shell", "none", None, False),
    ],
    "claude-session/twice-loaded": [
        (2, "activate", "SKILL.md", "skill-tool", "full", None, True),
        (5, "activate", "SKILL.md", "skill-tool", "none", None, True),
        (8, "activate", "SKILL.md", "skill-tool", "none", None, True),
        (10, "activate", "SKILL.md", "skill-tool", "full", None, True),
        (15, "read", "SKILL.md", "reinjected", "full", None, True),
        (17, "activate", "SKILL.md", "slash", "none", None, True),
    ],
    "copilot-cli/skill-tool": [
        (3, "activate", "SKILL.md", "skill-tool", "full", None, True),
        (7, "read", "references/stations.md", "read-tool", "full", ((1, 2),), True),
        (10, "activate", "SKILL.md", "slash", "full", None, True),
        (11, "activate", "SKILL.md", "skill-tool", "none", None, False),
        (13, "activate", "SKILL.md", "skill-tool", "full", None, True),
    ],
    "opencode/skill": [
        (2, "activate", "SKILL.md", "skill-tool", "full", None, True),
        (2, "read", "references/stations.md", "read-tool", "full", ((1, 2),), True),
        (3, "activate", "SKILL.md", "slash", "full", None, True),
    ],
}


@pytest.mark.parametrize("case", EXPECTED)
def test_events_of_a_golden_log(case):
    found = [
        (one.line, one.kind, one.resource, one.via, one.content_exposed, one.lines, one.ok)
        for run in goldens.trajectories(case)
        for one in attribute(run, None).events
    ]
    assert found == EXPECTED[case]
