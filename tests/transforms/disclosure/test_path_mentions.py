"""Paths in text: what belongs to another skill keeps its path."""

from skilljuror.bundles.reader import make_bundle
from skilljuror.models.bundle import Blob
from tests.support.laid_out import laid_out

HEAD = "---\nname: kiln\ndescription: How a kiln is fired.\n---\n\n"


def test_an_absolute_path_into_another_skill_stays():
    text = (
        f"{HEAD}# Kiln\n\nRun `python3 scripts/fire.py`.\n\n## Setup\n\n```python\n"
        "sys.path.insert(0, '/mnt/skills/user/glazes/scripts')\n```\n\n## Own\n\n"
        "Or run `python3 /mnt/skills/user/kiln/scripts/fire.py`.\n"
    )
    files = {"kiln/SKILL.md": Blob(text.encode()), "kiln/scripts/fire.py": Blob(b"print(1)\n")}
    made = laid_out(make_bundle("kiln", files), "baseline", "pd")["pd"]
    told = "\n".join(blob.text or "" for blob in made.files.values())
    assert "'/mnt/skills/user/glazes/scripts'" in told
    assert "Or run `python3 scripts/fire.py`." in told
