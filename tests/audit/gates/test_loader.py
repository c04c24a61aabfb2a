"""Text that a loader of SKILL.md replaces or runs is told where it stops to work, and where it begins to."""

import pytest

from skilljuror.audit.audit import audit
from tests.support.knowledge_bundles import bundle, skill

LINES = {
    "injection": "Forms of today: !`ls forms`\n",
    "argument": "Fill in the form that $ARGUMENTS names.\n",
    "value": "Forms are in ${CLAUDE_SKILL_DIR}/forms.\n",
}


def told(source, variant, kind="unclaimed", policy="rewritten"):
    result = audit(source, variant, kind, policy)
    return result, [one for one in result.own if one.rule.endswith(".loader-text")]


@pytest.mark.parametrize("lost", LINES)
def test_what_moves_to_a_page_loses_what_the_loader_does(lost):
    source = skill(f"\n## Fill\n\nSign it.\n\n## Forms\n\n{LINES[lost]}")
    root = "\n## Fill\n\nSign it.\n\n## Forms\n\nFor the forms, read references/forms.md.\n"
    variant = skill(root, **{"references/forms.md": f"# Forms\n\n{LINES[lost]}"})
    result, (found,) = told(source, variant)
    assert (found.file, found.line) == ("demo/references/forms.md", 3)
    assert f"loses its {lost}" in found.message
    assert result.verdict != "pass"
    assert told(source, source)[1] == []


def test_a_dollar_of_the_shell_loses_nothing_unless_a_plan_moves_it_or_the_skill_has_arguments():
    line = '```sh\nprint() { lp "$1"; }\n```\n'
    source = skill(f"\nSign it.\n\n## Print\n\n{line}")
    variant = skill("\nSign it. To print, read a.md.\n", **{"a.md": f"# Print\n\n{line}"})
    assert told(source, variant)[1] == []
    assert len(told(source, variant, "pd", "strict")[1]) == 1
    hinted = {path: blob.data.decode() for path, blob in source.files.items()}
    hinted["demo/SKILL.md"] = hinted["demo/SKILL.md"].replace("\n", "\nargument-hint: FORM\n", 1)
    assert len(told(bundle(hinted), variant)[1]) == 1


def test_what_comes_from_a_file_into_a_root_is_told_in_every_layout_that_keeps_it():
    page = "# Cost\n\nA sheet costs $5.\n"
    source = skill("\nSign it.\n", **{"references/cost.md": page})
    flat = skill(f"\nSign it.\n\n## Reference content from `references/cost.md`\n\n##{page}")
    for parent in (source, flat):
        result, (found,) = told(parent, flat, "baseline", "strict")
        assert (found.rule, found.line, result.verdict) == ("layout.loader-text", 12, "fail")
    assert told(flat, source, "pd")[1] == []


def test_a_price_in_the_root_and_a_dollar_with_a_backslash_are_told_nowhere():
    body = "\nA sheet costs $5.\n\nPrint \\$1.\n"
    other = skill("\nA sheet costs $5.\n\nSee a.md.\n", **{"a.md": "Print \\$1.\n"})
    assert told(skill(body), other)[1] == []


@pytest.mark.parametrize(
    "line", ["Forms: !`${CLAUDE_SKILL_DIR}/scripts/list.sh`", "Forms: !`sh scripts/list.sh`"]
)
def test_a_script_that_the_loader_runs_must_be_on_disk(line):
    script = {"scripts/list.sh": "ls\n"}
    carried = (
        "\n## Helper implementation for `scripts/list.sh`\n\nWrite this file to `scripts/list.sh` in the folder of"
        " this SKILL.md before you run anything that uses it.\n\n```bash\nls\n```\n"
    )
    source = skill(f"\n{line}\n", **script)
    (found,) = told(source, skill(f"\n{line}\n{carried}"))[1]
    assert (found.rule, found.line) == ("knowledge.loader-text", 6)
    assert "is not there when SKILL.md is loaded" in found.message


def test_the_folder_of_a_skill_that_becomes_a_section_is_another_one():
    body = "---\nname: {0}\ndescription: d\n---\n\nRead ${{CLAUDE_SKILL_DIR}}/{0}.csv.\n"
    files = {f"{name}/{name}.csv": "1\n" for name in "ab"}
    source = bundle({**files, **{f"{name}/SKILL.md": body.format(name) for name in "ab"}})
    union = {f"u/{path}": text for path, text in files.items()}
    page = "---\nname: u\ndescription: d\n---\n" + "".join(
        f"\n# {name}\n\nRead ${{CLAUDE_SKILL_DIR}}/{name}.csv.\n" for name in "ab"
    )
    found = told(source, bundle({"u/SKILL.md": page, **union}))[1]
    assert [one.line for one in found] == [8, 12]
