"""Libraries that not everybody installs: which extra brings them, and what is said where they are missing."""

from importlib.util import find_spec

from skilljuror.base.errors import MissingDependency

EXTRAS = {
    "models": ("litellm",),
    "report": ("matplotlib", "scipy"),
    "notebook": ("pandas", "scipy"),
    "review": ("starlette", "uvicorn"),
}
"""Extra of pyproject.toml -> the libraries that it installs."""


def installed(library: str) -> bool:
    """Whether a library can be imported; it is not imported here."""
    return find_spec(library) is not None


def require(extra: str, user: str, *libraries: str) -> None:
    """Raise MissingDependency, with the command that installs it, where one of `libraries`, by default
    all of `extra`, is missing. `user` is what needs it, as the message names it."""
    missing = [library for library in libraries or EXTRAS[extra] if not installed(library)]
    if missing:
        raise MissingDependency(
            f"{user} needs {' and '.join(missing)}: pip install 'skilljuror[{extra}]'"
        )
