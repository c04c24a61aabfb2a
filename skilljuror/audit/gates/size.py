"""The variant is as long as its parent, and its files can be read as its layout requires."""

from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

from skilljuror.audit.gates.findings import Observation, finding, gate_result
from skilljuror.base.build import GateResult
from skilljuror.base.skill import Blob, Bundle, resource_class
from skilljuror.base.texts import estimate
from skilljuror.skill.generated import announced_path

SLACK = 400  # estimated tokens that a variant of any size may gain or lose
MOST = 1.5  # most tokens of a variant, as a share of its parent's; real layouts are below 1.3
LEAST = 0.8  # fewest tokens of a variant, as a share of its parent's
PER_FILE = 25
"""Estimated tokens of the marker, fence or routing row that a layout needs for one file."""
ONE_READ = 25_000  # estimated tokens that agents' file tools return in one read. (transforms §3.4)
LONG_REFERENCE = 6_000  # estimated tokens above which a supporting file should be split


class SizeGate:
    """Check growth, loss, and files too long for one read."""

    name: ClassVar[str] = "size"

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        """Judge one pair; tokens are estimated without a vocabulary, and data is skipped."""
        parent_tokens, sizes = sum(_tokens(parent).values()), _tokens(variant)
        observations = [
            *_growth(parent_tokens, sum(sizes.values()), len(parent.files), len(variant.files)),
            *_over_limit(variant, sizes, _tokens(parent)),
        ]
        checked = {"token": sum(sizes.values()), "parent token": parent_tokens}
        return gate_result(
            self.name, (parent, variant), policy, map(finding, observations), checked
        )


def _tokens(bundle: Bundle) -> dict[str, int]:
    return {path: _estimate(path, blob) for path, blob in bundle.files.items()}


@lru_cache(maxsize=1024)
def _estimate(path: str, blob: Blob) -> int:
    """Instructions to write out an embedded file do not count: only flat layouts have them."""
    if resource_class(path, blob) == "data":
        return 0
    lines = (blob.text or "").split("\n")
    return estimate("\n".join(line for line in lines if announced_path(line) is None))


def _growth(
    parent_tokens: int, tokens: int, parent_files: int, files: int
) -> Iterator[Observation]:
    """Compare totals, with an allowance for the marker and fence of each file."""
    message = f"the variant has about {tokens} tokens, the source about {parent_tokens}"
    if tokens > parent_tokens * MOST + SLACK + parent_files * PER_FILE:
        yield Observation("size.grown", None, "", message=message)
    unpacked = max(0, files - parent_files)
    if tokens < parent_tokens * LEAST - SLACK - unpacked * PER_FILE:
        yield Observation("size.shrunk", None, "", message=message)


def _over_limit(
    variant: Bundle, sizes: dict[str, int], known: dict[str, int]
) -> Iterator[Observation]:
    """Roots and supporting texts that exceed their limit, but did not in the parent."""
    roots = {skill.path for skill in variant.skills}
    for path, size in sizes.items():
        limit = ONE_READ if path in roots else LONG_REFERENCE
        text = path in roots or resource_class(path, variant.files[path]) == "support"
        if text and size > limit >= known.get(path, 0):
            rule = "size.one-read" if path in roots else "size.long-reference"
            message = f"the file has about {size} tokens, more than {limit}"
            yield Observation(rule, path, path, message=message)
