"""Packaged agents: programs that a harness can start."""

AGENTS = {
    "scripted": "skilljuror.agents.packaged:scripted",
}
