"""`apply_patch` envelopes: files that a patch updates, adds, deletes or moves."""

import re

from skilljuror.base.trajectory import EventKind
from skilljuror.events.accesses.file_access import Access
from skilljuror.events.paths import join

_HEAD = re.compile(
    r"^\*\*\* (Update File|Add File|Delete File|Move to): (.{1,1000}?)\s*$", re.MULTILINE
)
_KINDS: dict[str, EventKind] = {
    "Update File": "edit",
    "Add File": "write",
    "Delete File": "edit",
    "Move to": "write",
}


def patch_accesses(patch: str, cwd: str | None) -> list[Access]:
    """Accesses of a patch; an added file includes its text."""
    heads = list(_HEAD.finditer(patch))
    ends = [*(head.start() for head in heads[1:]), len(patch)] if heads else []
    found = []
    for head, end in zip(heads, ends, strict=True):
        body = patch[head.end() : end]
        added = "\n".join(line[1:] for line in body.split("\n") if line.startswith("+"))
        found.append(
            Access(
                join(cwd, head[2]),
                _KINDS[head[1]],
                text=head[0][4:],
                written=added if _KINDS[head[1]] == "write" else None,
            )
        )
    return found
