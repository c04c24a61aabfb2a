"""Whose content a recognisable thing is, as one agent's run goes by.

A feature belongs to the event that showed it first, as long as nobody else said it. What
the prompt, another result or the agent itself said before belongs to nobody. A second
showing of the same resource takes over what was not used yet. After a compaction only
what still stands in the context counts as known.
"""

from collections.abc import Callable, Iterable

from skilljuror.judge.replay.shown_text import Group

_FOREVER = -1
"""Marks what the agent knows whatever happens to its context."""


class Ledger:
    """Owners of the watched features in one agent's context."""

    def __init__(self, kin: Callable[[Group, Group], bool]) -> None:
        self._kin = kin
        """Whether two groups show the same resource."""
        self.owner: dict[str, Group] = {}
        """feature -> whose it is."""
        self._shown_in: dict[str, int] = {}
        """feature -> step in which its owner showed it."""
        self._known: dict[str, int] = {}
        """feature -> epoch in which it was heard, or _FOREVER."""
        self._used: dict[str, int] = {}
        """feature -> epoch of its last use."""
        self._contested: dict[str, Group] = {}
        """feature -> the event that showed it before somebody else repeated it."""
        self._epoch = 0

    def forget(self) -> None:
        """The context was compacted."""
        self._epoch += 1

    def hear(self, features: Iterable[str], *, lasting: bool = False) -> None:
        """Something that is no event's content said these."""
        for feature in features:
            if self._live_use(feature):
                continue
            self._disown(feature)
            self._learn(feature, lasting)

    def show(self, group: Group, features: Iterable[str], step: int) -> None:
        """An event's content said these at a step.

        The first resource keeps what a later one repeats; neither is first within one step.
        """
        for feature in features:
            if self._is_known(feature) or self._live_use(feature):
                continue
            owner = self.owner.get(feature)
            if owner is None or owner == group or self._kin(owner, group):
                self.owner[feature] = group
                self._shown_in[feature] = step
                self._used.pop(feature, None)
            elif self._shown_in[feature] == step:
                self._disown(feature)
                self._learn(feature, lasting=False)

    def summarise(self, features: Iterable[str]) -> None:
        """The agent's own summary said these: known again, and nobody loses anything."""
        for feature in features:
            if feature not in self.owner:
                self._learn(feature, lasting=False)

    def use(self, features: Iterable[str]) -> tuple[dict[str, Group], dict[str, Group]]:
        """The agent wrote these: their owners, and the first owners of contested ones.

        What nobody owned is known from now on.
        """
        owned: dict[str, Group] = {}
        contested: dict[str, Group] = {}
        for feature in features:
            if feature in self.owner:
                owned[feature] = self.owner[feature]
                self._used[feature] = self._epoch
                continue
            if feature in self._contested:
                contested[feature] = self._contested.pop(feature)
            self._learn(feature, lasting=False)
        return owned, contested

    def owned_by(self, group: Group, features: Iterable[str]) -> set[str]:
        """Those of the features that belong to a group now."""
        return {feature for feature in features if self.owner.get(feature) == group}

    def _live_use(self, feature: str) -> bool:
        """Whether the agent took it from its owner already: a later echo changes nothing."""
        return feature in self.owner and self._used.get(feature) == self._epoch

    def _is_known(self, feature: str) -> bool:
        return self._known.get(feature) in {self._epoch, _FOREVER}

    def _learn(self, feature: str, lasting: bool) -> None:
        if self._known.get(feature) != _FOREVER:
            self._known[feature] = _FOREVER if lasting else self._epoch

    def _disown(self, feature: str) -> None:
        owner = self.owner.pop(feature, None)
        if owner is not None:
            self._contested[feature] = owner
