"""Where tests find what they read: the checkout, its data, and the reference logs beside it."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
GOLDENS = ROOT / "trajectories"
SHARED = ROOT.parent / "shared"
"""Reference material beside the checkout; tests that read it carry the marker `shared`."""
CORPUS = SHARED / "corpus"
LABELS = SHARED / "labels" / "events"
