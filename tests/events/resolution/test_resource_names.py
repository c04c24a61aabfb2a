"""Names of resources that a log shows without their text."""

from hypothesis import given

from skilljuror.base.trajectory import Message, ToolCall, ToolResult
from skilljuror.events.resolution import resource_names as names
from skilljuror.events.resolution.skill_catalog import SkillCatalog
from tests.support.attribution_runs import (
    BODY,
    BUNDLE,
    FORMAT,
    REFERENCES,
    SKILL,
    TAXES,
    events_of,
    observed_events,
    ran,
    ran_each,
)
from tests.support.generated_texts import MANY, glued


def test_a_glob_means_the_files_that_a_listing_named():
    pairs = [
        (f"ls {BUNDLE}/references", "format.md\ntaxes.md\n"),
        (f"cd {BUNDLE} && cat references/*.md", FORMAT + TAXES),
    ]
    resources = [one.resource for one in observed_events(*ran_each(*pairs)) if one.kind == "read"]
    assert resources == ["references/format.md", "references/taxes.md"]


def test_a_glob_means_the_files_that_the_skill_names():
    body = Message("main", "skill_body", f"Base directory for this skill: {BUNDLE}\n\n{BODY}", 3, 1,
                   skill="ledger", path=BUNDLE, call_id="c0")  # fmt: skip
    skill = ToolCall(
        "c0", "Skill", "skill", 2, skill="ledger", result=ToolResult("Launching skill", 3, True)
    )
    events = observed_events(
        skill, *ran_each((f"cat {BUNDLE}/references/*", FORMAT)), messages=(body,)
    )
    assert [(one.kind, one.resource) for one in events] == [
        ("activate", "SKILL.md"), ("read", "references/format.md"),
    ]  # fmt: skip


def test_words_at_the_ends_of_lines_are_no_files():
    first = ran(f"ls {REFERENCES}; cat {BUNDLE}/SKILL.md", f"taxes.md\n{SKILL}")
    second = ran(f"cat {REFERENCES}/*", TAXES, call_id="c2", line=9)
    named = {one.resource for one in events_of(first, second, manifest=None)}
    assert named <= {".", "SKILL.md", "references/taxes.md", "references/format.md"}


def test_a_folder_with_a_name_of_its_own_is_listed_and_teaches_its_files():
    listed = ran(f"ls {BUNDLE}/tables", "ports.md\n")
    shown = ran(f"cat {BUNDLE}/tables/*.md", "# Ports\nHigh water\n", call_id="c2", line=9)
    found = [(one.kind, one.resource) for one in events_of(listed, shown, manifest=None)]
    assert found == [("list", "."), ("read", "tables/ports.md")]
    missing = ran(f"ls {BUNDLE}/absent", "ls: cannot access: No such file\n", exit_code=2)
    (event,) = events_of(missing, manifest=None)
    assert (event.kind, event.resource, event.ok) == ("list", ".", False)


@MANY
@given(
    text=glued(
        "a/b.md", "c.md", "/", ".", " ", "\n", "\x85", "\u2028", "\t", "x", ".md", "(", "http://"
    )
)
def test_links_are_looked_for_only_in_lines_that_may_hold_one(text):
    known, slow = SkillCatalog(), SkillCatalog()
    names.learn_linked_names(text, "s", known)
    for path in sorted({path for word in text.split() for path in names._LINK.findall(word)}):
        if "/" in path or path.endswith(".md"):
            slow.add_name("s", path.removeprefix("./"))
    assert known.mentioned == slow.mentioned
