"""The database and its snapshots, as Python's mappings."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any, Optional, Union

from ._cairndb import Batch, Reader, Scan, SnapshotReader, Store
from ._errors import InvalidArgumentError, NotADatabaseError
from ._types import Bytes, Comparator, Durability, MergeOperator, Path
from ._views import Items, Keys, Range, Values, scan_entries, scan_keys

#: Entries that `clear` and `Range.delete` remove with one batch.
_BATCH_ENTRIES = 10_000


class _Reads(Reader):
    """What a database and a snapshot have in common, besides what is written in Rust."""

    __slots__ = ()

    def range(
        self,
        start: Optional[Bytes] = None,
        stop: Optional[Bytes] = None,
        *,
        reverse: bool = False,
        limit: Optional[int] = None,
    ) -> Range:
        """Return the entries from key `start`, included, to key `stop`, excluded.

        Without `start` or `stop` the range has no bound there. With `reverse` it begins at the
        other end, and with `limit` it has that many entries at most.

        >>> db.update({b"a": b"1", b"b": b"2", b"c": b"3"})
        >>> list(db.range(b"b"))
        [(b'b', b'2'), (b'c', b'3')]
        >>> list(db.range(stop=b"c", reverse=True, limit=1))
        [(b'b', b'2')]
        """
        return Range(self, start, stop, None, reverse, limit)

    def prefix(self, prefix: Bytes, *, reverse: bool = False, limit: Optional[int] = None) -> Range:
        """Return the entries whose keys start with `prefix`.

        >>> db.update({b"user/ada": b"1815", b"user/alan": b"1912", b"visits": b"2"})
        >>> [key for key in db.prefix(b"user/").keys()]
        [b'user/ada', b'user/alan']
        """
        return Range(self, None, None, prefix, reverse, limit)

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


class Snapshot(SnapshotReader, _Reads, Mapping[bytes, bytes]):
    """The database as it was when the snapshot was taken: a read-only mapping.

    Made by `Database.snapshot`. While it is open, the store keeps what it sees, so close it, or use
    it in a `with` statement.

    >>> db[b"k"] = b"old"
    >>> with db.snapshot() as before:
    ...     db[b"k"] = b"new"
    ...     print(before[b"k"], db[b"k"])
    b'old' b'new'
    """

    __slots__ = ("__weakref__",)

    def __repr__(self) -> str:
        return f"<cairndb.Snapshot of {self.path!r}{' (closed)' if self.closed else ''}>"


class Database(Store, _Reads, MutableMapping[bytes, bytes]):
    """An open database: a mapping of `bytes` to `bytes` on disk, in the order of the keys.

    Made by `cairndb.open`. Keys and values may be given as any bytes-like object; `str` is a
    `TypeError`. All threads may use one database. It is closed by `close`, at the end of a `with`
    statement, when the last object that needs it is collected, or when the interpreter exits.

    >>> db[b"granite"] = b"grey"
    >>> db[b"granite"]
    b'grey'
    >>> b"opal" in db
    False
    >>> del db[b"granite"]
    >>> db.get(b"granite") is None
    True
    """

    __slots__ = ("__weakref__",)

    def __new__(
        cls,
        path: Path,
        flag: str = "c",
        *,
        memory: int = 64 << 20,
        durability: Durability = "os",
        compression: Optional[str] = "fast",
        comparator: Optional[Comparator] = None,
        merge_operator: Optional[MergeOperator] = None,
        upgrade_leveldb: bool = False,
        recovery: str = "strict",
        filter_bits_per_key: int = 10,
        value_file_bytes: int = 256 << 20,
        mapped: Optional[bool] = None,
        verify_always: bool = False,
    ) -> Database:
        """Open a database. The arguments are those of `cairndb.open`."""
        settings = {
            "memory": memory,
            "durability": durability,
            "compression": compression,
            "filter_bits_per_key": filter_bits_per_key,
            "value_file_bytes": value_file_bytes,
            "recovery": recovery,
            "mapped": mapped,
            "verify_always": verify_always,
            "upgrade_leveldb": upgrade_leveldb,
        }
        try:
            return super().__new__(cls, path, flag, comparator, merge_operator, settings)
        except InvalidArgumentError as error:
            if os.path.exists(path) and not os.path.isdir(path):
                raise NotADatabaseError(errno.ENOTDIR, str(error)) from None
            raise

    def snapshot(self) -> Snapshot:
        """Take a snapshot of everything written so far. Costs no input or output.

        >>> with db.snapshot() as before:
        ...     db[b"new"] = b"1"
        ...     b"new" in before
        False
        """
        return Snapshot(self)

    def update(  # type: ignore[override]
        self,
        other: Union[Mapping[bytes, bytes], Iterable[tuple[bytes, bytes]]] = (),
        /,
        **keywords: bytes,
    ) -> None:
        """Put the entries of a mapping or of an iterable of pairs, all of them or none.

        They become one batch, which is built in memory first. `durability` cannot be given here;
        use `batch` for that.

        >>> db.update({b"a": b"1"})
        >>> db.update([(b"b", b"2"), (b"c", b"3")])
        >>> len(db)
        3
        """
        batch = self.batch()
        batch.update(other)
        if keywords:
            batch.update(keywords)
        batch.write()

    def clear(self) -> None:
        """Remove all entries, ten thousand with a batch. Not atomic.

        To begin with an empty database, open it with flag 'n', which is faster.
        """
        batch = self.batch()
        for key in scan_keys(self):
            batch.delete(key)
            if len(batch) == _BATCH_ENTRIES:
                batch.write()
        batch.write()

    def stats(self) -> dict[str, Any]:
        """Return counters and sizes: `stats`, `memory`, `space`, `runs` and `stalls`.

        The guide's page on properties defines every field.

        >>> sorted(db.stats())
        ['memory', 'runs', 'space', 'stalls', 'stats']
        """
        found = {}
        for name in ("stats", "memory", "space", "runs", "stalls"):
            text = self.property(f"cairndb.{name}")
            found[name] = None if text is None else json.loads(text)
        return found

    def open_report(self) -> dict[str, Any]:
        """Return what the open found.

        `created`: whether it created the database. `clean`: whether the last close was clean.
        `replayed_entries`: how many entries it took from the log. `log_cut`: None, or the file, the
        offset and the reason if a torn end of the log was cut off. `skipped`: the names of files
        that it did not know, and why.

        >>> db.open_report()["created"]
        True
        """
        return self._open_report()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<cairndb.Database at {self.path!r}{' (closed)' if self.closed else ''}>"

    def __copy__(self) -> Database:
        raise TypeError("a database cannot be copied; checkpoint() makes a copy on disk")

    def __deepcopy__(self, memo: object) -> Database:
        return self.__copy__()

    def __reduce__(self) -> Any:
        raise TypeError("a database cannot be pickled; pass its path, and open it there")


__all__ = ["Batch", "Database", "Snapshot"]
