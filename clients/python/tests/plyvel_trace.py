"""Runs random calls of plyvel and prints each result: the same program for LevelDB and CairnDB.

    plyvel_trace.py DIRECTORY SEED COUNT

What may differ is not printed: the texts of errors, sizes on disk, properties.
"""

from __future__ import annotations

import random
import sys
from typing import Any, Callable

import plyvel

DIRECTORY, SEED, COUNT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
choose = random.Random(SEED)
KEYS = [bytes([a, b][: 1 + (a + b) % 2]) for a in b"abc\xff" for b in b"xyz\xff"] + [
    b"",
    b"\xff\xff",
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"lru_cache_size": 1 << 20, "bloom_filter_bits": 10},
    {"compression": None, "write_buffer_size": 100_000},
]
WRONG = [None, 7, "text", bytearray(b"a"), 1.5, b"a"]


def shown(call: Callable[[], Any]) -> str:
    try:
        result = call()
    except BaseException as error:
        kinds = [kind.__name__ for kind in type(error).__mro__]
        return "raises " + ">".join(kinds[: kinds.index("Exception")])
    if isinstance(result, (bytes, bool, int, tuple, list, type(None))):
        return repr(result)
    return type(result).__name__


def key() -> bytes:
    return choose.choice(KEYS)


def bound() -> Any:
    return choose.choice([None, None, key(), key()])


def iterator_arguments() -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "reverse": choose.choice([True, False]),
        "include_key": choose.random() < 0.9,
        "include_value": choose.random() < 0.7,
    }
    if choose.random() < 0.3:
        arguments["prefix"] = key()[: choose.randrange(3)]
    else:
        arguments.update(
            start=bound(),
            stop=bound(),
            include_start=choose.choice([True, False]),
            include_stop=choose.choice([True, False]),
        )
    return arguments


def walk(iterator: Any) -> str:
    """Return the results of random steps. A seek that ends before the range is LevelDB's own."""
    steps = []
    for _ in range(choose.randrange(1, 25)):
        step = choose.randrange(12)
        if step < 6:
            steps.append(shown(lambda: next(iterator)))
        elif step < 9:
            steps.append(shown(iterator.prev))
        elif step == 9:
            target = key()
            steps.append(shown(lambda: iterator.seek(target)))
        elif step == 10:
            steps.append(shown(iterator.seek_to_start))
        else:
            steps.append(shown(iterator.seek_to_stop))
    return " ".join(steps)


def walk_raw(iterator: Any) -> str:
    steps = []
    moves = [
        "seek_to_first",
        "seek_to_last",
        "next",
        "prev",
        "next",
        "prev",
        "key",
        "value",
        "item",
    ]
    for _ in range(choose.randrange(1, 20)):
        move = choose.choice([*moves, "valid", "seek"])
        if move == "seek":
            target = key()
            steps.append(shown(lambda: iterator.seek(target)))
        else:
            steps.append(f"{move} {shown(getattr(iterator, move))}")
    return " ".join(steps)


def wrong_calls(db: Any) -> list[Callable[[], Any]]:
    value = choose.choice(WRONG)
    batch = db.write_batch()
    return [
        lambda: db.get(value),
        lambda: db.put(value, b""),
        lambda: db.put(b"zz", value),
        lambda: db.delete(value),
        lambda: db.get(b"a", verify_checksums=value),
        lambda: db.put(b"zz", b"", sync=value),
        lambda: db.iterator(start=value),
        lambda: db.iterator(stop=value),
        lambda: db.iterator(prefix=value),
        lambda: db.iterator(reverse=value),
        lambda: db.iterator(include_key=value),
        lambda: db.iterator(prefix=b"a", start=b"a"),
        lambda: db.iterator().seek(value),
        lambda: db.raw_iterator().seek(value),
        lambda: db.write_batch(transaction=value),
        lambda: batch.put(value, b""),
        lambda: batch.put(b"a", value),
        lambda: batch.delete(value),
        lambda: batch.append(value),
        lambda: db.get_property(value),
        lambda: db.compact_range(start=value),
        lambda: type(db.approximate_size(value, b"z")).__name__ == "int",
        lambda: db.approximate_sizes((b"a",)),
        lambda: db.prefixed_db(value),
        lambda: b"a" in db,
        lambda: db[b"a"],
        lambda: len(db),
        lambda: db.get(),
        lambda: plyvel.DB(DIRECTORY + "-none"),
        lambda: plyvel.DB(value) if value is None or isinstance(value, (int, float)) else 0,
        lambda: plyvel.DB(DIRECTORY + "-x", compression=value) if value != b"a" else 0,
        lambda: plyvel.DB(DIRECTORY + "-x", write_buffer_size=value) if value != 7 else 0,
        lambda: plyvel.DB(DIRECTORY + "-x", comparator=value) if value is not None else 0,
    ]


def write(db: Any) -> None:
    for _ in range(choose.randrange(6)):
        if choose.random() < 0.6:
            db.put(key(), b"%d" % choose.randrange(100), sync=choose.random() < 0.1)
        else:
            db.delete(key())
    with db.write_batch(transaction=choose.choice([True, False])) as batch:
        for _ in range(choose.randrange(5)):
            batch.put(key(), b"batch")
            batch.delete(key())
        other = db.write_batch()
        other.put(key(), b"appended")
        batch.append(other)
        print("batch", batch.approximate_size())


db = plyvel.DB(DIRECTORY, create_if_missing=True, error_if_exists=True)
for turn in range(COUNT):
    print("turn", turn)
    write(db)
    part = choose.choice([db, db.prefixed_db(b"a"), db.prefixed_db(b"a").prefixed_db(b"\xff")])
    write(part)
    snapshot = part.snapshot()
    write(db)
    for reader in (part, snapshot):
        print([shown(lambda: reader.get(found)) for found in KEYS])
        print(shown(lambda: list(reader)))
        arguments = iterator_arguments()
        print(shown(lambda: list(reader.iterator(**arguments))), arguments)
        print(walk(reader.iterator(**arguments)))
    print(walk_raw(db.raw_iterator()))
    print(walk_raw(snapshot.raw_iterator()))
    for number, call in enumerate(wrong_calls(db)):
        print("wrong", number, shown(call))
    if choose.random() < 0.2:
        iterator, raw, batch = db.iterator(), db.raw_iterator(), db.write_batch()
        snapshot.close()
        print(shown(lambda: snapshot.get(b"a")), shown(snapshot.close))
        db.close()
        calls = [
            *(lambda: db.get(b"a"), lambda: db.put(b"a", b""), lambda: db.delete(b"a")),
            *(db.iterator, db.raw_iterator, db.snapshot, db.write_batch, lambda: iter(db)),
            *(lambda: next(iterator), iterator.prev, iterator.seek_to_start, raw.valid, raw.key),
            *(lambda: batch.put(b"a", b""), batch.write, batch.clear, batch.approximate_size),
            *(lambda: db.get_property(b"leveldb.stats"), db.compact_range, db.approximate_sizes),
            *(db.close, lambda: db.closed, lambda: part.get(b"a"), lambda: list(part)),
            *(iterator.close, raw.close, snapshot.close, lambda: batch.__enter__()),
        ]
        print([shown(call) for call in calls])
        again = choose.random()
        if again < 0.3:
            plyvel.repair_db(DIRECTORY)
        elif again < 0.5:
            plyvel.destroy_db(DIRECTORY)
        print(shown(lambda: plyvel.DB(DIRECTORY, create_if_missing=True, error_if_exists=True)))
        db = plyvel.DB(DIRECTORY, create_if_missing=True, **choose.choice(OPTIONS))
print(list(db))
db.close()
