"""What a database does: reads, writes, batches, snapshots, whole-database operations."""

from __future__ import annotations

import array
import copy
import os
import pickle
import random
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any, Callable

import pytest

import cairndb


def test_flags(path: str) -> None:
    for flag in ("r", "w"):
        with pytest.raises(FileNotFoundError):
            cairndb.open(path, flag)
    with cairndb.open(path, "c") as db:
        db[b"k"] = b"v"
    with cairndb.open(path, "r") as db:
        assert db[b"k"] == b"v"
        with pytest.raises(PermissionError):
            db[b"k"] = b"w"
    with cairndb.open(path, "w") as db:
        db[b"k"] = b"w"
    with cairndb.open(path) as db:
        assert db[b"k"] == b"w"
    with cairndb.open(path, "n") as db:
        assert not db
    with pytest.raises(ValueError, match="flag is"):
        cairndb.open(path, "x")


@pytest.mark.parametrize("kind", [str, os.fsencode, Path])
def test_a_path_may_be_of_any_kind(path: str, kind: Any) -> None:
    with cairndb.open(kind(path)) as db:
        assert db.path == path
    assert cairndb.verify(kind(path))["entries"] == 0
    cairndb.destroy(kind(path))
    assert not os.path.exists(path)


def test_it_is_a_mutable_mapping(db: cairndb.Database) -> None:
    assert isinstance(db, MutableMapping)
    assert isinstance(db.snapshot(), Mapping)
    assert not isinstance(db.snapshot(), MutableMapping)
    assert db.setdefault(b"a", b"1") == b"1"
    assert db.setdefault(b"a", b"2") == b"1"
    assert db.pop(b"a") == b"1"
    assert db.pop(b"a", None) is None
    with pytest.raises(KeyError):
        db.pop(b"a")
    with pytest.raises(KeyError, match="b'a'"):
        del db[b"a"]
    with pytest.raises(TypeError):
        hash(db)


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview, lambda b: array.array("B", b)])
def test_any_bytes_like_object_is_accepted(db: cairndb.Database, make: Any) -> None:
    key, value = make(b"key"), make(b"value")
    db[key] = value
    assert db[key] == b"value" and db.get(key) == b"value" and key in db
    assert db.multi_get([key]) == [b"value"]
    with db.batch() as batch:
        batch[make(b"other")] = value
    assert [*db.range(make(b"k"), make(b"o"))] == [(b"key", b"value")]
    assert [*db.prefix(make(b"o")).values()] == [b"value"]
    del db[key]
    db.delete(make(b"other"))
    assert not db


def test_a_view_that_is_not_contiguous_is_copied(db: cairndb.Database) -> None:
    db[memoryview(b"a.b.c.")[::2]] = memoryview(bytearray(b"1-2-3-"))[::2]
    assert dict(db) == {b"abc": b"123"}


def test_views_of_values(db: cairndb.Database) -> None:
    sizes = [0, 1, 119, 120, 5000, 100_000, 3 << 20]
    noise = random.Random(7)
    values = {struct.pack(">I", size): noise.randbytes(size) for size in sizes}
    for key, value in values.items():
        db[key] = value
    for again in range(2):
        for key, value in values.items():
            view = db.get_view(key)
            assert isinstance(view, memoryview) and view.readonly
            assert view == value and view.nbytes == len(value), (again, len(value))
            assert db[key] == value
            assert view[1:5].tobytes() == value[1:5]
        db.flush()
    assert db.get_view(b"absent") is None
    assert db.get_view(b"absent", 7) == 7
    kept = [db.get_view(key)[-10:] for key in values]  # type: ignore[index]
    db.clear()
    db.close()
    assert [bytes(view) for view in kept] == [value[-10:] for value in values.values()]


def test_a_view_of_a_mapped_value_is_not_a_copy(db: cairndb.Database) -> None:
    size = 64 << 20
    db[b"k"] = os.urandom(size)
    db.flush()
    before = _memory()
    views = [db.get_view(b"k") for _ in range(20)]
    assert _memory() - before < size
    assert all(view is not None and len(view) == size for view in views)


def _memory() -> int:
    """Return the bytes of anonymous memory of this process."""
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["RssAnon"].split()[0]) << 10


def test_multi_get(db: cairndb.Database) -> None:
    db.update({b"a": b"1", b"c": b"3"})
    assert db.multi_get([b"a", b"b", b"c"]) == [b"1", None, b"3"]
    assert db.multi_get((key for key in (b"b", b"a")), b"-") == [b"-", b"1"]
    assert db.multi_get([]) == []
    with pytest.raises(TypeError):
        db.multi_get([b"a", "b"])  # type: ignore[list-item]


def test_update_is_one_batch(db: cairndb.Database) -> None:
    class Keyed:
        def keys(self) -> list[bytes]:
            return [b"k"]

        def __getitem__(self, key: bytes) -> bytes:
            return key * 2

    db.update({b"a": b"1"})
    db.update([(b"b", b"2"), [b"c", b"3"]])  # type: ignore[list-item]
    db.update((key, value) for key, value in [(b"d", b"4")])
    db.update(Keyed())  # type: ignore[arg-type]
    assert [*db.items()] == [(b"a", b"1"), (b"b", b"2"), (b"c", b"3"), (b"d", b"4"), (b"k", b"kk")]
    with pytest.raises(TypeError):
        db.update([(b"x", b"1"), (b"y", 2)])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="pair"):
        db.update([(b"x", b"1"), (b"y",)])  # type: ignore[list-item]
    assert b"x" not in db
    with cairndb.open(db.path + "2") as other:
        other.update(db)
        assert other == db and other == dict(db)
        other[b"a"] = b"-"
        assert other != db
        del other[b"a"]
        assert other != db and db != other
    assert db != 1


def test_batches(db: cairndb.Database) -> None:
    db[b"old"] = b"1"
    with db.batch(durability="sync") as batch:
        batch[b"a"] = b"1"
        batch.put(b"b", b"2")
        del batch[b"old"]
        batch.delete(b"absent")
        assert len(batch) == 4 and batch.byte_len > 0
        assert b"a" not in db
    assert [*db] == [b"a", b"b"]
    assert len(batch) == 0
    with pytest.raises(RuntimeError, match="mine"), db.batch() as batch:
        batch[b"c"] = b"3"
        raise RuntimeError("mine")
    assert b"c" not in db
    batch = db.batch()
    batch.update({b"d": b"4"})
    batch.clear()
    batch.write()
    assert b"d" not in db


def test_durability_of_a_write(db: cairndb.Database, path: str) -> None:
    for durability in ("none", "os", "sync"):
        db.put(durability.encode(), b"1", durability=durability)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="durability is"):
        db.put(b"k", b"v", durability="fsync")  # type: ignore[arg-type]
    db.sync()
    db.flush()
    assert len(db) == 3


def test_merge(path: str) -> None:
    with cairndb.open(path, merge_operator="add") as db:
        for _ in range(10):
            db.merge(b"visits", (3).to_bytes(8, "little"))
        with db.batch() as batch:
            batch.merge(b"visits", b"\1")
        assert int.from_bytes(db[b"visits"], "little") == 31
        with pytest.raises(ValueError):
            db.merge(b"visits", b"more than 8 bytes")
    with pytest.raises(ValueError, match="merge operator"):
        cairndb.open(path, merge_operator="append")


def test_a_merge_operator_in_python(path: str) -> None:
    def longest(key: bytes, value: Any, operands: list[bytes]) -> bytes:
        if b"bad" in operands:
            raise LookupError("no such word")
        return max([value or b"", *operands], key=len)

    with cairndb.open(path, merge_operator=("longest", longest), memory=256 << 10) as db:
        for number in range(3000):
            db.merge(b"key%d" % (number % 7), b"x" * (number % 100))
        assert db[b"key1"] == b"x" * 99
        db.flush()
        db.compact()
        assert {len(value) for value in db.values()} == {99}
        db.merge(b"key1", b"bad")
        with pytest.raises(ValueError, match="LookupError: no such word"):
            db[b"key1"]
        assert db[b"key2"] == b"x" * 99


def test_comparators(path: str) -> None:
    def case_insensitive(a: bytes, b: bytes) -> int:
        return (a.lower() > b.lower()) - (a.lower() < b.lower())

    order = ("case-insensitive", case_insensitive)
    with cairndb.open(path, comparator=order, memory=256 << 10) as db:
        for number in range(500):
            db[b"%s%d" % (b"aB"[number % 2 : number % 2 + 1], number)] = bytes(100)
        db[b"AA"] = b"1"
        assert db[b"aa"] == b"1"
        keys = [*db]
        assert keys == sorted(keys, key=bytes.lower)
        assert [*db.prefix(b"AA").keys()] == [b"AA"]
        db.compact()
        assert [*reversed(db)] == keys[::-1]
    with pytest.raises(ValueError, match="comparator"):
        cairndb.open(path)
    assert cairndb.verify(path, comparator=order)["entries"] == 501
    with cairndb.open(path + "r", comparator="reverse") as db:
        db.update({b"a": b"", b"b": b"", b"c": b""})
        assert [*db] == [b"c", b"b", b"a"]
        assert [*db.range(b"c", b"a").keys()] == [b"c", b"b"]
    for wrong in ("backwards", 7, ("name", 7)):
        with pytest.raises((ValueError, TypeError), match="comparator"):
            cairndb.open(path + "w", comparator=wrong)  # type: ignore[arg-type]


def test_a_comparator_returns_any_number(path: str) -> None:
    def by_size(a: bytes, b: bytes) -> int:
        return int.from_bytes(a, "little") - int.from_bytes(b, "little")

    def halves(a: bytes, b: bytes) -> float:
        return by_size(a, b) / 2

    numbers = [1 << 120, 256, 2, 0, 1]
    for function in (by_size, halves):
        order: Any = ("by size", function)
        with cairndb.open(path, "n", comparator=order) as db:
            db.update({number.to_bytes(16, "little"): b"" for number in numbers})
            assert [int.from_bytes(key, "little") for key in db] == sorted(numbers)


def test_snapshots(db: cairndb.Database) -> None:
    db[b"k"] = b"old"
    with db.snapshot() as before:
        db[b"k"] = b"new"
        db[b"l"] = b"1"
        assert before[b"k"] == b"old" and b"l" not in before
        assert dict(before) == {b"k": b"old"} and len(before) == 1 and before
        assert before.multi_get([b"l", b"k"]) == [None, b"old"]
        assert bytes(before.get_view(b"k") or b"") == b"old"
        assert [*before.prefix(b"k")] == [(b"k", b"old")]
        entries = iter(before.items())
    assert before.closed
    with pytest.raises(ValueError, match="snapshot was closed"):
        before[b"k"]
    before.close()
    assert [*entries] == [(b"k", b"old")]


def test_whole_database_operations(db: cairndb.Database, tmp_path: Path) -> None:
    db.update({b"%06d" % number: bytes(100) for number in range(10_000)})
    db.flush()
    assert db.approximate_size(b"0", b"1") > 0
    db.compact()
    db.compact(b"000100", b"000200")
    copied = str(tmp_path / "copy")
    db.checkpoint(copied)
    with cairndb.open(copied, "r") as other:
        assert other == db
    assert cairndb.verify(copied)["entries"] == 10_000
    stats = db.stats()
    assert stats["memory"]["budget"] == 64 << 20
    assert db.property("leveldb.stats") and db.property("no.such.property") is None
    assert db.open_report()["created"] is True
    db.clear()
    assert len(db) == 0 and not db


def test_verify_counts_entries_apart_from_stored_versions(path: str) -> None:
    for value in (b"1", b"2", b"3", b"4"):
        with cairndb.open(path) as db:
            db[b"key"] = value
    report = cairndb.verify(path)
    assert (report["entries"], report["versions"], report["log_versions"]) == (1, 4, 0)


def test_repair(path: str) -> None:
    with cairndb.open(path) as db:
        db.update({b"%04d" % number: bytes(50) for number in range(1000)})
    tables = [name for name in os.listdir(path) if name.endswith(".tbl")]
    with open(os.path.join(path, tables[0]), "r+b") as file:
        file.seek(100)
        file.write(b"damage")
    with pytest.raises(cairndb.CorruptionError) as caught:
        cairndb.verify(path)
    assert caught.value.file == tables[0] and caught.value.offset is not None
    assert isinstance(caught.value, OSError)
    dry = cairndb.repair(path, path + "2", dry_run=True)
    assert not dry.complete and dry.details["lost"] and not os.path.exists(path + "2")
    report = cairndb.repair(path, path + "2")
    assert str(report) == report.text and tables[0] in report.text
    with cairndb.open(path + "2") as db:
        assert len(db) < 1000


#: Calls that may take long, with the path of a database and a new one.
LONG_CALLS: list[Callable[..., Any]] = [
    lambda path, new, **how: cairndb.verify(path, **how),
    lambda path, new, **how: cairndb.repair(path, new, **how),
    lambda path, new, **how: reopened(path, **how),
    lambda path, new, **how: opened(path, lambda db: db.compact(**how)),
    lambda path, new, **how: opened(path, lambda db: db.compact(b"0", b"1", **how)),
    lambda path, new, **how: opened(path, lambda db: db.fork(new, **how)),
    lambda path, new, **how: opened(path, lambda db: db.checkpoint(new, **how)),
]


def opened(path: str, call: Callable[[cairndb.Database], None]) -> None:
    with cairndb.open(path) as db:
        db[b"0"] = b"new"
        call(db)


def reopened(path: str, **how: Any) -> None:
    """Open a database whose process has ended without a close, so that its log is replayed."""
    program = """if True:
        import cairndb, os, sys
        db = cairndb.open(sys.argv[1])
        db.update({b"%06d" % number: bytes(100) for number in range(5_000)})
        os._exit(0)
        """
    subprocess.run([sys.executable, "-c", program, path], check=True)
    cairndb.open(path, **how).close()


def fill(path: str) -> None:
    with cairndb.open(path) as db:
        for _ in range(2):
            db.update({b"%06d" % number: bytes(100) for number in range(5_000)})
            db.flush()


@pytest.mark.parametrize("call", LONG_CALLS)
def test_long_calls_report_progress_and_can_be_stopped(path: str, call: Callable[..., Any]) -> None:
    fill(path)
    new = path + ".new"

    def interrupt(done: int, total: int) -> None:
        signal.raise_signal(signal.SIGINT)

    def refuse(done: int, total: int) -> None:
        raise LookupError("enough")

    with pytest.raises(KeyboardInterrupt):
        call(path, new, progress=interrupt)
    with pytest.raises(LookupError, match="enough"):
        call(path, new, progress=refuse)
    assert not os.path.exists(new)
    with pytest.raises(TypeError, match="progress is a function of two numbers"):
        call(path, new, progress=7)
    seen: list[tuple[int, int]] = []
    call(path, new, progress=lambda done, total: seen.append((done, total)))
    assert len(seen) >= 2 and seen == sorted(seen)
    # Of the others, a compaction may find the work done, and a checkpoint links files.
    assert seen[-1][0] > 0 or call not in LONG_CALLS[:3]
    with cairndb.open(path) as db:
        assert len(db.range(b"000000")) == 5_000


def test_long_calls_notice_signals(
    path: str, tmp_path: Path, interrupted: Callable[..., bool]
) -> None:
    fill(path)
    new = str(tmp_path / "new")

    def target() -> str:
        shutil.rmtree(new, ignore_errors=True)
        return new

    # Without the functions around it that are written in Python.
    from cairndb import _cairndb

    assert interrupted(_cairndb.verify, lambda: (path,))
    assert interrupted(_cairndb.repair, lambda: (path, target()))
    assert not os.path.exists(new)
    with cairndb.open(path) as db:

        def write(*arguments: Any) -> tuple[Any, ...]:
            db[b"0"] = b"new"
            return arguments

        assert interrupted(db.compact, write)
        assert interrupted(db.flush, write)
        assert interrupted(db.checkpoint, lambda: write(target()))
        assert not os.path.exists(new)
        assert len(db) == 5_001
        db.checkpoint(new)
    assert cairndb.verify(new)["entries"] == 5_001


def test_what_progress_calls_may_use_the_database(db: cairndb.Database) -> None:
    db.update({b"%06d" % number: bytes(100) for number in range(5_000)})
    found: list[int] = []

    def look(done: int, total: int) -> None:
        found.append(len(db))
        cairndb.destroy(db.path + ".none")
        db.put(b"%06d" % len(found), b"new")

    db.compact(progress=look)
    assert found and set(found) == {5_000}


def test_it_cannot_be_copied_or_pickled(db: cairndb.Database) -> None:
    for make in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a database cannot be"):
            make(db)


def test_against_a_dictionary(path: str) -> None:
    seed = int(os.environ.get("CAIRN_SEED", "0")) or random.SystemRandom().randrange(2**32)
    print(f"CAIRN_SEED={seed}")
    choose = random.Random(seed)
    model: dict[bytes, bytes] = {}
    db = cairndb.open(path, memory=256 << 10)
    keys = [b"%d" % choose.randrange(10**6) for _ in range(300)]
    for _ in range(int(os.environ.get("CAIRN_PYTHON_OPS", "20000"))):
        key = choose.choice(keys)
        action = choose.randrange(40)
        if action < 15:
            value = choose.randbytes(choose.choice([0, 10, 100, 1000, 9000]))
            db[key] = model[key] = value
        elif action < 22:
            assert model.pop(key, None) == db.pop(key, None)
        elif action < 35:
            assert model.get(key) == db.get(key)
            assert (key in model) == (key in db)
        elif action == 35:
            entries = {choose.choice(keys): choose.randbytes(20) for _ in range(20)}
            model.update(entries)
            db.update(entries)
        elif action == 36:
            low, high = sorted((key, choose.choice(keys)))
            expected = sorted(entry for entry in model.items() if low <= entry[0] < high)
            limit = choose.choice([None, 3])
            assert [*db.range(low, high, limit=limit)] == expected[:limit]
            assert [*db.range(low, high, limit=limit, reverse=True)] == expected[::-1][:limit]
        elif action == 37:
            prefix = key[: choose.randrange(4)]
            expected = sorted(entry for entry in model.items() if entry[0].startswith(prefix))
            assert [*db.prefix(prefix)] == expected
            assert [*db.prefix(prefix, reverse=True).keys()] == [k for k, _ in expected[::-1]]
            assert len(db.prefix(prefix)) == len(expected)
        elif action == 38:
            assert len(db) == len(model)
            assert [*db.values()] == [value for _, value in sorted(model.items())]
        elif choose.randrange(20) == 0:
            db.close()
            db = cairndb.open(path, memory=256 << 10)
    assert db == model
    db.close()
