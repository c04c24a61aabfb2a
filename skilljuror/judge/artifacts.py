"""What a run of bundled code wrote: the paths on lines that speak of writing."""

import re
from collections.abc import Iterable, Iterator

from skilljuror.judge.features import named_entries, tokens

_WRITES = re.compile(
    r"(?:^|[^=\-0-9])>{1,2}\s*[\w./~\"'$]|\s-o\s|--out|\btee\b"
    r"|\b(?:wrote|write|writing|written|saved?|saving|created?|generated?|exported?|updated?)\b"
    r"|\b(?:to_(?:csv|json|excel|parquet)|dump|write_text|writerow|savefig)\("
    r"|open\([^)\n]{0,200}['\"][wax]b?\+?['\"]",
    re.IGNORECASE,
)


def written_paths(lines: Iterable[str], own: frozenset[str]) -> Iterator[tuple[str, str]]:
    """(feature, line) of every path on a line that speaks of writing, except the run's own code.

    `own` holds base names that are no artifact: the script itself.
    """
    for line in filter(_WRITES.search, lines):
        names = (name for name in path_features(line) if name.rpartition("/")[2] not in own)
        yield from ((name, line) for name in names)


def path_features(line: str) -> Iterator[str]:
    """Features by which a path of the line is found again."""
    names = {name.partition(":")[2] for name in named_entries(line)}
    for feature, _ in tokens(line):
        if feature.rpartition("/")[2] in names and ("/" in feature or "." in feature):
            yield feature
