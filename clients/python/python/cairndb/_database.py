"""The database and its snapshots, as Python's mappings."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any, Callable, Optional, TypeVar, Union, cast

from ._cairndb import Batch, Changes
from ._cairndb import Database as _Database
from ._cairndb import Keyspace as _Keyspace
from ._cairndb import Snapshot as _Snapshot
from ._changes import Lease, make
from ._errors import ConflictError, InvalidArgumentError, NotADatabaseError
from ._forks import ForkReport
from ._reads import Reader
from ._transaction import Transaction
from ._types import (
    Comparator,
    Compression,
    Durability,
    Flag,
    Isolation,
    MergeOperator,
    Path,
    Progress,
    Recovery,
)

_T = TypeVar("_T")


class Snapshot(_Snapshot, Reader, Mapping[bytes, bytes]):
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

    def keyspace(self, name: str) -> Snapshot:
        """Return what the snapshot holds of the keyspace `name`. It is closed with the snapshot.

        >>> users = db.create_keyspace("users")
        >>> with db.snapshot() as before:
        ...     users[b"ada"] = b"1815"
        ...     b"ada" in before.keyspace("users")
        False
        """
        return Snapshot(self, name)

    def fork(self, path: Path, *, progress: Optional[Progress] = None) -> ForkReport:
        """Create a database at `path` with all that the snapshot shows, as `Database.fork` does.

        It has the keyspaces that exist now.

        >>> db[b"k"] = b"old"
        >>> with db.snapshot() as before:
        ...     db[b"k"] = b"new"
        ...     report = before.fork(path)
        >>> with cairndb.open(path) as fork:
        ...     fork[b"k"]
        b'old'
        """
        return ForkReport(*self._fork(path, progress))

    def __repr__(self) -> str:
        return f"<cairndb.Snapshot of {self.path!r}{' (closed)' if self.closed else ''}>"


class Keyspace(_Keyspace, Reader, MutableMapping[bytes, bytes]):
    """A named set of keys in a database, with its own order and options: a mapping.

    Made by `Database.keyspace` and `Database.create_keyspace`. A database is one too: its own keys
    are the default keyspace. Batches, snapshots and transactions span keyspaces.

    >>> users = db.create_keyspace("users")
    >>> users[b"ada"] = b"1815"
    >>> [*users.items()], [*db]
    ([(b'ada', b'1815')], [])
    """

    __slots__ = ()

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
            # Refused: the names are `str`.
            batch.update(cast(Any, keywords))
        batch.write()

    def clear(self) -> None:
        """Remove all entries, in constant time."""
        # From the first one, which with a comparator need not be the empty key.
        for key in self.range(limit=1).keys().take_list(1):
            self.delete_range(key)

    def __repr__(self) -> str:
        return f"<cairndb.Keyspace {self.name!r} of {self.path!r}>"

    def __copy__(self) -> Keyspace:
        raise TypeError("a database cannot be copied; fork() makes a copy on disk")

    def __deepcopy__(self, memo: object) -> Keyspace:
        return self.__copy__()

    def __reduce__(self) -> Any:
        raise TypeError("a database cannot be pickled; pass its path, and open it there")


class Database(_Database, Keyspace):
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
        flag: Flag = "c",
        *,
        memory: int = 64 << 20,
        durability: Durability = "os",
        compression: Optional[Compression] = "fast",
        comparator: Optional[Comparator] = None,
        merge_operator: Optional[MergeOperator] = None,
        upgrade_leveldb: bool = False,
        upgrade_without_log: bool = False,
        recovery: Recovery = "strict",
        filter_bits_per_key: int = 10,
        value_file_bytes: int = 256 << 20,
        mapped: Optional[bool] = None,
        verify_always: bool = False,
        comparators: Sequence[Comparator] = (),
        merge_operators: Sequence[MergeOperator] = (),
        follow: bool = False,
        manual_refresh: bool = False,
        reader_lease: Optional[float] = None,
        reader_space_max: Optional[int] = None,
        progress: Optional[Progress] = None,
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
            "upgrade_without_log": upgrade_without_log,
            "comparators": comparators,
            "merge_operators": merge_operators,
            "follow": follow,
            "manual_refresh": manual_refresh,
            "reader_lease": reader_lease,
            "reader_space_max": reader_space_max,
            "progress": progress,
        }
        try:
            return super().__new__(cls, path, flag, comparator, merge_operator, settings)
        except InvalidArgumentError as error:
            if os.path.exists(path) and not os.path.isdir(path):
                raise NotADatabaseError(errno.ENOTDIR, str(error)) from None
            raise

    def keyspace(self, name: str) -> Keyspace:
        """Return the keyspace `name`. Raises `NotFoundError` if there is none.

        >>> db.create_keyspace("users")[b"ada"] = b"1815"
        >>> db.keyspace("users")[b"ada"]
        b'1815'
        """
        return Keyspace(self, name)

    def create_keyspace(
        self,
        name: str,
        *,
        comparator: Optional[str] = None,
        merge_operator: Optional[str] = None,
        compression: Optional[Compression] = None,
        value_bytes: Optional[int] = None,
    ) -> Keyspace:
        """Create a keyspace, durably. `name` has 1 to 255 bytes.

        `comparator` and `merge_operator` are names: of those that are built in, or of those that
        this open, and every later one, was given as `comparators` and `merge_operators`.
        `compression` is by default the database's. `value_bytes` states about how long values are.

        >>> visits = db.create_keyspace("visits", merge_operator="add")
        >>> visits.merge(b"page", b"\x01")
        >>> visits[b"page"][0]
        1
        """
        self._create_keyspace(name, comparator, merge_operator, compression, value_bytes)
        return Keyspace(self, name)

    def transaction(
        self,
        *,
        isolation: Isolation = "serializable",
        durability: Optional[Durability] = None,
    ) -> Transaction:
        """Begin a transaction. At the end of a `with` block it is committed.

        If the block raises, nothing is written. The commit raises `ConflictError`, and writes
        nothing, if another writer has changed something that the transaction depends on. With
        `isolation` "serializable", the default because its results are as if the transactions had
        run one after another, these are all keys and ranges that it read. With "snapshot" these are
        the keys that it writes or has read with `get_for_update`. `durability` is that of the
        commit.

        >>> db[b"stock"] = b"7"
        >>> with db.transaction() as tx:
        ...     if int(tx[b"stock"]) > 0:
        ...         tx[b"stock"] = b"%d" % (int(tx[b"stock"]) - 1)
        ...         tx[b"order 1"] = b"one stone"
        >>> db[b"stock"], db[b"order 1"]
        (b'6', b'one stone')
        """
        return Transaction(self, isolation, durability)

    def transact(
        self,
        function: Callable[[Transaction], _T],
        *,
        retries: int = 999,
        isolation: Isolation = "serializable",
        durability: Optional[Durability] = None,
    ) -> _T:
        """Call `function` with a transaction, commit it, and return what the function returned.

        If the commit conflicts, the function is called again with a new transaction, so it should
        do nothing that must not be done twice. If it raises, nothing is written. After `retries`
        further calls `ConflictError` is raised; by default there are 999 of them, because each
        conflict means that another writer made progress.

        >>> def visit(tx):
        ...     visits = int(tx.get(b"visits", b"0")) + 1
        ...     tx[b"visits"] = b"%d" % visits
        ...     return visits
        >>> db.transact(visit), db.transact(visit)
        (1, 2)
        """
        while True:
            try:
                with self.transaction(isolation=isolation, durability=durability) as transaction:
                    return function(transaction)
            except ConflictError:
                # Of this transaction, or of another one that the function ran.
                if retries <= 0:
                    raise
                retries -= 1

    def fork(self, path: Path, *, progress: Optional[Progress] = None) -> ForkReport:
        """Create a database at `path`, which must be missing or empty, with all that is written.

        It shares the files of this one through hard links, so it costs a `flush` and a link for
        each file. From then on each of the two changes without the other. Files that cannot be
        linked are cloned or copied, as the report says.

        `progress`, if given, is called as that of `cairndb.verify`. If it raises, or a signal
        arrives, the call ends, and there is nothing at `path`. Raises the same as `flush`;
        `InvalidArgumentError` if `path` is not empty; `LockedError` while another call makes it;
        `ReadOnlyError`.

        >>> db[b"k"] = b"v"
        >>> db.fork(path)
        ForkReport(shared=1, cloned=0, copied=0, copied_bytes=0)
        >>> with cairndb.open(path) as fork:
        ...     fork[b"k"] = b"other"
        >>> db[b"k"]
        b'v'
        """
        return ForkReport(*self._fork(path, progress))

    def changes(
        self,
        after: Optional[str] = None,
        *,
        lease: Optional[str] = None,
        bytes_max: int = 1 << 30,
        durability: Durability = "sync",
        sync_interval: float = 0.1,
    ) -> Changes:
        """Iterate over what is written: every batch, whole and in order, as it becomes durable.

        Begins after the place `after`, which an earlier change had; by default after what `lease`
        has acknowledged or, without a lease, now. A lease keeps the log under a name of 1 to 255
        bytes, also while the database is closed. `bytes_max` limits what is kept; past it, the
        consumer gets `RevokedError`. A lease that exists keeps its limit. With `durability` "os"
        changes come as soon as readers see them. `sync_interval` is the number of seconds after
        which writes are synced while the feed is open: 0.1 at most.

        Raises `RevokedError` if changes after the place are gone, or writes before it were lost:
        begin again with `snapshot_and_changes`. `InvalidArgumentError` if the place is of another
        database, or for an impossible lease; `ReadOnlyError`; the same as `sync`.

        >>> with db.changes() as changes:
        ...     db[b"basalt"] = b"black"
        ...     next(changes).entries
        (ChangedEntry(operation='put', keyspace=None, key=b'basalt', value=b'black'),)
        """
        return Changes(self, make, after, lease, bytes_max, durability, sync_interval, False)

    def snapshot_and_changes(
        self,
        *,
        lease: Optional[str] = None,
        bytes_max: int = 1 << 30,
        durability: Durability = "sync",
        sync_interval: float = 0.1,
    ) -> tuple[Snapshot, Changes]:
        """Take a snapshot, and open a feed of what follows it, as `changes` does.

        A lease begins again at the snapshot. Flushes, so that the snapshot shows only what is
        durable. Raises the same as `flush`, and `InvalidArgumentError` for an impossible lease.

        >>> db[b"old"] = b"1"
        >>> snapshot, changes = db.snapshot_and_changes()
        >>> with snapshot, changes:
        ...     [*snapshot], changes.try_next()
        ([b'old'], None)
        """
        changes = Changes(self, make, None, lease, bytes_max, durability, sync_interval, True)
        return Snapshot(self, None, changes), changes

    def leases(self) -> list[Lease]:
        """Return the leases, for which the log is kept.

        >>> db.changes(lease="index").close()
        >>> [lease.name for lease in db.leases()]
        ['index']
        """
        return [Lease(*lease) for lease in self._leases()]

    def popitem(self) -> tuple[bytes, bytes]:
        """Remove the first entry and return it, as `pop_first`, but raise `KeyError` if empty."""
        entry = self.pop_first()
        if entry is None:
            raise KeyError("popitem(): the database is empty")
        return entry

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


__all__ = ["Batch", "Database", "Keyspace", "Snapshot"]
