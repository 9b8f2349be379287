"""plyvel's interface: beside the real plyvel, and on LevelDB's directories.

The real one is in the folder that CAIRN_REAL_PLYVEL names, which `make python` fills.
"""

from __future__ import annotations

import array
import ctypes
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

import cairndb

plyvel = pytest.importorskip("plyvel", reason="plyvel over CairnDB is not installed")
if "cairndb" not in plyvel.DB.__mro__[0].__init__.__module__:
    pytest.skip("the real plyvel is installed", allow_module_level=True)

REAL = os.environ.get("CAIRN_REAL_PLYVEL")
needs_real = pytest.mark.skipif(REAL is None, reason="CAIRN_REAL_PLYVEL is not set")
TRACE = Path(__file__).parent / "plyvel_trace.py"


def real(*arguments: str) -> str:
    """Run a program, or the code after "-c", with the real plyvel."""
    assert REAL is not None
    done = subprocess.run(
        [sys.executable, "-B", *arguments],
        env={**os.environ, "PYTHONPATH": REAL},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def ours(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-B", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FILL = """
import sys, plyvel
assert "cairndb" not in sys.modules
with plyvel.DB(sys.argv[1], create_if_missing=True, **eval(sys.argv[2])) as db:
    for number in range(20_000):
        db.put(b"%06d" % (number * 7919 % 20_000), b"value %d" % number)
    for number in range(0, 20_000, 3):
        db.delete(b"%06d" % number)
"""


@needs_real
def test_the_same_calls_give_the_same_results(tmp_path: Path) -> None:
    seed = int(os.environ.get("CAIRN_SEED", "0")) or random.SystemRandom().randrange(2**32)
    print(f"CAIRN_SEED={seed}")
    arguments = [str(TRACE), "", str(seed), "150"]
    arguments[1] = str(tmp_path / "leveldb")
    expected = real(*arguments).splitlines()
    arguments[1] = str(tmp_path / "cairndb")
    found = ours(*arguments).splitlines()
    assert len(expected) > 1000
    turn = ""
    for expected_line, found_line in zip(expected, found):
        turn = expected_line if expected_line.startswith("turn") else turn
        # plyvel's own mistake: a key that is shorter than the prefix of a prefixed database.
        if "SystemError" not in expected_line:
            assert found_line == expected_line, turn
    assert len(found) == len(expected)


@needs_real
def test_a_leveldb_directory_is_converted(tmp_path: Path) -> None:
    path = str(tmp_path / "db")
    real("-c", FILL, path, "{}")
    expected = {b"%06d" % n for n in range(20_000) if n % 3}
    with plyvel.DB(path) as db:
        assert {key for key, _ in db} == expected
        db.put(b"new", b"1")
    assert os.path.isdir(os.path.join(path, "leveldb-original"))
    with cairndb.open(path, "r") as found:
        assert len(found) == len(expected) + 1
    # The real one refuses what was converted, and changes nothing.
    refused = """
import sys, plyvel
try:
    plyvel.DB(sys.argv[1], create_if_missing=eval(sys.argv[2]))
except plyvel.Error as error:
    print(type(error).__name__)
"""
    for create in ("False", "True"):
        assert real("-c", refused, path, create).strip() in ("CorruptionError", "Error", "IOError")
    with plyvel.DB(path) as db:
        assert db.get(b"new") == b"1"
    plyvel.destroy_db(path)
    assert not os.path.exists(path)


@needs_real
def test_cairndb_converts_on_request_only(tmp_path: Path) -> None:
    path = str(tmp_path / "db")
    real("-c", FILL, path, "{'compression': None}")
    with pytest.raises(
        cairndb.InvalidArgumentError, match="with the argument 'upgrade_leveldb' to"
    ):
        cairndb.open(path)
    with cairndb.open(path, upgrade_leveldb=True) as db:
        assert db[b"000001"] and b"000003" not in db
    assert cairndb.upgrade_leveldb(path)["converted"] is False
    other = str(tmp_path / "other")
    real("-c", FILL, other, "{}")
    report = cairndb.repair(other, other + ".repaired")
    assert report.details["kept"]["keys"] == 13_333
    assert cairndb.upgrade_leveldb(other)["entries"] == 13_333
    cut = tmp_path / "cut"
    real("-c", FILL, str(cut), "{}")
    for log in cut.glob("*.log"):
        log.unlink()
    with pytest.raises(cairndb.CorruptionError, match="every write in it is lost"):
        cairndb.upgrade_leveldb(str(cut))
    with pytest.raises(cairndb.CorruptionError, match="upgrade_without_log"):
        cairndb.open(str(cut), upgrade_leveldb=True)
    with cairndb.open(str(cut), upgrade_leveldb=True, upgrade_without_log=True) as db:
        assert len(db) < 13_333


@needs_real
def test_a_conversion_can_be_stopped(tmp_path: Path) -> None:
    path = str(tmp_path / "db")
    real("-c", FILL, path, "{}")

    def refuse(done: int, total: int) -> None:
        raise LookupError("enough")

    calls: list[Callable[..., Any]] = [
        cairndb.upgrade_leveldb,
        lambda path, **how: cairndb.open(path, upgrade_leveldb=True, **how).close(),
    ]
    for call in calls:
        with pytest.raises(LookupError, match="enough"):
            call(path, progress=refuse)
    seen: list[tuple[int, int]] = []
    report = cairndb.upgrade_leveldb(path, progress=lambda *now: seen.append(now))
    assert report["entries"] == 13_333 and report["converted"]
    assert len(seen) >= 2 and seen == sorted(seen) and seen[-1][0] > 0


def test_a_value_may_be_any_buffer(tmp_path: Path) -> None:
    """As in plyvel, which does not ask what the items of a buffer are."""
    numbers = array.array("q", [7, 8])
    with plyvel.DB(str(tmp_path / "db"), create_if_missing=True) as db:
        db.put(b"a", numbers)
        db.prefixed_db(b"p").put(b"b", numbers, sync=True)
        with db.write_batch() as batch:
            batch.put(b"c", ctypes.c_int64(7))
        expected = [bytes(numbers), bytes(ctypes.c_int64(7)), bytes(numbers)]
        assert [*db.iterator(include_key=False)] == expected
        for wrong in ("text", 7, None):
            with pytest.raises(TypeError):
                db.put(b"k", wrong)


def test_iterators_notice_signals(tmp_path: Path, interrupted: Callable[..., bool]) -> None:
    db = plyvel.DB(str(tmp_path / "db"), create_if_missing=True)
    with db.write_batch() as batch:
        for number in range(5_000):
            batch.put(b"%06d" % number, b"")
    taken: list[bytes] = []

    def again() -> tuple[list[bytes], Any]:
        nonlocal entries
        taken.clear()
        entries = db.iterator(include_value=False)
        return taken, entries

    entries = db.iterator()
    for reverse in (False, True):
        assert interrupted(list, lambda reverse=reverse: (db.iterator(reverse=reverse),))
    assert interrupted(list.extend, again, lambda: 0 < len(taken) < 5_000)
    assert [*taken, *entries] == [*db.iterator(include_value=False)]
    db.close()


@needs_real
def test_a_database_that_is_open_elsewhere(tmp_path: Path) -> None:
    path = str(tmp_path / "db")
    real("-c", FILL, path, "{}")
    assert REAL is not None
    holder = subprocess.Popen(
        [
            *(sys.executable, "-B", "-c"),
            "import sys, plyvel\ndb = plyvel.DB(sys.argv[1])\nprint('open', flush=True)\ninput()",
            path,
        ],
        env={**os.environ, "PYTHONPATH": REAL},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "open\n"
    with pytest.raises(plyvel.IOError, match="locked"):
        plyvel.DB(path)
    with pytest.raises(cairndb.LockedError):
        cairndb.open(path, upgrade_leveldb=True)
    holder.communicate("\n")
    refused = """
import sys, plyvel
try:
    plyvel.DB(sys.argv[1])
except plyvel.IOError as error:
    print("IOError", "lock" in str(error).lower())
"""
    with plyvel.DB(path) as db:
        assert real("-c", refused, path) == "IOError True\n"
        with pytest.raises(plyvel.IOError):
            plyvel.destroy_db(path)
        assert db.get(b"000001")


@needs_real
def test_destroy_removes_a_leveldb_directory(tmp_path: Path) -> None:
    path = str(tmp_path / "db")
    real("-c", FILL, path, "{}")
    plyvel.destroy_db(path)
    assert not os.path.exists(path)
    plyvel.destroy_db(path)
    real("-c", FILL, path, "{}")
    (tmp_path / "db" / "notes.txt").write_text("mine")
    plyvel.destroy_db(path)
    assert os.listdir(path) == ["notes.txt"]
    with pytest.raises(plyvel.Error):
        plyvel.destroy_db(path)
    assert os.listdir(path) == ["notes.txt"]


def test_a_repair_keeps_the_damaged_directory(tmp_path: Path) -> None:
    path = str(tmp_path / "db")
    for number in (1, 2):
        with plyvel.DB(path, create_if_missing=True) as db:
            db.put(b"k", b"%d" % number)
        plyvel.repair_db(path)
        assert os.path.isdir(f"{path}.damaged-{number}")
    with plyvel.DB(path) as db:
        assert db.get(b"k") == b"2"
    with pytest.raises(plyvel.Error):
        plyvel.repair_db(str(tmp_path / "none"))


def test_names(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path / "db")
    db = plyvel.DB(path, create_if_missing=True)
    assert db.name == path and "<plyvel.DB with name" in repr(db)
    assert issubclass(plyvel.IOError, OSError) and issubclass(plyvel.IOError, plyvel.Error)
    assert plyvel.DB.__module__ == plyvel.Error.__module__ == "plyvel._plyvel"
    assert "PrefixedDB with prefix b'a'" in repr(db.prefixed_db(b"a"))
    assert plyvel.__version__.startswith("1.5")
    names = {name for name in dir(plyvel._plyvel) if not name.startswith("_")}
    assert {"DB", "PrefixedDB", "WriteBatch", "Snapshot", "Iterator", "RawIterator"} <= names
    db.close()
    assert "(closed)" in repr(db)
    db.close()


def test_a_close_under_iterators_of_other_threads(tmp_path: Path) -> None:
    """What makes the real plyvel crash, according to its own tests."""
    import threading

    db = plyvel.DB(str(tmp_path / "db"), create_if_missing=True)
    for number in range(5000):
        db.put(b"%05d" % number, bytes(100))
    started = threading.Barrier(5)
    ends: list[str] = []

    def read() -> None:
        started.wait()
        try:
            while True:
                for _ in db.iterator(reverse=True):
                    pass
        except RuntimeError as error:
            ends.append(str(error))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    started.wait()
    db.close()
    for thread in threads:
        thread.join()
    assert len(ends) == 4 and all("closed" in end for end in ends)


COLLECTED = """
import faulthandler, gc, sys
import plyvel

faulthandler.dump_traceback_later(60, exit=True)
db = plyvel.DB(sys.argv[1], create_if_missing=True)
for number in range(100):
    db.put(b"%d" % number, b"")


class Cycle:
    def __init__(self, call):
        self.call, self.itself = call, self

    def __del__(self):
        self.call()


def collected(call, steps):
    \"""Make steps until a garbage collection has called `call`.\"""
    calls = []

    def counted():
        calls.append(1)
        call()

    gc.collect()
    gc.set_threshold(1)
    try:
        kept = []
        for _ in range(50):
            Cycle(counted)
            kept.append(steps())
            if calls:
                return
        raise AssertionError("no garbage was collected")
    finally:
        gc.set_threshold(700)
        gc.collect()


for reverse in (False, True):
    entries = db.iterator(reverse=reverse)
    collected(lambda: entries.seek(b"5"), lambda: next(entries))

raw = db.raw_iterator()


def invalid():
    try:
        raw.key()
    except plyvel._plyvel.IteratorInvalidError as error:
        return error


collected(raw.valid, invalid)
batch = db._db.batch()
writes = {b"%d" % number: bytearray(b"value") for number in range(100)}
collected(batch.__len__, lambda: batch.update(writes))
assert len(batch) >= 100
"""


def test_a_finaliser_uses_what_a_step_uses(tmp_path: Path) -> None:
    """Up to Python 3.11, making an object may start a garbage collection."""
    ours("-c", COLLECTED, str(tmp_path / "db"))
