"""Reads, as those of Python's mappings and more."""

from __future__ import annotations

from collections.abc import Mapping

from ._cairndb import Reader as _Reader
from ._cairndb import Scan
from ._views import Items, Keys, Values, scan_entries, scan_keys


class Reader(_Reader):
    """The reads that a database, a snapshot and a transaction have in common, for annotations.

    >>> def total(entries: cairndb.Reader) -> int:
    ...     return sum(map(len, entries.values()))
    >>> db[b"k"] = b"value"
    >>> with db.snapshot() as snapshot:
    ...     total(db), total(snapshot)
    (5, 5)
    """

    __slots__ = ()

    def keys(self) -> Keys:
        """Return a view of the keys, in order."""
        return Keys(self)

    def values(self) -> Values:
        """Return a view of the values, in the order of their keys."""
        return Values(self)

    def items(self) -> Items:
        """Return a view of the entries, in the order of their keys.

        Iterating over it is faster than looking up each key: entries are fetched many at a time,
        without the interpreter's lock.

        >>> db.update({b"slate": b"blue", b"granite": b"grey"})
        >>> for stone, colour in db.items():
        ...     print(stone, colour)
        b'granite' b'grey'
        b'slate' b'blue'
        """
        return Items(self)

    def __reversed__(self) -> Scan[bytes]:
        return scan_keys(self, reverse=True)

    def __len__(self) -> int:
        """Return the number of entries. Scans all of them: the store keeps no count.

        `bool(db)` does not scan.
        """
        return scan_keys(self).count()

    def __eq__(self, other: object) -> bool:
        """Return whether `other` is a mapping with the same entries. Scans all of them."""
        if self is other:
            return True
        if not isinstance(other, Mapping):
            return NotImplemented
        missing = object()
        count = 0
        for key, value in scan_entries(self):
            count += 1
            if other.get(key, missing) != value:
                return False
        return count == len(other)

    # As every mutable mapping.
    __hash__ = None  # type: ignore[assignment]
