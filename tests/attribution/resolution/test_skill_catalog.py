"""From paths, as agents write them, to skills and resources."""

import pytest

from skilljuror.attribution.resolution.skill_catalog import SkillCatalog
from skilljuror.models.trajectory import (
    Message,
    OfferedSkill,
)
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
    (event,) = events_of(call, offered=offered)
    assert (event.skill, event.witness, event.resource_class) == ("books:ledger", "both", "root")


def test_two_roots_of_one_skill_are_one_resource():
    first, second = f"cat {BUNDLE}/SKILL.md", "cat /logs/agent/sessions/skills/ledger/SKILL.md"
    found = events_of(ran(first, SKILL), ran(second, SKILL, call_id="c2", line=5))
    assert {(one.skill, one.resource, one.phantom) for one in found} == {
        ("ledger", "SKILL.md", False)
    }


def test_a_path_below_an_unknown_variable_means_the_only_file_that_ends_so():
    text = f"Base directory for this skill: {BUNDLE}\n\n# Ledger\nRun scripts/total.py.\n"
    body = Message("main", "skill_body", text, 1, 0, skill="ledger", path=BUNDLE, call_id="c0")
    for variable in ("$SKILL_DIR", "${CLAUDE_SKILL_DIR}", "${CLAUDE_PLUGIN_ROOT}/skills/ledger"):
        run = ran(f'python3 "{variable}/scripts/total.py" a.csv', "total 7\n")
        found = events_of(run, manifest=None, messages=(body,))
        assert [one.resource for one in found if one.kind == "exec"] == ["scripts/total.py"]


def test_a_catalog_folds_the_names_of_a_skill():
    catalog = SkillCatalog()
    catalog.add_skill("books:ledger", f"{ROOT}/ledger")
    found = {
        catalog.locate(f"{root}/ledger/SKILL.md") for root in (ROOT, "/srv/app/.agents/skills")
    }
    assert {place.skill for place in found if place} == {"books:ledger"}
