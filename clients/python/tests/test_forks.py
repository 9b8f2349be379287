"""Forks, and what differs in two databases."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

import cairndb
import cairndb.aio
from cairndb import Difference, _cairndb

COUNT = 5_000


@pytest.fixture
def new(tmp_path: Path) -> str:
    """A path for a fork."""
    return str(tmp_path / "fork")


@pytest.fixture
def other(tmp_path: Path) -> Iterator[cairndb.Database]:
    """An empty database."""
    with cairndb.open(tmp_path / "other") as db:
        yield db


def fill(db: cairndb.Database) -> None:
    db.update({b"%06d" % number: bytes(100) for number in range(COUNT)})


def test_a_fork_changes_without_its_origin(db: cairndb.Database, new: str) -> None:
    db.create_keyspace("users")[b"ada"] = b"1815"
    db[b"k"] = b"old"
    with db.snapshot() as before:
        db[b"k"] = b"new"
        report = db.fork(new)
        assert report.shared > 0 and report[1:] == (0, 0, 0)
        # A keyspace of a snapshot is the same moment.
        assert before.keyspace("users").fork(new + "2").copied_bytes == 0
    with cairndb.open(new) as fork, cairndb.open(new + "2") as earlier:
        assert fork[b"k"] == b"new" and earlier[b"k"] == b"old"
        assert earlier.keyspace("users")[b"ada"] == b"1815"
        fork[b"k"] = b"other"
        assert db[b"k"] == b"new"
    db.clear()
    db.compact()
    assert cairndb.verify(new)["entries"] == 2


def test_diff_yields_what_differs(db: cairndb.Database, new: str) -> None:
    db.update({b"a": b"1", b"b": b"2", b"c": b"3"})
    db.fork(new)
    with cairndb.open(new) as fork:
        assert [*cairndb.diff(db, fork)] == []
        del fork[b"a"]
        fork[b"b"] = b""
        fork[b"d"] = b"4"
        fork.create_keyspace("users")[b"ada"] = b"1815"
        found = cairndb.diff(db, fork)
        fork[b"e"] = b"later"
        assert [*found] == [
            Difference(None, b"a", b"1", None),
            Difference(None, b"b", b"2", b""),
            Difference(None, b"d", None, b"4"),
            Difference("users", b"ada", None, b"1815"),
        ]
        assert next(found, None) is None
        it = next(iter(cairndb.diff(fork, db)))
        assert (it.key, it.before, it.after) == (b"a", None, b"1")
        with cairndb.open(new, follow=True) as follower:
            assert len([*cairndb.diff(follower, fork)]) == 0


def test_threads_share_a_comparison(db: cairndb.Database, other: cairndb.Database) -> None:
    fill(db)
    found, seen = cairndb.diff(db, other), []  # type: Iterator[Difference], list[Difference]

    def read(number: int) -> None:
        if number % 2:
            seen.extend(found)
        while part := found.take_list(7):  # type: ignore[attr-defined]
            seen.extend(part)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(it.key for it in seen) == [*db]


def test_what_is_refused(db: cairndb.Database, other: cairndb.Database, new: str) -> None:
    os.mkdir(new)
    Path(new, "notes").touch()
    with pytest.raises(cairndb.InvalidArgumentError, match="not empty"):
        db.fork(new)
    with pytest.raises(cairndb.InvalidArgumentError, match="into itself"):
        db.fork(db.path)
    with pytest.raises(TypeError):
        db.fork(new, progress="no")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        cairndb.diff(db, db.create_keyspace("users"))  # type: ignore[arg-type]
    reverse = cairndb.open(new + "2", comparator="reverse")
    with pytest.raises(cairndb.InvalidArgumentError, match="order their keys differently"):
        cairndb.diff(db, reverse)
    snapshot, found = db.snapshot(), cairndb.diff(other, db)
    db[b"k"] = b"v"
    closed = cairndb.diff(other, db)
    closed.close()  # type: ignore[attr-defined]
    with pytest.raises(cairndb.ClosedError, match="the iterator was closed"):
        next(closed)
    db.close()
    for call in (lambda: snapshot.fork(new + "3"), lambda: next(found)):
        with pytest.raises(cairndb.ClosedError):
            call()
    with pytest.raises(cairndb.ClosedError):
        cairndb.diff(db, other)
    released = other.snapshot()
    released.close()
    with pytest.raises(cairndb.ClosedError, match="the snapshot was closed"):
        released.fork(new + "3")


def test_errors_come_after_the_differences_before_them(db: cairndb.Database, new: str) -> None:
    def refuse(key: bytes, value: Any, operands: list[bytes]) -> bytes:
        raise ArithmeticError("refused")

    with cairndb.open(new, merge_operator=("refuse", refuse)) as other:
        other[b"a"] = b"1"
        other.merge(b"b", b"1")
        found = cairndb.diff(db, other)
        assert next(found).key == b"a"
        with pytest.raises(cairndb.Error):
            next(found)
        assert [*found] == []
        found = cairndb.diff(db, other)
        taken: list[Difference] = found.take_list(9)  # type: ignore[attr-defined]
        assert [it.key for it in taken] == [b"a"]
        with pytest.raises(cairndb.Error):
            found.take_list(9)  # type: ignore[attr-defined]


def test_a_merge_operator_that_steps_the_comparison(db: cairndb.Database, new: str) -> None:
    errors: list[str] = []

    def use(key: bytes, value: Any, operands: list[bytes]) -> bytes:
        try:
            next(found)
        except ValueError as error:
            errors.append(str(error))
        return b"".join(operands)

    found: Iterator[Difference] = iter(())
    with cairndb.open(new, merge_operator=("use", use)) as other:
        other.update({b"%d" % number: b"" for number in range(3)})
        other.merge(b"2", b"merged")
        found = cairndb.diff(db, other)
        assert [it.after for it in found] == [b"", b"", b"merged"]
        assert errors and all("in use by a call" in error for error in errors)


def test_signals_end_a_fork_and_a_step(
    db: cairndb.Database, new: str, interrupted: Callable[..., bool]
) -> None:
    fill(db)
    with cairndb.open(new + "2") as copy:
        fill(copy)

        def target() -> tuple[Any, ...]:
            shutil.rmtree(new, ignore_errors=True)
            db[b"0"] = b"new"
            return (new, None)

        # Without the function around it that is written in Python.
        assert interrupted(super(cairndb.Database, db)._fork, target)
        assert not os.path.exists(new)
        del db[b"0"]
        made: list[Iterator[Difference]] = []

        def compare() -> tuple[Any, ...]:
            made.append(cairndb.diff(db, copy))
            return (made[-1], None)

        assert interrupted(next, compare)
        # It continues.
        assert next(made[-1], None) is None


def test_a_comparison_keeps_its_databases(path: str, new: str) -> None:
    before = _cairndb._open_databases()
    db = cairndb.open(path)
    db[b"k"] = b"v"
    found = cairndb.diff(db, cairndb.open(new))
    del db
    gc.collect()
    assert [it.key for it in found] == [b"k"]
    del found
    gc.collect()
    assert _cairndb._open_databases() == before


def test_the_same_for_asyncio(path: str, new: str) -> None:
    async def main() -> None:
        async with cairndb.aio.open(path) as db:
            await db.put(b"k", b"old")
            async with db.snapshot() as before:
                await db.put(b"k", b"new")
                assert (await before.fork(new)).copied == 0
            seen: list[int] = []
            report = await db.fork(new + "2", progress=lambda done, total: seen.append(done))
            assert report.shared > 0 and seen
            async with cairndb.aio.open(new) as fork:
                found = [it async for it in cairndb.aio.diff(db, fork)]
                assert found == [Difference(None, b"k", b"new", b"old")]
                scan = cairndb.aio.diff(fork, db)
                await scan.aclose()
                with pytest.raises(cairndb.ClosedError):
                    await scan.__anext__()

    asyncio.run(main())
