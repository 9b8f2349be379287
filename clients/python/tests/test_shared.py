"""Iterators that several threads share, close, or leave to a forked child."""

from __future__ import annotations

import gc
import itertools
import os
import random
import threading
from collections.abc import Iterator
from typing import Any, Callable, Optional

import pytest

import cairndb
import plyvel
from cairndb import _cairndb

COUNT = 3000
#: Of an entry in the second chunk of an iterator.
MERGED = b"000100"
#: Seconds after which a test fails that waits for a thread.
PATIENCE = 60

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


class Gate:
    """A merge operator that stops the thread `stops` in the midst of a fetch."""

    def __init__(self) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()
        self.stops: Optional[threading.Thread] = None
        self.during: Callable[[], object] = bool

    def __call__(self, key: bytes, value: Optional[bytes], operands: list[bytes]) -> bytes:
        if threading.current_thread() is self.stops:
            self.stops = None
            self.during()
            self.entered.set()
            assert self.opened.wait(PATIENCE)
        return b"".join(operands)


def fill(db: cairndb.Database) -> None:
    db.update({b"%06d" % number: b"value %d" % number for number in range(COUNT)})


@pytest.fixture
def full(db: cairndb.Database) -> cairndb.Database:
    fill(db)
    return db


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def gated(path: str, gate: Gate) -> Iterator[cairndb.Database]:
    """A database whose iterators stop at `MERGED`, in a thread of the gate's choice."""
    with cairndb.open(path, merge_operator=("gate", gate)) as db:
        fill(db)
        db.merge(MERGED, b"merged")
        yield db
        gate.opened.set()


class Stepper(threading.Thread):
    """Steps an iterator to its end. Has stopped in a fetch once it is made."""

    def __init__(self, gate: Gate, entries: Any) -> None:
        super().__init__()
        self.entries, self.seen, self.error = entries, [], None  # type: Any, list[Any], Any
        gate.stops = self
        self.start()
        assert gate.entered.wait(PATIENCE)

    def run(self) -> None:
        try:
            self.seen.extend(self.entries)
        except cairndb.Error as error:
            self.error = error
        del self.entries

    def wait(self) -> None:
        self.join(PATIENCE)
        assert not self.is_alive()


def start(call: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=call)
    thread.start()
    return thread


def join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


MAKERS: dict[str, Callable[[cairndb.Database], Any]] = {
    "items": lambda db: iter(db.items()),
    "keys": iter,
    "reversed": lambda db: reversed(db.items()),
    "range": lambda db: iter(db.range(b"000000", b"9")),
    "prefix": lambda db: iter(db.prefix(b"0")),
    "snapshot": lambda db: iter(db.snapshot().items()),
    "transaction": lambda db: iter(db.transaction().items()),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_threads_get_each_entry_once(full: cairndb.Database, maker: str) -> None:
    expected = sorted(MAKERS[maker](full))
    entries = MAKERS[maker](full)
    barrier = threading.Barrier(8)
    seen: list[list[Any]] = [[] for _ in range(8)]

    def read(number: int) -> None:
        barrier.wait(PATIENCE)
        found = seen[number]
        if number % 3 == 0:
            found.extend(entries)
        elif number % 3 == 1:
            # Keeps no pair, so that the iterator may fill the pair again.
            for entry in entries:
                found.append(bytes(entry) if isinstance(entry, bytes) else (entry[0], entry[1]))
        else:
            while part := entries.take_list(7):
                found.extend(part)

    join([start(lambda number=number: read(number)) for number in range(8)])  # type: ignore[misc]
    assert sorted(itertools.chain(*seen)) == expected and len(expected) == COUNT
    assert all(found == sorted(found, reverse=maker == "reversed") for found in seen)


def test_threads_share_an_iterator_of_plyvel(path: str) -> None:
    with plyvel.DB(path, create_if_missing=True) as db:
        with db.write_batch() as batch:
            for number in range(COUNT):
                batch.put(b"%06d" % number, b"")
        entries, seen = db.iterator(include_value=False), [[], [], [], []]  # type: Any, list[Any]
        join([start(lambda found=found: found.extend(entries)) for found in seen])  # type: ignore[misc]
        assert sorted(itertools.chain(*seen)) == [*db.iterator(include_value=False)]


def test_a_thread_waits_for_the_fetch_of_another(gated: cairndb.Database, gate: Gate) -> None:
    entries = iter(gated.items())
    stepper = Stepper(gate, entries)
    others: list[list[Any]] = [[], [], []]
    threads = [start(lambda found=found: found.extend(entries)) for found in others]  # type: ignore[misc]
    # The interpreter is free, and other iterators are.
    assert len([*gated.keys()]) == COUNT
    gate.opened.set()
    stepper.wait()
    join(threads)
    found = sorted([*stepper.seen, *itertools.chain(*others)])
    assert found == [*gated.items()] and dict(found)[MERGED] == b"merged"


def test_an_iterator_is_closed_during_a_fetch(gated: cairndb.Database, gate: Gate) -> None:
    entries = iter(gated)
    stepper = Stepper(gate, entries)
    closer = start(entries.close)
    gate.opened.set()
    join([closer])
    stepper.wait()
    # What was fetched may have been returned; after the close there is nothing but its error.
    assert stepper.seen == [*gated][: len(stepper.seen)]
    assert isinstance(stepper.error, cairndb.ClosedError) or len(stepper.seen) == COUNT
    for call in (lambda: next(entries), lambda: entries.take_list(5), entries.count) * 2:
        with pytest.raises(cairndb.ClosedError, match="the iterator was closed"):
            call()


@pytest.mark.parametrize("maker", ["items", "snapshot", "transaction"])
def test_a_database_is_closed_during_a_fetch(
    gated: cairndb.Database, gate: Gate, maker: str
) -> None:
    keys = [*gated]
    stepper = Stepper(gate, MAKERS[maker](gated))
    closer = start(gated.close)
    # The close has begun; it may wait for the fetch or not.
    while not gated.closed:
        threading.Event().wait(0.001)
    gate.opened.set()
    join([closer])
    stepper.wait()
    assert isinstance(stepper.error, cairndb.ClosedError)
    assert [key for key, _ in stepper.seen] == keys[: len(stepper.seen)]


def test_a_snapshot_is_closed_during_a_fetch(gated: cairndb.Database, gate: Gate) -> None:
    expected = [*gated.items()]
    snapshot = gated.snapshot()
    stepper = Stepper(gate, iter(snapshot.items()))
    snapshot.close()
    gated.clear()
    gate.opened.set()
    stepper.wait()
    # An iterator keeps what it sees.
    assert stepper.seen == expected and stepper.error is None
    with pytest.raises(cairndb.ClosedError, match="the snapshot was closed"):
        iter(snapshot)


def test_a_transaction_ends_during_a_fetch(gated: cairndb.Database, gate: Gate) -> None:
    transaction = gated.transaction()
    stepper = Stepper(gate, iter(transaction.items()))
    ending = start(transaction.rollback)
    gate.opened.set()
    join([ending])
    stepper.wait()
    assert isinstance(stepper.error, cairndb.ClosedError) or len(stepper.seen) == COUNT
    assert transaction.closed


def test_closes_come_at_any_time(full: cairndb.Database) -> None:
    """Eight threads step one iterator, which a ninth closes."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    dice, expected = random.Random(seed), [*full.items()]
    for _ in range(40):
        entries, seen = iter(full.items()), [[] for _ in range(8)]  # type: Any, list[list[Any]]
        closing, reached = dice.randrange(COUNT), threading.Event()

        def read(found: list[Any], entries: Any, closing: int, reached: threading.Event) -> None:
            try:
                for entry in entries:
                    found.append(entry)
                    if entry[0] >= b"%06d" % closing:
                        reached.set()
            except cairndb.ClosedError as error:
                assert "the iterator was closed" in str(error)
            reached.set()

        threads = [
            start(lambda found=found: read(found, entries, closing, reached))  # type: ignore[misc]
            for found in seen
        ]
        assert reached.wait(PATIENCE)
        entries.close()
        join(threads)
        found = sorted(itertools.chain(*seen))
        # Each at most once, and without a gap.
        assert found == expected[: len(found)]


@pytest.mark.parametrize("during", ["next", "take_list", "count", "close"])
@pytest.mark.parametrize("maker", ["items", "transaction"])
def test_a_fetch_that_calls_its_own_iterator(
    gated: cairndb.Database, gate: Gate, maker: str, during: str
) -> None:
    """Waiting for oneself would never end."""
    entries, errors = MAKERS[maker](gated), []
    calls = {
        "next": lambda: next(entries),
        "take_list": lambda: entries.take_list(3),
        "count": entries.count,
        "close": entries.close,
    }

    def use() -> None:
        try:
            calls[during]()
        except ValueError as error:
            errors.append(str(error))

    gate.during = use
    gate.opened.set()
    stepper = Stepper(gate, entries)
    stepper.wait()
    assert len(stepper.seen) == COUNT and stepper.error is None
    assert len(errors) == 1 and "the iterator is in use by a call" in errors[0]


def test_collection_during_a_fetch(gated: cairndb.Database, gate: Gate) -> None:
    gate.during = gc.collect
    stepper = Stepper(gate, iter(gated.items()))
    # The step alone refers to the iterator.
    gc.collect()
    gate.opened.set()
    stepper.wait()
    assert len(stepper.seen) == COUNT


def test_generators_end_in_the_midst(path: str) -> None:
    db = cairndb.open(path)
    fill(db)

    def lengths(source: Any) -> Iterator[int]:
        for key, value in source:
            yield len(key) + len(value)

    generators = [lengths(db.items()), lengths(db.prefix(b"0")), lengths(db.snapshot().items())]
    cycle: list[Any] = [lengths(db.transaction().items())]
    cycle.append(cycle)
    for generator in (*generators, cycle[0]):
        assert next(generator) == 13
    generators[0].close()
    with pytest.raises(LookupError):
        generators[1].throw(LookupError())
    before = _cairndb._open_databases()
    del db, generator, generators, cycle
    gc.collect()
    # Nothing refers to the database any more.
    assert _cairndb._open_databases() == before - 1
    cairndb.open(path).close()


def test_pairs_that_are_kept_do_not_change(full: cairndb.Database) -> None:
    expected = [(b"%06d" % number, b"value %d" % number) for number in range(COUNT)]
    assert [*full.items()] == expected
    # Each second pair is kept, and so is the hash of each, as a key of a dictionary.
    kept, hashes = [], []
    for number, pair in enumerate(full.items()):
        hashes.append(hash(pair))
        if number % 2:
            kept.append(pair)
    assert kept == expected[1::2] and hashes == [*map(hash, expected)]
    # A collection meanwhile, and another object that refers to the last pair.
    entries = iter(full.items())
    for pair in expected:
        found = next(entries)
        assert found == pair and hash(found) == hash(pair)
        if pair[0].endswith(b"500"):
            gc.collect()
            assert found in gc.get_referents([found])
    a, b = iter(full.items()), iter(full.items())
    assert [*zip(a, b)] == [*zip(expected, expected)]
    assert next(a, None) is None and next(b, None) is None


def _say_in_child(calls: dict[str, Callable[[], Any]], errors: Any) -> str:
    """Fork, make the calls in the child, and return what they did, a line each."""
    reader, pipe = os.pipe()
    child = os.fork()
    if child == 0:
        lines = []
        for name, call in calls.items():
            try:
                lines.append(f"{name}: {call()}")
            except errors as error:
                lines.append(f"{name}: {type(error).__name__}")
            except BaseException as error:
                lines.append(f"{name}: {error!r}")
        os.write(pipe, "\n".join(lines).encode())
        os._exit(0)
    os.close(pipe)
    killer = threading.Timer(PATIENCE, os.kill, (child, 9))
    killer.start()
    with os.fdopen(reader) as answer:
        text = answer.read()
    assert os.waitpid(child, 0)[1] == 0
    killer.cancel()
    return text


def _in_block(context: Any) -> None:
    """Leave a block by an exception."""
    try:
        with context:
            raise LookupError
    except LookupError:
        pass


@needs_fork
@pytest.mark.parametrize("maker", ["items", "snapshot", "transaction"])
def test_fork_during_a_fetch(gated: cairndb.Database, gate: Gate, maker: str) -> None:
    """The child inherits an iterator that a thread uses which it does not have."""
    expected = [*gated.items()]
    transaction, batch = gated.transaction(), gated.batch()
    entries = transaction.items().__iter__() if maker == "transaction" else MAKERS[maker](gated)
    stepper = Stepper(gate, entries)
    calls = {
        "next": lambda: next(entries),
        "take_list": lambda: entries.take_list(3),
        "count": entries.count,
        "close": entries.close,
        "again": lambda: next(entries),
        "get": lambda: transaction[b"000001"],
        "ended": lambda: transaction.closed,
        "rollback": transaction.rollback,
        "block": lambda: _in_block(transaction),
        "commit": lambda: transaction.__exit__(None, None, None),
        "batch": lambda: _in_block(batch),
        "shown": lambda: repr(batch),
    }
    assert _say_in_child(calls, cairndb.ForkedError).splitlines() == [
        "next: ForkedError",
        "take_list: ForkedError",
        "count: ForkedError",
        "close: None",
        "again: ForkedError",
        "get: ForkedError",
        "ended: False",
        "rollback: None",
        "block: None",
        "commit: ForkedError",
        "batch: None",
        "shown: <cairndb.Batch of the parent process>",
    ]
    gate.opened.set()
    stepper.wait()
    assert stepper.seen == expected and stepper.error is None


@needs_fork
@pytest.mark.parametrize("raw", [False, True])
def test_fork_during_a_step_of_plyvel(path: str, raw: bool) -> None:
    gate = Gate()

    def compare(a: bytes, b: bytes) -> int:
        if threading.current_thread() is gate.stops:
            gate(a, b, [])
        return (a > b) - (a < b)

    with plyvel.DB(path, create_if_missing=True, comparator=compare, comparator_name=b"gate") as db:
        for number in range(10):
            db.put(b"%d" % number, b"")
        entries = db.raw_iterator() if raw else db.iterator(include_value=False)

        def seek() -> None:
            entries.seek(b"5")

        stepper = threading.Thread(target=seek)
        gate.stops = stepper
        stepper.start()
        assert gate.entered.wait(PATIENCE)
        calls = {
            "next": entries.next if raw else entries.__next__,
            "seek": lambda: entries.seek(b"1"),
            "close": entries.close,
        }
        assert _say_in_child(calls, plyvel.Error).splitlines() == [
            "next: IOError",
            "seek: IOError",
            "close: None",
        ]
        gate.opened.set()
        join([stepper])
        assert (entries.key() if raw else next(entries)) == b"5"


@needs_fork
def test_forks_at_any_time(full: cairndb.Database) -> None:
    """Four threads step one iterator while the main thread forks again and again."""
    expected = [*full]
    for _ in range(15):
        entries, seen = iter(full), [[] for _ in range(4)]  # type: Any, list[list[bytes]]
        threads = [start(lambda found=found: found.extend(entries)) for found in seen]  # type: ignore[misc]
        calls = {"next": lambda: next(entries), "close": entries.close, "len": lambda: len(full)}
        lines = _say_in_child(calls, cairndb.ForkedError).splitlines()
        assert lines == ["next: ForkedError", "close: None", "len: ForkedError"]
        join(threads)
        assert sorted(itertools.chain(*seen)) == expected


@needs_fork
def test_forks_while_databases_open(path: str) -> None:
    """A child may open its own while a thread of the parent was opening another."""
    stop = threading.Event()

    def reopen() -> None:
        while not stop.is_set():
            cairndb.open(f"{path}-parent").close()

    thread = start(reopen)
    try:
        for number in range(15):

            def own(number: int = number) -> int:
                with cairndb.open(f"{path}-{number}") as db:
                    db[b"k"] = b"v"
                    return len(db)

            assert _say_in_child({"own": own}, ()) == "own: 1"
    finally:
        stop.set()
        join([thread])
