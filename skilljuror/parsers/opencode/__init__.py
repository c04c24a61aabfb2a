"""OpenCode: session exports."""
