"""Harnesses: run one trial and copy its raw artifacts unchanged (door in 2)."""

HARNESSES = {
    "harbor": "skilljuror.harness.harbor:HarborHarness",
    "local": "skilljuror.harness.local:LocalHarness",
}
