"""Track which event owns each feature during one agent's run.

A feature belongs to the event that showed it first, unless other text repeats it. Features that the
prompt, another result or the agent wrote before have no owner. A second showing takes nothing from the
first, unless a compaction is between them: then only the remaining context is known.
"""

from collections.abc import Callable, Iterable, Mapping

from skilljuror.judge.replay.shown_text import EventGroup

_FOREVER = -1
"""Epoch of features that stay known after any compaction."""


class ContentOwnership:
    """Owners of features in one agent's context; an epoch is the time between two compactions."""

    def __init__(self, same_resource: Callable[[EventGroup, EventGroup], bool]) -> None:
        self._same_resource = same_resource
        """Whether two groups of events show the same resource."""
        self.owner: dict[str, EventGroup] = {}
        """Feature -> the events that own it."""
        self._shown_in: dict[str, int] = {}
        """Feature -> step in which its owner showed it."""
        self._lines: set[str] = set()
        """Lines that events showed since the last compaction."""
        self._known: dict[str, int] = {}
        """Feature -> epoch in which it became known, or _FOREVER."""
        self._used: dict[str, int] = {}
        """Feature -> epoch of its last use."""
        self._contested: dict[str, EventGroup] = {}
        """Feature -> the events that showed it before something else repeated it."""
        self._epoch = 0

    def compact(self) -> None:
        """Record a compaction of the context."""
        self._epoch += 1
        self._lines.clear()

    def said_elsewhere(self, features: Iterable[str], *, survives: bool = False) -> None:
        """Record features in text of no event; `survives` if no compaction removes the text."""
        for feature in features:
            if self._used_in_this_epoch(feature):
                continue
            self._disown(feature)
            self._learn(feature, survives)

    def shown(
        self,
        group: EventGroup,
        features: Iterable[str],
        step: int,
        lines: Mapping[str, str] | None = None,
        text: Iterable[str] = (),
    ) -> None:
        """Record features in `text`, the content of some events, at a step; `lines` maps them to lines.

        The first showing of a line keeps its features until a compaction; another line of the same
        resource takes over unused ones. Of two resources in one step neither is first.
        """
        lines = lines or {}
        for feature in features:
            if self._is_known(feature) or self._used_in_this_epoch(feature):
                continue
            owner = self.owner.get(feature)
            same = owner is not None and self._same_resource(owner, group)
            if owner is None or (same and lines.get(feature, feature) not in self._lines):
                self.owner[feature] = group
                self._shown_in[feature] = step
                self._used.pop(feature, None)
            elif not same and self._shown_in[feature] == step:
                self._disown(feature)
                self._learn(feature, survives=False)
        self._lines.update(text, (lines.get(feature, feature) for feature in features))

    def summarised(self, features: Iterable[str]) -> None:
        """Record features in the agent's own summary: they become known, and owners keep theirs."""
        for feature in features:
            if feature not in self.owner:
                self._learn(feature, survives=False)

    def used(self, features: Iterable[str]) -> tuple[dict[str, EventGroup], dict[str, EventGroup]]:
        """Record features that the agent wrote. Return (feature -> owner, feature -> former owner).

        Features without an owner become known.
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
        """Return the features that a group of events owns now."""
        return {feature for feature in features if self.owner.get(feature) == group}

    def _used_in_this_epoch(self, feature: str) -> bool:
        """Whether the agent already used it from its owner: later repetition changes nothing."""
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
