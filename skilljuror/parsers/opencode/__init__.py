"""OpenCode: session exports and the database."""

from skilljuror.models.trajectory import AgentTraits

AGENT = "opencode"
TRAITS = AgentTraits(finds_skills=True)
