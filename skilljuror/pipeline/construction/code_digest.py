"""Which code made a build, told by one digest: two builds of one code and source are the same."""

import sys
from functools import lru_cache
from importlib import metadata
from pathlib import Path

import skilljuror
from skilljuror.files import digest_json, sha256

READERS = ("markdown-it-py", "skills-ref")
"""Libraries that say what a text is made of."""


@lru_cache(maxsize=1)
def code_digest() -> str:
    """sha256 over the package's modules, the versions of `READERS` and of Python."""
    package = Path(skilljuror.__file__).parent
    modules = {
        path.relative_to(package).as_posix(): sha256(path.read_bytes())
        for path in package.rglob("*.py")
    }
    versions = {name: metadata.version(name) for name in READERS}
    return digest_json([modules, versions, sys.version_info[:2]])
