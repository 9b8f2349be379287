"""Bad input: the exception that a Python user expects, with the store's message."""

from __future__ import annotations

import array
import ctypes
import errno
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

import cairndb

WRONG_KEYS: list[Callable[[cairndb.Database, Any], Any]] = [
    lambda db, key: db[key],
    lambda db, key: db.get(key),
    lambda db, key: db.get_view(key),
    lambda db, key: key in db,
    lambda db, key: db.put(key, b""),
    lambda db, key: db.put(b"", key),
    lambda db, key: db.delete(key),
    lambda db, key: db.pop(key, None),
    lambda db, key: db.update({key: b""}),
    lambda db, key: db.update([(b"", key)]),
    lambda db, key: db.multi_get([key]),
    lambda db, key: db.batch().put(key, b""),
    lambda db, key: next(iter(db.prefix(key))),
    lambda db, key: next(iter(db.range(key))),
    lambda db, key: len(db.range(stop=key)),
    lambda db, key: db.compact(key, None),
]


@pytest.mark.parametrize("call", WRONG_KEYS)
def test_keys_and_values_are_bytes(
    db: cairndb.Database, call: Callable[[cairndb.Database, Any], Any]
) -> None:
    with pytest.raises(TypeError, match=r"not 'str': pass text\.encode\(\)"):
        call(db, "text")
    with pytest.raises(TypeError, match=r"not 'int': pass number\.to_bytes"):
        call(db, 7)


def test_numbers_and_wide_items_are_not_bytes(db: cairndb.Database) -> None:
    """A machine's numbers sort by nothing useful, so a program has to say how it writes them."""

    class Number:
        """As an integer of numpy: a buffer without dimensions, which an index may be."""

        def __index__(self) -> int:
            return 7

    wide = r"not single bytes: pass memoryview\(data\)\.tobytes\(\)"
    wrong: list[tuple[Any, str]] = [
        (Number(), r"not 'Number': pass int\(number\)\.to_bytes"),
        (True, r"not 'bool': pass number\.to_bytes"),
        (array.array("i", [1, 2]), f"not 'array' whose items are {wide}"),
        (memoryview(bytes(8)).cast("q"), wide),
        (ctypes.c_uint8(7), wide),
        (ctypes.c_int64(7), wide),
        ([b"k"], r"not 'list'(\n|$)"),
    ]
    try:
        import numpy
    except ImportError:
        pass
    else:
        for number in (numpy.int64(7), numpy.uint8(7), numpy.array(7)):
            wrong.append((number, r"pass int\(number\)\.to_bytes"))
        wrong.append((numpy.array([1, 2]), wide))
        day = numpy.datetime64("2026-11-29")
        for scalar in (numpy.float32(7), numpy.float64(7), numpy.bool_(1), day):
            wrong.append((scalar, r"pass struct\.pack\("))
        db[numpy.array([107], numpy.uint8)] = numpy.bytes_(b"v")
        assert db.pop(b"k") == b"v"
    for value, message in wrong:
        for call in (db.get, db.delete, db.prefix, lambda value: db.put(b"", value)):
            with pytest.raises(TypeError, match=message):
                call(value)
    for right in (bytearray(b"k"), memoryview(b"_k_")[1:2], array.array("b", b"k")):
        db[right] = right
        assert db[b"k"] == b"k"
        db.clear()
    for grid in (memoryview(b"abcd").cast("B", [2, 2]), (ctypes.c_char * 4)(*b"abcd")):
        assert db.get(grid) is None


def test_a_slice_is_not_a_key(db: cairndb.Database) -> None:
    with pytest.raises(TypeError, match=r"range\(start, stop\) returns the entries"):
        db[b"a":b"b"]  # type: ignore[misc, index]


def test_messages_name_public_classes(db: cairndb.Database) -> None:
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: db.get(), r"^Reader\.get\(\) missing"),  # type: ignore[call-overload]
        (lambda: db.put(b"k"), r"^Keyspace\.put\(\) missing"),  # type: ignore[call-arg]
        (lambda: db.snapshot().close(1), r"Snapshot\.close\(\)"),  # type: ignore[call-arg]
        (lambda: db.transaction().put(), r"^Transaction\.put\(\) missing"),  # type: ignore[call-arg]
    ]
    for call, message in calls:
        with pytest.raises(TypeError, match=message):
            call()


def test_messages_name_settings_as_python_does(db: cairndb.Database, path: str) -> None:
    with pytest.raises(cairndb.InvalidArgumentError, match="with the argument 'merge_operator'"):
        db.merge(b"k", b"v")


def test_keyword_arguments_of_update(db: cairndb.Database) -> None:
    with pytest.raises(TypeError, match="encode"):
        db.update(key=b"value")


CLOSED_CALLS: list[Callable[[cairndb.Database], Any]] = [
    lambda db: db[b"k"],
    lambda db: db.get(b"k"),
    lambda db: db.get_view(b"k"),
    lambda db: db.multi_get([b"k"]),
    lambda db: b"k" in db,
    lambda db: bool(db),
    lambda db: len(db),
    lambda db: [*db],
    lambda db: [*db.items()],
    lambda db: [*db.prefix(b"k")],
    lambda db: db == {},
    lambda db: db.__setitem__(b"k", b"v"),
    lambda db: db.__delitem__(b"k"),
    lambda db: db.put(b"k", b"v"),
    lambda db: db.merge(b"k", b"v"),
    lambda db: db.update({b"k": b"v"}),
    lambda db: db.batch(),
    lambda db: db.snapshot(),
    lambda db: db.flush(),
    lambda db: db.compact(),
    lambda db: db.fork("/nowhere"),
    lambda db: db.changes(),
    lambda db: db.snapshot_and_changes(),
    lambda db: db.place(),
    lambda db: db.leases(),
    lambda db: db.drop_lease("index"),
    lambda db: db.checkpoint("/nowhere"),
    lambda db: db.stats(),
]


@pytest.mark.parametrize("call", CLOSED_CALLS)
def test_a_closed_database(path: str, call: Callable[[cairndb.Database], Any]) -> None:
    db = cairndb.open(path)
    db.close()
    assert db.closed and "(closed)" in repr(db)
    with pytest.raises(ValueError, match="closed") as caught:
        call(db)
    assert isinstance(caught.value, cairndb.ClosedError)
    # Closing has made everything durable.
    db.sync()
    db.close()


def test_a_batch_and_a_snapshot_of_a_closed_database(db: cairndb.Database) -> None:
    batch, snapshot = db.batch(), db.snapshot()
    batch[b"k"] = b"v"
    db.close()
    for call in (batch.write, lambda: batch.put(b"k", b"v"), lambda: snapshot[b"k"]):
        with pytest.raises(cairndb.ClosedError):
            call()
    assert snapshot.closed
    snapshot.close()
    assert repr(batch) and repr(snapshot)


def test_a_value_that_is_too_large(db: cairndb.Database) -> None:
    key = bytes((64 << 20) + 1)
    for call in (lambda: db.put(key, b""), lambda: db.__setitem__(key, b"")):
        with pytest.raises(ValueError, match="invalid argument: the key is longer than 64 MiB"):
            call()
    batch = db.batch()
    batch.put(key, b"")
    with pytest.raises(ValueError, match="key is too large"):
        batch.write()
    assert not db


@pytest.mark.skipif(sys.maxsize < 2**33, reason="a value of 1 GiB does not fit")
def test_a_value_of_more_than_a_gibibyte(db: cairndb.Database, tmp_path: Path) -> None:
    import mmap

    # Zeros of a mapping: no memory is taken until the store copies them, which it does not.
    value = memoryview(mmap.mmap(-1, (1 << 30) + 1))
    with pytest.raises(ValueError, match="longer than 1 GiB"):
        db[b"k"] = value
    assert not db


def test_paths_that_hold_no_database(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"text")
    with pytest.raises(NotADirectoryError, match="not a directory") as caught:
        cairndb.open(file)
    assert caught.value.errno == errno.ENOTDIR and isinstance(caught.value, cairndb.IoError)
    with pytest.raises(FileNotFoundError, match="parent directory") as missing:
        cairndb.open(tmp_path / "a" / "b")
    assert missing.value.errno == errno.ENOENT
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "notes.txt").write_text("mine")
    for flag in ("c", "n"):
        with pytest.raises(ValueError):
            cairndb.open(foreign, flag)
    assert os.listdir(foreign) == ["notes.txt"]
    with pytest.raises(ValueError, match="null"):
        cairndb.open("a\0b")
    with pytest.raises(TypeError):
        cairndb.open(7)  # type: ignore[arg-type]


def test_a_locked_database(db: cairndb.Database, script: Callable[..., str]) -> None:
    for flag in ("c", "w", "r", "n"):
        with pytest.raises(OSError, match="already has the database open") as caught:
            cairndb.open(db.path, flag)
        assert isinstance(caught.value, cairndb.LockedError)
        assert caught.value.errno == errno.EAGAIN
    with pytest.raises(cairndb.LockedError):
        cairndb.destroy(db.path)
    told = script(
        """
        import sys, cairndb
        try:
            cairndb.open(sys.argv[1])
        except OSError as error:
            print(type(error).__name__, error)
        """,
        db.path,
    )
    assert told.startswith(f"LockedError locked: process {os.getpid()} has the database open")


def test_a_directory_without_permission(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError) as caught:
            cairndb.open(tmp_path / "db")
        assert isinstance(caught.value, cairndb.Error)
    finally:
        tmp_path.chmod(0o700)


def test_damage(path: str) -> None:
    with cairndb.open(path) as db:
        db[b"k"] = b"v"
    for name in os.listdir(path):
        if name.startswith("MANIFEST"):
            with open(os.path.join(path, name), "r+b") as file:
                file.seek(20)
                file.write(b"\xff" * 20)
    with pytest.raises(cairndb.CorruptionError) as caught:
        cairndb.open(path)
    assert isinstance(caught.value, OSError) and caught.value.file is not None


def test_a_full_disk(tmp_path: Path, script: Callable[..., str]) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no limit of the file size here")
    told = script(
        """
        import resource, signal, sys, cairndb
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        db = cairndb.open(sys.argv[1], memory=256 << 10)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
        try:
            for number in range(10_000):
                db[b"%d" % number] = bytes(10_000)
        except OSError as error:
            print(isinstance(error, cairndb.Error), error.errno is not None)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        """,
        str(tmp_path / "limited"),
    )
    assert told == "True True\n"


def test_settings_out_of_range(path: str) -> None:
    wrong: list[dict[str, Any]] = [
        {"memory": 1},
        {"durability": "fsync"},
        {"compression": "snappy"},
        {"recovery": "none"},
        {"filter_bits_per_key": 1000},
    ]
    for settings in wrong:
        with pytest.raises(ValueError):
            cairndb.open(path, **settings)
    for settings in ({"memory": -1}, {"memory": "1"}, {"mapped": "yes"}, {"cache": 1}):
        with pytest.raises((TypeError, OverflowError)):
            cairndb.open(path, **settings)
    assert not os.path.exists(path)


def test_a_comparator_that_raises(path: str, capfd: pytest.CaptureFixture[str]) -> None:
    broken = False

    def compare(a: bytes, b: bytes) -> int:
        if broken:
            raise LookupError("no order")
        return (a > b) - (a < b)

    db = cairndb.open(path, comparator=("breaks", compare))
    db.update({b"a": b"", b"b": b"", b"c": b""})
    broken = True
    with pytest.raises(cairndb.Error, match="no order"):
        db[b"x"] = b""
    broken = False
    with pytest.raises(cairndb.PoisonedError):
        db.close()
    assert "no order" in capfd.readouterr().err
    with cairndb.open(path, comparator=("breaks", compare)) as db:
        # It is not known whether the refused write is on disk.
        assert [*db][:3] == [b"a", b"b", b"c"]


def test_the_text_of_an_error_is_the_store_s(path: str) -> None:
    with pytest.raises(cairndb.Error) as caught:
        cairndb.open(path, "r")
    assert str(caught.value).startswith("not found: ") and path in str(caught.value)
    assert caught.value.file == path
    assert not str(caught.value).startswith("[Errno")
    shutil.rmtree(path, ignore_errors=True)
