"""Files that a glob meant, told from what was printed."""

import pytest
from hypothesis import given

from skilljuror.events.resolution import glob_matches as globs
from tests.support.attribution_runs import (
    BUNDLE,
    REFERENCES,
    ROOT,
    SKILL,
    TAXES,
    observed,
)
from tests.support.generated_texts import MANY, glued


@pytest.mark.parametrize(
    ("command", "output", "paths"),
    [
        (f"cat {ROOT}/*/SKILL.md", SKILL, ["SKILL.md"]),
        (f"cd {ROOT} && for d in */; do head -20 $d/SKILL.md; done", SKILL, ["SKILL.md"]),
        (f"find {BUNDLE} -type f -exec cat {{}} +", SKILL, ["SKILL.md"]),
        (f"head -40 {REFERENCES}/*.md", f"==> {REFERENCES}/taxes.md <==\n{TAXES}", ["references/taxes.md"]),
        (f"cd {BUNDLE}; head -40 references/*", f"==> references/taxes.md <==\n{TAXES}", ["references/taxes.md"]),
        (f'for f in {REFERENCES}/*.md; do echo "## $(basename $f)"; cat $f; done', f"## taxes.md\n{TAXES}", ["references/taxes.md"]),
        (f'find {BUNDLE} -name "*.md" -print -exec cat {{}} \\;', f"{BUNDLE}/SKILL.md\n{SKILL}{REFERENCES}/taxes.md\n{TAXES}", ["SKILL.md", "references/taxes.md"]),
        (f"cat {REFERENCES}/*.md", "# Some text\nsee taxes.md and format.md for more\n", []),
    ],
)  # fmt: skip
def test_a_glob_means_the_files_that_the_output_names(command, output, paths):
    found = [one for one in observed(command, output) if one[0] == "read"]
    assert [one[1] for one in found] == paths


@MANY
@given(output=glued("---\n", "\n", "name: x", "name:", "---\r\n", "\r", "a: b\n", "x"))
def test_front_matter_is_looked_for_only_where_a_name_is(output):
    slow = bool(globs._FRONT_MATTER.search(output))
    assert bool(list(globs.paths_by_front_matter("*/SKILL.md", output))) <= slow
    assert slow <= ("\nname:" in output)


@MANY
@given(line=glued("# ", "==", "file: ", "a/b.md", "b.py", ".", " ", ":", "x"))
def test_a_heading_of_a_file_holds_a_dot(line):
    if globs._HEADING.match(line):
        assert "." in line
