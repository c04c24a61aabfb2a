"""OpenCode: session exports and the database."""

from skilljuror.base.trajectory import AgentTraits

AGENT = "opencode"
TRAITS = AgentTraits(finds_skills=True)
