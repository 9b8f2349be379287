"""The packages that `speed.py` compares: how each is opened, written and read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Callable, Optional

#: Memory that every package gets.
MEMORY = 64 << 20


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
