"""Programs that some tests need: which are missing, and a PATH without them.

`python -m tests.support.missing_programs` prints one line for each that is missing; with a folder, it links
every other program of PATH there, so that `PATH=folder` is a machine without them.
"""

import os
import shutil
import sys
from pathlib import Path

NEEDED = {
    "bwrap": ("trials in a sandbox", "bubblewrap"),
    "chromium": ("pages in a browser", "chromium"),
}
"""Program -> (what is skipped without it, Debian package)."""


def missing():
    """Lines for the programs that this machine lacks."""
    return [
        f"{name} is missing: tests of {what} are skipped (Debian: apt-get install {package})"
        for name, (what, package) in NEEDED.items()
        if shutil.which(name) is None
    ]


def hide(folder):
    """Link all programs of PATH but the needed ones; the first of a name counts, as in PATH."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for place in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in place.iterdir() if place.is_dir() else ():
            link = folder / program.name
            if not program.name.startswith(tuple(NEEDED)) and not link.is_symlink():
                link.symlink_to(program)


if __name__ == "__main__":
    if sys.argv[1:]:
        hide(Path(sys.argv[1]))
    else:
        sys.stdout.write("".join(f"{line}\n" for line in missing()))
