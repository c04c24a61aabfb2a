"""Skills about a kiln, made of parts, and their `pd`: what layouts are tried on."""

from skilljuror.base.skill import Blob, Bundle
from skilljuror.skill.bundles import make_bundle
from tests.support.laid_out import laid_out

HEAD = "---\nname: kiln\ndescription: How a kiln is fired.\n---\n\n# Firing a kiln\n\n"
TALK = "The glaze shop by the river has sold the same three whites since the old kiln was built. "
CURVE = (
    "```python\n" + "".join(f"heat(zone={n}, degrees={n * 40})\n" for n in range(20)) + "```\n\n"
)
STEPS = "".join(f"{n}. {verb} the kiln and note the hour.\n" for n, verb in enumerate(
    ("Sweep", "Load", "Close", "Light", "Watch", "Cool"), 1
))  # fmt: skip


def pd_of(text: str, **files: str) -> Bundle:
    """The proved `pd` of a skill of our own."""
    source = {"kiln/SKILL.md": Blob((HEAD + text).encode())}
    source |= {f"kiln/{name}.md": Blob(content.encode()) for name, content in files.items()}
    return laid_out(make_bundle("kiln", source), "baseline", "pd")["pd"]


def root_of(made: Bundle) -> str:
    """The root above its table."""
    return (made.files["kiln/SKILL.md"].text or "").partition("## Supporting files")[0]


def section(title: str, text: str, level: int = 2) -> str:
    return f"{'#' * level} {title}\n\n{text}\n\n"


FILLER = "".join(section(f"History {n}", TALK * 14) for n in range(4))
"""Sections of which none binds anybody."""


def references_of(made: Bundle) -> dict[str, str]:
    """Name of each file below references/ -> its text."""
    folder = "kiln/references/"
    return {
        path.removeprefix(folder): blob.text or ""
        for path, blob in made.files.items()
        if path.startswith(folder)
    }
