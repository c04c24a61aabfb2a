"""Qwen Code: sessions."""
