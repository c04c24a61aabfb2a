"""What a variant's code names lies where the code looks for it, or is to be written there."""

import pytest

from skilljuror.audit.audit import audit
from skilljuror.audit.gates.hygiene import unresolved_paths
from skilljuror.skill.generated import fill_template
from tests.support.knowledge_bundles import bundle

HEAD = (
    "---\nname: bills\ndescription: Adds up bills. Use when a bill is asked for.\n---\n# Bills\n\n"
)
SCRIPT = "import sys\n\nprint(sys.argv)\n"
TOLD = fill_template("write-out", {"path": "scripts/invoice.py"})
COMMANDS = {
    "a span": "Run `python3 scripts/invoice.py data.csv`.\n",
    "a block": "```bash\npython3 scripts/invoice.py data.csv\n```\n",
    "an untagged block": "```\npython3 scripts/invoice.py data.csv\n```\n",
    "from its folder": "```bash\ncd scripts && python3 invoice.py data.csv\n```\n",
    "an absolute path": "```bash\nchmod +x ~/.claude/skills/bills/scripts/invoice.py\n```\n",
}


def _rules(text: str, told: str) -> set[str]:
    source = {"bills/SKILL.md": f"{HEAD}{text}", "bills/scripts/invoice.py": SCRIPT}
    marker = (
        f"\n## Helper implementation for `scripts/invoice.py`\n{told}\n```python\n{SCRIPT}```\n"
    )
    flat = {"bills/SKILL.md": f"{HEAD}{text}{marker}"}
    judged = audit(bundle(source), bundle(flat), "baseline", "strict")
    return {one.rule for one in judged.own if one.severity != "info"}


@pytest.mark.parametrize("text", COMMANDS.values(), ids=COMMANDS)
def test_a_command_that_names_a_file_of_the_page_alone_is_told(text):
    assert _rules(text, "") == {"hygiene.unwritten-file"}
    assert _rules(text, f"\n{TOLD}\n") == set()


def test_a_file_that_no_command_names_may_stand_on_the_page_alone():
    assert _rules("Look at the sums in `scripts/invoice.py`.\n", "") == set()


@pytest.mark.parametrize(
    "line", ["open('assets/rates.yaml')", "cp -r ~/.claude/skills/bills/assets out", "ls assets/"]
)
def test_a_path_in_code_that_led_into_the_parent_and_leads_nowhere_is_told(line):
    text = f"{HEAD}```\n{line}\ncat out/data.csv\n```\n"
    source = bundle({"bills/SKILL.md": text, "bills/assets/rates.yaml": "low: 7\n"})
    moved = bundle({"bills/SKILL.md": text, "bills/data/rates.yml": "low: 7\n"})
    (found,) = unresolved_paths(source, moved)
    assert found.rule == "hygiene.unresolved-path"
    assert found.key in line
    assert list(unresolved_paths(source, source)) == []
