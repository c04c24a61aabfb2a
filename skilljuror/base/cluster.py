"""Work on the machines of a Ray cluster. Ray (`skilljuror[ray]`) starts the calls and makes one again whose worker died;
what is read and written is on folders that all machines see."""

import logging
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from skilljuror.base import __version__
from skilljuror.base.errors import HarnessError, SkilljurorError, UsageError

Item = TypeVar("Item")
Result = TypeVar("Result")
RETRIES = 3
"""Times that a call is made again after its worker died."""


def map_on_ray(
    function: Callable[[Item], Result], items: Sequence[Item]
) -> Iterator[tuple[Item, Result]]:
    """Yield each item and `function(item)` as they end, on the cluster at RAY_ADDRESS or one of this machine's.

    Raises UsageError without Ray, for a cluster without tokens (Ray listens on all interfaces) and for machines of
    other versions; HarnessError if Ray fails or a worker dies too often; and what the function raises.
    """
    own = "RAY_ADDRESS" not in os.environ
    if not own and os.environ.get("RAY_AUTH_MODE") != "token":
        problem = "the cluster at RAY_ADDRESS must use tokens: start it with RAY_AUTH_MODE=token"
        raise UsageError(problem, field="RAY_AUTH_MODE")
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0"}
    try:
        import ray
        from ray.exceptions import RayError, RayTaskError
    except ImportError as error:
        raise UsageError(
            "--engine ray needs Ray: pip install 'skilljuror[ray]'", field="engine"
        ) from error
    dashboard = False if own else None
    try:
        ray.init(include_dashboard=dashboard, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:
        raise HarnessError(f"Ray does not start: {' '.join(str(error).split())}") from error
    try:
        call = ray.remote(max_retries=RETRIES)(_call)
        waiting = {call.remote(function, item, _versions()): item for item in items}
        while waiting:
            (done,), _ = ray.wait([*waiting])
            item = waiting.pop(done)
            yield item, ray.get(done)
    except RayTaskError as error:
        if isinstance(error.cause, SkilljurorError):
            raise error.cause from None
        raise HarnessError(f"Ray: {error.cause!r}") from error
    except RayError as error:
        raise HarnessError(f"Ray: {' '.join(str(error).split())}") from error
    finally:
        ray.shutdown()


def _versions() -> tuple[str, str]:
    return __version__, platform.python_version()


def _call(function: Callable[[Any], Any], item: Any, versions: tuple[str, str]) -> Any:
    """One call, in a worker."""
    if _versions() != versions:
        theirs, ours = (" and Python ".join(one) for one in (_versions(), versions))
        raise UsageError(
            f"{platform.node()} has skilljuror {theirs}, not {ours}; install the same there"
        )
    return function(item)
