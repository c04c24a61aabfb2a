"""Where the skills lie, told by anybody's logs: no manifest, everything is learned."""

from skilljuror.base.trajectory import Message, OfferedSkill
from tests.support.attribution_runs import (
    BODY,
    BUNDLE,
    FORMAT,
    SKILL,
    TAXES,
    observed_events,
    ran,
    ran_each,
)


def test_only_listed_roots_count_where_the_log_lists_them():
    offered = (OfferedSkill("books:ledger", f"{BUNDLE}/SKILL.md"),)
    listed, other = ran_each(
        (f"cat {BUNDLE}/SKILL.md", SKILL), ("cat .claude/skills/draft/SKILL.md", TAXES)
    )
    events = observed_events(listed, other, offered=offered)
    assert [(one.skill, one.line) for one in events] == [("books:ledger", 10)]


def test_a_prompt_that_names_a_skill_file_makes_its_folder_a_skill():
    prompt = Message("main", "prompt", "Follow /opt/kit/ledger/SKILL.md to the letter.", 1, 0)
    call = ran("cat /opt/kit/ledger/references/format.md", FORMAT)
    (event,) = observed_events(call, messages=(prompt,), format="mini-swe-agent")
    assert (event.skill, event.resource) == ("ledger", "references/format.md")
    assert observed_events(call, messages=(prompt,)) == []


def test_a_location_in_a_skill_list_makes_its_folder_a_skill():
    listing = Message(
        "main", "skill_listing", "<location>/srv/kit/ledger/SKILL.md</location>", 1, 0
    )
    call = ran("cat /srv/kit/ledger/SKILL.md", SKILL)
    (event,) = observed_events(call, messages=(listing,), format="openhands-v1")
    assert event.skill == "ledger"


def test_a_base_directory_makes_its_folder_a_skill():
    text = f"Base directory for this skill: /srv/kit/ledger\n\n{BODY}"
    body = Message("main", "skill_body", text, 2, 0, skill="books:ledger", path="/srv/kit/ledger")
    events = observed_events(ran("python3 /srv/kit/ledger/scripts/total.py"), messages=(body,))
    assert [(one.kind, one.skill) for one in events] == [
        ("activate", "books:ledger"),
        ("exec", "books:ledger"),
    ]
