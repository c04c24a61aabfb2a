"""From paths, as agents write them, to skills and resources."""

import pytest

from skilljuror.base.trajectory import OfferedSkill, ToolCall, ToolResult
from skilljuror.events.catalog import SkillCatalog
from tests.support.attribution_runs import (
    BUNDLE,
    ROOT,
    SKILL,
    events_of,
    observed_events,
    ran,
)


@pytest.mark.parametrize(
    "folder",
    [
        "~/.claude/skills/ledger",
        "/srv/app/.agents/skills/ledger",
        ".codex/skills/ledger",
        "/x/.gemini/skills/ledger",
        "/root/.claude/plugins/cache/market/books/1.2.0/skills/ledger",
        "/harbor/skills/ledger",
        "/logs/agent/sessions/skills/ledger",
        "/mnt/skills/public/ledger",
    ],
)
def test_roots_known_from_real_logs(folder):
    (event,) = observed_events(ran(f"cat {folder}/SKILL.md", SKILL))
    assert (event.skill, event.resource, event.content_exposed) == ("ledger", "SKILL.md", "full")


@pytest.mark.parametrize(
    "path",
    [
        "/srv/app/plugins/books/skills/ledger/SKILL.md",
        "/srv/app/docs/SKILL.md",
        "/srv/app/.agents/workflow.md",
        "/srv/app/src/skills/ledger.ts",
        "/srv/app/.claude/settings.json",
    ],
)
def test_what_merely_looks_like_a_root(path):
    assert observed_events(ran(f"cat {path}", SKILL)) == []


def test_the_home_folder_need_not_be_known():
    for place in ("$HOME", "${HOME}", "~"):
        command = f"cat {place}/.agents/skills/ledger/SKILL.md"
        (event,) = events_of(ran(command, SKILL), manifest=None, home=None, format="codex-exec")
        assert (event.skill, event.resource, event.ok) == ("ledger", "SKILL.md", True)


def test_the_agents_own_skills_are_kept_apart():
    own = OfferedSkill("imagegen", "/root/.codex/skills/.system/imagegen/SKILL.md", bundled=True)
    call = ran("cat /root/.codex/skills/.system/imagegen/SKILL.md", "---\nname: imagegen\n---\nx\n")
    (event,) = events_of(call, offered=(own,))
    assert (event.skill, event.bundled, event.phantom) == ("imagegen", True, False)


def test_a_skill_keeps_the_name_under_which_it_was_offered():
    offered = (OfferedSkill("books:ledger"),)
    call = ran(f"cat {BUNDLE}/SKILL.md", SKILL)
    (event,) = events_of(call, offered=offered, manifest=None)
    assert (event.skill, event.resource_class) == ("books:ledger", "root")


def test_a_skill_of_the_manifest_goes_by_its_folder():
    call = ran(f"cat {BUNDLE}/SKILL.md", SKILL)
    (event,) = events_of(call, offered=(OfferedSkill("books:ledger"),))
    assert (event.skill, event.witness, event.resource_class) == ("ledger", "both", "root")


PLUGINS = "/root/.claude/plugins/cache/market"


def opened(*paths, offered, **more):
    calls = [
        ran(f"cat {path}/SKILL.md", f"# {path}\n", call_id=f"c{at}", line=5 * at + 1)
        for at, path in enumerate(paths)
    ]
    found = events_of(*calls, offered=tuple(map(OfferedSkill, offered)), **more)
    return [(event.skill, event.phantom) for event in found]


def test_a_path_that_names_no_plugin_is_told_by_its_folder():
    found = opened(
        "/w/.claude/skills/ledger", offered=("books:ledger", "bank:ledger"), manifest=None
    )
    assert [skill for skill, _ in found] == ["ledger"]


def test_a_skill_that_is_listed_without_its_plugin_is_called_with_it():
    result = ToolResult(text=SKILL, line=4, ok=True)
    call = ToolCall(
        call_id="c0", name="Skill", action="skill", line=3, skill="books:ledger", result=result
    )
    read = ran("cat /w/.claude/skills/ledger/SKILL.md", SKILL, call_id="c1", line=9)
    found = events_of(call, read, offered=(OfferedSkill("ledger"),), manifest=None)
    assert {event.skill for event in found} == {"ledger"}


def test_a_catalog_folds_the_names_of_a_skill():
    catalog = SkillCatalog()
    catalog.add_skill("books:ledger", f"{ROOT}/ledger")
    found = {
        catalog.locate(f"{root}/ledger/SKILL.md") for root in (ROOT, "/srv/app/.agents/skills")
    }
    assert {place.skill for place in found if place} == {"books:ledger"}


def test_a_path_is_the_file_that_its_system_opens():
    """Without regard to case and Unicode form, and by the exact name where two differ in these alone."""
    catalog = SkillCatalog()
    catalog.add_skill("ledger", BUNDLE)
    composed, decomposed = "references/caf\u00e9.md", "references/cafe\u0301.md"
    for path in (decomposed, "Ref.md", "ref.md"):
        catalog.add_resource("ledger", path)

    def opened(path):
        place = catalog.locate(f"{BUNDLE}/{path}")
        return place.resource if place else None

    assert (
        opened(composed) == opened(decomposed) == opened("REFERENCES/cafe\u0301.md") == decomposed
    )
    assert (opened("Ref.md"), opened("ref.md"), opened("REF.md")) == ("Ref.md", "ref.md", "Ref.md")
