"""Code names the same paths in every layout."""

import pytest

from skilljuror.audit.gates.knowledge import KnowledgeGate
from tests.support.knowledge_bundles import bundle

HEAD = "---\nname: nets\ndescription: Reads captures of a network.\n---\n# Nets\n\n"


def _told(before, after) -> list[str]:
    found = KnowledgeGate().check(before, after, "", "rewritten").findings
    return [one.rule for one in found if one.rule != "edit.file-renamed"]


def _changes(before: str, after: str, *, moved: bool = False) -> list[str]:
    """What a line of code is told to be when it became another; the script may lie elsewhere."""
    script = "print(1)\n"
    sides = []
    for line, folder in ((before, "scripts"), (after, "tools" if moved else "scripts")):
        text = f"{HEAD}Look at the packets.\n\n```python\n{line}\n```\n"
        files = {"nets/SKILL.md": text, f"nets/{folder}/load.py": script}
        sides.append(bundle(files, name="nets"))
    return _told(*sides)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sys.path.insert(0, '/root/skills/nets')", "sys.path.insert(0, 'nets')"),
        ("sys.path.append('/root/.claude/skills/nets/scripts')", "sys.path.append('scripts')"),
        ("python scripts/load.py", "python load.py"),
        ("python load.py", "python scripts/load.py"),
        ("cd ~/.claude/skills/nets", "cd /root/skills/nets"),
    ],
)
def test_a_path_in_code_that_became_another_is_told(before, after):
    assert _changes(before, after) == ["edit.path"]


def test_a_command_in_prose_is_code():
    files = {"nets/scripts/load.py": "print(1)\n"}
    before = bundle({**files, "nets/SKILL.md": f"{HEAD}Run `python scripts/load.py a.cap` now.\n"})
    after = bundle({**files, "nets/SKILL.md": f"{HEAD}Run `python load.py a.cap` now.\n"})
    assert _told(before, after) == ["edit.path"]


def test_a_path_that_follows_its_file_is_the_same():
    assert _changes("python scripts/load.py", "python tools/load.py", moved=True) == []


def test_a_command_that_reads_a_file_of_the_same_name_elsewhere_is_told():
    files = {"nets/d1/api.md": "# D1\n\nOne.\n", "nets/kv/api.md": "# KV\n\nTwo.\n"}
    text = f"{HEAD}```bash\ncat {{}}/api.md\ncat {{}}/api.md\n```\n"
    before = bundle({**files, "nets/SKILL.md": text.format("d1", "kv")})
    after = bundle({**files, "nets/SKILL.md": text.format("d1", "d1")})
    assert _told(before, after) == ["edit.path"]
    assert _told(before, before) == []


def test_the_same_path_is_the_same():
    line = "sys.path.insert(0, '/root/skills/nets')"
    assert _changes(line, line) == []
