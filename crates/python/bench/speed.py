#!/usr/bin/env python3
"""Compares cairndb with other packages, and with the same loops in Rust.

    speed.py [--rounds=5] [--count=200000] [--loops=PROGRAM] [ENGINE...]

Needs `cairndb`, and whatever else is to be compared: plyvel, rocksdict, lmdb. PROGRAM is the Rust
program `bench/loops.rs`: `cargo bench --package cairndb-python --bench loops --no-run` prints its
path.

The engines take turns: each round runs every engine once, in a process and a directory of its own.
The tables show the medians. All have 64 MiB of memory, compress as they do by default, and write so
that an acknowledged write survives the death of the process, but not a power failure. Keys have 16
bytes, values 100, of which half is noise. Every value that is read is counted; a wrong count ends
the run. Reads come after the engine's own compaction, if it has one.
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
from typing import Any, Callable

MEMORY = 64 << 20
BATCH = 1000
#: Digits of a key that a prefix leaves open: it has 100 entries.
OPEN_DIGITS = 2
ROWS = ["put", "batch", "get", "iterate", "prefix"]
UNITS = {
    "put": "puts, one a call, in random order",
    "batch": "puts in batches of 1,000, in random order",
    "get": "gets in random order",
    "iterate": "entries of a full iteration",
    "prefix": "entries of prefix scans of 100",
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
        self.reads = self.get = None  # type: ignore[assignment]
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


def run_one(name: str, count: int, loops: str) -> dict[str, float]:
    """Run one engine in a process and a directory of its own."""
    directory = tempfile.mkdtemp(prefix="cairndb-speed-")
    if name == "rust":
        command = [loops, directory, str(count)]
    else:
        command = [sys.executable, __file__, "--one", name, directory, str(count)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return seconds
    finally:
        shutil.rmtree(directory)


def report(results: dict[str, list[dict[str, float]]], count: int) -> None:
    """Print a table in Markdown: nanoseconds an entry of ours, and the ratio of each other."""
    medians = {
        name: {row: statistics.median(found[row] for found in rounds) for row in ROWS}
        for name, rounds in results.items()
    }
    ours = medians["cairndb"]
    others = [name for name in medians if name != "cairndb"]
    print(f"| row | cairndb | {' | '.join(others)} |")
    print("|---|---|" + "---|" * len(others))
    for row in ROWS:
        cells = [f"{ours[row] / count * 1e9:.0f} ns"]
        cells += [f"{medians[name][row] / ours[row]:.2f}x" for name in others]
        print(f"| {UNITS[row]} | {' | '.join(cells)} |")
    print("\nspread of the rounds (smallest and largest, of the median):")
    for name, rounds in results.items():
        parts = []
        for row in ROWS:
            middle = medians[name][row]
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
    parser.add_argument("engines", nargs="*", choices=[[], *ENGINES])
    arguments = parser.parse_args()
    names = arguments.engines or list(ENGINES)
    names = ["cairndb", *(name for name in names if name != "cairndb")]
    if arguments.loops:
        names.append("rust")
    results: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for number in range(arguments.rounds):
        turn = names[number % len(names) :] + names[: number % len(names)]
        for name in turn:
            results[name].append(run_one(name, arguments.count, arguments.loops))
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    report(results, arguments.count)


if __name__ == "__main__":
    main()
