"""Events beyond the resources named by a call: content injected by the harness, lines printed by
searches, files that no command names."""
