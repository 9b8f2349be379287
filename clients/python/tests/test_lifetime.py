"""Close, collection, fork and exit, in any order, with threads."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
import time
import weakref
from typing import Any, Callable

import pytest

import cairndb
from cairndb import _cairndb


def test_collection_closes_a_database(path: str) -> None:
    db = cairndb.open(path)
    db[b"k"] = b"v"
    known = weakref.ref(db)
    before = _cairndb._open_databases()
    del db
    gc.collect()
    assert known() is None and _cairndb._open_databases() == before - 1
    with cairndb.open(path) as db:
        assert db[b"k"] == b"v" and db.open_report()["clean"]


def test_a_database_in_a_cycle_is_collected(path: str) -> None:
    class Holder:
        pass

    holder: Any = Holder()
    holder.db = cairndb.open(path)
    holder.entries = iter(holder.db.items())
    holder.self = holder
    del holder
    gc.collect()
    cairndb.open(path).close()


@pytest.mark.parametrize("order", range(6))
def test_objects_may_go_in_any_order(path: str, order: int) -> None:
    db = cairndb.open(path)
    db.update({b"%d" % number: bytes(1000) for number in range(1000)})
    objects: list[Any] = [db.snapshot(), iter(db.items()), db.batch(), db.get_view(b"1"), db]
    objects.append(iter(objects[0].items()))
    objects.append(db.transaction())
    objects[6][b"own"] = b"write"
    objects.append(iter(objects[6]))
    for iterator in (objects[1], objects[5], objects[7]):
        next(iterator)
    objects[2][b"x"] = b"y"
    if order % 2:
        db.close()
    del db, iterator
    for index in range(len(objects)):
        objects[(index + order) % len(objects)] = None
        gc.collect()
    with cairndb.open(path) as db:
        assert len(db) == 1000


# What a program leaves open when it ends, and how it ends.
LEFT = """
import os, sys, threading, time, atexit, cairndb
path, ending = sys.argv[1:]
def compare(a, b):
    return (a > b) - (a < b)
db = cairndb.open(path, comparator=("python", compare), memory=256 << 10)
db.update({b"%06d" % number: bytes(100) for number in range(5000)})
entries, snapshot, batch = iter(db.items()), db.snapshot(), db.batch()
next(entries)
batch[b"k"] = b"v"
transaction = db.transaction()
transaction[b"k"] = b"v"
seen = iter(transaction)
next(seen)
view = db.get_view(b"000001")
cycle = [db, entries, snapshot, transaction, seen]
cycle.append(cycle)
stop = threading.Event()
def work(number):
    while not stop.is_set():
        try:
            for key in db.range(limit=500):
                pass
            db[b"thread %d" % number] = bytes(1000)
        except cairndb.ClosedError:
            return
daemon = ending in ("daemons", "late")
threads = [threading.Thread(target=work, args=(n,), daemon=daemon) for n in range(4)]
for thread in threads:
    thread.start()
if ending == "exit":
    stop.set()
elif ending == "close":
    db.close()
elif ending == "error":
    stop.set()
    sys.exit(0)
elif ending == "late":
    class Late:
        def __del__(self):
            try:
                db[b"late"] = b"1"
            except Exception:
                pass
    late = Late()
    atexit.register(lambda: db.closed)
print("end")
"""


@pytest.mark.parametrize("ending", ["exit", "close", "error", "daemons", "late"])
def test_the_interpreter_may_exit_with_everything_open(
    path: str, script: Callable[..., str], ending: str
) -> None:
    assert script(LEFT, path, ending).startswith("end") or ending == "error"

    def compare(a: bytes, b: bytes) -> int:
        return (a > b) - (a < b)

    with cairndb.open(path, comparator=("python", compare)) as db:
        assert db.open_report()["clean"] and len(db) >= 5000


#: Daemons that are in a fetch when the interpreter exits: one stands in it, the others step.
EXIT = """
import os, sys, threading, types, cairndb
entered = threading.Event()
def gate(key, value, operands):
    if threading.current_thread().name == "stands":
        entered.set()
        threading.Event().wait()
    return b"".join(operands)
db = cairndb.open(sys.argv[1], merge_operator=("gate", gate))
db.update({b"%06d" % number: bytes(100) for number in range(5000)})
db.merge(b"000100", b"x")
shared, own, stuck = iter(db.items()), db.range(), iter(db.transaction().items())
def step():
    try:
        while True:
            for pair in own:
                next(shared, None)
    except cairndb.ClosedError:
        pass
standing = iter(db.items()) if sys.argv[2] == "database" else stuck
threading.Thread(target=list, args=(standing,), name="stands", daemon=True).start()
for _ in range(4):
    threading.Thread(target=step, daemon=True).start()
class Last:
    def __del__(self, write=os.write, shared=shared, standing=standing):
        # The thread that makes this step will never run again.
        standing.close()
        shared.close()
        write(1, b"closed")
assert entered.wait(60)
# The threads keep the names of this module alive, those of another one end with the interpreter.
sys.modules["held"] = types.ModuleType("held")
sys.modules["held"].last = Last()
if sys.argv[3] == "generator":
    def generate(standing=standing):
        try:
            yield from iter(db)
        finally:
            standing.close()
    generator = generate()
    next(generator)
"""


@pytest.mark.parametrize("ending", ["plain", "generator"])
@pytest.mark.parametrize("of", ["database", "transaction"])
def test_the_interpreter_exits_during_a_fetch(
    path: str, script: Callable[..., str], of: str, ending: str
) -> None:
    assert script(EXIT, path, of, ending) == "closed"
    with cairndb.open(path, merge_operator=("gate", lambda key, value, operands: b"")) as db:
        assert db.open_report()["clean"] and len(db) == 5000


def _use_in_child(db: cairndb.Database, iterator: Any, snapshot: Any, batch: Any) -> list[str]:
    calls: list[Callable[[], Any]] = [
        lambda: db[b"k"],
        lambda: db.get(b"k"),
        lambda: db.put(b"k", b"v"),
        lambda: b"k" in db,
        lambda: len(db),
        lambda: next(iterator),
        lambda: snapshot[b"k"],
        lambda: batch.put(b"k", b"v"),
        lambda: db.flush(),
        lambda: db.close(),
    ]
    wrong = []
    for number, call in enumerate(calls):
        try:
            call()
            wrong.append(f"{number}: no error")
        except cairndb.ForkedError as error:
            if "open the database in the child" not in str(error):
                wrong.append(f"{number}: {error}")
        except BaseException as error:
            wrong.append(f"{number}: {error!r}")
    return wrong


def test_fork(db: cairndb.Database) -> None:
    """A child gets the documented error for each call, and may end in any way."""
    db.update({b"%d" % number: bytes(100) for number in range(1000)})
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            db[b"k"] = bytes(100)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for ending in range(6):
            iterator, snapshot, batch = iter(db.items()), db.snapshot(), db.batch()
            next(iterator)
            reader, pipe = os.pipe()
            child = os.fork()
            if child == 0:
                wrong = _use_in_child(db, iterator, snapshot, batch)
                os.write(pipe, "\n".join(wrong).encode() or b"fine")
                del iterator, snapshot, batch
                gc.collect()
                with cairndb.open(f"{db.path}-child-{ending}") as own:
                    own[b"k"] = b"v"
                os._exit(0)
            os.close(pipe)
            with os.fdopen(reader, "rb") as answer:
                assert answer.read() == b"fine"
            assert os.waitpid(child, 0)[1] == 0
            assert snapshot[b"1"] == bytes(100)
    finally:
        stop.set()
        writer.join()
    # The parent's lock is still held, and its database works.
    with pytest.raises(cairndb.LockedError):
        cairndb.open(db.path)
    assert len(db) == 1001


def test_a_forked_child_exits_as_a_program_does(path: str, script: Callable[..., str]) -> None:
    program = """
        import os, sys, warnings, cairndb
        # Python 3.12 warns of a fork while there are threads, and a database has some.
        warnings.simplefilter("ignore", DeprecationWarning)
        db = cairndb.open(sys.argv[1])
        db[b"k"] = b"v"
        entries = iter(db)
        if os.fork() == 0:
            sys.exit(0)
        assert os.wait()[1] == 0
        db[b"l"] = next(entries)
        print(len(db))
        """
    assert script(program, path) == "2\n"


def _child(db: cairndb.Database, queue: Any) -> None:
    try:
        db[b"k"] = b"v"
        queue.put("written")
    except cairndb.Error as error:
        queue.put(f"{type(error).__name__}: {error}")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_multiprocessing(db: cairndb.Database) -> None:
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    process = fork.Process(target=_child, args=(db, queue))
    process.start()
    assert queue.get(timeout=60).startswith("ForkedError: forked: ")
    process.join()
    assert process.exitcode == 0
    # Another way of starting a process would send the database to it.
    with pytest.raises(TypeError, match="pass its path"):
        multiprocessing.get_context("spawn").Process(target=_child, args=(db, queue)).start()


SECONDS = float(os.environ.get("CAIRN_PYTHON_SECONDS", "3"))


def test_fifteen_threads(path: str) -> None:
    """Writers, readers, full and short iterations at once, then a close under all of them."""
    db = cairndb.open(path, memory=1 << 20)
    end = time.monotonic() + SECONDS
    done: list[str] = []
    failures: list[BaseException] = []

    def run(number: int) -> None:
        key = b"%02d-" % number
        written = 0
        try:
            while time.monotonic() < end:
                kind = number % 3
                if kind == 0:
                    for _ in range(100):
                        db[key + b"%d" % written] = b"%d" % written * 20
                        written += 1
                elif kind == 1:
                    for found, value in db.items():
                        assert value == found.split(b"-")[1] * 20
                else:
                    entries = [*db.range(reverse=True, limit=100).keys()]
                    assert entries == sorted(entries, reverse=True)
                    with db.snapshot() as snapshot:
                        assert len(snapshot) == len(snapshot.keys())
            for kept in range(written):
                assert db[key + b"%d" % kept] == b"%d" % kept * 20
            done.append(f"{number}: {written}")
            while True:
                db.get(key)
        except cairndb.ClosedError:
            pass
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(15)]
    for thread in threads:
        thread.start()
    while len(done) < len(threads) and not failures:
        threading.Event().wait(0.01)
    db.close()
    for thread in threads:
        thread.join()
    assert not failures
    assert cairndb.verify(path)["entries"] > 0


CYCLES = int(os.environ.get("CAIRN_PYTHON_CYCLES", "500"))


def test_memory_is_flat_over_cycles(tmp_path: Any) -> None:
    """Open, write, iterate, close, again and again."""
    directory = "/dev/shm" if os.path.isdir("/dev/shm") else str(tmp_path)
    path = os.path.join(directory, f"cairndb-cycles-{os.getpid()}")

    def cycle(number: int) -> None:
        db = cairndb.open(path, memory=256 << 10)
        with db.batch() as batch:
            batch[b"a"] = b"%d" % number
            batch[b"b"] = bytes(100)
        db[b"large"] = bytes(10_000)
        view = db.get_view(b"large")
        assert view is not None and len(view) == 10_000
        with db.snapshot() as snapshot:
            assert len([*snapshot.items()]) == 3
        with db.transaction() as tx:
            tx[b"a"] += b"."
            assert len([*tx]) == 3
        entries = iter(db)
        assert next(entries) == b"a"
        try:
            db["a"]  # type: ignore[index]
        except TypeError:
            pass
        db.close()

    try:
        for number in range(200):
            cycle(number)
        gc.collect()
        before = _resident()
        for number in range(CYCLES):
            cycle(number)
        gc.collect()
        grown = _resident() - before
    finally:
        cairndb.destroy(path)
    print(f"{CYCLES} cycles: {grown} bytes more")
    assert grown < (4 << 20)
    assert _cairndb._open_databases() == 0


def _resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_other_threads_run_during_a_call(db: cairndb.Database) -> None:
    """A call does not keep the interpreter's lock, so a thread counts while another waits."""
    db.update({b"%06d" % number: bytes(100) for number in range(200_000)})
    counted = 0
    stop = threading.Event()

    def count() -> None:
        nonlocal counted
        while not stop.is_set():
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted
    # One call, which takes longer than the interpreter's switch interval.
    db.compact()
    after = counted
    stop.set()
    thread.join()
    assert after - before > 100
