"""Harnesses: run one trial and copy its raw artifacts unchanged (door in 2)."""

HARNESSES = {
    "harbor": "skilljuror.harnesses.harbor.harness:HarborHarness",
    "local": "skilljuror.harnesses.local:LocalHarness",
}
