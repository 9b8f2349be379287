"""CairnDB for `asyncio`: the same calls, awaitable.

The calls run on a few threads of the database's own, so a slow disk does not stop the event loop.
A call costs some tens of microseconds for the way to a thread and back: use `multi_get`, batches
and ranges, which do much with one call.

>>> import asyncio, cairndb.aio
>>> async def main() -> None:
...     async with cairndb.aio.open(path) as db:
...         await db.put(b"granite", b"grey")
...         await db.update({b"slate": b"blue", b"shale": b"black"})
...         async for stone, colour in db.prefix(b"s"):
...             print(stone, colour)
>>> asyncio.run(main())
b'shale' b'black'
b'slate' b'blue'

Cancellation is safe. A write whose task is cancelled is either not begun or completed in full. An
iteration that is cancelled while it waits loses no entry: the next step returns it. An open that is
cancelled closes what it has opened.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Generator, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, TypeVar, Union, overload

import cairndb

from ._cairndb import Diff as _SyncDiff
from ._cairndb import Scan as _SyncScan
from ._types import (
    Bytes,
    ChangesOptions,
    Durability,
    Flag,
    Isolation,
    KeyspaceOptions,
    Options,
    Path,
    Progress,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "Batch",
    "Changes",
    "Database",
    "Keyspace",
    "Range",
    "Scan",
    "Snapshot",
    "Transaction",
    "diff",
    "open",
]

_T = TypeVar("_T")
_Item = TypeVar("_Item")

#: Threads of a database, by default: enough to overlap waits for a disk.
_THREADS = 4
#: Entries of the first step of an iteration, and of each further one.
_ENTRIES_FIRST = 64
_ENTRIES_MAX = 2048
#: Seconds for which a wait keeps a thread. A cancelled one may hold up a close for as long.
_WAIT_SECONDS = 0.05


class _Threads:
    """The threads of a database."""

    def __init__(self, count: int) -> None:
        self._executor = ThreadPoolExecutor(count, thread_name_prefix="cairndb")

    def submit(self, function: Callable[..., _T], *args: Any, **kwargs: Any) -> Future[_T]:
        """Call `function` on a thread."""
        try:
            return self._executor.submit(function, *args, **kwargs)
        except RuntimeError:
            raise cairndb.ClosedError("closed: the database was closed") from None

    def end(self, *, wait: bool) -> None:
        """Run the calls that wait for a thread, and accept no further ones."""
        self._executor.shutdown(wait=wait)


async def _closed(threads: _Threads, close: Callable[[], None]) -> None:
    """Close an iterator."""
    try:
        closing = threads.submit(close)
    except cairndb.ClosedError:
        # The database was closed before, so that there is nothing to wait for.
        close()
    else:
        await asyncio.wrap_future(closing)


class Scan(AsyncIterator[_Item], Generic[_Item]):
    """An iterator over keys, values or entries, fetched many at a time."""

    def __init__(
        self, threads: _Threads, make: Callable[[], Union[_SyncScan[_Item], _SyncDiff[_Item]]]
    ) -> None:
        self._threads = threads
        # Made now, so that the iteration sees the database as of now.
        self._scan = make()
        self._chunk: list[_Item] = []
        self._taken = 0
        self._size = _ENTRIES_FIRST
        self._pending: Optional[Future[list[_Item]]] = None

    def __aiter__(self) -> Scan[_Item]:
        return self

    async def __anext__(self) -> _Item:
        while self._taken == len(self._chunk):
            if self._pending is None:
                self._pending = self._threads.submit(self._scan.take_list, self._size)
                self._size = min(self._size * 4, _ENTRIES_MAX)
            pending = self._pending
            if not pending.done():
                # Shielded: if this task is cancelled, the chunk is there for the next call.
                await asyncio.shield(asyncio.wrap_future(pending))
            chunk = pending.result()
            if self._pending is pending:
                self._pending = None
                self._chunk = chunk
                self._taken = 0
                if not chunk:
                    raise StopAsyncIteration
        item = self._chunk[self._taken]
        self._taken += 1
        return item

    async def aclose(self) -> None:
        """End the iteration and release what it holds."""
        self._chunk = []
        self._taken = 0
        self._pending = None
        await _closed(self._threads, self._scan.close)


class Changes(AsyncIterator[cairndb.Change]):
    """The changes of a database. Made by `Database.changes` and `Database.snapshot_and_changes`.

    A wait keeps a thread of the database, but lets other calls have it every 50 ms.
    """

    def __init__(self, threads: _Threads, changes: cairndb.Changes, place: str) -> None:
        self._threads = threads
        self._changes = changes
        self._place = place
        self._pending: Optional[Future[Optional[cairndb.Change]]] = None

    @property
    def place(self) -> str:
        """The place after the last change, which does not wait."""
        return self._place

    def __aiter__(self) -> Changes:
        return self

    async def __anext__(self) -> cairndb.Change:
        change = None
        while change is None:
            change = await self._step(_WAIT_SECONDS)
        return change

    async def try_next(self) -> Optional[cairndb.Change]:
        """Return the next change, or None if there is none to return now."""
        return await self._step(0)

    async def next_within(self, seconds: float) -> Optional[cairndb.Change]:
        """Return the next change, or None if there is none within that many seconds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while True:
            part = max(0, min(end - loop.time(), _WAIT_SECONDS))
            change = await self._step(part)
            if change is not None or part == 0:
                return change

    async def _step(self, seconds: float) -> Optional[cairndb.Change]:
        if self._pending is None:
            self._pending = self._threads.submit(self._changes.next_within, seconds)
        pending = self._pending
        if not pending.done():
            # Shielded: if this task is cancelled, the change is there for the next call.
            await asyncio.shield(asyncio.wrap_future(pending))
        if self._pending is not pending:
            # Another task has it.
            return None
        self._pending = None
        change = pending.result()
        if change is not None:
            self._place = change.place
        return change

    async def acknowledge(self, place: str) -> None:
        """Record that what was made of the changes up to `place` is stored."""
        await asyncio.wrap_future(self._threads.submit(self._changes.acknowledge, place))

    async def aclose(self) -> None:
        """End the feed, so that nothing is kept for it but what its lease holds."""
        self._pending = None
        await _closed(self._threads, self._changes.close)

    async def __aenter__(self) -> Changes:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()


class Range:
    """A part of a database: an asynchronous iterable of `(key, value)` pairs, in order."""

    def __init__(self, threads: _Threads, part: cairndb.Range) -> None:
        self._threads = threads
        self._part = part

    def __aiter__(self) -> Scan[tuple[bytes, bytes]]:
        return self.items()

    def items(self) -> Scan[tuple[bytes, bytes]]:
        """Iterate over the entries as pairs; the same as iterating over the range."""
        return Scan(self._threads, self._part.items)

    def keys(self) -> Scan[bytes]:
        """Iterate over the keys only."""
        return Scan(self._threads, self._part.keys)

    def values(self) -> Scan[bytes]:
        """Iterate over the values only."""
        return Scan(self._threads, self._part.values)

    async def count(self) -> int:
        """Return the number of entries. Scans the range."""
        return await asyncio.wrap_future(self._threads.submit(self._part.__len__))

    def __repr__(self) -> str:
        return repr(self._part).replace("cairndb.Range", "cairndb.aio.Range", 1)


class _Reads:
    """What a database, a snapshot and a transaction have in common."""

    _threads: _Threads
    _reader: Union[cairndb.Keyspace, cairndb.Snapshot, cairndb.Transaction]

    def _run(self, function: Callable[..., _T], *args: Any, **kwargs: Any) -> Awaitable[_T]:
        return asyncio.wrap_future(self._threads.submit(function, *args, **kwargs))

    @overload
    async def get(self, key: Bytes) -> Optional[bytes]: ...
    @overload
    async def get(self, key: Bytes, default: bytes) -> bytes: ...
    @overload
    async def get(self, key: Bytes, default: _T) -> Union[bytes, _T]: ...
    async def get(self, key: Bytes, default: Any = None) -> Any:
        """Return the value of `key`, or `default`."""
        return await self._run(self._reader.get, key, default)

    @overload
    async def get_view(self, key: Bytes) -> Optional[memoryview]: ...
    @overload
    async def get_view(self, key: Bytes, default: _T) -> Union[memoryview, _T]: ...
    async def get_view(self, key: Bytes, default: Any = None) -> Any:
        """Return the value of `key` as a `memoryview`, or `default`."""
        return await self._run(self._reader.get_view, key, default)

    @overload
    async def multi_get(self, keys: Iterable[Bytes]) -> list[Optional[bytes]]: ...
    @overload
    async def multi_get(self, keys: Iterable[Bytes], default: _T) -> list[Union[bytes, _T]]: ...
    async def multi_get(self, keys: Iterable[Bytes], default: Any = None) -> list[Any]:
        """Return the values of `keys`, all as of the same moment, `default` for absent ones."""
        return await self._run(self._reader.multi_get, list(keys), default)

    async def contains(self, key: Bytes) -> bool:
        """Return whether `key` has a value."""
        return await self._run(self._reader.__contains__, key)

    async def first(self) -> Optional[tuple[bytes, bytes]]:
        """Return the first entry as a pair, or None if there is none."""
        return await self._run(self._reader.first)

    async def last(self) -> Optional[tuple[bytes, bytes]]:
        """Return the last entry as a pair, or None if there is none."""
        return await self._run(self._reader.last)

    async def count(self) -> int:
        """Return the number of entries. Scans all of them."""
        return await self._run(self._reader.__len__)

    def range(
        self,
        start: Optional[Bytes] = None,
        stop: Optional[Bytes] = None,
        *,
        reverse: bool = False,
        limit: Optional[int] = None,
    ) -> Range:
        """Return the entries from key `start`, included, to key `stop`, excluded."""
        part = self._reader.range(start, stop, reverse=reverse, limit=limit)
        return Range(self._threads, part)

    def prefix(self, prefix: Bytes, *, reverse: bool = False, limit: Optional[int] = None) -> Range:
        """Return the entries whose keys start with `prefix`."""
        part = self._reader.prefix(prefix, reverse=reverse, limit=limit)
        return Range(self._threads, part)

    def items(self) -> Scan[tuple[bytes, bytes]]:
        """Iterate over the entries as pairs, in the order of their keys."""
        return self.range().items()

    def keys(self) -> Scan[bytes]:
        """Iterate over the keys, in order."""
        return self.range().keys()

    def values(self) -> Scan[bytes]:
        """Iterate over the values, in the order of their keys."""
        return self.range().values()

    def __aiter__(self) -> Scan[bytes]:
        return self.keys()


class Snapshot(_Reads):
    """The database as it was when the snapshot was taken. Close it, or use `async with`."""

    def __init__(self, threads: _Threads, snapshot: cairndb.Snapshot) -> None:
        self._threads = threads
        self._reader = snapshot
        self._snapshot = snapshot

    def keyspace(self, name: str) -> Snapshot:
        """Return what the snapshot holds of the keyspace `name`, which does not wait."""
        return Snapshot(self._threads, self._snapshot.keyspace(name))

    async def fork(self, path: Path, *, progress: Optional[Progress] = None) -> cairndb.ForkReport:
        """Create a database with what the snapshot shows. `progress` is as that of `compact`."""
        return await self._run(self._snapshot.fork, path, progress=progress)

    def close(self) -> None:
        """Release the snapshot, which does not wait."""
        self._snapshot.close()

    async def __aenter__(self) -> Snapshot:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.close()


def _keys_of(keyspace: Optional[Keyspace]) -> Optional[cairndb.Keyspace]:
    return None if keyspace is None else keyspace._keys


class Batch:
    """Writes that are applied together, at the end of an `async with` block.

    If the block raises or is cancelled, nothing is written.
    """

    def __init__(self, keyspace: Keyspace, batch: cairndb.Batch) -> None:
        self._keyspace = keyspace
        self._batch = batch

    def put(self, key: Bytes, value: Bytes, *, keyspace: Optional[Keyspace] = None) -> None:
        """Set `key` to `value`."""
        self._batch.put(key, value, keyspace=_keys_of(keyspace))

    def delete(self, key: Bytes, *, keyspace: Optional[Keyspace] = None) -> None:
        """Remove `key`."""
        self._batch.delete(key, keyspace=_keys_of(keyspace))

    def delete_range(
        self,
        start: Optional[Bytes] = None,
        stop: Optional[Bytes] = None,
        *,
        keyspace: Optional[Keyspace] = None,
    ) -> None:
        """Remove the keys from `start` to `stop`."""
        self._batch.delete_range(start, stop, keyspace=_keys_of(keyspace))

    def delete_prefix(self, prefix: Bytes, *, keyspace: Optional[Keyspace] = None) -> None:
        """Remove the keys that start with `prefix`."""
        self._batch.delete_prefix(prefix, keyspace=_keys_of(keyspace))

    def merge(self, key: Bytes, operand: Bytes, *, keyspace: Optional[Keyspace] = None) -> None:
        """Add `operand` to `key`."""
        self._batch.merge(key, operand, keyspace=_keys_of(keyspace))

    def clear(self) -> None:
        """Remove all writes from the batch."""
        self._batch.clear()

    def __setitem__(self, key: Bytes, value: Bytes) -> None:
        self._batch.put(key, value)

    def __delitem__(self, key: Bytes) -> None:
        self._batch.delete(key)

    def __len__(self) -> int:
        return len(self._batch)

    async def write(self) -> None:
        """Apply the writes, all or none, and empty the batch."""
        await self._keyspace._run(self._batch.write)

    async def __aenter__(self) -> Batch:
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        exception: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if kind is None:
            await self.write()
        else:
            # Drops the writes, also if the block has closed the database.
            self._batch.__exit__(kind, exception, traceback)


class Transaction(_Reads):
    """Reads and writes as one step. At the end of an `async with` block it is committed.

    If the block raises or is cancelled, nothing is written; a commit that is cancelled is either
    not begun or complete. What others write while the block waits can make the commit fail with
    `ConflictError`, after which the whole block has to run again. Keep it short, or use
    `Database.transact`, which does both. See `cairndb.Database.transaction`.

    >>> import asyncio, cairndb.aio
    >>> async def main() -> None:
    ...     async with cairndb.aio.open(path) as db:
    ...         async with db.transaction() as tx:
    ...             stock = int(await tx.get(b"stock", b"7"))
    ...             await tx.put(b"stock", b"%d" % (stock - 1))
    ...         print(await db.get(b"stock"))
    >>> asyncio.run(main())
    b'6'
    """

    def __init__(self, threads: _Threads, transaction: cairndb.Transaction) -> None:
        self._threads = threads
        self._reader = transaction
        self._transaction = transaction

    def keyspace(self, name: str) -> Transaction:
        """Return the same transaction in the keyspace `name`, which does not wait."""
        return Transaction(self._threads, self._transaction.keyspace(name))

    @overload
    async def get_for_update(self, key: Bytes) -> Optional[bytes]: ...
    @overload
    async def get_for_update(self, key: Bytes, default: bytes) -> bytes: ...
    @overload
    async def get_for_update(self, key: Bytes, default: _T) -> Union[bytes, _T]: ...
    async def get_for_update(self, key: Bytes, default: Any = None) -> Any:
        """Return the value of `key`, or `default`. The commit fails if another writer sets it."""
        return await self._run(self._transaction.get_for_update, key, default)

    async def put(self, key: Bytes, value: Bytes) -> None:
        """Set `key` to `value` at the commit."""
        await self._run(self._transaction.put, key, value)

    async def delete(self, key: Bytes) -> None:
        """Remove `key` at the commit. Removing an absent key is not an error."""
        await self._run(self._transaction.delete, key)

    async def delete_range(
        self, start: Optional[Bytes] = None, stop: Optional[Bytes] = None
    ) -> None:
        """Remove the keys from `start` to `stop` at the commit."""
        await self._run(self._transaction.delete_range, start, stop)

    async def delete_prefix(self, prefix: Bytes) -> None:
        """Remove the keys that start with `prefix` at the commit."""
        await self._run(self._transaction.delete_prefix, prefix)

    async def merge(self, key: Bytes, operand: Bytes) -> None:
        """Add `operand` to `key` at the commit."""
        await self._run(self._transaction.merge, key, operand)

    async def pop_first(self) -> Optional[tuple[bytes, bytes]]:
        """Remove the first entry and return it as a pair, or return None if there is none."""
        return await self._run(self._transaction.pop_first)

    async def pop_last(self) -> Optional[tuple[bytes, bytes]]:
        """Remove the last entry and return it as a pair, or return None if there is none."""
        return await self._run(self._transaction.pop_last)

    async def savepoint(self) -> cairndb.Savepoint:
        """Return the present state of the writes, for `rollback_to`."""
        return await self._run(self._transaction.savepoint)

    async def rollback_to(self, savepoint: cairndb.Savepoint) -> None:
        """Drop the writes after a savepoint."""
        await self._run(self._transaction.rollback_to, savepoint)

    async def commit(self, *, durability: Optional[Durability] = None) -> None:
        """Write everything, or raise `ConflictError` and write nothing."""
        await self._run(self._transaction.commit, durability=durability)

    async def rollback(self) -> None:
        """End the transaction without writing anything."""
        await self._run(self._transaction.rollback)

    async def __aenter__(self) -> Transaction:
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        exception: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        try:
            await self._run(self._transaction.__exit__, kind, exception, traceback)
        except cairndb.ClosedError:
            # The block has closed the database, which has ended the transaction.
            if kind is None:
                raise


class Keyspace(_Reads):
    """A named set of keys. Made by `Database.keyspace` and `Database.create_keyspace`."""

    def __init__(self, threads: _Threads, keys: cairndb.Keyspace) -> None:
        self._threads = threads
        self._reader = keys
        self._keys = keys

    @property
    def name(self) -> str:
        """The name of the keyspace; empty for the database itself."""
        return self._keys.name

    @property
    def path(self) -> str:
        """The directory of the database."""
        return self._keys.path

    @property
    def closed(self) -> bool:
        """Whether the database was closed."""
        return self._keys.closed

    async def put(
        self, key: Bytes, value: Bytes, *, durability: Optional[Durability] = None
    ) -> None:
        """Set `key` to `value`."""
        await self._run(self._keys.put, key, value, durability=durability)

    async def delete(self, key: Bytes, *, durability: Optional[Durability] = None) -> None:
        """Remove `key`. Removing an absent key is not an error."""
        await self._run(self._keys.delete, key, durability=durability)

    async def delete_range(
        self,
        start: Optional[Bytes] = None,
        stop: Optional[Bytes] = None,
        *,
        durability: Optional[Durability] = None,
    ) -> None:
        """Remove the keys from `start` to `stop`, in constant time."""
        await self._run(self._keys.delete_range, start, stop, durability=durability)

    async def delete_prefix(
        self, prefix: Bytes, *, durability: Optional[Durability] = None
    ) -> None:
        """Remove the keys that start with `prefix`, in constant time."""
        await self._run(self._keys.delete_prefix, prefix, durability=durability)

    async def merge(
        self, key: Bytes, operand: Bytes, *, durability: Optional[Durability] = None
    ) -> None:
        """Add `operand` to `key`."""
        await self._run(self._keys.merge, key, operand, durability=durability)

    async def update(
        self, entries: Union[Mapping[bytes, bytes], Iterable[tuple[bytes, bytes]]]
    ) -> None:
        """Put the entries of a mapping or of an iterable of pairs, all of them or none."""
        await self._run(self._keys.update, entries)

    async def clear(self) -> None:
        """Remove all entries."""
        await self._run(self._keys.clear)

    @overload
    async def pop(self, key: Bytes) -> bytes: ...
    @overload
    async def pop(self, key: Bytes, default: bytes, /) -> bytes: ...
    @overload
    async def pop(self, key: Bytes, default: _T, /) -> Union[bytes, _T]: ...
    async def pop(self, key: Bytes, *default: Any) -> Any:
        """Remove `key` and return its value, or `default`; without one, raise `KeyError`."""
        return await self._run(self._keys.pop, key, *default)

    async def popitem(self) -> tuple[bytes, bytes]:
        """Remove an entry and return it as a pair. Raises `KeyError` if there is none."""
        return await self._run(self._keys.popitem)

    async def setdefault(self, key: Bytes, default: Bytes) -> bytes:
        """Return the value of `key`, after setting it to `default` if there is none."""
        return await self._run(self._keys.setdefault, key, default)

    async def estimate_count(
        self, start: Optional[Bytes] = None, stop: Optional[Bytes] = None
    ) -> int:
        """Return about how many keys there are from `start` to `stop`, without a scan."""
        return await self._run(self._keys.estimate_count, start, stop)

    def batch(self, *, durability: Optional[Durability] = None) -> Batch:
        """Return a batch, for an `async with` statement."""
        return Batch(self, self._keys.batch(durability=durability))

    def snapshot(self) -> Snapshot:
        """Take a snapshot, which does not wait."""
        return Snapshot(self._threads, self._keys.snapshot())

    async def compact(
        self,
        start: Optional[Bytes] = None,
        stop: Optional[Bytes] = None,
        *,
        progress: Optional[Progress] = None,
    ) -> None:
        """Compact the keys from `start` to `stop`.

        `progress` is called on a thread of the database, not on that of the event loop, which
        `loop.call_soon_threadsafe` reaches. If it raises, the call ends with that exception.
        """
        await self._run(self._keys.compact, start, stop, progress=progress)

    async def approximate_size(self, start: Bytes, stop: Bytes) -> int:
        """Return about how many bytes of the files the keys from `start` to `stop` take."""
        return await self._run(self._keys.approximate_size, start, stop)

    def __repr__(self) -> str:
        return repr(self._keys).replace("cairndb.", "cairndb.aio.", 1)


class Database(Keyspace):
    """An open database. Made by `open`."""

    def __init__(self, threads: _Threads, db: cairndb.Database) -> None:
        super().__init__(threads, db)
        self._db = db

    def keyspace(self, name: str) -> Keyspace:
        """Return the keyspace `name`, which does not wait."""
        return Keyspace(self._threads, self._db.keyspace(name))

    async def create_keyspace(self, name: str, **options: Unpack[KeyspaceOptions]) -> Keyspace:
        """Create a keyspace. The arguments are those of `cairndb.Database.create_keyspace`."""
        made = await self._run(lambda: self._db.create_keyspace(name, **options))
        return Keyspace(self._threads, made)

    async def drop_keyspace(self, name: str) -> None:
        """Drop a keyspace with all its entries."""
        await self._run(self._db.drop_keyspace, name)

    def keyspaces(self) -> list[str]:
        """Return the names of the keyspaces, in order, which does not wait."""
        return self._db.keyspaces()

    def transaction(
        self,
        *,
        isolation: Isolation = "serializable",
        durability: Optional[Durability] = None,
    ) -> Transaction:
        """Begin a transaction, for an `async with` statement, which does not wait."""
        transaction = self._db.transaction(isolation=isolation, durability=durability)
        return Transaction(self._threads, transaction)

    async def transact(
        self,
        function: Callable[[cairndb.Transaction], _T],
        *,
        retries: int = 999,
        isolation: Isolation = "serializable",
        durability: Optional[Durability] = None,
    ) -> _T:
        """Call `function` with a transaction on a thread, commit it, and return its result.

        See `cairndb.Database.transact`. The function is not a coroutine, because the transaction
        would stay open while it waits. If the task is cancelled, the function goes on, and the
        transaction commits in full or not at all.

        >>> import asyncio, cairndb.aio
        >>> def visit(tx):
        ...     tx[b"visits"] = b"%d" % (int(tx.get(b"visits", b"0")) + 1)
        >>> async def main() -> None:
        ...     async with cairndb.aio.open(path) as db:
        ...         await asyncio.gather(*(db.transact(visit) for _ in range(10)))
        ...         print(await db.get(b"visits"))
        >>> asyncio.run(main())
        b'10'
        """
        if inspect.iscoroutinefunction(function):
            raise TypeError("transact() takes a plain function, not a coroutine function")
        return await self._run(
            lambda: self._db.transact(
                function, retries=retries, isolation=isolation, durability=durability
            )
        )

    async def compare_and_set(
        self, key: Bytes, expected: Optional[Bytes], new: Optional[Bytes]
    ) -> bool:
        """Set `key` to `new` if its value is `expected`. None stands for no value."""
        return await self._run(self._db.compare_and_set, key, expected, new)

    async def pop_first(self) -> Optional[tuple[bytes, bytes]]:
        """Remove the first entry and return it as a pair, or return None if there is none."""
        return await self._run(self._db.pop_first)

    async def pop_last(self) -> Optional[tuple[bytes, bytes]]:
        """Remove the last entry and return it as a pair, or return None if there is none."""
        return await self._run(self._db.pop_last)

    async def flush(self) -> None:
        """Write everything to tables and make it durable."""
        await self._run(self._db.flush)

    async def sync(self) -> None:
        """Make every logged write so far durable."""
        await self._run(self._db.sync)

    @property
    def sequence_number(self) -> int:
        """The number of the newest write that reads see, which does not wait."""
        return self._db.sequence_number

    async def refresh(self) -> None:
        """Look for new writes of the process that writes."""
        await self._run(self._db.refresh)

    async def wait_for(self, sequence_number: int, timeout: Optional[float] = None) -> bool:
        """Wait until this follower sees everything up to a `sequence_number` of its writer.

        Returns True, or False if that takes more than `timeout` seconds. It keeps a thread of the
        database, but lets other calls have it every 50 ms.

        >>> import asyncio, cairndb.aio
        >>> async def main() -> None:
        ...     async with cairndb.aio.open(db.path, follow=True) as reader:
        ...         db[b"granite"] = b"grey"
        ...         print(await reader.wait_for(db.sequence_number, timeout=1))
        >>> asyncio.run(main())
        True
        """
        loop = asyncio.get_running_loop()
        end = None if timeout is None else loop.time() + timeout
        part = _WAIT_SECONDS if timeout is None else min(timeout, _WAIT_SECONDS)
        while not await self._run(self._db.wait_for, sequence_number, part):
            if end is not None:
                part = min(end - loop.time(), _WAIT_SECONDS)
                if part <= 0:
                    return False
        return True

    async def has_writer(self) -> bool:
        """Return whether a process has the database open for writing now."""
        return await self._run(self._db.has_writer)

    async def fork(self, path: Path, *, progress: Optional[Progress] = None) -> cairndb.ForkReport:
        """Create a database that shares the files. `progress` is as that of `compact`."""
        return await self._run(self._db.fork, path, progress=progress)

    async def changes(
        self, after: Optional[str] = None, **options: Unpack[ChangesOptions]
    ) -> Changes:
        """Open a feed of what is written. See `cairndb.Database.changes`.

        >>> import asyncio, cairndb.aio
        >>> async def main() -> None:
        ...     async with cairndb.aio.open(path) as db, await db.changes() as changes:
        ...         await db.put(b"basalt", b"black")
        ...         async for change in changes:
        ...             print(change.entries[0].key)
        ...             break
        >>> asyncio.run(main())
        b'basalt'
        """

        def made() -> tuple[cairndb.Changes, str]:
            changes = self._db.changes(after, **options)
            return changes, changes.place

        return Changes(self._threads, *await self._run(made))

    async def snapshot_and_changes(
        self, **options: Unpack[ChangesOptions]
    ) -> tuple[Snapshot, Changes]:
        """Take a snapshot, and open a feed of what follows it."""

        def made() -> tuple[cairndb.Snapshot, cairndb.Changes, str]:
            snapshot, changes = self._db.snapshot_and_changes(**options)
            return snapshot, changes, changes.place

        snapshot, changes, place = await self._run(made)
        return Snapshot(self._threads, snapshot), Changes(self._threads, changes, place)

    async def place(self) -> str:
        """Return the place of everything written so far. Syncs the log."""
        return await self._run(self._db.place)

    def leases(self) -> list[cairndb.Lease]:
        """Return the leases, which does not wait."""
        return self._db.leases()

    async def drop_lease(self, name: str) -> None:
        """Drop a lease, and free what was kept for it."""
        await self._run(self._db.drop_lease, name)

    async def checkpoint(self, path: Path, *, progress: Optional[Progress] = None) -> None:
        """Create the same database as `fork`, and return nothing."""
        await self._run(self._db.checkpoint, path, progress=progress)

    async def property(self, name: str) -> Optional[str]:
        """Return a property of the store, or None if there is none of this name."""
        return await self._run(self._db.property, name)

    async def open_report(self) -> dict[str, Any]:
        """Return what the open has found and done."""
        return await self._run(self._db.open_report)

    async def stats(self) -> dict[str, Any]:
        """Return counters and sizes."""
        return await self._run(self._db.stats)

    async def close(self) -> None:
        """Wait for the calls that are running, and close the database."""
        loop = asyncio.get_running_loop()
        # Shielded: a cancelled close goes on.
        await asyncio.shield(loop.run_in_executor(None, self._close))

    def _close(self) -> None:
        self._threads.end(wait=True)
        self._db.close()

    async def __aenter__(self) -> Database:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


def diff(before: Database, after: Database) -> Scan[cairndb.Difference]:
    """Iterate over the keys whose values differ in two databases. See `cairndb.diff`.

    >>> import asyncio, cairndb.aio
    >>> async def main() -> None:
    ...     async with cairndb.aio.open(path) as one, cairndb.aio.open(path + "2") as other:
    ...         await other.put(b"slate", b"blue")
    ...         print([it.key async for it in cairndb.aio.diff(one, other)])
    >>> asyncio.run(main())
    [b'slate']
    """
    # On a thread of the first database, which outlives its own calls.
    return Scan(before._threads, lambda: _SyncDiff(before._db, after._db, cairndb.Difference))


class _Opening:
    """An open that is under way: to be awaited, or used in an `async with` statement."""

    def __init__(self, open_: Callable[[], cairndb.Database], threads: int) -> None:
        self._open = open_
        self._count = threads
        self._opened: Optional[Database] = None

    def __getattr__(self, name: str) -> Any:
        message = f"the database is not open yet: db = await cairndb.aio.open(...), then db.{name}"
        raise AttributeError(message)

    async def _run(self) -> Database:
        threads = _Threads(self._count)
        future = threads.submit(self._open)
        try:
            db = await asyncio.wrap_future(future)
        except BaseException:
            future.add_done_callback(_close_late)
            threads.end(wait=False)
            raise
        return Database(threads, db)

    def __await__(self) -> Generator[Any, None, Database]:
        return self._run().__await__()

    async def __aenter__(self) -> Database:
        self._opened = await self._run()
        return self._opened

    async def __aexit__(self, *exception: object) -> None:
        if self._opened is not None:
            await self._opened.close()


def _close_late(future: Future[cairndb.Database]) -> None:
    """Close the database of an open that nobody waits for any more."""
    if not future.cancelled() and future.exception() is None:
        future.result().close()


def open(
    path: Path, flag: Flag = "c", *, threads: int = _THREADS, **options: Unpack[Options]
) -> _Opening:
    """Open a database: `await open(path)`, or `async with open(path) as db`.

    The arguments are those of `cairndb.open`. `threads` is the number of calls that run at the same
    time; further ones wait.
    """
    return _Opening(lambda: cairndb.open(path, flag, **options), threads)
