"""The one way pages are rendered: escaped by default, an unknown name is an error."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES = Path(__file__).parent / "templates"


def environment() -> Environment:
    """A fresh environment over the packaged templates; text from logs and Skills is untrusted."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
