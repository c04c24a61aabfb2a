"""One test for one rule over many cases, which lists every case that breaks it."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Cases = Iterable[Any] | Callable[[], Iterable[Any]]


def every(names: str, cases: Cases, hint: str = "") -> Callable[[Callable[..., None]], Any]:
    """Run a test once per case, in one test; `hint` tells who broke the rule what to add and where.

    It reads as `pytest.mark.parametrize` does: `names` are the arguments that a case fills, several
    apart by commas; other arguments are fixtures, shared by all cases. A function that gives the cases
    is called when the test runs, not when it is collected. No case at all is a failure.
    """
    filled = [name.strip() for name in names.split(",")]

    def one_test(test: Callable[..., None]) -> Any:
        def all_cases(**fixtures: Any) -> None:
            count, broken = 0, []
            for case in cases() if callable(cases) else cases:
                count += 1
                values = case if len(filled) > 1 else (case,)
                try:
                    test(**dict(zip(filled, values, strict=True)), **fixtures)
                except Exception as problem:  # noqa: BLE001
                    broken.append(f"{_shown(values)}: {_said(problem)}")
            if broken or not count:
                head = f"{len(broken)} of {count} cases break the rule"
                pytest.fail("\n".join([head, *broken, *([hint] if hint else [])]), pytrace=False)

        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(all_cases, name, getattr(test, name))
        left = [p for p in inspect.signature(test).parameters.values() if p.name not in filled]
        vars(all_cases)["__signature__"] = inspect.Signature(left)
        vars(all_cases)["pytestmark"] = getattr(test, "pytestmark", [])
        return all_cases

    return one_test


def _shown(values: Iterable[Any]) -> str:
    return ", ".join(getattr(value, "name", None) or str(value) for value in values)[:200]


def _said(problem: Exception) -> str:
    """The message, and the line of the test that raised it."""
    frames = inspect.getinnerframes(problem.__traceback__) if problem.__traceback__ else []
    where = next((f for f in reversed(frames) if "/tests/" in f.filename), None)
    place = f" (line {where.lineno} of {where.filename.rpartition('/')[2]})" if where else ""
    return f"{type(problem).__name__}{place}: {problem}"
