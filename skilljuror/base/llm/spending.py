"""A spending cap in US dollars, shared by threads and clients."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

from skilljuror.base.errors import ModelError


class SpendingCap:
    """Admits calls while money is left. A running call counts with its estimate, or the dearest
    call so far if that is higher; until one cost is known, calls run one at a time. The last call
    alone can exceed the cap, unless a call costs more than its estimate."""

    def __init__(self, dollars: float) -> None:
        self.dollars = dollars
        self.spent = 0.0
        """Cost of all answers so far, US dollars."""
        self._dearest: float | None = None
        self._under_way: list[float] = []
        self._changed = Condition()

    @contextmanager
    def room(self, at_least: float) -> Iterator[None]:
        """Reserve about `usd` for one call; wait while running calls may use up the rest. Raises
        ModelError if nothing is left; a single call may exceed the rest."""
        with self._changed:
            self._changed.wait_for(
                lambda: not self._under_way or self._used_up() or self._fits(at_least)
            )
            if self._used_up():
                raise ModelError(
                    f"the budget of ${self.dollars:g} is spent (${self.spent:.2f});"
                    " raise it to continue (answers so far are saved)"
                )
            self._under_way.append(at_least)
        try:
            yield
        finally:
            with self._changed:
                self._under_way.remove(at_least)
                self._changed.notify_all()

    def count(self, dollars: float, answers: int = 1) -> None:
        """Add the cost of answers, paid now or earlier."""
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
