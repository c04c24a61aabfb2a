"""Commands are told the folder that they are run from, wherever a layout puts them."""

import pytest
from msgspec import structs

from skilljuror.audit.gates.hygiene import unresolved_paths
from skilljuror.audit.plans.render import render
from skilljuror.audit.plans.verify import verify
from skilljuror.base.skill import Bundle, Generated, Plan
from skilljuror.skill.bundles import make_bundle
from skilljuror.skill.generated import fill_template
from tests.support.knowledge_bundles import bundle
from tests.support.laid_out import laid_out, transform

SKILL = """---
name: {0}
description: Reads {0}.
---
# {0}

Start with the {0}.

## Example: loading {0}

{1}

```bash
python scripts/load_{0}.py in.csv
```

## Format reference

{1}
"""
FILLER = "\n".join(f"Sentence {n} about the table and its rows." for n in range(90))
GUIDE = "# Guide\n\nRun it:\n\n```bash\npython scripts/load_nets.py --guide\n```\n"


def _union() -> Bundle:
    files = {
        "nets/references/guide.md": GUIDE,
        "nets/references/plain.md": "# Plain\n\nNothing runs.\n",
    }
    for name in ("nets", "logs"):
        files[f"{name}/SKILL.md"] = SKILL.format(name, FILLER)
        files[f"{name}/scripts/load_{name}.py"] = "print(1)\n"
    return bundle(files)


def _said(folder: str) -> str:
    return fill_template("directory", {"path": folder})


def _plan() -> tuple[Plan, Bundle]:
    parent = laid_out(_union(), "baseline")["baseline"]
    return transform("pd").plan(parent, {}), parent


def test_each_page_with_a_command_says_from_where_to_run_it():
    made = laid_out(_union(), "baseline", "pd")
    pages = {path: blob.text or "" for path, blob in made["pd"].files.items()}
    commanding = {path: text for path, text in pages.items() if "python scripts/load_" in text}
    assert len(commanding) > 2
    for path, text in commanding.items():
        for folder in ("nets", "logs"):
            command = text.find(f"python scripts/load_{folder}")
            assert command < 0 or 0 <= text.find(_said(folder)) < command, path
            assert text.count(_said(folder)) <= 1
    silent = [path for path in pages if path not in commanding and "/references/" in path]
    assert silent
    assert not any("Run the commands" in pages[path] for path in silent)
    assert not list(unresolved_paths(made["source"], made["pd"]))


@pytest.mark.parametrize("folder", [None, "logs", "other"])
def test_a_plan_that_says_it_otherwise_is_refused(folder):
    plan, parent = _plan()
    (name,) = (file.path for file in plan.files if file.path.endswith("guide.md"))

    def forged(piece: object) -> list[object]:
        if not isinstance(piece, Generated) or piece.template != "directory":
            return [piece]
        return [Generated("directory", {"path": folder})] if folder else []

    files = tuple(
        structs.replace(file, pieces=tuple(one for piece in file.pieces for one in forged(piece)))
        if file.path == name
        else file
        for file in plan.files
    )
    other = structs.replace(plan, files=files)
    problems = verify(other, parent, make_bundle("b", render(other, parent)))
    assert any("does not say to run its commands from 'nets'" in one for one in problems)


def test_a_page_of_one_skill_says_nothing():
    files = {
        "nets/SKILL.md": SKILL.format("nets", FILLER),
        "nets/scripts/load_nets.py": "print(1)\n",
    }
    made = laid_out(bundle(files), "baseline", "pd")["pd"]
    assert not any("Run the commands" in (blob.text or "") for blob in made.files.values())
