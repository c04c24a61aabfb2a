"""Codex CLI: rollout files and the stdout of `codex exec --json`."""
