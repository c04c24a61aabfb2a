"""Resource names that a log shows without text: listings, and links in a SKILL.md.

Without a manifest, globs and paths that begin with an unknown variable are matched against these
names.
"""

import re
from collections.abc import Iterator

from skilljuror.base.work_budget import charge
from skilljuror.events.paths import absolute, join, name_of
from skilljuror.events.resolution.skill_catalog import SkillCatalog

_LINK = re.compile(r"(?<![\w/.:-])((?:[\w.-]{1,60}/){0,3}[\w.-]{1,80}\.[A-Za-z]\w{0,5})(?![\w/])")
_FILE = re.compile(r"[\w@+./~-]*[\w@+-]\.\w{1,12}\Z")
"""A file name, not the last word of a sentence."""
_MOST_LINES = 3000
_LONGEST_TEXT = 200_000


def learn_listed_names(output: str, folder: str, catalog: SkillCatalog) -> None:
    """Add the files that `ls`, `ls -R` or `find` of a folder printed."""
    for path in _listed(output, folder):
        location = catalog.locate(path)
        if location is None or not location.skill or location.folder:
            continue
        if "." in name_of(location.resource):
            catalog.add_name(location.skill, location.resource)


def _listed(output: str, folder: str) -> Iterator[str]:
    """Paths in a listing; a line `sub:` starts another folder."""
    base = folder
    lines = output.splitlines()[:_MOST_LINES]
    charge(len(lines))
    for line in lines:
        entry = line.strip()
        if entry.endswith(":") and "/" in entry:
            base = join(folder, entry[:-1])
            continue
        name = entry.split()[-1] if entry else ""
        if len(name) < 300 and _FILE.match(name):
            yield name if absolute(name) else join(base, name)


def learn_linked_names(text: str, skill: str, catalog: SkillCatalog) -> None:
    """Add the files that a SKILL.md names."""
    lines = [line for line in text[:_LONGEST_TEXT].split("\n") if "." in line and _may_link(line)]
    words = {word for line in lines for word in line.split() if "." in word and _may_link(word)}
    for path in sorted({path for word in words for path in _LINK.findall(word)}):
        if "/" in path or path.endswith(".md"):
            catalog.add_name(skill, path.removeprefix("./"))


def _may_link(text: str) -> bool:
    return "/" in text or ".md" in text
