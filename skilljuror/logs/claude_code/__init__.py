"""Claude Code: session files and the stdout stream."""

from skilljuror.base.trajectory import AgentTraits

AGENT = "claude-code"
TRAITS = AgentTraits(
    finds_skills=True, keeps_folder=True, lists_every_skill=True, lists_folder_names=True
)
