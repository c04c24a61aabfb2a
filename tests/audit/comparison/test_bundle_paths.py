"""Paths that code names, and what of a bundle they lead to."""

import pytest

from skilljuror.audit.comparison.code_paths import BundlePaths, commanded_paths, path_literals
from skilljuror.skill.units import units_of
from tests.support.knowledge_bundles import bundle

HEAD = "---\nname: {}\ndescription: Reads captures.\n---\n# T\n\n"
FILES = {
    "nets/SKILL.md": HEAD.format("nets") + "Run `python scripts/load.py a.cap`.\n",
    "nets/scripts/load.py": "print(1)\n",
    "logs/SKILL.md": HEAD.format("logs") + "```bash\ncat ~/.claude/skills/logs/README.md\n```\n",
    "logs/README.md": "# Logs\n\nText.\n",
}
FLAT = {
    "both/SKILL.md": HEAD.format("both")
    + "# nets\n\nRun the commands of this section from the `nets` directory.\n\n"
    "## Helper implementation for `nets/scripts/load.py`\n\n```python\nprint(1)\n```\n"
}


@pytest.mark.parametrize(
    ("code", "paths"),
    [
        ("sys.path.insert(0, '/root/skills/nets')", ("sys.path.insert", "/root/skills/nets")),
        ("cd ~/.claude/skills/nets && ls", ("~/.claude/skills/nets",)),
        ('open(f"{base}/a.json")', ("{base}/a.json",)),
        ("$SKILL_DIR/scripts/load.py -o out.txt", ("$SKILL_DIR/scripts/load.py", "out.txt")),
        ("curl https://host.example/skills/load.py", ()),
        ("x = 3.14", ()),
    ],
)
def test_paths_in_a_line_of_code(code, paths):
    assert path_literals(code) == paths


@pytest.mark.parametrize(
    ("literal", "place"),
    [
        ("scripts/load.py", "nets/scripts/load.py"),
        ("./scripts", "nets/scripts"),
        ("/root/skills/nets", "nets"),
        ("/mnt/skills/public/nets/scripts/load.py", "nets/scripts/load.py"),
        ("<skill-dir>/scripts/load.py", "nets/scripts/load.py"),
        ("load.py", None),
        ("/root/nothing/scripts/load.py", None),
        ("/root/.claude/skills/nets/README.md", None),
    ],
)
def test_a_path_leads_where_it_would_from_a_folder_that_is_told_of(literal, place):
    source = bundle(FILES)
    assert BundlePaths(source, units_of(source)).place(literal, "nets/SKILL.md") == place


def test_a_page_tells_of_the_folder_of_a_section_and_of_the_files_it_carries():
    flat = bundle(FLAT)
    paths = BundlePaths(flat, units_of(flat))
    for literal in ("scripts/load.py", "nets/scripts/load.py", "/root/skills/nets/scripts/load.py"):
        assert paths.place(literal, "both/SKILL.md") == "both/nets/scripts/load.py"


def test_commands_name_files():
    named = {path for _, path in commanded_paths(bundle(FILES))}
    assert named == {"nets/scripts/load.py", "logs/README.md"}
