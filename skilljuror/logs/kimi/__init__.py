"""Kimi CLI: the wire logs of sessions."""
