"""Gemini CLI: chat files and the stdout stream."""

from skilljuror.base.models.trajectory import AgentTraits

AGENT = "gemini-cli"
TRAITS = AgentTraits(finds_skills=True)
