"""Views: the keys, values and entries of a database or of a part of it."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, KeysView, ValuesView
from typing import Any, Optional

from ._cairndb import Reader, Scan
from ._types import Bytes


class Keys(KeysView[bytes]):
    """The keys, in order. Counting them scans the database."""

    _mapping: Any

    def __iter__(self) -> Scan[bytes]:
        return scan_keys(self._mapping)

    def __reversed__(self) -> Scan[bytes]:
        return scan_keys(self._mapping, reverse=True)


class Values(ValuesView[bytes]):
    """The values, in the order of their keys."""

    _mapping: Any

    def __iter__(self) -> Scan[bytes]:
        return scan_values(self._mapping)

    def __reversed__(self) -> Scan[bytes]:
        return scan_values(self._mapping, reverse=True)

    def __contains__(self, value: object) -> bool:
        return any(found == value for found in self)


class Items(ItemsView[bytes, bytes]):
    """The entries as pairs, in the order of their keys."""

    _mapping: Any

    def __iter__(self) -> Scan[tuple[bytes, bytes]]:
        return scan_entries(self._mapping)

    def __reversed__(self) -> Scan[tuple[bytes, bytes]]:
        return scan_entries(self._mapping, reverse=True)


def scan_keys(reader: Reader, *, reverse: bool = False) -> Scan[bytes]:
    """Iterate over all keys."""
    return reader._scan(0, reverse=reverse)


def scan_values(reader: Reader, *, reverse: bool = False) -> Scan[bytes]:
    """Iterate over all values."""
    return reader._scan(1, reverse=reverse)


def scan_entries(reader: Reader, *, reverse: bool = False) -> Scan[tuple[bytes, bytes]]:
    """Iterate over all entries."""
    return reader._scan(2, reverse=reverse)


class Range(Iterable[tuple[bytes, bytes]]):
    """A part of a database: an iterable of `(key, value)` pairs, in order.

    Returned by `range` and `prefix` of a database or a snapshot. A range reads nothing until it is
    iterated, and can be iterated again. Each iteration sees the database as of its start.

    >>> db.update({b"a": b"1", b"b": b"2", b"c": b"3"})
    >>> part = db.range(b"a", b"c")
    >>> list(part)
    [(b'a', b'1'), (b'b', b'2')]
    >>> list(part.keys()), list(part.values())
    ([b'a', b'b'], [b'1', b'2'])
    >>> list(reversed(part))
    [(b'b', b'2'), (b'a', b'1')]
    """

    __slots__ = ("_limit", "_prefix", "_reader", "_reverse", "_start", "_stop")

    def __init__(
        self,
        reader: Reader,
        start: Optional[Bytes],
        stop: Optional[Bytes],
        prefix: Optional[Bytes],
        reverse: bool,
        limit: Optional[int],
    ) -> None:
        if limit is not None and limit < 0:
            raise ValueError(f"limit is a number of entries, not {limit}")
        self._reader = reader
        self._start = start
        self._stop = stop
        self._prefix = prefix
        self._reverse = reverse
        self._limit = limit

    def _bounds(self) -> tuple[Any, ...]:
        return (self._start, self._stop, self._prefix, self._reverse, self._limit)

    def __iter__(self) -> Scan[tuple[bytes, bytes]]:
        return self.items()

    def items(self) -> Scan[tuple[bytes, bytes]]:
        """Iterate over the entries as pairs; the same as iterating over the range."""
        return self._reader._scan(2, *self._bounds())

    def keys(self) -> Scan[bytes]:
        """Iterate over the keys only, which is faster than over the pairs."""
        return self._reader._scan(0, *self._bounds())

    def values(self) -> Scan[bytes]:
        """Iterate over the values only."""
        return self._reader._scan(1, *self._bounds())

    def __reversed__(self) -> Scan[tuple[bytes, bytes]]:
        if self._limit is not None:
            raise TypeError("a range with a limit is not reversible; pass reverse=True to range()")
        bounds = (self._start, self._stop, self._prefix, not self._reverse, None)
        return self._reader._scan(2, *bounds)

    def __len__(self) -> int:
        """Return the number of entries. Scans the range, but makes no Python objects of it."""
        return self.keys().count()

    def __bool__(self) -> bool:
        """Return whether there is an entry. Does not scan the range."""
        for _ in self.keys():
            return True
        return False

    def __repr__(self) -> str:
        parts: list[str] = []
        if self._prefix is not None:
            parts.append(f"prefix={bytes(self._prefix)!r}")
        if self._start is not None:
            parts.append(f"start={bytes(self._start)!r}")
        if self._stop is not None:
            parts.append(f"stop={bytes(self._stop)!r}")
        if self._reverse:
            parts.append("reverse=True")
        if self._limit is not None:
            parts.append(f"limit={self._limit}")
        return f"<cairndb.Range {', '.join(parts) or 'of all entries'}>"
