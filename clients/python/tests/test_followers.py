"""Followers: databases that are read while another process writes them."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, Callable, Optional

import pytest

import cairndb
import cairndb.aio
from cairndb import _cairndb

SPAWN = multiprocessing.get_context("spawn")
#: Seconds after which a test fails that waits for a process or a thread.
PATIENCE = 60


def serve(pipe: Connection, path: str, options: dict[str, Any]) -> None:
    """Open a database in this process, and evaluate what arrives until None does."""
    with cairndb.open(path, **options) as db:
        names: dict[str, Any] = {"cairndb": cairndb, "db": db}
        for text in iter(pipe.recv, None):
            try:
                found = eval(text, names)
            except Exception as error:
                found = type(error).__name__
            pipe.send(found)


class Other:
    """A database that another process has open."""

    def __init__(self, path: str, options: dict[str, Any]) -> None:
        self._pipe, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=serve, args=(theirs, path, options))
        self.process.start()
        theirs.close()

    def __call__(self, text: str) -> Any:
        """Evaluate an expression there; an exception is returned as its name."""
        self._pipe.send(text)
        assert self._pipe.poll(PATIENCE)
        return self._pipe.recv()

    def kill(self) -> None:
        os.kill(self.process.pid or 0, signal.SIGKILL)
        self.process.join(PATIENCE)
        assert self.process.exitcode == -signal.SIGKILL

    def end(self) -> None:
        if self.process.is_alive():
            self._pipe.send(None)
        self.process.join(PATIENCE)
        assert self.process.exitcode in (0, -signal.SIGKILL)


@contextmanager
def elsewhere(path: str, **options: Any) -> Iterator[Other]:
    """A database that another process has open meanwhile."""
    other = Other(path, options)
    try:
        yield other
    finally:
        other.end()


@pytest.fixture
def follower(db: cairndb.Database) -> Iterator[cairndb.Database]:
    """A follower of `db` in this process."""
    with cairndb.open(db.path, follow=True) as follower:
        yield follower


def test_a_put_is_seen_at_once_in_another_process(db: cairndb.Database) -> None:
    with elsewhere(db.path, follow=True) as there:
        for number in range(200):
            key = b"%d" % number
            db[key] = key * 2
            assert there(f"db[{key!r}]") == key * 2
        db.update({b"a": b"1", b"b": b"2"})
        assert there("db.multi_get([b'a', b'b'])") == [b"1", b"2"]
        del db[b"a"]
        assert there("b'a' in db, len(db), db.last()") == (False, 201, (b"b", b"2"))
        db.flush()
        db.compact()
        db[b"c"] = b"3"
        assert there("[*db.range(b'b')]") == [(b"b", b"2"), (b"c", b"3")]
        users = db.create_keyspace("users")
        users[b"ada"] = b"1815"
        assert there("db.keyspaces(), dict(db.keyspace('users'))") == (["users"], dict(users))


def test_every_read_sees_what_was_written(db: cairndb.Database, follower: cairndb.Database) -> None:
    reads: dict[str, Callable[[bytes], object]] = {
        "get": lambda key: follower.get(key),
        "view": lambda key: follower.get_view(key),
        "in": lambda key: key in follower,
        "multi_get": lambda key: follower.multi_get([key])[0],
        "keys": lambda key: key in [*follower],
        "prefix": lambda key: [*follower.prefix(key)],
        "last": lambda key: (follower.last() or (b"",))[0] == key,
        "snapshot": lambda key: key in follower.snapshot(),
        "transaction": lambda key: key in follower.transaction(),
        "count": lambda key: len(follower.range(key)) == 1,
    }
    for number, (name, read) in enumerate(reads.items()):
        key = b"%03d" % number
        assert not read(key), name
        db[key] = b"v"
        assert read(key), name
    assert dict(follower) == dict(db) and follower.stats()["memory"]


def test_a_snapshot_and_an_iterator_stay(db: cairndb.Database, follower: cairndb.Database) -> None:
    db.update({b"%06d" % number: bytes(200) for number in range(5_000)})
    before, entries = follower.snapshot(), iter(follower.items())
    assert next(entries) == (b"000000", bytes(200))
    db.clear()
    db[b"new"] = b"v"
    db.compact()
    assert [*follower] == [b"new"]
    assert len([*entries]) == 4_999
    assert len(before) == 5_000 and b"new" not in before
    before.close()


def test_writes_are_refused(db: cairndb.Database, follower: cairndb.Database) -> None:
    db[b"k"] = b"v"
    calls: dict[str, Callable[[], object]] = {
        "put": lambda: follower.put(b"k", b"w"),
        "delete": lambda: follower.delete(b"k"),
        "clear": follower.clear,
        "update": lambda: follower.update({b"k": b"w"}),
        "merge": lambda: follower.merge(b"k", b"w"),
        "pop": follower.pop_first,
        "transact": lambda: follower.transact(lambda tx: tx.put(b"k", b"w")),
        "keyspace": lambda: follower.create_keyspace("users"),
        "flush": follower.flush,
        "compact": follower.compact,
        "fork": lambda: follower.fork(follower.path + ".copy"),
        "checkpoint": lambda: follower.checkpoint(follower.path + ".copy"),
    }
    for name, call in calls.items():
        with pytest.raises(cairndb.ReadOnlyError):
            print(name, call())
    # Nothing to do, as for a database that was opened for reading.
    follower.sync()
    assert dict(db) == dict(follower) == {b"k": b"v"}


@pytest.mark.parametrize("flag", ["r", "w", "c", "n"])
def test_a_follower_creates_and_removes_nothing(path: str, flag: Any) -> None:
    with pytest.raises(FileNotFoundError):
        cairndb.open(path, flag, follow=True)
    assert not os.path.exists(path)
    with cairndb.open(path) as db:
        db[b"k"] = b"v"
        with cairndb.open(path, flag, follow=True) as follower:
            assert follower[b"k"] == b"v"
    with cairndb.open(path, flag, follow=True) as follower:
        assert follower[b"k"] == b"v"
    assert cairndb.verify(path)["entries"] == 1


def test_other_handles_in_the_same_process(path: str) -> None:
    with cairndb.open(path) as db:
        db[b"k"] = b"v"
        followers = [cairndb.open(path, follow=True) for _ in range(3)]
        # They are separate handles, and none of them is the writer.
        followers[0].close()
        assert followers[1][b"k"] == b"v" and followers[0].closed
        with pytest.raises(cairndb.LockedError):
            cairndb.open(path)
        db[b"k"] = b"w"
        assert [follower[b"k"] for follower in followers[1:]] == [b"w", b"w"]
    # The followers keep nobody out, also not one that only reads.
    for flag in ("w", "r"):
        cairndb.open(path, flag).close()
    with cairndb.open(path, "w") as db:
        db[b"k"] = b"x"
        assert [follower[b"k"] for follower in followers[1:]] == [b"x", b"x"]
    for follower in followers:
        follower.close()


def test_manual_refresh(db: cairndb.Database) -> None:
    with cairndb.open(db.path, follow=True, manual_refresh=True) as follower:
        db[b"a"] = b"1"
        assert b"a" not in follower and follower.sequence_number < db.sequence_number
        follower.refresh()
        assert follower[b"a"] == b"1" and follower.sequence_number == db.sequence_number
        db[b"b"] = b"2"
        assert [*follower] == [b"a"]
        assert follower.wait_for(db.sequence_number, 0)
        assert [*follower] == [b"a", b"b"]


def test_a_wait_ends_with_the_write(db: cairndb.Database) -> None:
    with elsewhere(db.path, follow=True) as there:
        assert there(f"db.wait_for({db.sequence_number + 1}, timeout=0.01)") is False
        waiting: list[bool] = []
        expected = db.sequence_number + 3
        text = f"db.wait_for({expected}), db.sequence_number"
        thread = threading.Thread(target=lambda: waiting.append(there(text)))
        thread.start()
        for number in range(3):
            db[b"%d" % number] = b"v"
        thread.join(PATIENCE)
        assert waiting == [(True, expected)]


def test_what_a_wait_takes(db: cairndb.Database, follower: cairndb.Database) -> None:
    far = db.sequence_number + 1_000
    begun = time.monotonic()
    assert follower.wait_for(far, timeout=0) is False
    assert follower.wait_for(far, 0.05) is False
    assert 0.05 <= time.monotonic() - begun < PATIENCE
    assert follower.wait_for(0, float("inf")) and follower.wait_for(0, None)
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match="0 or more"):
            follower.wait_for(0, wrong)
    with pytest.raises(TypeError):
        follower.wait_for(0, "1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="argument 'reader_lease'"):
        cairndb.open(db.path, follow=True, reader_lease=-1)


def test_a_wait_releases_the_interpreter_and_ends_at_the_close(db: cairndb.Database) -> None:
    follower = cairndb.open(db.path, follow=True)
    errors: list[BaseException] = []

    def wait() -> None:
        try:
            follower.wait_for(1 << 40)
        except cairndb.Error as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    for number in range(1_000):
        db[b"%d" % number] = b"v"
    assert thread.is_alive()
    follower.close()
    thread.join(PATIENCE)
    assert [type(error) for error in errors] == [cairndb.ClosedError]


def test_a_signal_ends_a_wait(follower: cairndb.Database, interrupted: Callable[..., bool]) -> None:
    assert interrupted(follower.wait_for, lambda: (1 << 40, PATIENCE))


def test_has_writer(path: str) -> None:
    cairndb.open(path).close()
    with cairndb.open(path, follow=True) as follower:
        assert follower.has_writer() is False
        with cairndb.open(path):
            assert follower.has_writer() is True
        assert follower.has_writer() is False
        with elsewhere(path) as writer:
            assert writer("db.put(b'k', b'v')") is None
            assert follower.has_writer() is True
        assert follower.has_writer() is False and follower[b"k"] == b"v"


def test_the_writer_is_killed(path: str) -> None:
    cairndb.open(path).close()
    with cairndb.open(path, follow=True) as follower:
        for life in range(3):
            with elsewhere(path, memory=1 << 20) as writer:
                entries = f"{{b'{life} %d' % n: b'v' for n in range(500)}}"
                assert writer(f"db.update({entries})") is None
                assert len(follower) == 500 * (life + 1)
                assert writer(f"db.put(b'last', b'{life}')") is None
                snapshot = follower.snapshot()
                writer.kill()
            assert follower.has_writer() is False
            assert follower[b"last"] == b"%d" % life == snapshot[b"last"]
            assert len(follower) == 500 * (life + 1) + 1
            # One that opens now sees the same.
            with cairndb.open(path, follow=True) as other:
                assert dict(other) == dict(follower)
            with cairndb.open(path) as db:
                db[b"reopened"] = b"%d" % life
                assert follower.has_writer() and follower[b"reopened"] == b"%d" % life
                assert dict(db) == dict(follower)
                del db[b"reopened"], db[b"last"]
            assert len(snapshot) == 500 * (life + 1) + 1
            snapshot.close()


def test_calls_that_need_a_follower(db: cairndb.Database) -> None:
    for call in (db.refresh, db.has_writer, lambda: db.wait_for(0, 0)):
        with pytest.raises(cairndb.InvalidArgumentError, match="the argument 'follow'"):
            call()
    before = db.sequence_number
    db.update({b"a": b"1", b"b": b"2"})
    assert db.sequence_number == before + 2


def test_calls_of_a_follower_that_was_closed(db: cairndb.Database) -> None:
    follower = cairndb.open(db.path, follow=True)
    follower.close()
    calls: tuple[Callable[[], object], ...] = (
        follower.refresh,
        follower.has_writer,
        lambda: follower.wait_for(0, 0),
        lambda: follower.sequence_number,
    )
    for call in calls:
        with pytest.raises(cairndb.ClosedError):
            call()
    # Collected without a close.
    known = _cairndb._open_databases()
    assert not cairndb.open(db.path, follow=True)
    assert _cairndb._open_databases() == known


def test_limits_of_the_writer(path: str) -> None:
    with cairndb.open(path, memory=1 << 20, reader_space_max=0) as db:
        db.update({b"%06d" % number: os.urandom(500) for number in range(5_000)})
        db.flush()
        with cairndb.open(path, follow=True) as follower:
            snapshot = follower.snapshot()
            assert len(snapshot) == 5_000
            db.clear()
            db.compact()
            with pytest.raises(cairndb.RevokedError, match="revoked"):
                [*snapshot.items()]
            assert not follower and len(follower.snapshot()) == 0


def test_a_lease(path: str) -> None:
    """After it the writer may remove files; the next read looks again."""
    with cairndb.open(path, memory=1 << 20) as db:
        db.update({b"%06d" % number: os.urandom(500) for number in range(5_000)})
        db.flush()
        with cairndb.open(path, follow=True, reader_lease=0.0) as follower:
            snapshot = follower.snapshot()
            db.clear()
            db.compact()
            with pytest.raises(cairndb.RevokedError):
                [*snapshot.items()]
            assert not follower


def test_a_comparator_in_python(path: str) -> None:
    """A thread that looks for new writes calls it while others wait for the thread."""

    def reverse(a: bytes, b: bytes) -> int:
        return (a < b) - (a > b)

    order = ("reverse in Python", reverse)
    with cairndb.open(path, comparator=order) as db:
        follower = cairndb.open(path, comparator=order, follow=True)
        failures: list[BaseException] = []
        ended = threading.Event()

        def read() -> None:
            try:
                while not ended.is_set():
                    keys = follower.range(limit=40).keys().take_list(40)
                    assert keys == sorted(keys, reverse=True)
                    assert follower.snapshot().get(b"0") == b"v"
            except BaseException as error:
                failures.append(error)

        db[b"0"] = b"v"
        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(1, 400):
            db[b"%d" % number] = b"v"
        ended.set()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert not failures and [*follower] == [*db]
        follower.close()


def test_an_iterator_waits_for_a_comparator_of_another_thread(
    path: str, script: Callable[..., str]
) -> None:
    """A wait with the interpreter's lock would never end, in any thread."""
    program = """
        import sys, threading, cairndb
        stopped, entered = None, threading.Event()
        def compare(a, b):
            global stopped
            if threading.current_thread() is stopped:
                stopped = None
                entered.set()
                threading.Event().wait(0.1)
            return (a > b) - (a < b)
        order = ("stops", compare)
        db = cairndb.open(sys.argv[1], comparator=order)
        db[b"0"] = b"to be compared with"
        follower = cairndb.open(sys.argv[1], comparator=order, follow=True)
        for call in (lambda: [*follower], lambda: [*follower.range(b"0").keys()],
                     lambda: [*follower.snapshot()], lambda: [*follower.transaction()]):
            db[b"%d" % len(db)] = b"v"
            entered.clear()
            stopped = threading.Thread(target=follower.last)
            stopped.start()
            assert entered.wait(60)
            print(call() == [*db], end=" ")
        """
    assert script(program, path) == "True True True True "


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_follows_what_its_parent_writes(
    db: cairndb.Database, follower: cairndb.Database
) -> None:
    db[b"k"] = b"v"
    reader, pipe = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            try:
                found: Optional[bytes] = follower.get(b"k")
            except cairndb.ForkedError:
                found = b"forked"
            own = cairndb.open(db.path, follow=True)
            os.write(pipe, b"%s %s %d" % (found, own[b"k"], own.has_writer()))
        finally:
            os._exit(0)
    os.close(pipe)
    with os.fdopen(reader, "rb") as answer:
        assert answer.read() == b"forked v 1"
    assert os.waitpid(child, 0)[1] == 0


def test_asyncio(path: str) -> None:
    async def main() -> None:
        async with cairndb.aio.open(path) as db:
            opened = cairndb.aio.open(path, follow=True, manual_refresh=True)
            async with opened as follower:
                await db.put(b"k", b"v")
                assert await follower.get(b"k") is None
                await follower.refresh()
                assert await follower.get(b"k") == b"v" and await follower.has_writer()
                with pytest.raises(cairndb.ReadOnlyError):
                    await follower.put(b"k", b"w")
                assert not await follower.wait_for(db.sequence_number + 1, 0.1)
                for wrong in (-1, float("nan")):
                    with pytest.raises(ValueError, match="0 or more"):
                        await follower.wait_for(0, wrong)
                waiting = asyncio.create_task(follower.wait_for(db.sequence_number + 1))
                await asyncio.sleep(0)
                await db.put(b"k", b"w")
                assert await waiting and follower.sequence_number == db.sequence_number
                assert await follower.get(b"k") == b"w"
                # A wait that is cancelled holds up nothing.
                waiting = asyncio.create_task(follower.wait_for(1 << 40))
                await asyncio.sleep(0)
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
                # Nor does one that goes on when the database is closed.
                waiting = asyncio.create_task(follower.wait_for(1 << 40))
                await asyncio.sleep(0)
            with pytest.raises(cairndb.ClosedError):
                await waiting

    asyncio.run(main())
