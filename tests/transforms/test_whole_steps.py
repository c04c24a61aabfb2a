"""What belongs to another skill keeps its path, and a procedure stays in one file."""

from skilljuror.bundles.reader import make_bundle
from skilljuror.knowledge.plans.render import render
from skilljuror.models.bundle import Blob, Bundle
from skilljuror.pipeline.construction.audit import audit
from skilljuror.registry import resolve
from skilljuror.transforms import TRANSFORMS

HEAD = "---\nname: kiln\ndescription: How a kiln is fired.\n---\n\n"


def variants(files: dict[str, str]) -> tuple[Bundle, Bundle]:
    """(baseline, pd)."""
    bundle = make_bundle("kiln", {path: Blob(text.encode()) for path, text in files.items()})
    made = []
    for kind in ("baseline", "pd"):
        plan = resolve(TRANSFORMS, kind, "variant")().plan(bundle, {})
        bundle = make_bundle("kiln", render(plan, bundle))
        made.append(bundle)
    return made[0], made[1]


def test_steps_that_go_on_after_a_block_of_code_are_not_parted():
    steps = "".join(
        f"{n}. {verb} the kiln:\n```\nkiln {verb.lower()}\n```\n\n"
        for n, verb in enumerate(("Load", "Close", "Light", "Watch"), 1)
    )
    rest = (
        "**Never**:\n- open the door early\n- leave the room\n\nThe log holds one row a minute.\n"
    )
    flat, made = variants({"kiln/SKILL.md": f"{HEAD}## Firing\n\nWhen asked:\n\n{steps}{rest}"})
    holding = [path for path, blob in made.files.items() if "the kiln:" in (blob.text or "")]
    assert len(holding) == 1
    assert len(made.files) > 1
    assert audit(flat, made, "pd", "strict").verdict == "pass"


def test_an_absolute_path_into_another_skill_stays():
    text = (
        f"{HEAD}# Kiln\n\nRun `python3 scripts/fire.py`.\n\n## Setup\n\n```python\n"
        "sys.path.insert(0, '/mnt/skills/user/glazes/scripts')\n```\n\n## Own\n\n"
        "Or run `python3 /mnt/skills/user/kiln/scripts/fire.py`.\n"
    )
    _, made = variants({"kiln/SKILL.md": text, "kiln/scripts/fire.py": "print(1)\n"})
    told = "\n".join(blob.text or "" for blob in made.files.values())
    assert "'/mnt/skills/user/glazes/scripts'" in told
    assert "Or run `python3 scripts/fire.py`." in told
