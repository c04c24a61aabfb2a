"""Whose content a feature is, as one agent's run goes by.

A feature belongs to the event that showed it first, as long as nothing else said it. What the prompt,
another result or the agent itself said before belongs to nobody. A second showing of the same resource
takes over what was not used yet. After a compaction only what still stands in the context is known.
"""

from collections.abc import Callable, Iterable

from skilljuror.judge.replay.shown_text import EventGroup

_FOREVER = -1
"""In place of an epoch: known whatever happens to the context."""


class ContentOwnership:
    """Owners of features in one agent's context; epochs are the stretches between compactions."""

    def __init__(self, same_resource: Callable[[EventGroup, EventGroup], bool]) -> None:
        self._same_resource = same_resource
        """Whether two groups of events show the same resource."""
        self.owner: dict[str, EventGroup] = {}
        """Feature -> the events whose it is."""
        self._shown_in: dict[str, int] = {}
        """Feature -> step in which its owner showed it."""
        self._known: dict[str, int] = {}
        """Feature -> epoch in which it was said, or _FOREVER."""
        self._used: dict[str, int] = {}
        """Feature -> epoch of its last use."""
        self._contested: dict[str, EventGroup] = {}
        """Feature -> the events that showed it before something else repeated it."""
        self._epoch = 0

    def compact(self) -> None:
        """The context was compacted."""
        self._epoch += 1

    def said_elsewhere(self, features: Iterable[str], *, survives: bool = False) -> None:
        """Something that is no event's content said these; `survives` where no compaction removes it."""
        for feature in features:
            if self._used_in_this_epoch(feature):
                continue
            self._disown(feature)
            self._learn(feature, survives)

    def shown(self, group: EventGroup, features: Iterable[str], step: int) -> None:
        """The content of some events said these at a step.

        The first resource keeps what a later one repeats; neither is first within one step.
        """
        for feature in features:
            if self._is_known(feature) or self._used_in_this_epoch(feature):
                continue
            owner = self.owner.get(feature)
            if owner is None or owner == group or self._same_resource(owner, group):
                self.owner[feature] = group
                self._shown_in[feature] = step
                self._used.pop(feature, None)
            elif self._shown_in[feature] == step:
                self._disown(feature)
                self._learn(feature, survives=False)

    def summarised(self, features: Iterable[str]) -> None:
        """The agent's own summary said these: known again, and no owner loses anything."""
        for feature in features:
            if feature not in self.owner:
                self._learn(feature, survives=False)

    def used(self, features: Iterable[str]) -> tuple[dict[str, EventGroup], dict[str, EventGroup]]:
        """The agent wrote these: feature -> owner of those owned, and of those that lost their owner.

        What nobody owned is known from now on.
        """
        owned: dict[str, EventGroup] = {}
        contested: dict[str, EventGroup] = {}
        for feature in features:
            if feature in self.owner:
                owned[feature] = self.owner[feature]
                self._used[feature] = self._epoch
                continue
            if feature in self._contested:
                contested[feature] = self._contested.pop(feature)
            self._learn(feature, survives=False)
        return owned, contested

    def owned_by(self, group: EventGroup, features: Iterable[str]) -> set[str]:
        """Those of the features that belong to a group of events now."""
        return {feature for feature in features if self.owner.get(feature) == group}

    def _used_in_this_epoch(self, feature: str) -> bool:
        """Whether the agent took it from its owner already: a later echo changes nothing."""
        return feature in self.owner and self._used.get(feature) == self._epoch

    def _is_known(self, feature: str) -> bool:
        return self._known.get(feature) in {self._epoch, _FOREVER}

    def _learn(self, feature: str, survives: bool) -> None:
        if self._known.get(feature) != _FOREVER:
            self._known[feature] = _FOREVER if survives else self._epoch

    def _disown(self, feature: str) -> None:
        owner = self.owner.pop(feature, None)
        if owner is not None:
            self._contested[feature] = owner
