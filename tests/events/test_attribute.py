"""The events of a run: which of its accesses are told, and how."""

from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.base.trajectory import (
    Message,
    SkillManifest,
    ToolResult,
)
from skilljuror.events.attribute import attribute
from tests.support.attribution_runs import (
    BUNDLE,
    FORMAT,
    MANIFEST,
    ROOT,
    SKILL,
    TAXES,
    events_of,
    file_tool,
    observed_events,
    ran,
    ran_each,
    run_of,
)


def test_a_path_that_the_bundle_lacks_is_a_phantom():
    (event,) = events_of(
        file_tool("read", ToolResult("File does not exist.", 3, False), path=f"{BUNDLE}/nope.md")
    )
    assert (event.phantom, event.resource) == (True, "nope.md")


def test_an_edit_shows_a_snippet_and_is_no_use():
    result = ToolResult("The file was updated:\n1\ta\n2\tb\n3\tc", 3, True)
    (event,) = events_of(file_tool("edit", result, path=f"{BUNDLE}/SKILL.md", written="b"))
    assert (event.kind, event.counts, event.content_exposed) == ("edit", False, "partial")


def test_a_run_without_skills_shows_what_it_should_not_have_had():
    (event,) = events_of(ran(f"cat {BUNDLE}/SKILL.md", SKILL), manifest=SkillManifest())
    assert (event.skill, event.phantom, event.content_exposed) == ("ledger", True, "full")


def test_a_path_without_the_skills_folder_belongs_to_the_skill_touched_last():
    missing = f"sed: can't read {ROOT}/references/format.md: No such file or directory"
    good, bad = ran_each(
        (f"cat {BUNDLE}/SKILL.md", SKILL), (f"sed -n 1,9p {ROOT}/references/format.md", missing)
    )
    last = observed_events(good, bad)[-1]
    assert (last.skill, last.resource, last.ok, last.phantom) == (
        "ledger",
        "references/format.md",
        False,
        True,
    )


def test_the_events_are_numbered_in_order_and_name_their_file():
    run = run_of(
        *ran_each((f"cat {BUNDLE}/SKILL.md", SKILL), (f"cat {BUNDLE}/references/taxes.md", TAXES))
    )
    sub = type(run.steps[0])("a1", 1, 4, calls=(ran(f"cat {BUNDLE}/SKILL.md", SKILL),), file=1)
    run = type(run)("t", "claude-session", ("a", "b"), (*run.steps, sub), cwd="/srv/app")
    events = attribute(run, None).events
    assert [(one.ordinal, one.agent, one.file) for one in events] == [
        (0, "main", None), (1, "main", None), (2, "a1", "b"),
    ]  # fmt: skip


SHELL = st.lists(
    st.sampled_from(
        ["cat ", "cd ", f"{ROOT}/ledger", "/SKILL.md", "'", '"', "$(", ")", "`", "|", ";", "&&", "\n", "<<E\n",
         "E\n", "{a,b}", "*", "$X", "X=", "for f in ", "; do ", "done", "python3 -c ", "bash -lc ", "xargs ",
         "find . -exec ", "> ", "< ", "\\", "#", " ", "sed -n '1,3p' ", "head -n 2 ", "é", "\0"]
    ),
    max_size=40,
).map("".join)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(SHELL, st.sampled_from([SKILL, FORMAT, "", "x\n", SKILL + FORMAT]))
def test_any_command_and_output_give_the_same_events_twice(command, output):
    run = run_of(ran(command, output), messages=(Message("main", "other", output, 1, 0),))
    for manifest in (MANIFEST, None):
        events = attribute(run, manifest).events
        assert events == attribute(run, manifest).events
        assert [one.ordinal for one in events] == list(range(len(events)))
