"""Links to folders, and commands quoted with other marks behind them."""

from skilljuror.audit.audit import audit
from tests.support.knowledge_bundles import bundle

HEAD = "---\nname: a\ndescription: Does things.\n---\n"


def _rules(parent: dict[str, str], variant: dict[str, str], kind: str) -> set[str]:
    judged = audit(bundle(parent), bundle(variant), kind, "strict")
    return {one.rule for one in judged.own if one.severity != "info"}


def test_a_link_to_a_folder_of_carried_files_starts_at_the_file_that_holds_it():
    source = {
        "a/SKILL.md": f"{HEAD}# A\n\nText.\n",
        "a/references/x.md": "# X\n\nSee [all](fixtures/) and [up](../).\n",
        "a/references/fixtures/y.md": "# Y\n\nMore.\n",
    }
    flat = {
        "a/SKILL.md": f"{HEAD}# A\n\nText.\n\n## Reference content from `references/x.md`\n\n"
        "### X\n\nSee [all](fixtures/) and [up](../).\n\n"
        "## Reference content from `references/fixtures/y.md`\n\n### Y\n\nMore.\n"
    }
    assert _rules(source, flat, "baseline") == set()
    lost = {"a/SKILL.md": flat["a/SKILL.md"].replace("(fixtures/)", "(elsewhere/)")}
    assert "hygiene.broken-link" in _rules(source, lost, "baseline")


def test_a_command_is_the_same_without_the_marks_around_it():
    parent = {"a/SKILL.md": f"{HEAD}# A\n\nClear up (`rm -rf .tmp/a`).\n"}
    same = {"a/SKILL.md": f"{HEAD}# A\n\nClear up (rm -rf .tmp/a).\n"}
    other = {"a/SKILL.md": f"{HEAD}# A\n\nClear up (`rm -rf .tmp/b`).\n"}
    assert "security.destructive" not in _rules(parent, same, "other")
    assert "security.destructive" in _rules(parent, other, "other")
