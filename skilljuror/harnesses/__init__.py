"""Harnesses: run one trial and copy its raw artifacts unchanged (door in 2)."""

HARNESSES = {
    "local": "skilljuror.harnesses.local:LocalHarness",
}
