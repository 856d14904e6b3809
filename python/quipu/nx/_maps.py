"""The dicts of a stored graph: reads are as fast as those of any dict, and writes are recorded.

NetworkX fills a graph through factories of mappings. Those of a stored graph make *free* dicts, which are plain. A free
dict that is put into another one is *attached*: its class changes to one whose writing methods record the change. No
reading method is overridden, so an algorithm runs over these dicts as over NetworkX's own. Free and attached classes
have the same slots, without which Python would refuse the change.

A mapping that no factory made, such as a plain dict of the program, is stored as it is. It cannot record changes, so it
is compared at each flush.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._cache import Side

_MISSING: Any = object()


class ItemWrites(dict[Any, Any]):
    """Writing methods by ``self[key] = …`` and ``del self[key]``, which subclasses override to record changes."""

    __slots__ = ()

    def pop(self, key: Any, default: Any = _MISSING) -> Any:
        if key in self:
            value = self[key]
            del self[key]
            return value
        if default is _MISSING:
            raise KeyError(key)
        return default

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *args: Any, **kwargs: Any) -> None:
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self


class FreeAttributes(dict[Any, Any]):
    """Attributes that belong to no stored vertex or edge yet."""

    __slots__ = ("__weakref__", "at", "touched")
    at: Any
    touched: dict[Any, Any]
    is_plain = True  # it is encoded as a dict

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def _recording(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.touched[self.at] = self
        return method(self, *args, **kwargs)

    call.__name__ = method.__name__
    return call


class _Recording(FreeAttributes):
    """Writing methods that record the place of these attributes as changed."""

    __slots__ = ()

    __setitem__ = _recording(dict.__setitem__)
    __delitem__ = _recording(dict.__delitem__)
    __ior__ = _recording(dict.__ior__)
    update = _recording(dict.update)
    setdefault = _recording(dict.setdefault)
    pop = _recording(dict.pop)
    popitem = _recording(dict.popitem)
    clear = _recording(dict.clear)


class Attributes(_Recording):
    """Attributes of a stored vertex or edge."""

    __slots__ = ()


class FreeKeys(FreeAttributes):
    """Parallel edges by their keys, which belong to no stored pair of vertices yet."""

    __slots__ = ()


class Keys(ItemWrites, FreeKeys, _Recording):
    """Parallel edges by their keys, of a pair of vertices."""

    __slots__ = ()

    def __setitem__(self, key: Any, value: Any) -> None:
        self.touched[self.at] = self
        attach(value, self.touched, self.at)
        dict.__setitem__(self, key, value)


def attach(value: Any, touched: dict[Any, Any], at: Any) -> bool:
    """Let a free dict record its changes at this place; return whether ``value`` records them there now."""
    kind = type(value)
    if kind is FreeAttributes:
        value.__class__ = Attributes
    elif kind is FreeKeys:
        value.__class__ = Keys
        for one in value.values():
            attach(one, touched, at)
    elif kind is Attributes or kind is Keys:
        return value.touched is touched and value.at == at
    else:
        return False
    value.touched = touched
    value.at = at
    return True


class FreeRow(dict[Any, Any]):
    """The neighbors of a vertex that is not in a stored graph yet."""

    __slots__ = ("__weakref__", "of", "side")
    of: Any
    side: Side

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class Row(ItemWrites, FreeRow):
    """The neighbors of a vertex of a stored graph, with the attributes or the keys of their edges."""

    __slots__ = ()

    def __setitem__(self, v: Any, value: Any) -> None:
        if self.get(v, _MISSING) is not value:
            self.side.put(self, v, value, new=v not in self)
        dict.__setitem__(self, v, value)

    def __delitem__(self, v: Any) -> None:
        dict.__delitem__(self, v)
        self.side.remove(self.of, v)

    def popitem(self) -> tuple[Any, Any]:
        v, value = dict.popitem(self)
        self.side.remove(self.of, v)
        return v, value

    def clear(self) -> None:
        for v in self:
            self.side.remove(self.of, v)
        dict.clear(self)
