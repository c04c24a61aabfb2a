"""Named policies, which turn findings into a verdict."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal

import yaml
from pydantic import Field, ValidationError

from skilljuror.base.build import VERDICTS, Finding, FindingSeverity, GateVerdict, Record
from skilljuror.base.errors import GateError, UsageError
from skilljuror.base.files import data_dir


class Limit(Record):
    """The number of findings of one rule from which they decide together."""

    count: int = Field(default=0, ge=0)
    """Allowed findings in a bundle of any size."""
    share: float = Field(default=0.0, ge=0, le=1)
    """Allowed findings as a share of the compared units."""
    verdict: GateVerdict
    """Verdict if there are more findings than both allow."""


class Policy(Record):
    """Rules that turn findings into a verdict."""

    format_version: Literal[1] = 1
    """Version of this record."""
    name: str
    """Name of the policy."""
    about: str
    """Purpose."""
    severities: dict[FindingSeverity, GateVerdict]
    """Verdict of one finding, by its severity, for rules not named below."""
    rules: dict[str, GateVerdict] = Field(default_factory=dict)
    """Verdict of one finding, by its rule."""
    limits: dict[str, tuple[Limit, ...]] = Field(default_factory=dict)
    """Verdict of many findings of one rule."""

    def verdict(self, findings: Iterable[Finding], compared: int) -> GateVerdict:
        """Return the worst verdict of the findings that are neither inherited nor waived."""
        return worst(verdict for verdict, _ in self._verdicts(findings, compared))

    def reasons(self, findings: Iterable[Finding], compared: int) -> tuple[str, ...]:
        """Return the rules that decided the verdict, with counts; () for a pass."""
        verdicts = [*self._verdicts(findings, compared)]
        decided = worst(verdict for verdict, _ in verdicts)
        reasons = dict.fromkeys(reason for verdict, reason in verdicts if verdict == decided)
        return () if decided == "pass" else tuple(reasons)

    def _verdicts(
        self, findings: Iterable[Finding], compared: int
    ) -> Iterator[tuple[GateVerdict, str]]:
        own = [one for one in findings if not (one.inherited or one.waived)]
        for rule, count in Counter(finding.rule for finding in own).items():
            severities = (one.severity for one in own if one.rule == rule)
            alone = self.rules.get(rule) or worst(self.severities[each] for each in severities)
            yield alone, f"{rule} ({count})"
            for limit in self.limits.get(rule, ()):
                if count > max(limit.count, limit.share * compared):
                    allowed = max(limit.count, int(limit.share * compared))
                    yield limit.verdict, f"{rule} ({count}, more than {allowed} allowed)"


def worst(verdicts: Iterable[GateVerdict]) -> GateVerdict:
    """Return the worst verdict; "pass" if there are none."""
    return max(verdicts, key=VERDICTS.index, default="pass")


@lru_cache(maxsize=8)
def policy(name: str) -> Policy:
    """Return a packaged policy. Raises UsageError for an unknown name, GateError for an invalid
    file."""
    known = policies()
    if name not in known:
        raise UsageError(f"unknown policy {name!r}; choose one of {', '.join(known)}")
    path = data_dir("rubrics") / f"policy-{name}.yaml"
    try:
        return Policy.model_validate(yaml.safe_load(path.read_bytes()))
    except (yaml.YAMLError, ValidationError) as error:
        reason = " ".join(str(error).split())
        raise GateError(
            f"policy {name!r} is invalid: {reason}; reinstall skilljuror", file=str(path)
        ) from error


def policies() -> tuple[str, ...]:
    paths = data_dir("rubrics").glob("policy-*.yaml")
    return tuple(sorted(path.stem.removeprefix("policy-") for path in paths))
