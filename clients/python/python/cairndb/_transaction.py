"""Transactions, as Python's mappings."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from ._cairndb import Transaction as _Transaction
from ._reads import Reader


class Transaction(_Transaction, Reader, MutableMapping[bytes, bytes]):
    """Reads and writes that take effect together, or not at all: a mutable mapping.

    Made by `Database.transaction`, and by `Database.transact`, which repeats it until it commits.
    It sees the database as it was when it began, and its own writes, which nobody else sees until
    the commit. It takes no lock: readers and other writers never wait for it, and a commit fails
    with `ConflictError` if one of them was faster.

    An iterator fetches entries ahead, at most four times as many as it has returned, and all of
    them count as read. It sees what the transaction writes ahead of it.

    A transaction may be used by several threads, one call at a time. While it is open, the store
    keeps what it sees, and its writes are in memory outside the budget, so keep it short.

    >>> db.update({b"ada": b"70", b"grace": b"20"})
    >>> with db.transaction() as tx:
    ...     tx[b"ada"] = b"%d" % (int(tx[b"ada"]) - 50)
    ...     tx[b"grace"] = b"%d" % (int(tx[b"grace"]) + 50)
    ...     print(db[b"ada"], dict(tx))
    b'70' {b'ada': b'20', b'grace': b'70'}
    >>> db.multi_get([b"ada", b"grace"])
    [b'20', b'70']
    """

    __slots__ = ("__weakref__",)

    def keyspace(self, name: str) -> Transaction:
        """Return the same transaction in the keyspace `name`: its reads and writes are there.

        >>> users = db.create_keyspace("users")
        >>> with db.transaction() as tx:
        ...     tx[b"users"] = b"1"
        ...     tx.keyspace("users")[b"ada"] = b"1815"
        >>> db[b"users"], users[b"ada"]
        (b'1', b'1815')
        """
        return Transaction(self, "serializable", None, name)

    def clear(self) -> None:
        """Remove all entries, in constant time, as `delete_range` from the first one."""
        for key in self.range(limit=1).keys().take_list(1):
            self.delete_range(key)

    def popitem(self) -> tuple[bytes, bytes]:
        """Remove the first entry and return it, as `pop_first`, but raise `KeyError` if empty."""
        entry = self.pop_first()
        if entry is None:
            raise KeyError("popitem(): the transaction sees no entry")
        return entry

    def __repr__(self) -> str:
        return f"<cairndb.Transaction of {self.path!r}{' (ended)' if self.closed else ''}>"

    def __copy__(self) -> Transaction:
        raise TypeError("a transaction cannot be copied; begin another one")

    def __deepcopy__(self, memo: object) -> Transaction:
        return self.__copy__()

    def __reduce__(self) -> Any:
        raise TypeError("a transaction cannot be pickled")


__all__ = ["Transaction"]
