"""The table of kernels: functions of NetworkX that run in Rust. It is empty so far."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class Kernel(ABC):
    """One function of NetworkX in Rust, with the same arguments, results and errors."""

    @abstractmethod
    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run it."""

    def refusal(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Return why NetworkX's own code has to run; ``None`` if the kernel can."""
        return None

    def too_small(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Return why a graph of NetworkX is not worth its conversion; ``None`` if it is."""
        return None


#: Kernels by the name under which NetworkX dispatches them.
KERNELS: dict[str, Kernel] = {}
