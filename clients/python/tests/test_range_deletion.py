"""Deletion of ranges of keys."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import cairndb
import cairndb.aio

ABC = {b"a": b"1", b"b": b"2", b"ba": b"3", b"c": b"4"}


@pytest.mark.parametrize(
    ("start", "stop", "left"),
    [
        (b"b", b"c", [b"a", b"c"]),
        (b"ba", None, [b"a", b"b"]),
        (None, bytearray(b"b"), [b"b", b"ba", b"c"]),
        (b"c", b"b", [b"a", b"b", b"ba", b"c"]),
        (b"b", b"b", [b"a", b"b", b"ba", b"c"]),
        (None, b"", [b"a", b"b", b"ba", b"c"]),
        (None, None, []),
    ],
)
@pytest.mark.parametrize("place", ["", "users"])
def test_a_range_is_deleted(
    db: cairndb.Database, place: str, start: Any, stop: Any, left: list[bytes]
) -> None:
    keys = db.create_keyspace(place) if place else db
    other = db if place else db.create_keyspace("other")
    keys.update(ABC)
    other.update(ABC)
    with db.transaction() as tx:
        within = tx.keyspace(place) if place else tx
        within.delete_range(start, stop)
        assert [*within] == left and keys == ABC
        tx.rollback()
    with db.snapshot() as before, keys.batch() as batch:
        batch.delete_range(start, stop)
        batch.write()
        assert [*keys] == left and other == ABC
        assert before.keyspace(place) == ABC if place else before == ABC
    keys.update(ABC)
    keys.delete_range(start, stop, durability="sync")
    assert [*keys] == left and other == ABC


def test_a_prefix_is_deleted(db: cairndb.Database) -> None:
    users = db.create_keyspace("users")
    for keys in (db, users):
        keys.update(ABC)
        keys.delete_prefix(b"b", durability="sync")
        assert [*keys] == [b"a", b"c"]
    users.update(ABC)
    with db.batch() as batch:
        batch.put(b"b1", b"")
        batch.delete_prefix(b"b")
        batch.put(b"b2", b"")
        batch.delete_prefix(b"b", keyspace=users)
        batch.delete_range(b"c", keyspace=users)
        assert len(batch) == 5
    assert [*db] == [b"a", b"b2", b"c"] and [*users] == [b"a"]
    with db.transaction() as tx:
        tx[b"b3"] = b""
        tx.delete_prefix(b"b")
        tx[b"b4"] = b""
        assert [*tx] == [b"a", b"b4", b"c"]
    assert [*db] == [b"a", b"b4", b"c"]


def test_transactions_conflict_as_their_isolation_says(db: cairndb.Database) -> None:
    db.update(ABC)
    with db.transaction() as tx:
        tx.delete_range(b"b")
        db[b"new"] = b""
    assert [*db] == [b"a"]
    with pytest.raises(cairndb.ConflictError), db.transaction(isolation="snapshot") as tx:
        tx.delete_range(b"b")
        db[b"new"] = b""
    with db.transaction() as tx:
        tx[b"mine"] = b""
        tx.clear()
        assert [*tx] == []
        tx.clear()
    assert [*db] == []


def test_an_order_of_its_own(db: cairndb.Database) -> None:
    turned = db.create_keyspace("turned", comparator="reverse")
    turned.update(ABC)
    turned.delete_range(b"ba", b"a")
    assert [*turned] == [b"c", b"a"]
    with pytest.raises(cairndb.InvalidArgumentError):
        turned.delete_prefix(b"a")
    with pytest.raises(cairndb.InvalidArgumentError), db.batch() as batch:
        batch.delete_prefix(b"a", keyspace=turned)
    with db.transaction() as tx, pytest.raises(cairndb.InvalidArgumentError):
        tx.keyspace("turned").delete_prefix(b"a")
    assert len(turned) == 2
    turned.clear()
    turned.clear()
    assert not turned


def test_clear_is_one_write(db: cairndb.Database) -> None:
    db.update({b"%06d" % number: b"" for number in range(20_000)})
    writes = db.stats()["stats"]["last_seq"]
    db.clear()
    assert db.stats()["stats"]["last_seq"] == writes + 1 and not db


def test_wrong_arguments(db: cairndb.Database) -> None:
    tx = db.transaction()
    for place in (db, db.batch(), tx):
        calls: Any = place
        for argument in ("b", 7, slice(b"a", b"b")):
            with pytest.raises(TypeError):
                calls.delete_range(argument)
            with pytest.raises(TypeError):
                calls.delete_prefix(argument)
    db.close()
    for place in (db, tx):
        with pytest.raises(cairndb.ClosedError):
            place.delete_range()
        with pytest.raises(cairndb.ClosedError):
            place.delete_prefix(b"")


def test_asyncio(path: str) -> None:
    async def main() -> None:
        async with cairndb.aio.open(path) as db:
            users = await db.create_keyspace("users")
            await db.update(ABC)
            await users.update(ABC)
            await db.delete_range(b"a", b"b", durability="sync")
            await db.delete_prefix(b"ba")
            async with db.batch() as batch:
                batch.delete_range(b"c")
                batch.delete_prefix(b"b", keyspace=users)
            async with db.transaction() as tx:
                await tx.keyspace("users").delete_range(stop=b"b")
                await tx.delete_prefix(b"x")
            assert [key async for key in db] == [b"b"]
            assert [key async for key in users] == [b"c"]

    asyncio.run(main())
