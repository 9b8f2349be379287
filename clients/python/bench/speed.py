#!/usr/bin/env python3
"""Compares cairndb with other packages, and with the same loops in Rust.

    speed.py [--rounds=5] [--count=200000] [--loops=PROGRAM] [ENGINE...]
    speed.py --processor [--rounds=9] [--count=200000] [ENGINE...]

Needs `cairndb`, and whatever else is to be compared: plyvel, rocksdict, lmdb. `rust` is the program
`bench/loops.rs`, which Cargo builds first, unless PROGRAM is one that it has built.

The engines take turns: each round runs every engine once, in a process and a directory of its own.
The tables show the medians. All have 64 MiB of memory, compress as they do by default, and write so
that an acknowledged write survives the death of the process, but not a power failure. Keys have 16
bytes, values 100, of which half is noise. Every value that is read is counted; a wrong count ends
the run. Reads come after the engine's own compaction, if it has one.

Last come 500 values of 100 KB of noise, of which a byte a page is read: as `bytes`, which are a
copy, and as a view of the stored value, where the package has one.

With `--processor` all engines are open in one process and take turns at the short reads, and what
counts is the processor time of the reading thread, which other programs disturb less.
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
from pathlib import Path
from typing import Any, Callable, Optional

from engines import ENGINES, Engine

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


def make_entries(count: int) -> tuple[list[bytes], list[tuple[bytes, bytes]]]:
    """Return the keys in random order, and the entries in the same order."""
    numbers = order(count)
    keys = [b"%016d" % number for number in numbers]
    noise = os.urandom(50 * count + 50)
    values = [noise[50 * number : 50 * number + 50] + bytes(50) for number in numbers]
    return keys, list(zip(keys, values))


def load(engine: Engine, entries: list[tuple[bytes, bytes]]) -> None:
    for first in range(0, len(entries), BATCH):
        engine.batch(entries[first : first + BATCH])


def measure(name: str, directory: str, count: int) -> dict[str, float]:
    """Run every row with one engine. Returns seconds a row."""
    keys, entries = make_entries(count)
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
    load(engine, entries)
    seconds["batch"] = time.perf_counter() - start
    engine.settle()

    for row, read in READS.items():
        # The first time brings the data into memory.
        for _ in range(2):
            start = time.perf_counter()
            size = read(engine, keys, count)
            seconds[row] = time.perf_counter() - start
            check_size(name, row, size, count)
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


READS: dict[str, Callable[[Engine, list[bytes], int], int]] = {
    "get": read_all,
    "iterate": iterate,
    "prefix": prefixes,
}


def check_size(name: str, row: str, size: int, count: int) -> None:
    """End the run if an engine has not read everything."""
    if size != {"get": 100, "iterate": 116, "prefix": 116}[row] * count:
        sys.exit(f"{name}: {row} has read {size} bytes")


def measure_processor(names: list[str], count: int, rounds: int) -> dict[str, Any]:
    """Run the short reads of all engines in turns. Returns processor seconds a row."""
    keys, entries = make_entries(count)
    directory = tempfile.mkdtemp(prefix="cairndb-speed-")
    try:
        engines = {name: ENGINES[name](os.path.join(directory, name)) for name in names}
        for engine in engines.values():
            load(engine, entries)
            engine.settle()
        gc.collect()
        gc.freeze()
        results: dict[str, Any] = {name: [] for name in names}
        # The first round brings the data into memory.
        for _ in range(rounds + 1):
            for name, engine in engines.items():
                results[name].append({})
                for row, read in READS.items():
                    start = time.thread_time()
                    size = read(engine, keys, count)
                    results[name][-1][row] = time.thread_time() - start
                    check_size(name, row, size, count)
        for engine in engines.values():
            engine.close()
        return {name: seconds[1:] for name, seconds in results.items()}
    finally:
        shutil.rmtree(directory)


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
    if seconds < 1e-4:
        return f"{seconds * 1e6:.{3 if seconds < 1e-6 else 2}f} us"
    return f"{seconds * 1e3:.2f} ms"


def report(results: dict[str, list[dict[str, float]]], count: int) -> None:
    """Print a table in Markdown: our time of an entry, and the ratio of each other package."""
    others = [name for name in results if name != "cairndb"]
    print(f"| row | cairndb | {' | '.join(others)} |")
    print("|---|---|" + "---|" * len(others))
    for row in ROWS:
        ours = median(results["cairndb"], row)
        if ours is None:
            continue
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
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--loops", default="")
    parser.add_argument("engines", nargs="*", choices=[[], *ENGINES, "rust"])
    arguments = parser.parse_args()
    names = arguments.engines or [*ENGINES, "rust"]
    names = ["cairndb", *(name for name in names if name != "cairndb")]
    if arguments.processor:
        names = [name for name in names if name != "rust"]
        found = measure_processor(names, arguments.count, arguments.rounds or 9)
        report(found, arguments.count)
        return
    rounds = arguments.rounds or 5
    loops = arguments.loops
    if "rust" in names and not loops:
        loops = build_loops()
    results: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for number in range(rounds):
        turn = names[number % len(names) :] + names[: number % len(names)]
        for name in turn:
            results[name].append(run_one(name, arguments.count, loops))
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
    report(results, arguments.count)


if __name__ == "__main__":
    main()
