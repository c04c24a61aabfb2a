"""Messages of Codex not written by the agent: prompts, the Skill list, injected Skills."""

import re
from typing import Any

from skilljuror.base.trajectory import MessageKind, OfferedSkill
from skilljuror.logs.assembly.builders import TrajectoryBuilder
from skilljuror.logs.raw_logs.coercion import as_list, as_str, nested

_LISTING = "<skills_instructions>"
_ROOT = re.compile(r"- `(?P<alias>r\d+)` = `(?P<path>[^`\n]+)`")
_SKILL = re.compile(r"- (?P<name>[^\s:]+(?::[^\s:]+)*): .*\(file: (?P<path>[^()\n]+)\)$")
_ALIAS = re.compile(r"(r\d+)/(.*)")
_INJECTED = re.compile(
    r"<skill>\s*<name>(?P<name>[^<\n]*)</name>\s*<path>(?P<path>[^<\n]*)</path>\n?"
)
_BUNDLED = "/skills/.system/"
_BUDGET = "skills context budget"
SKILL_LIST_CUT = "the list of Skills exceeded its budget: the agent was shown less of it"
"""Warning that `quality_flags` looks for."""
_NOT_THE_USER = (
    "<environment_context>", "<subagent_notification>", "# AGENTS.md instructions",
    "<turn_aborted>", "<user_instructions>", "<INSTRUCTIONS>", "<apps_instructions>",
    "<permissions instructions>", "<collaboration_mode>", "<user_shell_command>",
)  # fmt: skip


def says_list_cut(warning: Any) -> bool:
    """Whether a warning reports a Skill list truncated to fit a budget."""
    return _BUDGET in str(warning)


def add_user_message(
    run: TrajectoryBuilder, agent: str, line: int, payload: dict[str, Any]
) -> None:
    """Classify and add each part of a user-role message."""
    kinds = as_list(
        nested(payload, "internal_chat_message_metadata_passthrough", "content_item_kinds")
    )
    for index, part in enumerate(as_list(payload.get("content"))):
        text = as_str(nested(part, "text"))
        if text is None:
            continue
        kind = as_str(kinds[index]) if index < len(kinds) else None
        add_user_text(run, agent, line, text, kind)


def add_user_text(
    run: TrajectoryBuilder, agent: str, line: int, text: str, kind: str | None = None
) -> None:
    """Add one text of a user-role message; `kind` is Codex's own label."""
    injected = _INJECTED.match(text)
    if injected and kind in {None, "skills.selected_skill_instructions"}:
        body = text[injected.end() :].removesuffix("</skill>")
        skill, path = injected["name"].strip(), injected["path"].strip()
        run.add_message(agent, "skill_body", body, line, skill=skill, path=path)
        return
    run.add_message(agent, _kind(text, kind), text, line)


def _kind(text: str, kind: str | None) -> MessageKind:
    if kind is not None and kind != "unknown":
        return "prompt" if kind.startswith("user.") else "other"
    return "other" if text.startswith(_NOT_THE_USER) else "prompt"


def add_developer_message(
    run: TrajectoryBuilder, agent: str, line: int, payload: dict[str, Any]
) -> None:
    """Add a developer or system message; its Skill list becomes the offered Skills.

    A session without Skills still has such a message: its offer is known to be empty.
    """
    for part in as_list(payload.get("content")):
        text = as_str(nested(part, "text"))
        if text is not None:
            add_system_text(run, agent, line, text)


def add_system_text(run: TrajectoryBuilder, agent: str, line: int, text: str) -> None:
    """Add one text of a developer message."""
    listing = _LISTING in text
    run.add_message(agent, "skill_listing" if listing else "system", text, line)
    run.add_offered(_offered(run, text) if listing else ())


def _offered(run: TrajectoryBuilder, listing: str) -> list[OfferedSkill]:
    aliases: dict[str, str] = {}
    skills = []
    for entry in listing.split("\n"):
        root = _ROOT.match(entry)
        if root:
            aliases[root["alias"]] = root["path"]
            continue
        match = _SKILL.match(entry)
        if match is None:
            continue
        path = _expand(match["path"], aliases)
        run.add_skill_root(_parent(_parent(path)))
        skills.append(OfferedSkill(match["name"], path=path, bundled=_BUNDLED in path))
    return skills


def _expand(path: str, aliases: dict[str, str]) -> str:
    match = _ALIAS.match(path)
    if match and match[1] in aliases:
        return f"{aliases[match[1]]}/{match[2]}"
    return path


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
