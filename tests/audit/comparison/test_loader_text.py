"""Text that the loader of a SKILL.md replaces or runs, and text that only looks like it."""

import pytest

from skilljuror.audit.gates.loader import kept_on_disk, loader_lines
from tests.support.knowledge_bundles import skill


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Fill in $0 and $12, then $ARGUMENTS and $ARGUMENTS[1].", ["$0", "$12", "$ARGUMENTS", "$ARGUMENTS"]),
        ("${CLAUDE_SKILL_DIR}/a.sh for ${CLAUDE_SESSION_ID}", ["${CLAUDE_SKILL_DIR}", "${CLAUDE_SESSION_ID}"]),
        ("Forms: !`ls $0`", ["!", "$0"]),
        ("A sheet costs $5.", ["$5"]),
        ("Keep \\$1, $1st, $HOME, ${1}, $100 and $ARGUMENTSX.", []),
        ("Wow!`ls` and ! `ls` and `!ls`", []),
    ],
)  # fmt: skip
def test_what_is_replaced_or_run_is_found_and_nothing_else(text, tokens):
    (found,) = [one.tokens for one in loader_lines((text,))] or [()]
    assert sorted(found) == sorted(tokens)


def test_a_marked_fence_is_run_and_what_is_replaced_in_it_has_its_own_line():
    lines = ("Look.", "```!", "ls", "du $0", "```", "```sh", "ls", "```")
    found = [(one.number, one.tokens, one.commands) for one in loader_lines(lines)]
    assert found == [(2, ("!",), ("ls\ndu $0",)), (4, ("$0",), ())]


def test_files_that_would_change_and_those_that_the_loader_runs_stay_on_disk():
    source = skill(
        "\nForms: !`sh scripts/list.sh`\n\nRun `sh scripts/fill.sh FORM`.\n",
        **{
            "scripts/list.sh": ". scripts/names.sh\nlist\n",
            "scripts/names.sh": "list() { ls; }\n",
            "scripts/fill.sh": 'lp "$1"\n',
            "scripts/plain.sh": "lp\n",
            "references/cost.md": "A sheet costs $5.\n",
        },
    )
    names = {"scripts/list.sh", "scripts/names.sh", "scripts/fill.sh", "references/cost.md"}
    assert kept_on_disk(source) == {f"demo/{name}" for name in names}
