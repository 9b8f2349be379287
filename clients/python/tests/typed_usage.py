"""Checked by mypy and pyright, both strict: the types that a program sees. Not run."""

from __future__ import annotations

import shelve
from collections.abc import AsyncIterator, Iterator, Mapping, MutableMapping
from datetime import datetime
from typing import Any, Optional, Union

import cairndb
import cairndb.aio


def database(path: str) -> None:
    db: cairndb.Database
    with cairndb.open(path, "c", durability="sync", merge_operator="add") as db:
        mapping: MutableMapping[bytes, bytes] = db
        db[b"k"] = b"v"
        db[bytearray(b"k")] = memoryview(b"v")
        value: bytes = db[b"k"]
        found: Optional[bytes] = db.get(b"k")
        known: bytes = db.get(b"k", b"")
        other: Union[bytes, int] = db.get(b"k", 7)
        view: Optional[memoryview] = db.get_view(b"k")
        several: list[Optional[bytes]] = db.multi_get([b"a", b"b"])
        popped: Optional[bytes] = db.pop(b"k", None)
        db.put(b"k", b"v", durability="none")
        db.update({b"a": b"1"})
        db.update([(b"a", b"1")])
        with db.batch(durability="os") as batch:
            batch[b"k"] = b"v"
            count: int = len(batch)
        keys: Iterator[bytes] = iter(db)
        entries: Iterator[tuple[bytes, bytes]] = iter(db.items())
        part: cairndb.Range = db.range(b"a", b"b", reverse=True, limit=3)
        for key, content in part:
            print(key.decode(), content.decode())
        names: list[bytes] = [*db.prefix(b"a").keys()]
        with db.snapshot() as snapshot:
            frozen: Mapping[bytes, bytes] = snapshot
        with db.transaction(isolation="snapshot", durability="sync") as tx:
            within: MutableMapping[bytes, bytes] = tx
            tx[b"k"] = tx.get_for_update(b"k", b"")
            mark: cairndb.Savepoint = tx.savepoint()
            tx.rollback_to(mark)
            tx.commit(durability="os")
        length: int = db.transact(lambda tx: len(tx), retries=3)
        swapped: bool = db.compare_and_set(b"k", None, b"v")
        first: Optional[tuple[bytes, bytes]] = db.pop_first()
        print(within, length + db.estimate_count(), swapped, first, tx.last())
        users: cairndb.Keyspace = db.create_keyspace("users", merge_operator="add")
        named: MutableMapping[bytes, bytes] = db.keyspace("users")
        with db.batch() as batch, db.transaction() as tx:
            batch.put(b"k", b"v", keyspace=users)
            tx.keyspace("users")[b"k"] = b"v"
        print(named, db.keyspaces())
        stats: dict[str, Any] = db.stats()
        shelf: shelve.Shelf[Any] = shelve.Shelf(db)
        forked: cairndb.ForkReport = db.fork(path + "3")
        for it in cairndb.diff(db, db):
            keyspace: Optional[str] = it.keyspace
            after: Optional[bytes] = it.after
            print(forked.copied_bytes, keyspace, after)
        place: str = db.place()
        with db.changes(place, lease="index", bytes_max=1, sync_interval=0.01) as changes:
            for change in changes:
                time: Optional[datetime] = change.time
                values: list[Optional[bytes]] = [entry.value for entry in change.entries]
                changes.acknowledge(change.place)
                print(time, values, changes.next_within(1), changes.try_next())
        snapshot, feed = db.snapshot_and_changes(durability="os")
        following: cairndb.Changes = feed
        before: cairndb.Snapshot = snapshot
        leases: list[cairndb.Lease] = db.leases()
        db.drop_lease(leases[0].name)
        print(following, before)
    report: cairndb.RepairReport = cairndb.repair(path, path + "2")
    complete: bool = report.complete
    print(mapping, value, found, known, other, view, several, popped, count, keys, entries, names)
    print(frozen, stats, shelf, complete)


def followers(path: str) -> None:
    with cairndb.open(path, reader_space_max=1 << 30) as db:
        number: int = db.sequence_number
    with cairndb.open(path, follow=True, manual_refresh=True, reader_lease=1.5) as follower:
        follower.refresh()
        seen: bool = follower.wait_for(number, timeout=0.5)
        writing: bool = follower.has_writer()
        print(seen, writing, follower.wait_for(number))


def _size(transaction: cairndb.Transaction) -> int:
    return len(transaction)


async def awaited(path: str) -> AsyncIterator[bytes]:
    async with cairndb.aio.open(path) as db:
        await db.put(b"k", b"v")
        async for key, value in db.prefix(b"a"):
            yield key + value
        async for key in db.keys():
            yield key
        found: Optional[bytes] = await db.get(b"k")
        known: bytes = await db.get(b"k", b"")
        other: Union[bytes, int] = await db.get(b"k", 7)
        view: Optional[memoryview] = await db.get_view(b"k")
        several: list[Optional[bytes]] = await db.multi_get([b"a", b"b"])
        popped: Union[bytes, None] = await db.pop(b"k", None)
        last: bytes = await db.pop(b"k")
        print(found, known, other, view, several, popped, last)
        async with db.transaction(isolation="snapshot") as transaction:
            guarded: bytes = await transaction.get_for_update(b"k", b"")
            print(guarded)
        async for it in cairndb.aio.diff(db, db):
            yield it.key
        forked: cairndb.ForkReport = await db.fork(path + "2")
        print(forked)
        async with await db.changes(await db.place(), lease="index") as changes:
            async for change in changes:
                yield change.entries[0].key
                await changes.acknowledge(changes.place)
        snapshot, following = await db.snapshot_and_changes(durability="os")
        found_change: Optional[cairndb.Change] = await following.next_within(1)
        print(snapshot, found_change, db.leases())
        size: int = await db.transact(_size)
        print(size, await db.compare_and_set(b"k", None, b"v"), await db.pop_last())
    async with cairndb.aio.open(path, follow=True) as follower:
        await follower.refresh()
        seen: bool = await follower.wait_for(follower.sequence_number, 1)
        print(seen, await follower.has_writer())
    again: cairndb.aio.Database = await cairndb.aio.open(path, "w", compression="none")
    await again.close()


def errors(path: str) -> None:
    try:
        cairndb.open(path, "r")
    except cairndb.LockedError as error:
        number: Optional[int] = error.errno
        file: Optional[str] = error.file
        key: Optional[bytes] = error.key
        print(number, file, key)
    except (FileNotFoundError, cairndb.Error):
        pass
