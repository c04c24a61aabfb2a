"""Gemini CLI: chat files and the stdout stream."""

from skilljuror.base.trajectory import AgentTraits

AGENT = "gemini-cli"
TRAITS = AgentTraits(finds_skills=True)
