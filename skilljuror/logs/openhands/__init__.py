"""OpenHands: lists, lines and folders of events, and `output.jsonl`."""
