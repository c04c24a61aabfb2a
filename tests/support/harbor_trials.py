"""Copies of a golden trial of Harbor with another result."""

import json
import shutil

from tests.support.places import GOLDENS

TRIAL = GOLDENS / "harbor-trial" / "codex" / "raw"


def copied_trial(folder, change=lambda result: None, text=lambda written: written):
    """A copy of a trial with a changed result, and a changed text of that."""
    copied = folder / "trial"
    shutil.copytree(TRIAL, copied)
    path = copied / "result.json"
    given = json.loads(path.read_text(encoding="utf-8"))
    change(given)
    path.write_text(text(json.dumps(given)), encoding="utf-8")
    return copied
