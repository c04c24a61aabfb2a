"""Paths in text: prose names a moved file by its new path, code is never changed."""

import pytest

from skilljuror.base.skill import Blob, Bundle
from skilljuror.skill.bundles import make_bundle
from tests.support.laid_out import laid_out

HEAD = "---\nname: kiln\ndescription: How a kiln is fired.\n---\n\n"
CODE = [
    "sys.path.insert(0, '/root/skills/kiln')",
    "sys.path.append('/root/.claude/skills/kiln/scripts')",
    "cd ~/.claude/skills/kiln/scripts",
    "PYTHONPATH=/mnt/skills/user/kiln python3 fire.py",
    "cat glazes/SKILL.md",
]


def _told(text: str, **more: str) -> str:
    files = {"kiln/SKILL.md": Blob(f"{HEAD}{text}".encode())}
    files["kiln/scripts/fire.py"] = Blob(b"print(1)\n")
    files |= {f"kiln/{path}": Blob(said.encode()) for path, said in more.items()}
    made: Bundle = laid_out(make_bundle("kiln", files), "baseline", "pd")["pd"]
    return "\n".join(blob.text or "" for blob in made.files.values())


@pytest.mark.parametrize("line", CODE)
def test_code_keeps_its_paths_to_the_letter(line):
    text = f"# Kiln\n\nFire it slowly.\n\n## Setup\n\n```bash\n{line}\n```\n\nOr run `{line}`.\n"
    inner = "---\nname: glazes\ndescription: Glazes.\n---\n# Glazes\n\nText.\n"
    lines = _told(text, **{"glazes/SKILL.md": inner}).split("\n")
    assert line in lines
    assert f"Or run `{line}`." in lines


def test_a_skill_inside_a_skill_keeps_its_path():
    text = (
        "# Kiln\n\nRead `glazes/SKILL.md` first, then glazes/SKILL.md again.\n\n## Setup\n\nText.\n"
    )
    inner = "---\nname: glazes\ndescription: Glazes.\n---\n# Glazes\n\nText.\n"
    told = _told(text, **{"glazes/SKILL.md": inner})
    assert "Read `glazes/SKILL.md` first, then glazes/SKILL.md again." in told
