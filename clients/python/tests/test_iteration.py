"""Iterators: chunks, directions, limits, writes and closes meanwhile."""

from __future__ import annotations

import itertools
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Callable

import pytest

import cairndb

COUNT = 10_000


@pytest.fixture
def full(db: cairndb.Database) -> cairndb.Database:
    db.update({b"%05d" % number: b"value %d" % number for number in range(COUNT)})
    return db


def test_iterators_are_as_of_their_making(full: cairndb.Database) -> None:
    entries = iter(full.items())
    assert next(entries) == (b"00000", b"value 0")
    full.clear()
    assert sum(1 for _ in entries) == COUNT - 1
    assert not full


def test_views(full: cairndb.Database) -> None:
    keys, values, items = full.keys(), full.values(), full.items()
    assert len(keys) == len(values) == len(items) == COUNT
    assert b"00007" in keys and b"7" not in keys
    assert b"value 7" in values and b"value" not in values
    assert (b"00007", b"value 7") in items and (b"00007", b"7") not in items
    assert [*reversed(keys)] == [*keys][::-1]
    assert [*reversed(values)] == [*values][::-1]
    assert [*reversed(items)] == [*items][::-1]
    assert keys & {b"00001", b"x"} == {b"00001"}


def test_ranges(full: cairndb.Database) -> None:
    part = full.range(b"00010", b"00020")
    assert len(part) == 10 and part
    assert not full.range(b"2", b"1") and not full.range(b"x")
    assert len(full.range(limit=0)) == 0
    assert [*full.range(b"00010", limit=2).keys()] == [b"00010", b"00011"]
    assert [*full.range(stop=b"00010", reverse=True, limit=2).keys()] == [b"00009", b"00008"]
    # A bound that is no key.
    assert [*full.range(stop=b"000095", reverse=True, limit=1).keys()] == [b"00009"]
    assert [*full.range(b"000095", limit=1).keys()] == [b"00010"]
    assert len(full.prefix(b"")) == COUNT
    assert [*reversed(part)] == [*part][::-1]
    with pytest.raises(TypeError, match="reversible"):
        reversed(full.range(limit=3))
    with pytest.raises(ValueError, match="limit"):
        full.range(limit=-1)
    assert "start=b'00010'" in repr(part)


def test_prefixes_of_the_largest_byte(db: cairndb.Database) -> None:
    db.update(dict.fromkeys((b"a", b"a\xff", b"a\xff\xff", b"b", b"\xff", b"\xff\xff"), b""))
    assert [*db.prefix(b"a\xff").keys()] == [b"a\xff", b"a\xff\xff"]
    assert [*db.prefix(b"\xff").keys()] == [b"\xff", b"\xff\xff"]
    assert [*db.prefix(b"\xff", reverse=True).keys()] == [b"\xff\xff", b"\xff"]


def test_large_values(db: cairndb.Database) -> None:
    sizes = [100, 300_000, 10, 1 << 20, 0]
    for number, size in enumerate(sizes):
        db[b"%d" % number] = b"%d" % number * size
    assert [len(value) for value in db.values()] == sizes
    assert [value[:1] for value in db.values()] == [b"0", b"1", b"2", b"3", b""]


def test_closing_an_iterator(full: cairndb.Database) -> None:
    entries = full.prefix(b"0").items()
    next(entries)
    entries.close()
    for _ in range(2):
        with pytest.raises(ValueError, match="iterator was closed"):
            next(entries)
        break
    entries.close()


def test_a_closed_iterator_refers_to_no_entry(full: cairndb.Database) -> None:
    entries = iter(full.items())
    value = next(entries)[1]
    entries.close()
    nowhere_else = bytes(bytearray(value))
    assert sys.getrefcount(value) == sys.getrefcount(nowhere_else)


def test_an_iterator_after_close(full: cairndb.Database) -> None:
    iterators = [iter(full), iter(full.items()), full.prefix(b"0").values()]
    for iterator in iterators:
        next(iterator)
    full.close()
    for iterator in iterators:
        for _ in range(2):
            with pytest.raises(cairndb.ClosedError, match="the database was closed"):
                next(iterator)
    for make in (full.keys, full.items, full.range, lambda: full.prefix(b"0")):
        with pytest.raises(ValueError):
            next(iter(make()))
    with pytest.raises(ValueError):
        len(full)


def test_an_iterator_keeps_its_database_open(path: str) -> None:
    def entries() -> Iterator[tuple[bytes, bytes]]:
        db = cairndb.open(path)
        db.update({b"%d" % number: b"" for number in range(100)})
        return iter(db.items())

    assert sum(1 for _ in entries()) == 100
    # Nothing needs it any more, so it was closed.
    cairndb.open(path).close()


def test_an_ended_iterator_stays_ended(full: cairndb.Database) -> None:
    entries = full.range(limit=2).items()
    assert len([*entries]) == 2
    assert next(entries, None) is None
    assert next(entries, None) is None


def test_threads_share_an_iterator(full: cairndb.Database) -> None:
    entries = iter(full)
    seen: list[list[bytes]] = [[] for _ in range(8)]

    def read(keys: list[bytes]) -> None:
        keys.extend(entries)

    threads = [threading.Thread(target=read, args=(keys,)) for keys in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(itertools.chain(*seen)) == [*full]


def test_lists_of_entries(full: cairndb.Database) -> None:
    entries = full.range(limit=5000).keys()
    assert len(entries.take_list(3)) == 3
    assert len(entries.take_list(4000)) == 4000
    assert len(entries.take_list(4000)) == 997
    assert entries.take_list(10) == []


def test_an_error_comes_after_the_entries_before_it(path: str) -> None:
    def refuse(key: bytes, value: object, operands: list[bytes]) -> bytes:
        raise LookupError("never")

    with cairndb.open(path, merge_operator=("refuse", refuse)) as db:
        db.update({b"a": b"1", b"b": b"2", b"d": b"4"})
        db.merge(b"c", b"3")
        entries = iter(db.items())
        assert next(entries) == (b"a", b"1")
        assert next(entries) == (b"b", b"2")
        with pytest.raises(ValueError, match="never"):
            next(entries)
        assert next(entries, None) is None


def test_loops_in_c_notice_signals(
    full: cairndb.Database, interrupted: Callable[..., bool]
) -> None:
    for function, argument in (
        (list, lambda: full),
        (dict, lambda: full.items()),
        (set, lambda: full.values()),
        (sum, lambda: map(len, full)),
        (max, lambda: full.range(reverse=True)),
        (list, lambda: full.transaction()),
        (list, lambda: full.prefix(b"0").keys()),
    ):
        assert interrupted(function, lambda argument=argument: (argument(),)), function


def test_calls_with_many_entries_notice_signals(
    full: cairndb.Database, interrupted: Callable[..., bool]
) -> None:
    keys = [*full]
    pairs = [(key, key) for key in keys]
    for entries in (pairs, dict(pairs)):
        assert interrupted(full.batch().update, lambda entries=entries: (entries,))
    for reader in (full, full.snapshot(), full.transaction()):
        assert interrupted(reader.multi_get, lambda: (keys,))
        assert reader.multi_get([*keys, b"x"], b"?") == [full[key] for key in keys] + [b"?"]


def test_an_interrupted_iterator_loses_no_entry(
    full: cairndb.Database, interrupted: Callable[..., bool]
) -> None:
    taken: list[bytes] = []
    keys = iter(full)

    def again() -> tuple[list[bytes], Iterator[bytes]]:
        nonlocal taken, keys
        taken, keys = [], iter(full)
        return taken, keys

    assert interrupted(list.extend, again, lambda: len(taken) > 0)
    assert len(taken) < COUNT
    assert [*taken, *keys] == [*full]


def test_a_handler_may_step_the_iterator_that_it_interrupts(full: cairndb.Database) -> None:
    seen: list[bytes] = []
    keys = iter(full)

    def step(number: int, frame: object) -> None:
        seen.extend(next(keys, b"") for _ in range(100))

    before = signal.signal(signal.SIGALRM, step)
    try:
        while not any(seen):
            keys = iter(full)
            signal.setitimer(signal.ITIMER_REAL, 1e-4)
            taken = [*keys]
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert sorted([*taken, *filter(None, seen)]) == [*full]
