"""Which script, module or inline code a command runs."""

import pytest

from tests.support.attribution_runs import (
    BUNDLE,
    observed,
)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"uv run --script {BUNDLE}/scripts/total.py a.csv", ("exec", "scripts/total.py")),
        (f"npx -y tsx {BUNDLE}/scripts/total.ts", ("exec", "scripts/total.ts")),
        (f"docker run --rm -v {BUNDLE}:/s box python /s/scripts/total.py", None),
        (f"docker cp {BUNDLE} box:/x && docker exec box cat /x/SKILL.md", None),
        (f"zip -r kit.zip {BUNDLE}", None),
        (f"cat {BUNDLE}/scripts/run.sh | bash -s -- x", ("exec", "scripts/run.sh")),
        (f"cd {BUNDLE} && python3 -m pytest scripts/test_total.py -q", ("exec", "scripts/test_total.py")),
        (f"cd {BUNDLE} && python3 -m http.server 8000", None),
        (f"export PYTHONPATH={BUNDLE}/scripts:$PYTHONPATH\npython3 -c 'import total; total.main()'", ("import", "scripts/total.py")),
        ("python3 <<'EOF'\nfrom pathlib import Path\nimport sys\nS = Path.home() / '.claude' / 'skills' / 'ledger'\nsys.path.insert(0, str(S / 'scripts'))\nfrom total import main\nmain()\nEOF", ("import", "scripts/total.py")),
        ("python3 -c \"import os, runpy; runpy.run_path(os.path.expanduser('~/.claude/skills/ledger/scripts/total.py'))\"", ("exec", "scripts/total.py")),
    ],
)  # fmt: skip
def test_ways_to_run_what_a_bundle_brings(command, expected):
    found = [one[:2] for one in observed(command, "total 7\n") if one[0] != "mention"]
    assert found == ([expected] if expected else [])
