"""`cairndb.aio`: awaiting, iterating, cancelling."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

import cairndb
import cairndb.aio


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 60))


def test_calls(path: str, tmp_path: Any) -> None:
    async def main() -> None:
        async with cairndb.aio.open(path, merge_operator="add") as db:
            assert db.path == path and not db.closed
            await db.put(b"a", b"1")
            await db.put(b"b", b"2", durability="sync")
            assert await db.get(b"a") == b"1" and await db.get(b"x", 7) == 7
            assert bytes(await db.get_view(b"a")) == b"1"
            assert await db.contains(b"a") and not await db.contains(b"x")
            assert await db.multi_get([b"a", b"x"]) == [b"1", None]
            await db.update({b"c": b"3"})
            await db.merge(b"n", b"\1")
            await db.merge(b"n", b"\2")
            assert (await db.get(b"n"))[0] == 3
            await db.delete(b"n")
            async with db.batch() as batch:
                batch[b"d"] = b"4"
                batch.delete(b"a")
                assert len(batch) == 2
            with pytest.raises(LookupError):
                async with db.batch() as batch:
                    batch[b"e"] = b"5"
                    raise LookupError
            async with db.snapshot() as snapshot:
                await db.put(b"e", b"5")
                assert await snapshot.count() == 3
                assert [key async for key in snapshot] == [b"b", b"c", b"d"]
            assert await db.count() == 4
            assert [entry async for entry in db.range(b"c", b"e")] == [(b"c", b"3"), (b"d", b"4")]
            assert [v async for v in db.range(reverse=True, limit=1).values()] == [b"5"]
            assert [k async for k in db.prefix(b"c").keys()] == [b"c"]
            assert await db.prefix(b"c").count() == 1
            await db.sync()
            await db.flush()
            threads: set[str] = set()

            def note(done: int, total: int) -> None:
                threads.add(threading.current_thread().name)

            await db.compact(progress=note)
            await db.checkpoint(str(tmp_path / "copy"), progress=note)
            assert threads and all(name.startswith("cairndb") for name in threads)
            assert "memory" in await db.stats()
            await db.clear()
            assert await db.count() == 0
        assert db.closed
        with pytest.raises(ValueError):
            await db.get(b"a")
        await db.close()

    run(main())


def test_open_may_be_awaited_and_fails_as_usual(path: str) -> None:
    async def main() -> None:
        with pytest.raises(FileNotFoundError):
            await cairndb.aio.open(path, "r")
        db = await cairndb.aio.open(path)
        with pytest.raises(TypeError, match="encode"):
            await db.put("a", b"1")  # type: ignore[arg-type]
        with pytest.raises(OSError):
            async with cairndb.aio.open(path):
                pass
        await db.close()

    run(main())


def test_many_tasks(path: str) -> None:
    async def main() -> None:
        async with cairndb.aio.open(path) as db:

            async def work(number: int) -> None:
                key = b"%03d" % number
                await db.put(key, key)
                assert await db.get(key) == key
                count = 0
                async for _ in db.keys():
                    count += 1
                assert count >= 1

            await asyncio.gather(*(work(number) for number in range(200)))
            assert await db.count() == 200

    run(main())


def test_the_loop_runs_meanwhile(path: str) -> None:
    async def main() -> None:
        async with cairndb.aio.open(path) as db:
            await db.update({b"%06d" % number: bytes(100) for number in range(100_000)})
            ticks = 0

            async def tick() -> None:
                nonlocal ticks
                while True:
                    await asyncio.sleep(0)
                    ticks += 1

            ticking = asyncio.create_task(tick())
            await db.compact()
            ticking.cancel()
            assert ticks > 10

    run(main())


def test_a_cancelled_iteration_loses_nothing(path: str) -> None:
    async def main() -> None:
        count = 20_000
        async with cairndb.aio.open(path, threads=1) as db:
            await db.update({b"%06d" % number: b"" for number in range(count)})
            keys: list[bytes] = []
            scan = db.keys()
            cancelled = 0

            async def read() -> None:
                async for key in scan:
                    keys.append(key)

            while True:
                task = asyncio.create_task(read())
                for _ in range(3):
                    await asyncio.sleep(0)
                task.cancel()
                try:
                    await task
                    break
                except asyncio.CancelledError:
                    cancelled += 1
                    await asyncio.sleep(0.0001)
            assert keys == [b"%06d" % number for number in range(count)]
            assert cancelled > 0

    run(main())


def test_a_cancelled_write_is_whole_or_absent(path: str) -> None:
    async def main() -> None:
        async with cairndb.aio.open(path, threads=1) as db:
            for number in range(100):
                entries = {b"%03d-%03d" % (number, part): bytes(100) for part in range(200)}
                task = asyncio.create_task(db.update(entries))
                for _ in range(number % 5):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            await db.sync()
            for number in range(100):
                assert await db.prefix(b"%03d-" % number).count() in (0, 200)

    run(main())


def test_a_cancelled_open_leaves_nothing_open(path: str) -> None:
    async def main() -> None:
        for turns in range(4):

            async def open_it() -> None:
                await cairndb.aio.open(path)

            task = asyncio.create_task(open_it())
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            for _ in range(1000):
                try:
                    cairndb.open(path).close()
                    break
                except cairndb.LockedError:
                    await asyncio.sleep(0.01)
            else:
                raise AssertionError("the database is still open")

    run(main())


def test_a_cancelled_close_goes_on(path: str) -> None:
    async def main() -> None:
        db = await cairndb.aio.open(path)
        await db.put(b"k", b"v")
        task = asyncio.create_task(db.close())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await db.close()
        with cairndb.open(path) as again:
            assert again[b"k"] == b"v"

    run(main())


def test_iterators_are_closed(path: str) -> None:
    async def main() -> None:
        async with cairndb.aio.open(path) as db:
            await db.update({b"a": b"1", b"b": b"2"})
            scan = db.items()
            assert await scan.__anext__() == (b"a", b"1")
            await scan.aclose()
            with pytest.raises(ValueError, match="closed"):
                await scan.__anext__()
            assert "aio.Range" in repr(db.prefix(b"a")) and "aio.Database" in repr(db)

    run(main())


def test_transactions(path: str) -> None:
    async def main() -> None:
        async with cairndb.aio.open(path, merge_operator="add") as db:
            await db.update({b"a": b"1", b"b": b"2", b"z": b"9"})
            async with db.transaction() as tx:
                assert await tx.get(b"a") == b"1" and await tx.get_for_update(b"x", 7) == 7
                await tx.put(b"c", b"3")
                before = await tx.savepoint()
                await tx.delete(b"a")
                await tx.merge(b"n", b"\1")
                assert await tx.pop_last() == (b"z", b"9")
                await tx.rollback_to(before)
                assert await tx.pop_first() == (b"a", b"1")
                assert [key async for key in tx.prefix(b"")] == [
                    (b"b", b"2"),
                    (b"c", b"3"),
                    (b"z", b"9"),
                ]
                assert await db.get(b"c") is None and await tx.count() == 3
            assert await db.multi_get([b"a", b"c", b"n"]) == [None, b"3", None]
            with pytest.raises(LookupError):
                async with db.transaction() as tx:
                    await tx.put(b"d", b"4")
                    raise LookupError
            with pytest.raises(cairndb.ConflictError):
                async with db.transaction() as tx:
                    await tx.get(b"c")
                    await db.put(b"c", b"5")
                    await tx.put(b"d", b"4")
            tx = db.transaction(isolation="snapshot")
            await tx.put(b"e", b"5")
            await tx.commit(durability="sync")
            await db.transaction().rollback()
            assert not await db.contains(b"d") and await db.get(b"e") == b"5"
            with pytest.raises(LookupError):
                async with db.transaction() as tx:
                    await db.close()
                    raise LookupError

    run(main())


def test_a_cancelled_transaction_writes_nothing(path: str) -> None:
    async def main() -> None:
        async with cairndb.aio.open(path) as db:

            async def work() -> None:
                async with db.transaction() as tx:
                    for number in range(1000):
                        await tx.put(b"%d" % number, b"v")

            for turns in range(20):
                task = asyncio.create_task(work())
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            assert await db.count() == 0

    run(main())


def test_calls_of_a_mapping(path: str) -> None:
    async def main() -> None:
        async with cairndb.aio.open(path) as db:
            await db.update({b"a": b"1", b"b": b"2"})
            assert await db.setdefault(b"a", b"7") == b"1"
            assert await db.setdefault(b"c", b"3") == b"3"
            assert await db.pop(b"a") == b"1" and await db.pop(b"a", None) is None
            with pytest.raises(KeyError):
                await db.pop(b"a")
            assert (await db.popitem())[0] in (b"b", b"c")
            assert await db.property("cairndb.stats") and await db.property("no") is None
            assert await db.approximate_size(b"a", b"z") == 0
            await db.flush()
            assert await db.approximate_size(b"a", b"z") > 0
            assert (await db.open_report())["created"] is True

    run(main())


def test_keyspaces(path: str) -> None:
    async def main() -> None:
        async with cairndb.aio.open(path) as db:
            users = await db.create_keyspace("users", merge_operator="append")
            await users.put(b"ada", b"1815")
            snapshot = db.snapshot()
            async with db.batch() as batch:
                batch[b"k"] = b"default"
                batch.put(b"alan", b"19", keyspace=users)
                batch.merge(b"alan", b"12", keyspace=users)
                batch.delete(b"ada", keyspace=users)
            async with db.transaction() as tx:
                assert await tx.keyspace("users").get(b"alan") == b"1912"
                await tx.keyspace("users").put(b"grace", b"1906")
            assert [pair async for pair in users.items()] == [
                (b"alan", b"1912"),
                (b"grace", b"1906"),
            ]
            assert await snapshot.keyspace("users").get(b"ada") == b"1815"
            assert [key async for key in db] == [b"k"] and db.keyspaces() == ["users"]
            assert db.keyspace("users").name == "users" and "aio.Keyspace" in repr(users)
            await db.drop_keyspace("users")
            with pytest.raises(cairndb.ClosedError):
                await users.get(b"k")

    run(main())


def test_everything_awaitable_is_there() -> None:
    """`in` and `len` cannot be awaited, and `repair` and the like are no methods."""
    ours = {name for name in dir(cairndb.aio.Database) if not name.startswith("_")}
    theirs = {name for name in dir(cairndb.Database) if not name.startswith("_")}
    assert theirs <= ours, theirs - ours
    ours = {name for name in dir(cairndb.aio.Transaction) if not name.startswith("_")}
    theirs = {name for name in dir(cairndb.Transaction) if not name.startswith("_")}
    assert theirs - ours <= {"clear", "pop", "popitem", "setdefault", "update", "closed", "path"}


def test_a_database_is_closed_before_what_was_made_from_it(path: str) -> None:
    async def main() -> None:
        async with cairndb.aio.open(path) as db:
            await db.update({b"a": b"1", b"b": b"2"})
            scan, snapshot = db.items(), db.snapshot()
            assert await scan.__anext__() == (b"a", b"1")
            with pytest.raises(LookupError):
                async with db.batch() as batch:
                    batch[b"c"] = b"3"
                    await db.close()
                    raise LookupError
        await scan.aclose()
        snapshot.close()
        with pytest.raises(ValueError, match="closed"):
            await scan.__anext__()

    run(main())


def test_a_forgotten_await_is_explained(path: str) -> None:
    opening = cairndb.aio.open(path)
    with pytest.raises(
        AttributeError, match=r"db = await cairndb\.aio\.open\(\.\.\.\), then db\.get"
    ):
        opening.get  # type: ignore[attr-defined]  # noqa: B018
