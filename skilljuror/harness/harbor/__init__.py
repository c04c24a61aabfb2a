"""Run trials with Harbor, in a process of its own."""
