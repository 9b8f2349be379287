"""Keyspaces as mappings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable

import pytest

import cairndb


def backwards(a: bytes, b: bytes) -> int:
    return (a < b) - (a > b)


def join(key: bytes, base: Any, operands: list[bytes]) -> bytes:
    return b",".join(operands if base is None else [base, *operands])


COMPONENTS: dict[str, Any] = {
    "comparators": [("test.backwards", backwards)],
    "merge_operators": [("test.join", join)],
}


@pytest.fixture
def db(path: str) -> Iterator[cairndb.Database]:
    with cairndb.open(path, **COMPONENTS) as db:
        yield db


def test_a_keyspace_is_a_mapping(db: cairndb.Database) -> None:
    users = db.create_keyspace("users", value_bytes=10, compression="none")
    users.update({b"ada": b"1815", b"alan": b"1912", b"grace": b"1906"})
    db[b"ada"] = b"the default's"
    assert isinstance(users, cairndb.Keyspace) and isinstance(db, cairndb.Keyspace)
    assert (users.name, db.name, db.keyspaces()) == ("users", "", ["users"])
    assert users[b"ada"] == b"1815" and b"alan" in users and len(users) == 3 and users
    assert [*users] == [b"ada", b"alan", b"grace"] == [*reversed([*reversed(users)])]
    assert [*users.prefix(b"a").keys()] == [b"ada", b"alan"]
    assert [*users.range(b"b", reverse=True)] == [(b"grace", b"1906")]
    assert (users.first(), users.last()) == ((b"ada", b"1815"), (b"grace", b"1906"))
    assert users.multi_get([b"grace", b"x"]) == [b"1906", None]
    assert users.get_view(b"alan") == b"1912"
    del users[b"alan"]
    with pytest.raises(KeyError):
        del users[b"alan"]
    users.delete(b"absent")
    users.put(b"kurt", b"1906", durability="sync")
    assert users.pop(b"kurt") == b"1906" and users.popitem() == (b"ada", b"1815")
    assert users == {b"grace": b"1906"} and db == {b"ada": b"the default's"}
    assert users.estimate_count() >= 1 and users.approximate_size(b"a", b"z") == 0
    users.compact()
    users.clear()
    assert not users and db.keyspace("users") == {} and "'users'" in repr(users)


def test_keyspaces_have_orders_and_operators(path: str, db: cairndb.Database) -> None:
    own = db.create_keyspace("own", comparator="test.backwards", merge_operator="test.join")
    built_in = db.create_keyspace("built in", comparator="reverse", merge_operator="add")
    for keyspace in (own, built_in):
        keyspace.update({b"a": b"1", b"b": b"2", b"ba": b"3"})
        assert [*keyspace] == [b"ba", b"b", b"a"]
        assert [*keyspace.range(b"b", b"a").keys()] == [b"b"]
        # What starts with the prefix and follows it: in this order, `ba` comes first.
        assert [*keyspace.prefix(b"b", reverse=True).keys()] == [b"b"]
        with db.transaction() as tx:
            assert [*tx.keyspace(keyspace.name).prefix(b"b").keys()] == [b"b"]
    own.merge(b"a", b"x")
    assert own[b"a"] == b"1,x"
    built_in.merge(b"n", b"\x02")
    built_in.merge(b"n", b"\x03")
    assert built_in[b"n"][0] == 5
    db.close()
    with pytest.raises(cairndb.InvalidArgumentError, match=r"test\.backwards"):
        cairndb.open(path)
    assert cairndb.verify(path, **COMPONENTS)["entries"] == 7
    with cairndb.open(path, "r", **COMPONENTS) as db:
        assert [*db.keyspace("own")] == [b"ba", b"b", b"a"]


def test_a_batch_spans_keyspaces(db: cairndb.Database) -> None:
    users, notes = db.create_keyspace("users"), db.create_keyspace("notes")
    with db.batch() as batch:
        batch[b"k"] = b"default"
        batch.put(b"k", b"users", keyspace=users)
        batch.delete(b"k", keyspace=notes)
    with users.batch() as batch:
        batch[b"l"] = b"users"
        batch.put(b"l", b"default", keyspace=db)
        batch.put(b"l", b"notes", keyspace=notes)
    assert db == {b"k": b"default", b"l": b"default"}
    assert users == {b"k": b"users", b"l": b"users"} and notes == {b"l": b"notes"}
    with pytest.raises(ZeroDivisionError), users.batch() as batch:
        batch[b"m"] = b"%d" % (1 // 0)
    with pytest.raises(cairndb.InvalidArgumentError), db.batch() as batch:
        batch[b"m"] = b"not written"
        batch.merge(b"m", b"no operator", keyspace=users)
    assert b"m" not in db


def test_snapshots_and_transactions_span_keyspaces(db: cairndb.Database) -> None:
    users = db.create_keyspace("users")
    users[b"ada"] = b"old"
    with db.snapshot() as before, users.snapshot() as also:
        with db.transaction() as tx:
            tx[b"k"] = b"default"
            within = tx.keyspace("users")
            assert within[b"ada"] == b"old" and [*within] == [b"ada"]
            within[b"ada"] = b"new"
            mark = tx.savepoint()
            within[b"alan"] = b"undone"
            tx.rollback_to(mark)
            within.update({b"alan": b"own", b"grace": b"own"})
            assert [*within.items()] == [(b"ada", b"new"), (b"alan", b"own"), (b"grace", b"own")]
            assert within.pop_first() == (b"ada", b"new") and within.pop_last() is not None
            assert within.multi_get([b"ada", b"alan"]) == [None, b"own"]
            assert [*tx] == [b"k"] and users == {b"ada": b"old"}
        assert within.closed and users == {b"alan": b"own"} and db == {b"k": b"default"}
        then = before.keyspace("users")
        assert then == also == {b"ada": b"old"} and before == {}
        assert then.get_view(b"ada") == b"old" and then.last() == (b"ada", b"old")
    assert then.closed
    with pytest.raises(cairndb.ConflictError) as conflict, db.transaction() as tx:
        assert tx.keyspace("users").get_for_update(b"x") is None
        tx[b"k"] = b"stale"
        users[b"x"] = b"phantom"
    assert conflict.value.key == b"x"


def test_a_dropped_keyspace_is_closed(db: cairndb.Database) -> None:
    users, kept = db.create_keyspace("users"), db.create_keyspace("kept")
    users.update({b"%d" % number: b"" for number in range(1000)})
    entries, snapshot = iter(users), db.snapshot()
    assert next(entries) == b"0"
    then, batch, tx = snapshot.keyspace("users"), db.batch(), db.transaction()
    batch[b"k"] = b"not written"
    batch.put(b"k", b"not written", keyspace=users)
    tx.keyspace("users")[b"k"] = b"not written"
    tx[b"k"] = b"not written"
    db.drop_keyspace("users")
    again = db.create_keyspace("users")
    calls: list[Callable[[], object]] = [
        lambda: users[b"k"],
        lambda: users.put(b"k", b"v"),
        lambda: [*users],
        lambda: then[b"k"],
        lambda: [*then],
        batch.write,
        tx.commit,
    ]
    for call in calls:
        with pytest.raises(cairndb.ClosedError):
            call()
    assert db == {} and again == {} and kept == {}
    assert len([*entries]) == 999
    assert db.keyspaces() == ["kept", "users"]


def test_bad_names_and_options_are_refused(db: cairndb.Database) -> None:
    for name in ("", "n" * 256):
        with pytest.raises(cairndb.InvalidArgumentError):
            db.create_keyspace(name)
        with pytest.raises(cairndb.InvalidArgumentError):
            db.keyspace(name)
    with pytest.raises(cairndb.NotFoundError):
        db.keyspace("unknown")
    with pytest.raises(cairndb.NotFoundError):
        db.drop_keyspace("unknown")
    db.create_keyspace("n" * 255)
    with pytest.raises(cairndb.InvalidArgumentError):
        db.create_keyspace("n" * 255)
    with pytest.raises(cairndb.InvalidArgumentError, match="unregistered"):
        db.create_keyspace("x", comparator="unregistered")
    with pytest.raises(cairndb.InvalidArgumentError):
        db.create_keyspace("x", merge_operator="unregistered")
    with pytest.raises(ValueError):
        db.create_keyspace("x", compression="best")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        db.keyspace(b"bytes")  # type: ignore[arg-type]
    db.close()
    with pytest.raises(cairndb.ClosedError):
        db.keyspace("n" * 255)
