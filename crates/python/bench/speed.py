#!/usr/bin/env python3
"""Compares cairndb with other packages, and with the same loops in Rust.

    speed.py [--rounds=5] [--count=200000] [--loops=PROGRAM] [ENGINE...]

Needs `cairndb`, and whatever else is to be compared: plyvel, rocksdict, lmdb. `rust` is the program
`bench/loops.rs`, which Cargo builds first, unless PROGRAM is one that it has built.

The engines take turns: each round runs every engine once, in a process and a directory of its own.
The tables show the medians. All have 64 MiB of memory, compress as they do by default, and write so
that an acknowledged write survives the death of the process, but not a power failure. Keys have 16
bytes, values 100, of which half is noise. Every value that is read is counted; a wrong count ends
the run. Reads come after the engine's own compaction, if it has one.

Last come 500 values of 100 KB of noise, of which a byte a page is read: as `bytes`, which are a
copy, and as a view of the stored value, where the package has one.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Callable, Optional

MEMORY = 64 << 20
BATCH = 1000
#: Digits of a key that a prefix leaves open: it has 100 entries.
OPEN_DIGITS = 2
#: Number of the large values, how long each is, and how often each is read.
LARGE_COUNT, LARGE_BYTES, LARGE_PASSES = 500, 100_000, 4
PAGE_BYTES = 4096
ROWS = ["put", "batch", "get", "iterate", "prefix", "large", "view"]
UNITS = {
    "put": "puts, one a call, in random order",
    "batch": "puts in batches of 1,000, in random order",
    "get": "gets in random order",
    "iterate": "entries of a full iteration",
    "prefix": "entries of prefix scans of 100",
    "large": "gets of 100 KB as `bytes`",
    "view": "gets of 100 KB as a view",
}


def order(count: int) -> list[int]:
    """Return the numbers below `count`, shuffled as in `loops.rs`."""
    numbers, state = list(range(count)), 88172645463325252
    for index in range(count - 1, 0, -1):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        other = (state >> 33) % (index + 1)
        numbers[index], numbers[other] = numbers[other], numbers[index]
    return numbers


class Engine:
    """What a package does for each row."""

    def __init__(self, path: str) -> None:
        raise NotImplementedError

    put: Callable[[bytes, bytes], Any]
    get: Callable[[bytes], bytes]
    #: Returns a value without a copy.
    view: Optional[Callable[[bytes], memoryview]] = None

    def batch(self, entries: list[tuple[bytes, bytes]]) -> None:
        raise NotImplementedError

    def settle(self) -> None:
        """Compact, and prepare for reads."""

    def items(self) -> Iterable[Any]:
        raise NotImplementedError

    def prefix(self, prefix: bytes) -> Iterable[Any]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class CairnDB(Engine):
    def __init__(self, path: str) -> None:
        import cairndb

        self.db = cairndb.open(path, memory=MEMORY)
        self.put = self.db.__setitem__
        self.get = self.db.__getitem__
        self.view = self.db.get_view
        self.items = self.db.items
        self.prefix = self.db.prefix
        self.close = self.db.close
        self.settle = self.db.compact

    def batch(self, entries: list[tuple[bytes, bytes]]) -> None:
        with self.db.batch() as batch:
            put = batch.put
            for key, value in entries:
                put(key, value)


class Plyvel(Engine):
    def __init__(self, path: str) -> None:
        import plyvel

        half = MEMORY // 2
        self.db = plyvel.DB(
            path,
            create_if_missing=True,
            write_buffer_size=half,
            lru_cache_size=half,
            bloom_filter_bits=10,
        )
        self.put = self.db.put
        self.get = self.db.get
        self.settle = self.db.compact_range
        self.close = self.db.close

    def batch(self, entries: list[tuple[bytes, bytes]]) -> None:
        with self.db.write_batch() as batch:
            put = batch.put
            for key, value in entries:
                put(key, value)

    def items(self) -> Iterable[Any]:
        return self.db

    def prefix(self, prefix: bytes) -> Iterable[Any]:
        return self.db.iterator(prefix=prefix)


class RocksDict(Engine):
    def __init__(self, path: str) -> None:
        from rocksdict import BlockBasedOptions, Cache, Options, Rdict, WriteBatch

        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_write_buffer_size(MEMORY // 2)
        table = BlockBasedOptions()
        table.set_block_cache(Cache(MEMORY // 2))
        table.set_bloom_filter(10, False)
        options.set_block_based_table_factory(table)
        self.db = Rdict(path, options)
        self.make_batch = lambda: WriteBatch(raw_mode=True)
        self.put = self.db.__setitem__
        self.get = self.db.__getitem__
        self.items = self.db.items
        self.close = self.db.close

    def batch(self, entries: list[tuple[bytes, bytes]]) -> None:
        batch = self.make_batch()
        put = batch.put
        for key, value in entries:
            put(key, value)
        self.db.write(batch)

    def settle(self) -> None:
        self.db.compact_range(None, None)

    def prefix(self, prefix: bytes) -> Iterator[Any]:
        for entry in self.db.items(from_key=prefix):
            if not entry[0].startswith(prefix):
                return
            yield entry


class Lmdb(Engine):
    buffers = False

    def __init__(self, path: str) -> None:
        import lmdb

        # Without `sync`, a write is in the system's page cache when the transaction ends.
        self.env = lmdb.open(path, map_size=4 << 30, sync=False, metasync=False)
        self.reads: Any = None

    def put(self, key: bytes, value: bytes) -> None:  # type: ignore[override]
        with self.env.begin(write=True) as txn:
            txn.put(key, value)

    def batch(self, entries: list[tuple[bytes, bytes]]) -> None:
        with self.env.begin(write=True) as txn:
            put = txn.put
            for key, value in entries:
                put(key, value)

    def settle(self) -> None:
        self.reads = self.env.begin(buffers=self.buffers)
        self.get = self.reads.get
        if self.buffers:
            self.view = self.reads.get

    def items(self) -> Iterable[Any]:
        return self.reads.cursor()

    def prefix(self, prefix: bytes) -> Iterator[Any]:
        cursor = self.reads.cursor()
        if cursor.set_range(prefix):
            for entry in cursor:
                if bytes(entry[0][: len(prefix)]) != prefix:
                    return
                yield entry

    def close(self) -> None:
        self.reads = self.get = self.view = None  # type: ignore[assignment]
        self.env.close()


class LmdbBuffers(Lmdb):
    """lmdb with `buffers=True`: memoryviews of the mapped file, which nothing copies."""

    buffers = True


class Sqlite(Engine):
    def __init__(self, path: str) -> None:
        import sqlite3

        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("pragma journal_mode = wal")
        self.db.execute("pragma synchronous = off")
        self.db.execute(f"pragma cache_size = -{MEMORY >> 10}")
        self.db.execute("create table t (k blob primary key, v blob) without rowid")
        self.close = self.db.close

    def put(self, key: bytes, value: bytes) -> None:  # type: ignore[override]
        self.db.execute("insert or replace into t values (?, ?)", (key, value))

    def get(self, key: bytes) -> bytes:  # type: ignore[override]
        value: bytes = self.db.execute("select v from t where k = ?", (key,)).fetchone()[0]
        return value

    def batch(self, entries: list[tuple[bytes, bytes]]) -> None:
        self.db.execute("begin")
        self.db.executemany("insert or replace into t values (?, ?)", entries)
        self.db.execute("commit")

    def items(self) -> Iterable[Any]:
        return self.db.execute("select k, v from t order by k")

    def prefix(self, prefix: bytes) -> Iterable[Any]:
        end = prefix[:-1] + bytes([prefix[-1] + 1])
        return self.db.execute(
            "select k, v from t where k >= ? and k < ? order by k", (prefix, end)
        )


ENGINES: dict[str, type[Engine]] = {
    "cairndb": CairnDB,
    "plyvel": Plyvel,
    "rocksdict": RocksDict,
    "lmdb": Lmdb,
    "lmdb-buffers": LmdbBuffers,
    "sqlite3": Sqlite,
}


def measure(name: str, directory: str, count: int) -> dict[str, float]:
    """Run every row with one engine. Returns seconds a row."""
    numbers = order(count)
    keys = [b"%016d" % number for number in numbers]
    noise = os.urandom(50 * count + 50)
    values = [noise[50 * number : 50 * number + 50] + bytes(50) for number in numbers]
    entries = list(zip(keys, values))
    make = ENGINES[name]
    seconds = {}
    gc.collect()
    gc.freeze()

    engine = make(os.path.join(directory, "put"))
    start = time.perf_counter()
    put = engine.put
    for key, value in entries:
        put(key, value)
    seconds["put"] = time.perf_counter() - start
    engine.close()

    engine = make(os.path.join(directory, "batch"))
    start = time.perf_counter()
    for first in range(0, count, BATCH):
        engine.batch(entries[first : first + BATCH])
    seconds["batch"] = time.perf_counter() - start
    engine.settle()

    for row, read in (("get", read_all), ("iterate", iterate), ("prefix", prefixes)):
        # The first time brings the data into memory.
        for _ in range(2):
            start = time.perf_counter()
            size = read(engine, keys, count)
            seconds[row] = time.perf_counter() - start
            if size != {"get": 100, "iterate": 116, "prefix": 116}[row] * count:
                sys.exit(f"{name}: {row} has read {size} bytes")
    engine.close()
    seconds.update(measure_large(name, directory))
    return seconds


def measure_large(name: str, directory: str) -> dict[str, float]:
    """Run the rows of large values with one engine. Returns seconds a row."""
    noise = os.urandom(LARGE_COUNT * LARGE_BYTES)
    numbers = order(LARGE_COUNT)
    keys = [b"%016d" % number for number in numbers]
    parts = [noise[number * LARGE_BYTES : (number + 1) * LARGE_BYTES] for number in numbers]
    expected = LARGE_PASSES * sum(sum(part[::PAGE_BYTES]) for part in parts)
    engine = ENGINES[name](os.path.join(directory, "large"))
    engine.batch(list(zip(keys, parts)))
    engine.settle()
    seconds = {}
    for row, get in (("large", engine.get), ("view", engine.view)):
        # What returns views is in the other row.
        if get is None or (row == "large" and get == engine.view):
            continue
        for _ in range(2):
            start = time.perf_counter()
            total = 0
            for _ in range(LARGE_PASSES):
                for key in keys:
                    total += sum(get(key)[::PAGE_BYTES])
            seconds[row] = time.perf_counter() - start
            if total != expected:
                sys.exit(f"{name}: {row} has read other bytes than were written")
    del get
    engine.close()
    return seconds


def read_all(engine: Engine, keys: list[bytes], count: int) -> int:
    size = 0
    get = engine.get
    for key in keys:
        size += len(get(key))
    return size


def iterate(engine: Engine, keys: list[bytes], count: int) -> int:
    size = 0
    for key, value in engine.items():
        size += len(key) + len(value)
    return size


def prefixes(engine: Engine, keys: list[bytes], count: int) -> int:
    size = 0
    for number in range(0, count, 10**OPEN_DIGITS):
        for key, value in engine.prefix((b"%016d" % number)[:-OPEN_DIGITS]):
            size += len(key) + len(value)
    return size


def build_loops() -> str:
    """Build the Rust program and return its path."""
    command = "cargo bench --package cairndb-python --bench loops --no-run --message-format=json"
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(command.split(), stdout=subprocess.PIPE, text=True, check=True, cwd=root)
    for message in map(json.loads, done.stdout.splitlines()):
        if message.get("target", {}).get("name") == "loops" and message.get("executable"):
            return str(message["executable"])
    sys.exit("cargo has built no program")


def run_one(name: str, count: int, loops: str) -> dict[str, float]:
    """Run one engine in a process and a directory of its own."""
    directory = tempfile.mkdtemp(prefix="cairndb-speed-")
    if name == "rust":
        command = [loops, directory, str(count), str(LARGE_COUNT), str(LARGE_PASSES)]
    else:
        command = [sys.executable, __file__, "--one", name, directory, str(count)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return seconds
    finally:
        shutil.rmtree(directory)


def median(rounds: list[dict[str, float]], row: str) -> Optional[float]:
    found = [seconds[row] for seconds in rounds if row in seconds]
    return statistics.median(found) if found else None


def amount(seconds: float) -> str:
    """Return a duration in a unit that fits."""
    return f"{seconds * 1e6:.2f} us" if seconds < 1e-4 else f"{seconds * 1e3:.2f} ms"


def report(results: dict[str, list[dict[str, float]]], count: int) -> None:
    """Print a table in Markdown: our time of an entry, and the ratio of each other package."""
    others = [name for name in results if name != "cairndb"]
    print(f"| row | cairndb | {' | '.join(others)} |")
    print("|---|---|" + "---|" * len(others))
    for row in ROWS:
        ours = median(results["cairndb"], row)
        assert ours is not None
        entries = LARGE_COUNT * LARGE_PASSES if row in ("large", "view") else count
        cells = [amount(ours / entries)]
        for name in others:
            theirs = median(results[name], row)
            cells.append("" if theirs is None else f"{theirs / ours:.2f}x")
        print(f"| {UNITS[row]} | {' | '.join(cells)} |")
    print("\nspread of the rounds (smallest and largest, of the median):")
    for name, rounds in results.items():
        parts = []
        for row in ROWS:
            middle = median(rounds, row)
            if middle is not None:
                least, most = (f(found[row] for found in rounds) / middle - 1 for f in (min, max))
                parts.append(f"{row} {least:+.0%} {most:+.0%}")
        print(f"  {name}: {', '.join(parts)}")


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        name, directory, count = sys.argv[2:]
        print(json.dumps(measure(name, directory, int(count))))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--loops", default="")
    parser.add_argument("engines", nargs="*", choices=[[], *ENGINES, "rust"])
    arguments = parser.parse_args()
    names = arguments.engines or [*ENGINES, "rust"]
    names = ["cairndb", *(name for name in names if name != "cairndb")]
    loops = arguments.loops
    if "rust" in names and not loops:
        loops = build_loops()
    results: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for number in range(arguments.rounds):
        turn = names[number % len(names) :] + names[: number % len(names)]
        for name in turn:
            results[name].append(run_one(name, arguments.count, loops))
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    report(results, arguments.count)


if __name__ == "__main__":
    main()
