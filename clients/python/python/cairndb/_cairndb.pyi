"""Types of the extension module."""

import builtins
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Iterator as _Iterator
from typing import Any, Callable, Generic, Literal, Optional, TypeVar, Union, overload

from typing_extensions import Self

from ._changes import Change
from ._types import (
    Bytes,
    Comparator,
    Durability,
    Flag,
    Isolation,
    MergeOperator,
    Path,
    Progress,
)

_T = TypeVar("_T")
_Item = TypeVar("_Item", covariant=True)

__version__: str

class Scan(_Iterator[_Item], Generic[_Item]):
    """An iterator over the keys, the values or the entries of a range, as of the time when it was
    made. That of a transaction also sees what it writes ahead of the iterator.
    """
    def __iter__(self) -> Self: ...
    def __next__(self) -> _Item: ...
    def take_list(self, count: int) -> list[_Item]:
        """Returns the next entries as a list: at most `count`, none at the end."""
    def count(self) -> int:
        """Counts the entries that are left, without making them Python objects."""
    def close(self) -> None:
        """
        Ends the iterator and releases what it holds. Further steps raise `ClosedError`. Waits for
        a step of another thread.
        """

class Diff(_Iterator[_Item], Generic[_Item]):
    """The iterator of `cairndb.diff`."""
    def __new__(
        cls, before: Database, after: Database, make: Callable[..., _Item]
    ) -> Diff[_Item]: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> _Item: ...
    def take_list(self, count: int) -> list[_Item]:
        """Returns the next differences as a list: at most `count`, none at the end."""
    def close(self) -> None:
        """Ends the iterator and releases what it holds. Further steps raise `ClosedError`."""

class Changes(_Iterator[Change]):
    """The changes of a database, each as a whole and in order, as `Change` objects. Made by
    `Database.changes` and `Database.snapshot_and_changes`.

    As an iterator it waits for the next change, without the interpreter's lock; Ctrl-C ends the
    wait. Close it, or use it in a `with` statement: what it has not returned is kept.
    """
    def __new__(
        cls,
        db: Database,
        make: Callable[..., Change],
        after: Optional[str],
        lease: Optional[str],
        bytes_max: int,
        durability: Durability,
        sync_interval: float,
        snapshot: bool,
    ) -> Changes: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Change: ...
    def try_next(self) -> Optional[Change]:
        """Returns the next change, or None if there is none to return now.

        Raises `RevokedError` if the consumer fell off; `ClosedError`, also if another thread closes
        the database; `CorruptionError`, `IoError`, `PoisonedError`.
        """
    def next_within(self, seconds: float) -> Optional[Change]:
        """
        Returns the next change, or None if there is none within that many seconds. Ctrl-C ends the
        wait. Raises the same as `try_next`.
        """
    @property
    def place(self) -> str:
        """The place after the last change."""
    def acknowledge(self, place: str) -> None:
        """
        Records that what was made of the changes up to `place` is stored: the lease keeps only what
        follows. Without a lease, each change is done with when the next one is asked for.

        The lease is durable after some time, so store the place as well, with what was made of the
        changes. Costs a sync if log is freed, otherwise nothing. Raises `InvalidArgumentError` or
        `RevokedError` for a place that was not returned, and the same as `flush`.
        """
    def close(self) -> None:
        """
        Ends the feed, so that nothing is kept for it but what its lease holds. Further calls raise
        `ClosedError`. Closing again does nothing.
        """
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

class Range(Iterable[tuple[bytes, bytes]]):
    """A part of a database: an iterable of `(key, value)` pairs, in order.

    Returned by `range` and `prefix` of a database, a snapshot or a transaction. A range reads
    nothing until it is iterated, and can be iterated again. Each iteration sees the database as of
    its start.

    >>> db.update({b"a": b"1", b"b": b"2", b"c": b"3"})
    >>> part = db.range(b"a", b"c")
    >>> list(part)
    [(b'a', b'1'), (b'b', b'2')]
    >>> list(part.keys()), list(part.values())
    ([b'a', b'b'], [b'1', b'2'])
    >>> list(reversed(part))
    [(b'b', b'2'), (b'a', b'1')]
    """
    def __iter__(self) -> Scan[tuple[bytes, bytes]]: ...
    def items(self) -> Scan[tuple[bytes, bytes]]:
        """Iterates over the entries as pairs; the same as iterating over the range."""
    def keys(self) -> Scan[bytes]:
        """Iterates over the keys only, which is faster than over the pairs."""
    def values(self) -> Scan[bytes]:
        """Iterates over the values only."""
    def __reversed__(self) -> Scan[tuple[bytes, bytes]]: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...

class Reader:
    """The reads that a database, a snapshot and a transaction have in common."""
    def __getitem__(self, key: Bytes, /) -> bytes: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __bool__(self) -> bool: ...
    def __iter__(self) -> Scan[bytes]: ...
    @overload
    def get(self, key: Bytes, /) -> Optional[bytes]:
        """Returns the value of `key`, or `default`.

        >>> db[b"granite"] = b"grey"
        >>> db.get(b"granite"), db.get(b"opal"), db.get(b"opal", b"?")
        (b'grey', None, b'?')
        """
    @overload
    def get(self, key: Bytes, /, default: bytes) -> bytes: ...
    @overload
    def get(self, key: Bytes, /, default: _T) -> Union[bytes, _T]: ...
    @overload
    def get_view(self, key: Bytes) -> Optional[memoryview]:
        r"""Returns the value of `key` as a read-only `memoryview`, or `default`.

        Nothing is copied: the view refers to the memory that the store has read the value into or,
        for a large value that is stored uncompressed, to the mapped file. The view stays valid when
        the key is overwritten and the database closed; as long as it lives, the file takes its
        space.

        >>> db[b"photo"] = bytes(1_000_000)
        >>> view = db.get_view(b"photo")
        >>> len(view), view[:3].tobytes()
        (1000000, b'\x00\x00\x00')
        """
    @overload
    def get_view(self, key: Bytes, default: _T) -> Union[memoryview, _T]: ...
    @overload
    def multi_get(self, keys: Iterable[Bytes]) -> list[Optional[bytes]]:
        """
        Returns the values of `keys` as a list, all as of the same moment, with `default` for absent
        ones.

        One call for many keys is faster than a call for each.

        >>> db.update({b"a": b"1", b"b": b"2"})
        >>> db.multi_get([b"a", b"x", b"b"])
        [b'1', None, b'2']
        """
    @overload
    def multi_get(self, keys: Iterable[Bytes], default: _T) -> list[Union[bytes, _T]]: ...
    def first(self) -> Optional[tuple[bytes, bytes]]:
        """Returns the first entry as a pair, or None if there is none.

        >>> db.update({b"a": b"1", b"b": b"2"})
        >>> db.first(), db.last()
        ((b'a', b'1'), (b'b', b'2'))
        """
    def last(self) -> Optional[tuple[bytes, bytes]]:
        """Returns the last entry as a pair, or None if there is none."""
    def range(
        self,
        start: Optional[Bytes] = None,
        stop: Optional[Bytes] = None,
        *,
        reverse: bool = False,
        limit: Optional[int] = None,
    ) -> Range:
        """Returns the entries from key `start`, included, to key `stop`, excluded.

        Without `start` or `stop` the range has no bound there. With `reverse` it begins at the
        other end, and with `limit` it has that many entries at most.

        >>> db.update({b"a": b"1", b"b": b"2", b"c": b"3"})
        >>> list(db.range(b"b"))
        [(b'b', b'2'), (b'c', b'3')]
        >>> list(db.range(stop=b"c", reverse=True, limit=1))
        [(b'b', b'2')]
        """
    def prefix(self, prefix: Bytes, *, reverse: bool = False, limit: Optional[int] = None) -> Range:
        """Returns the entries whose keys start with `prefix`.

        >>> db.update({b"user/ada": b"1815", b"user/alan": b"1912", b"visits": b"2"})
        >>> [key for key in db.prefix(b"user/").keys()]
        [b'user/ada', b'user/alan']
        """
    @overload
    def _scan(self, what: Literal[0, 1], reverse: bool = False) -> Scan[bytes]: ...
    @overload
    def _scan(self, what: Literal[2], reverse: bool = False) -> Scan[tuple[bytes, bytes]]: ...
    @property
    def closed(self) -> bool:
        """Whether the database or the snapshot was closed, or the transaction has ended."""
    @property
    def path(self) -> str:
        """The directory of the database, as it was given."""

class Keyspace(Reader):
    """The keys of a database or a keyspace. `cairndb.Keyspace` derives from it."""
    def __new__(cls, of: Reader, name: str) -> Self: ...
    @property
    def name(self) -> str:
        """The name of the keyspace; empty for the database itself."""
    def __setitem__(self, key: Bytes, value: Bytes, /) -> None: ...
    def __delitem__(self, key: Bytes, /) -> None: ...
    def put(self, key: Bytes, value: Bytes, *, durability: Optional[Durability] = None) -> None:
        """Sets `key`, of at most 64 MiB, to `value`, of at most 1 GiB: `db[key] = value` with a
        durability.

        `durability` is what the write survives once the call has returned: "os" the death of the
        process, "sync" a power failure, "none" nothing until `flush` has returned. Without it, it
        is the database's.

        >>> db.put(b"k", b"v", durability="sync")
        """
    def delete(self, key: Bytes, *, durability: Optional[Durability] = None) -> None:
        """Removes `key`. Removing an absent key is not an error, unlike with `del db[key]`, which
        looks first.

        >>> db.delete(b"absent")
        """
    def delete_range(
        self,
        start: Optional[Bytes] = None,
        stop: Optional[Bytes] = None,
        *,
        durability: Optional[Durability] = None,
    ) -> None:
        """
        Removes the keys from `start` to `stop`, in constant time. Without `start` it is the empty
        key, without `stop` there is no end. The space is freed in the background.

        >>> db.update({b"2026-11-28": b"", b"2026-11-29": b"", b"2026-11-30": b""})
        >>> db.delete_range(stop=b"2026-11-30")
        >>> list(db)
        [b'2026-11-30']
        """
    def delete_prefix(self, prefix: Bytes, *, durability: Optional[Durability] = None) -> None:
        """
        Removes the keys that start with `prefix`, as `delete_range`. Raises `InvalidArgumentError`
        with a comparator, whose order need not keep such keys together.

        >>> db.update({b"user/ada": b"1815", b"user/alan": b"1912", b"visits": b"2"})
        >>> db.delete_prefix(b"user/")
        >>> list(db)
        [b'visits']
        """
    def merge(self, key: Bytes, operand: Bytes, *, durability: Optional[Durability] = None) -> None:
        """
        Adds `operand` to `key`, without reading it. The database's merge operator folds it later.

        >>> with cairndb.open(path, merge_operator="add") as counters:
        ...     for _ in range(3):
        ...         counters.merge(b"visits", (1).to_bytes(8, "little"))
        ...     int.from_bytes(counters[b"visits"], "little")
        3
        """
    def batch(self, *, durability: Optional[Durability] = None) -> Batch:
        """
        Returns an empty batch. At the end of a `with` block it is written, all of it or nothing; if
        the block raises, it is dropped.

        >>> with db.batch(durability="sync") as batch:
        ...     batch[b"alice"] = b"90"
        ...     batch[b"bob"] = b"110"
        ...     del batch[b"pending"]
        >>> db.multi_get([b"alice", b"bob"])
        [b'90', b'110']
        """
    def compact(
        self,
        start: Optional[Bytes] = None,
        stop: Optional[Bytes] = None,
        *,
        progress: Optional[Progress] = None,
    ) -> None:
        """Compacts the keys from `start` to `stop`, all by default, into one sorted run. The store
        does this by itself when it is idle; the call is for a program that is about to read very
        much.

        `progress`, if given, is called as that of `cairndb.verify`. If it raises, or a signal
        arrives, the call ends; what it has compacted stays so.

        >>> db.compact()
        """
    def approximate_size(self, start: Bytes, stop: Bytes) -> int:
        """
        Returns about how many bytes the keys from `start` to `stop` take on disk. What is still in
        memory is not counted.

        >>> db.approximate_size(b"a", b"b")
        0
        """
    def estimate_count(self, start: Optional[Bytes] = None, stop: Optional[Bytes] = None) -> int:
        """Returns about how many keys there are from `start` to `stop`, all by default, without a
        scan. After a compaction the result is usually within a few per cent; before it, keys that
        were written several times may be counted several times.

        >>> db.update({b"user/%03d" % number: b"" for number in range(1000)})
        >>> db.estimate_count(), db.estimate_count(b"user/100", b"user/200")
        (1000, 100)
        """

class Database(Keyspace):
    """An open database. `cairndb.Database` derives from it."""
    def __new__(
        cls,
        path: Path,
        flag: Flag,
        comparator: Optional[Comparator],
        merge_operator: Optional[MergeOperator],
        settings: dict[str, Any],
    ) -> Self: ...
    def compare_and_set(self, key: Bytes, expected: Optional[Bytes], new: Optional[Bytes]) -> bool:
        """
        Sets `key` to `new`, or removes it if that is None, if its value is `expected`, where None
        stands for no value. Returns whether it was. No other write comes in between.

        >>> db.compare_and_set(b"lock", None, b"worker 7")
        True
        >>> db.compare_and_set(b"lock", None, b"worker 8")
        False
        >>> db.compare_and_set(b"lock", b"worker 7", None)
        True
        """
    def pop_first(self) -> Optional[tuple[bytes, bytes]]:
        """
        Removes the first entry and returns it as a pair, or returns None if there is none. Threads
        that do this at the same time get different entries, so a database can be a queue.

        >>> db.update({b"job 1": b"sweep", b"job 2": b"polish"})
        >>> db.pop_first(), db.pop_last(), db.pop_first()
        ((b'job 1', b'sweep'), (b'job 2', b'polish'), None)
        """
    def pop_last(self) -> Optional[tuple[bytes, bytes]]:
        """Removes the last entry and returns it as a pair, or returns None if there is none."""
    def flush(self) -> None:
        """Writes all memtables to tables, durably, also writes of durability "none"."""
    def sync(self) -> None:
        """
        Makes every logged write so far durable, as one of durability "sync" would. Many writes of
        durability "os" and then this call cost one sync. Does nothing if the database was opened
        for reading or to follow, or was closed, which has made everything durable.

        >>> for number in range(100):
        ...     db[b"%d" % number] = b"in the log"
        >>> db.sync()  # and now on the disk
        """
    # The class has a method `property`.
    @builtins.property
    def sequence_number(self) -> int:
        """The number of the newest write that reads of this object see. Each entry of a batch has a
        number. A follower that has reached the number that its writer has after a write of
        durability "os" or "sync" sees that write; pass it to `wait_for`.

        >>> before = db.sequence_number
        >>> db.update({b"slate": b"blue", b"shale": b"black"})
        >>> db.sequence_number - before
        2
        """
    def refresh(self) -> None:
        """Looks for new writes of the process that writes. Reads that begin after this call see
        everything that was acknowledged before it. A follower does so at each read, unless it was
        opened with `manual_refresh`. After an error, the last state stays.

        Raises `InvalidArgumentError` if the database was not opened with `follow`, or has a new
        keyspace whose comparator or merge operator was not given to the open; `NotSupportedError`
        if the writer's version does not inform followers; `RevokedError`, `CorruptionError`,
        `IoError`.

        >>> reader = cairndb.open(db.path, follow=True, manual_refresh=True)
        >>> db[b"k"] = b"v"
        >>> b"k" in reader
        False
        >>> reader.refresh()
        >>> b"k" in reader
        True
        """
    def wait_for(self, sequence_number: int, timeout: Optional[float] = None) -> bool:
        """
        Waits until this follower sees everything up to a `sequence_number` of its writer. Returns
        True, or False if that takes more than `timeout` seconds. Without `timeout` it waits as long
        as it takes, also while there is no writer; Ctrl-C ends it. Writes of durability "none" are
        seen after their flush. The call looks for new writes every millisecond.

        Raises the same as `refresh`; `ClosedError` if another thread closes the database.

        >>> reader = cairndb.open(db.path, follow=True)
        >>> db[b"k"] = b"v"
        >>> reader.wait_for(db.sequence_number, timeout=1)
        True
        """
    def has_writer(self) -> bool:
        """
        Returns whether a process has the database open for writing now. A follower shows the last
        state while there is none, and sees the writes of the next one.

        Raises `InvalidArgumentError` if the database was not opened with `follow`;
        `NotSupportedError` if the writer's version does not inform followers; `IoError`.

        >>> reader = cairndb.open(db.path, follow=True)
        >>> reader.has_writer()
        True
        >>> db.close()
        >>> reader.has_writer()
        False
        """
    def place(self) -> str:
        """
        Returns the place of everything written so far, after which `changes` returns what follows.
        Syncs the log, and raises the same as `sync`.

        >>> place = db.place()
        >>> db[b"granite"] = b"grey"
        >>> with db.changes(place) as changes:
        ...     next(changes).entries[0].key
        b'granite'
        """
    def _leases(self) -> list[tuple[str, str, bool]]: ...
    def drop_lease(self, name: str) -> None:
        """
        Drops a lease, and frees what was kept for it. Raises `NotFoundError` if there is none with
        this name, and the same as `flush`.

        >>> db.changes(lease="index").close()
        >>> db.drop_lease("index")
        """
    def _fork(self, path: Path, progress: Optional[Progress]) -> tuple[int, int, int, int]: ...
    def checkpoint(self, path: Path, *, progress: Optional[Progress] = None) -> None:
        """Makes a fork of the database at `path`, as `fork` does. Returns nothing.

        >>> db[b"k"] = b"v"
        >>> db.checkpoint(path + ".backup")
        >>> with cairndb.open(path + ".backup", "r") as backup:
        ...     backup[b"k"]
        b'v'
        """
    def keyspaces(self) -> list[str]:
        """Returns the names of the keyspaces, in order.

        >>> users = db.create_keyspace("users")
        >>> "users" in db.keyspaces()
        True
        """
    def drop_keyspace(self, name: str) -> None:
        """Drops the keyspace `name` with all its entries, durably. The space is freed in the
        background. Its objects, and batches with writes to it, then raise `ClosedError`; iterators
        go on.
        """
    def _create_keyspace(
        self,
        name: str,
        comparator: Optional[str],
        merge_operator: Optional[str],
        compression: Optional[str],
        value_bytes: Optional[int],
    ) -> None: ...
    def property(self, name: str) -> Optional[str]:
        """Returns a property as text, or None for an unknown name. See also `stats`.

        >>> db.property("leveldb.num-files-at-level0")
        '0'
        """
    def _open_report(self) -> dict[str, Any]: ...
    def close(self) -> None:
        """Closes the database: makes everything durable and unlocks the directory. Iterators,
        snapshots and batches of it raise `ClosedError` from then on; views of values stay valid.
        Closing again does nothing.

        >>> db.close()
        >>> db.closed
        True
        """

class Snapshot(Reader):
    """The reads of a snapshot. `cairndb.Snapshot` derives from it."""
    def __new__(
        cls, of: Reader, keyspace: Optional[str] = None, changes: Optional[Changes] = None
    ) -> Self: ...
    def _fork(self, path: Path, progress: Optional[Progress]) -> tuple[int, int, int, int]: ...
    def close(self) -> None:
        """Releases the snapshot. Closing again does nothing."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

class Savepoint:
    """A mark of the writes of a transaction, to which `rollback_to` returns."""

class Transaction(Reader):
    """The calls of a transaction. `cairndb.Transaction` derives from it."""
    def __new__(
        cls,
        of: Reader,
        isolation: Isolation,
        durability: Optional[Durability],
        keyspace: Optional[str] = None,
    ) -> Self: ...
    def __setitem__(self, key: Bytes, value: Bytes, /) -> None: ...
    def __delitem__(self, key: Bytes, /) -> None: ...
    def put(self, key: Bytes, value: Bytes) -> None:
        """Sets `key` to `value` when the transaction is committed.

        >>> with db.transaction() as tx:
        ...     tx.put(b"k", b"v")
        ...     tx[b"k"], db.get(b"k")
        (b'v', None)
        """
    def delete(self, key: Bytes) -> None:
        """Removes `key`. Removing an absent key is not an error, unlike with `del tx[key]`, which
        looks first and so depends on the key.
        """
    def delete_range(self, start: Optional[Bytes] = None, stop: Optional[Bytes] = None) -> None:
        """
        Removes the keys from `start` to `stop`, as in a database, and what the transaction has put
        there. With isolation "snapshot" any write of another writer there is a conflict, with
        "serializable" none.
        """
    def delete_prefix(self, prefix: Bytes) -> None:
        """
        Removes the keys that start with `prefix`, as `delete_range`. Raises `InvalidArgumentError`
        with a comparator.
        """
    def merge(self, key: Bytes, operand: Bytes) -> None:
        """
        Adds `operand` to `key`, to be folded by the database's merge operator. By itself it never
        conflicts: it is applied to the value that the key has at the commit.
        """
    @overload
    def get_for_update(self, key: Bytes) -> Optional[bytes]:
        """Returns the value of `key`, or `default`, as `get`, and makes the commit fail if another
        writer changes `key`, whatever the isolation. With isolation "serializable" it is `get`.

        >>> with db.transaction(isolation="snapshot") as tx:
        ...     tx.get_for_update(b"rate", b"5")
        b'5'
        """
    @overload
    def get_for_update(self, key: Bytes, default: bytes) -> bytes: ...
    @overload
    def get_for_update(self, key: Bytes, default: _T) -> Union[bytes, _T]: ...
    def pop_first(self) -> Optional[tuple[bytes, bytes]]:
        """Removes the first entry and returns it as a pair, or returns None if there is none."""
    def pop_last(self) -> Optional[tuple[bytes, bytes]]:
        """Removes the last entry and returns it as a pair, or returns None if there is none."""
    def savepoint(self) -> Savepoint:
        """Marks the current state of the writes, for `rollback_to`.

        >>> with db.transaction() as tx:
        ...     tx[b"kept"] = b"1"
        ...     mark = tx.savepoint()
        ...     tx[b"undone"] = b"2"
        ...     tx.rollback_to(mark)
        >>> list(db)
        [b'kept']
        """
    def rollback_to(self, savepoint: Savepoint) -> None:
        """
        Undoes the writes since `savepoint`, which may be used again. What was read since then still
        counts as read.

        Raises `InvalidArgumentError` for a savepoint of another transaction, or one that a rollback
        to an earlier one has undone.
        """
    def commit(self, *, durability: Optional[Durability] = None) -> None:
        """
        Writes everything, all of it or nothing, and ends the transaction. The end of a `with` block
        does it unless the block raises.

        Raises `ConflictError`, and writes nothing, if another writer has changed something that the
        transaction depends on. Run the whole transaction again then, as `Database.transact` does.
        """
    def rollback(self) -> None:
        """
        Discards the writes and ends the transaction. Does nothing if it has ended, or in a forked
        child, whose copy of the transaction writes nothing.
        """
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: Optional[type[BaseException]] = None,
        _exception: Optional[BaseException] = None,
        _traceback: object = None,
    ) -> None: ...

class Batch:
    """Writes that are applied together, or not at all. Made by `Database.batch`."""
    @property
    def byte_len(self) -> int:
        """The size of the writes in bytes, as they are stored."""
    def put(self, key: Bytes, value: Bytes, *, keyspace: Optional[Keyspace] = None) -> None:
        """Sets `key` to `value`, in `keyspace`, if that is given, or else where the batch was made.

        >>> users = db.create_keyspace("users")
        >>> with db.batch() as batch:
        ...     batch.put(b"users", b"1")
        ...     batch.put(b"ada", b"1815", keyspace=users)
        >>> db[b"users"], users[b"ada"]
        (b'1', b'1815')
        """
    def delete(self, key: Bytes, *, keyspace: Optional[Keyspace] = None) -> None:
        """Removes `key`. Removing an absent key is not an error."""
    def delete_range(
        self,
        start: Optional[Bytes] = None,
        stop: Optional[Bytes] = None,
        *,
        keyspace: Optional[Keyspace] = None,
    ) -> None:
        """Removes the keys from `start` to `stop`, as in a database, and what earlier writes of the
        batch put there.
        """
    def delete_prefix(self, prefix: Bytes, *, keyspace: Optional[Keyspace] = None) -> None:
        """Removes the keys that start with `prefix`, as `delete_range`. With a comparator, `write`
        raises `InvalidArgumentError`.
        """
    def merge(self, key: Bytes, operand: Bytes, *, keyspace: Optional[Keyspace] = None) -> None:
        """Adds `operand` to `key`, to be folded by the merge operator of its keyspace."""
    def _write_and_keep(self) -> None: ...
    def _append(self, source: Batch) -> None: ...
    def update(self, entries: Union[Mapping[bytes, bytes], Iterable[tuple[Bytes, Bytes]]]) -> None:
        """Puts the entries of a mapping, or of an iterable of pairs."""
    def clear(self) -> None:
        """Removes all writes from the batch."""
    def write(self, *, durability: Optional[Durability] = None) -> None:
        """Applies the writes, all or none, and empties the batch. After an error the batch is as it
        was.
        """
    def __setitem__(self, key: Bytes, value: Bytes, /) -> None: ...
    def __delitem__(self, key: Bytes, /) -> None: ...
    def __len__(self) -> int: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: Optional[type[BaseException]] = None,
        _exception: Optional[BaseException] = None,
        _traceback: object = None,
    ) -> None: ...

class Iterator:
    """An iterator over a range, in both directions."""
    def __new__(
        cls,
        reader: Reader,
        db_prefix: bytes,
        start: Optional[bytes],
        stop: Optional[bytes],
        include: tuple[bool, bool, bool, bool],
        reverse: bool,
    ) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Any: ...
    def next(self) -> Any:
        """Returns the next entry."""
    def prev(self) -> Any:
        """Returns the previous entry."""
    def seek(self, target: bytes) -> None:
        """Moves before the first entry at or after `target`, inside of the range."""
    def seek_to_start(self) -> None:
        """Moves before the first entry."""
    def seek_to_stop(self) -> None:
        """Moves after the last entry."""
    def close(self) -> None:
        """Releases the iterator. The next use raises `RuntimeError`."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> bool: ...

class RawIterator:
    """An iterator that stands on an entry, or is not valid."""
    def __new__(cls, reader: Reader) -> Self: ...
    def valid(self) -> bool:
        """Returns whether the iterator is on an entry."""
    def seek_to_first(self) -> None:
        """Moves to the first entry."""
    def seek_to_last(self) -> None:
        """Moves to the last entry."""
    def seek(self, target: bytes) -> None:
        """Moves to the first entry at or after `target`."""
    def next(self) -> None:
        """Moves to the next entry."""
    def prev(self) -> None:
        """Moves to the previous entry."""
    def key(self) -> bytes:
        """Returns the key of the entry."""
    def value(self) -> bytes:
        """Returns the value of the entry."""
    def item(self) -> tuple[bytes, bytes]:
        """Returns the key and the value of the entry."""
    def close(self) -> None:
        """Releases the iterator. The next use raises `RuntimeError`."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> bool: ...

def verify(
    path: Path,
    *,
    comparator: Optional[Comparator] = None,
    merge_operator: Optional[MergeOperator] = None,
    comparators: Sequence[Comparator] = (),
    merge_operators: Sequence[MergeOperator] = (),
    progress: Optional[Progress] = None,
) -> dict[str, int]:
    """Checks a database. See `cairndb.verify`."""

def repair(
    source: Path,
    target: Path,
    *,
    dry_run: bool = False,
    include_unnamed: bool = False,
    comparator: Optional[Comparator] = None,
    merge_operator: Optional[MergeOperator] = None,
    comparators: Sequence[Comparator] = (),
    merge_operators: Sequence[MergeOperator] = (),
    progress: Optional[Progress] = None,
) -> tuple[bool, str, str]:
    """
    Repairs a database. See `cairndb.repair`. Returns whether it is complete, the text and the JSON.
    """

def destroy(path: Path) -> None:
    """Removes a database. See `cairndb.destroy`."""

def upgrade_leveldb(
    path: Path,
    *,
    comparator: Optional[Comparator] = None,
    upgrade_without_log: bool = False,
    progress: Optional[Progress] = None,
) -> dict[str, Any]:
    """Converts a LevelDB database. See `cairndb.upgrade_leveldb`."""

def _exchange(first: Path, second: Path) -> None: ...
def _close_all() -> None: ...
def _open_databases() -> int: ...
