import ast
import subprocess
import sys

import pytest
from skills_ref import validate

from tests.support.example_trials import SETS

SKILLS = sorted(path.parent for source in SETS for path in source.glob("*/SKILL.md"))
SCRIPTS = sorted(path for skill in SKILLS for path in skill.glob("scripts/*.py"))
LONG = 500
"""Lines of a flat file that is longer than one look."""


def name(path):
    return "/".join(path.parts[-3:])


@pytest.mark.parametrize("skill", SKILLS, ids=name)
def test_every_skill_is_valid_and_has_something_to_disclose(skill):
    assert validate(skill) == []
    assert len(list(skill.glob("references/*.md"))) >= 2
    assert list(skill.glob("scripts/*.py"))


@pytest.mark.parametrize("skill", SKILLS, ids=name)
def test_every_supporting_file_is_named_in_some_document(skill):
    text = "".join(path.read_text(encoding="utf-8") for path in skill.rglob("*.md"))
    files = [path for folder in ("references", "scripts") for path in (skill / folder).iterdir()]
    assert [path.name for path in files if path.is_file() and path.name not in text] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_every_helper_needs_only_the_standard_library_and_explains_itself(script):
    tree = ast.parse(script.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {getattr(node, "module", None) or node.names[0].name for node in imports}
    assert {one.split(".")[0] for one in names} <= sys.stdlib_module_names


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_a_helper_called_wrongly_says_how_to_call_it(script):
    argv = [sys.executable, str(script), "--no-such-option", "x", "y"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "usage" in done.stderr.lower()


@pytest.mark.slow
@pytest.mark.parametrize("source", SETS, ids=name)
def test_flat_is_long_and_progressive_disclosure_routes(source, variants):
    (flat,) = variants[source.name, "baseline"].glob("*/SKILL.md")
    (root,) = variants[source.name, "pd"].glob("*/SKILL.md")
    assert len(flat.read_text(encoding="utf-8").splitlines()) > LONG
    assert len(root.read_text(encoding="utf-8").splitlines()) < LONG / 2
    assert len(list(root.parent.rglob("*.md"))) > 4
