"""Builds with findings that wait for a person."""

from pathlib import Path

from skilljuror.base.build import BuildRecord
from skilljuror.layouts.build.build import build_source
from tests.support.studies import PROGRAMS

DOUBTFUL = f"{PROGRAMS}:Doubtful"
SKILL = "---\nname: brew\ndescription: Brew tea.\n---\n# Tea\n\nBoil 500 ml of water.\n\nServe.\n"
TWO = SKILL.replace("Serve.", "Cool the water.")


def doubtful_build(place: Path, text: str = SKILL, out: str = "out") -> BuildRecord:
    """A build at place/out whose flat page has a finding for every line that says water."""
    (place / "brew").mkdir(exist_ok=True, parents=True)
    (place / "brew" / "SKILL.md").write_text(text, encoding="utf-8")
    return build_source(place / "brew", place / out, variants=["baseline"], gates=[DOUBTFUL])
