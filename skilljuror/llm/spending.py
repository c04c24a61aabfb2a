"""A cap in US dollars that threads and clients share."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

from skilljuror.errors import ModelError


class SpendingCap:
    """Lets calls begin while there is money for them.

    Each call under way is taken to cost what its caller says, and no less than the dearest so far;
    until one price is known there is one call at a time. So the cap is passed by what the last call
    costs, at most, while none is dearer than what it was taken for.
    """

    def __init__(self, dollars: float) -> None:
        self.dollars = dollars
        self.spent = 0.0
        """US dollars of all answers so far."""
        self._dearest: float | None = None
        self._under_way: list[float] = []
        self._changed = Condition()

    @contextmanager
    def room(self, at_least: float) -> Iterator[None]:
        """For one call of about so many US dollars: waits while those under way may use up what is left.
        Raises ModelError when nothing is left; a call that is alone may cost more than that."""
        with self._changed:
            self._changed.wait_for(
                lambda: not self._under_way or self._used_up() or self._fits(at_least)
            )
            if self._used_up():
                raise ModelError(
                    f"the budget of ${self.dollars:g} is spent (${self.spent:.2f});"
                    " raise it to go on: answers so far are kept"
                )
            self._under_way.append(at_least)
        try:
            yield
        finally:
            with self._changed:
                self._under_way.remove(at_least)
                self._changed.notify_all()

    def count(self, dollars: float, answers: int = 1) -> None:
        """Add what some answers cost, or had cost when they were paid."""
        with self._changed:
            self.spent += dollars
            self._dearest = max(dollars / answers, self._dearest or 0.0)
            self._changed.notify_all()

    def _used_up(self) -> bool:
        return self.spent >= self.dollars

    def _fits(self, one_more: float) -> bool:
        dearest = self._dearest
        if dearest is None:
            return False
        taken = sum(max(one, dearest) for one in (*self._under_way, one_more))
        return self.spent + taken <= self.dollars
