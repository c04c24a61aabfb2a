"""Gemini CLI: chat files and the stdout stream."""
