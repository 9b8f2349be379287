"""The feed of changes, and leases."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, Callable

import pytest

import cairndb
import cairndb.aio
from cairndb import Change, ChangedEntry, _cairndb


def keys(changes: list[Change]) -> list[bytes]:
    return [entry.key for change in changes for entry in change.entries]


def put(key: bytes, value: bytes) -> ChangedEntry:
    return ChangedEntry("put", None, key, value)


@pytest.fixture
def waits() -> Iterator[Callable[[Callable[[], object]], None]]:
    """Makes a call on another thread, a moment later."""
    threads: list[threading.Thread] = []

    def later(call: Callable[[], object]) -> None:
        def run() -> None:
            time.sleep(0.1)
            call()

        threads.append(threading.Thread(target=run))
        threads[-1].start()

    yield later
    for thread in threads:
        thread.join(60)


def test_changes_are_returned_whole_and_in_order(db: cairndb.Database) -> None:
    db[b"before"] = b"1"
    with db.changes(durability="os") as changes:
        assert changes.place == db.place() and changes.try_next() is None
        shops = db.create_keyspace("shops", merge_operator="append")
        with db.batch() as batch:
            batch[b"a"] = b""
            del batch[b"b"]
            batch.delete_range(b"c", b"d")
            batch.delete_range(b"e")
            batch.merge(b"n", b"1", keyspace=shops)
        db.put(b"k", b"v", durability="none")
        db.drop_keyspace("shops")
        db[b"last"] = b"1"
        created, written, *rest = (next(changes) for _ in range(5))
    assert (created.kind, created.keyspace) == ("keyspace_created", "shops")
    assert written.kind == "batch" and written.entries == (
        put(b"a", b""),
        ChangedEntry("delete", None, b"b", None),
        ChangedEntry("delete_range", None, b"c", b"d"),
        ChangedEntry("delete_range", None, b"e", None),
        ChangedEntry("merge", "shops", b"n", b"1"),
    )
    assert written.time is not None and written.durability in ("os", "sync")
    assert abs(datetime.now(timezone.utc) - written.time) < timedelta(minutes=1)
    assert {it.kind: (it.keyspace, it.unlogged) for it in rest} == {
        "unlogged": (None, 1),
        "keyspace_dropped": ("shops", 0),
        "batch": (None, 0),
    }
    assert rest[-1].entries == (put(b"last", b"1"),)


def test_a_place_and_a_lease_continue(path: str) -> None:
    with cairndb.open(path) as db:
        db[b"old"] = b"0"
        snapshot, changes = db.snapshot_and_changes(lease="index", bytes_max=1 << 30)
        db.update({b"a": b"1"})
        db.update({b"b": b"2"})
        db.sync()
        with snapshot, changes:
            assert dict(snapshot) == {b"old": b"0"}
            first = next(changes)
            changes.acknowledge(first.place)
            place = next(changes).place
    with cairndb.open(path) as db:
        assert db.leases() == [cairndb.Lease("index", first.place, False)]
        with db.changes(lease="index", sync_interval=0.01) as changes:
            assert keys([next(changes)]) == [b"b"]
        db.put(b"c", b"3", durability="sync")
        for lease in ("index", None):
            with db.changes(place, lease=lease) as changes:
                assert keys([next(changes)]) == [b"c"]
                assert changes.next_within(0.01) is None
        db.drop_lease("index")
        assert db.leases() == []
        with pytest.raises(cairndb.NotFoundError):
            db.drop_lease("index")


def test_a_consumer_that_falls_off(db: cairndb.Database) -> None:
    with db.changes(lease="slow", bytes_max=8 << 20) as changes:
        for _ in range(20):
            db.update({b"%d" % number: bytes(1000) for number in range(1000)})
        db.flush()
        assert db.leases()[0].fell_off
        with pytest.raises(cairndb.RevokedError):
            for _ in range(50):
                changes.try_next()


def test_a_wait_is_long_enough(
    db: cairndb.Database, waits: Callable[[Callable[[], object]], None]
) -> None:
    changes = db.changes()
    waits(lambda: db.put(b"k", b"v", durability="sync"))
    assert keys([next(changes)]) == [b"k"]
    waits(lambda: db.put(b"l", b"v", durability="sync"))
    change = changes.next_within(60)
    assert change is not None and keys([change]) == [b"l"]
    begun = time.monotonic()
    assert changes.next_within(0.12) is None
    assert time.monotonic() - begun >= 0.12
    # A close of the feed, and of the database, ends a wait.
    waits(changes.close)
    with pytest.raises(cairndb.ClosedError, match="the feed was closed"):
        next(changes)
    changes = db.changes()
    waits(db.close)
    with pytest.raises(cairndb.ClosedError):
        next(changes)
    changes.close()


def test_threads_share_a_feed(db: cairndb.Database) -> None:
    changes, seen = db.changes(), []  # type: cairndb.Changes, list[bytes]

    def read() -> None:
        while change := changes.next_within(0.5):
            seen.extend(keys([change]))

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(200):
        db[b"%03d" % number] = b""
    db.sync()
    for thread in threads:
        thread.join(60)
    assert sorted(seen) == [*db]


def test_what_is_refused(db: cairndb.Database, path: str) -> None:
    wrong: list[dict[str, Any]] = [
        {"after": "nowhere"},
        {"after": "0000000000000001-7"},
        {"lease": ""},
        {"durability": "none"},
    ]
    for options in wrong:
        with pytest.raises(cairndb.InvalidArgumentError):
            db.changes(**options)
    for options in [{"sync_interval": -1}, {"durability": "no"}, {"bytes_max": -1}]:
        with pytest.raises((ValueError, OverflowError)):
            db.changes(**options)
    changes = db.changes()
    with pytest.raises(cairndb.InvalidArgumentError):
        changes.acknowledge("nowhere")
    with pytest.raises(cairndb.InvalidArgumentError, match="has no snapshot"):
        cairndb.Snapshot(db, None, changes)
    with pytest.raises(ValueError):
        changes.next_within(-1)
    changes.close()
    changes.close()
    for call in (changes.try_next, lambda: changes.place, lambda: changes.acknowledge("1-1")):
        with pytest.raises(cairndb.ClosedError, match="the feed was closed"):
            call()


def test_signals_end_a_wait(db: cairndb.Database, interrupted: Callable[..., bool]) -> None:
    changes = db.changes()
    assert interrupted(next, lambda: (changes,))
    db.put(b"k", b"v", durability="sync")
    assert keys([next(changes)]) == [b"k"]


def test_a_feed_keeps_its_database(path: str) -> None:
    before = _cairndb._open_databases()
    db = cairndb.open(path)
    changes = db.changes()
    db.put(b"k", b"v", durability="sync")
    del db
    gc.collect()
    assert keys([next(changes)]) == [b"k"]
    del changes
    gc.collect()
    assert _cairndb._open_databases() == before


def test_the_same_for_asyncio(path: str) -> None:
    async def main() -> None:
        async with cairndb.aio.open(path) as db:
            await db.put(b"old", b"0")
            snapshot, changes = await db.snapshot_and_changes(lease="index")
            async with snapshot, changes:
                await db.put(b"k", b"1", durability="sync")
                assert await snapshot.get(b"k") is None
                # One that is cancelled loses no change.
                waiting = asyncio.ensure_future(changes.__anext__())
                await asyncio.sleep(0)
                waiting.cancel()
                async for change in changes:
                    assert change.entries == (put(b"k", b"1"),)
                    break
                assert changes.place == change.place == await db.place()
                await changes.acknowledge(change.place)
                assert await changes.try_next() is None
                assert await changes.next_within(0.06) is None
                assert db.leases()[0].name == "index"
            await db.drop_lease("index")
            async with await db.changes(change.place, durability="os") as changes:
                await db.put(b"l", b"2")
                after = await changes.next_within(60)
                assert after is not None and keys([after]) == [b"l"]
                waiting = asyncio.ensure_future(changes.__anext__())
                await asyncio.sleep(0.1)
                await db.close()
                with pytest.raises(cairndb.ClosedError):
                    await waiting

    asyncio.run(main())
