"""A plugin of pytest: kernels answer for graphs of any size, and at the first question."""

from __future__ import annotations

from typing import Any

from quipu.nx import _native


def _is_known(graph: Any) -> bool:
    return True


_native.VERTICES_MIN = 0
_native.is_known = _is_known
