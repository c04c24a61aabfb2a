"""Copilot CLI: `events.jsonl`."""
