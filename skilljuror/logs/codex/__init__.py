"""Codex CLI: rollout files and the stdout of `codex exec --json`."""

from skilljuror.base.trajectory import AgentTraits

AGENT = "codex"
TRAITS = AgentTraits(finds_skills=True)
