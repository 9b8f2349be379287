"""Views: the keys, values and entries of a database or of a part of it."""

from __future__ import annotations

from collections.abc import ItemsView, KeysView, ValuesView
from typing import Any

from ._cairndb import Reader, Scan


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
