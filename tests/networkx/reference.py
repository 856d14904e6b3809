"""A plugin of pytest: where NetworkX's test mode runs its own code to compare, that code is alone.

For a function that returns or changes a graph, the test mode calls the backend, and then NetworkX's own code. Both call
dispatched functions in turn, for which the test mode does the same: the number of calls doubles with each level.
`test_held_karp_ascent`, with four levels and more, took 1,337 s instead of 20 s.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from networkx.utils import backends

#: Whether NetworkX's own code is running to be compared with.
is_reference: ContextVar[bool] = ContextVar("is_reference", default=False)

_Dispatchable: Any = backends._dispatchable
_in_test_mode = _Dispatchable._convert_and_call_for_tests


class _Compared:
    """A dispatched function whose own code, after its arguments were converted, runs to be compared with."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._is_converted = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def _convert_arguments(self, *args: Any, **kwargs: Any) -> Any:
        found = self._function._convert_arguments(*args, **kwargs)
        self._is_converted = True
        return found

    def orig_func(self, *args: Any, **kwargs: Any) -> Any:
        token = is_reference.set(self._is_converted)
        try:
            return self._function.orig_func(*args, **kwargs)
        finally:
            is_reference.reset(token)


def _call(self: Any, backend_name: str, args: Any, kwargs: Any, **options: Any) -> Any:
    if is_reference.get():
        return self.orig_func(*args, **kwargs)
    return _in_test_mode(_Compared(self), backend_name, args, kwargs, **options)


_Dispatchable._convert_and_call_for_tests = _call
