"""Where this machine may write below the root of a trial, whose files are those of strangers.

A task, or a program in the sandbox, may have put a link to the host's files in the place of any
folder or file, and may have locked a folder.
"""

import os
from contextlib import suppress
from pathlib import Path


def own_folder(root: Path, guest: str) -> Path:
    """The folder `guest` below `root`, made of real folders all the way down that everybody may enter.

    Whatever is no folder is removed and made anew.
    """
    path = root
    _let_all_enter(path)
    for part in guest.strip("/").split("/"):
        path /= part
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            path.unlink()
        path.mkdir(exist_ok=True)
        _let_all_enter(path)
    return path


def own_file(root: Path, guest: str) -> Path:
    """Where to write the file `guest` below `root`: in such folders, with nothing in its place."""
    folder, _, name = guest.rpartition("/")
    path = own_folder(root, folder) / name
    path.unlink(missing_ok=True)
    return path


def _let_all_enter(folder: Path) -> None:
    with suppress(OSError):  # it has no list of who may
        os.removexattr(folder, "system.posix_acl_access")
    folder.chmod(folder.stat().st_mode | 0o755)
