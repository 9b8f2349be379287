"""plyvel's classes, over those of `cairndb`."""

from __future__ import annotations

import os
from typing import Any, Callable, Literal, Optional

import cairndb

from .._cairndb import Iterator, RawIterator, Reader
from .arguments import (
    Name,
    as_bytes,
    bytes_increment,
    check_bool,
    check_bytes,
    check_optional_bytes,
    file_system_name,
    open_options,
)
from .errors import Error, IOError, translated
from .files import destroy, repair


class DB:
    """A LevelDB database, which is converted when it is opened for the first time."""

    __slots__ = ("__weakref__", "_db", "_name")

    def __init__(
        self,
        name: Name,
        *,
        create_if_missing: bool = False,
        error_if_exists: bool = False,
        paranoid_checks: Optional[bool] = None,
        write_buffer_size: Optional[int] = None,
        max_open_files: Optional[int] = None,
        lru_cache_size: Optional[int] = None,
        block_size: Optional[int] = None,
        block_restart_interval: Optional[int] = None,
        max_file_size: Optional[int] = None,
        compression: Optional[str] = "snappy",
        bloom_filter_bits: int = 0,
        comparator: Optional[Callable[[bytes, bytes], int]] = None,
        comparator_name: Optional[bytes] = None,
    ) -> None:
        create = check_bool(create_if_missing, "create_if_missing")
        fresh = check_bool(error_if_exists, "error_if_exists")
        path = file_system_name(name)
        options = open_options(
            paranoid_checks,
            write_buffer_size,
            max_open_files,
            lru_cache_size,
            block_size,
            block_restart_interval,
            max_file_size,
            compression,
            bloom_filter_bits,
            comparator,
            comparator_name,
        )
        shown = os.fsdecode(path)
        if fresh and os.path.exists(os.path.join(path, b"CURRENT")):
            raise Error(f"Invalid argument: {shown}: exists (error_if_exists is true)")
        if os.path.isdir(path) and not os.access(path, os.W_OK):
            # LevelDB's first step is to create `LOCK`, whether or not there is a database.
            raise IOError(f"IO error: {shown}/LOCK: Permission denied")
        try:
            self._db = cairndb.open(path, "c" if create else "w", **options)
        except cairndb.Error as error:
            raise translated(error) from None
        self._name = name

    @property
    def name(self) -> Name:
        return self._name

    @property
    def closed(self) -> bool:
        return self._db.closed

    def close(self) -> None:
        """Close the database. Iterators and snapshots of it cannot be used any more."""
        self._call(self._db.close)

    def __repr__(self) -> str:
        closed = " (closed)" if self.closed else ""
        return f"<plyvel.DB with name {self._name!r}{closed} at 0x{hex(id(self))}>"

    def _open(self) -> cairndb.Database:
        if self._db.closed:
            raise RuntimeError("Database is closed")
        return self._db

    def _call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except cairndb.Error as error:
            raise translated(error) from None

    def get(
        self,
        key: bytes,
        default: Any = None,
        *,
        verify_checksums: Optional[bool] = False,
        fill_cache: Optional[bool] = True,
    ) -> Any:
        """Return the value of `key`, or `default`."""
        if not isinstance(key, bytes):
            check_bytes(key, "key")
        check_bool(verify_checksums, "verify_checksums")
        check_bool(fill_cache, "fill_cache")
        try:
            return self._db.get(key, default)
        except cairndb.Error as error:
            raise translated(error) from None

    def put(self, key: bytes, value: Any, *, sync: Optional[bool] = False) -> None:
        """Set `key` to `value`."""
        if not isinstance(key, bytes):
            check_bytes(key, "key")
        try:
            if check_bool(sync, "sync"):
                self._db.put(key, as_bytes(value), durability="sync")
            else:
                self._db[key] = as_bytes(value)
        except cairndb.Error as error:
            raise translated(error) from None

    def delete(self, key: bytes, *, sync: Optional[bool] = False) -> None:
        """Remove `key`."""
        check_bytes(key, "key")
        durability = "sync" if check_bool(sync, "sync") else "os"
        self._call(self._db.delete, key, durability=durability)

    def write_batch(
        self, *, transaction: Optional[bool] = False, sync: Optional[bool] = False
    ) -> WriteBatch:
        """Return a batch."""
        self._open()
        return WriteBatch(self, None, transaction, check_bool(sync, "sync"))

    def __iter__(self) -> Iterator:
        if self._db.closed:
            raise RuntimeError("Database is closed")
        return self.iterator()

    def iterator(
        self,
        *,
        reverse: Optional[bool] = False,
        start: Optional[bytes] = None,
        stop: Optional[bytes] = None,
        include_start: Optional[bool] = True,
        include_stop: Optional[bool] = False,
        prefix: Optional[bytes] = None,
        include_key: Optional[bool] = True,
        include_value: Optional[bool] = True,
        verify_checksums: Optional[bool] = False,
        fill_cache: Optional[bool] = True,
    ) -> Iterator:
        """Return an iterator over a range."""
        check_bool(verify_checksums, "verify_checksums")
        check_bool(fill_cache, "fill_cache")
        flags = (include_start, include_stop, include_key, include_value)
        return _iterator(self, self._db, None, reverse, start, stop, prefix, flags)

    def raw_iterator(
        self, *, verify_checksums: Optional[bool] = False, fill_cache: Optional[bool] = True
    ) -> RawIterator:
        """Return LevelDB's iterator."""
        check_bool(verify_checksums, "verify_checksums")
        check_bool(fill_cache, "fill_cache")
        return _raw_iterator(self, self._db)

    def snapshot(self) -> Snapshot:
        """Take a snapshot."""
        return Snapshot(db=self)

    def get_property(self, name: bytes) -> Optional[bytes]:
        """Return a property, or None for an unknown name."""
        check_bytes(name, "name")
        db = self._open()
        try:
            text = name.decode("UTF-8")
        except UnicodeDecodeError:
            return None
        found = self._call(db.property, text)
        return None if found is None else found.encode("UTF-8")

    def compact_range(self, *, start: Optional[bytes] = None, stop: Optional[bytes] = None) -> None:
        """Compact the keys from `start` to `stop`."""
        start, stop = check_optional_bytes(start, "start"), check_optional_bytes(stop, "stop")
        self._call(self._open().compact, start, stop)

    def approximate_size(self, start: bytes, stop: bytes) -> int:
        """Return how many bytes a range takes on disk, approximately."""
        check_bytes(start, "start")
        check_bytes(stop, "stop")
        self._open()
        return self.approximate_sizes((start, stop))[0]

    def approximate_sizes(self, *ranges: tuple[bytes, bytes]) -> list[int]:
        """Return how many bytes ranges take on disk, approximately."""
        db = self._open()
        sizes = []
        for start, stop in ranges:
            if not isinstance(start, bytes) or not isinstance(stop, bytes):
                raise TypeError("Start and stop of range must be byte strings")
            # LevelDB returns 0 for a range that ends before it starts.
            sizes.append(self._call(db.approximate_size, start, stop))
        return sizes

    def prefixed_db(self, prefix: bytes) -> PrefixedDB:
        """Return the part of the database whose keys start with `prefix`."""
        return PrefixedDB(db=self, prefix=prefix)

    def __enter__(self) -> DB:
        return self

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        self.close()


class PrefixedDB:
    """The part of a database whose keys start with a prefix, which its users do not see."""

    __slots__ = ("__weakref__", "_db", "_prefix")

    def __init__(self, *, db: DB, prefix: bytes) -> None:
        if not isinstance(db, DB):
            kind = type(db).__name__
            raise TypeError(f"Argument 'db' has incorrect type (expected DB, got {kind})")
        self._db = db
        self._prefix = check_bytes(prefix, "prefix")

    @property
    def db(self) -> DB:
        return self._db

    @property
    def prefix(self) -> bytes:
        return self._prefix

    def __repr__(self) -> str:
        return f"<plyvel.PrefixedDB with prefix {self._prefix!r} at 0x{hex(id(self))}>"

    def get(
        self,
        key: bytes,
        default: Any = None,
        *,
        verify_checksums: Optional[bool] = False,
        fill_cache: Optional[bool] = True,
    ) -> Any:
        """Return the value of `key`, or `default`."""
        return self._db.get(
            self._prefix + check_bytes(key, "key"),
            default,
            verify_checksums=verify_checksums,
            fill_cache=fill_cache,
        )

    def put(self, key: bytes, value: Any, *, sync: Optional[bool] = False) -> None:
        """Set `key` to `value`."""
        self._db.put(self._prefix + check_bytes(key, "key"), value, sync=sync)

    def delete(self, key: bytes, *, sync: Optional[bool] = False) -> None:
        """Remove `key`."""
        self._db.delete(self._prefix + check_bytes(key, "key"), sync=sync)

    def write_batch(
        self, *, transaction: Optional[bool] = False, sync: Optional[bool] = False
    ) -> WriteBatch:
        """Return a batch."""
        return WriteBatch(self._db, self._prefix, transaction, check_bool(sync, "sync"))

    def __iter__(self) -> Iterator:
        return self.iterator()

    def iterator(
        self,
        *,
        reverse: Optional[bool] = False,
        start: Optional[bytes] = None,
        stop: Optional[bytes] = None,
        include_start: Optional[bool] = True,
        include_stop: Optional[bool] = False,
        prefix: Optional[bytes] = None,
        include_key: Optional[bool] = True,
        include_value: Optional[bool] = True,
        verify_checksums: Optional[bool] = False,
        fill_cache: Optional[bool] = True,
    ) -> Iterator:
        """Return an iterator over a range."""
        check_bool(verify_checksums, "verify_checksums")
        check_bool(fill_cache, "fill_cache")
        flags = (include_start, include_stop, include_key, include_value)
        db = self._db
        return _iterator(db, db._db, self._prefix, reverse, start, stop, prefix, flags)

    def snapshot(self) -> Snapshot:
        """Take a snapshot."""
        return Snapshot(db=self._db, prefix=self._prefix)

    def prefixed_db(self, prefix: bytes) -> PrefixedDB:
        """Return the part of this part whose keys start with `prefix`."""
        return PrefixedDB(db=self._db, prefix=self._prefix + check_bytes(prefix, "prefix"))


class WriteBatch:
    """Writes that are applied together."""

    __slots__ = ("_batch", "_db", "_prefix", "_transaction")

    #: Bytes that LevelDB's representation of an empty batch has.
    _HEADER_SIZE = 12

    def __init__(
        self, db: DB, prefix: Optional[bytes], transaction: Optional[bool], sync: Optional[bool]
    ) -> None:
        if not isinstance(db, DB):
            kind = type(db).__name__
            raise TypeError(f"Argument 'db' has incorrect type (expected DB, got {kind})")
        self._db = db
        self._prefix = check_optional_bytes(prefix, "prefix")
        self._transaction = check_bool(transaction, "transaction")
        durability = "sync" if sync else "os"
        self._batch = db._open().batch(durability=durability)  # type: ignore[arg-type]

    def _key(self, key: bytes) -> bytes:
        if not isinstance(key, bytes):
            check_bytes(key, "key")
        return key if self._prefix is None else self._prefix + key

    def put(self, key: bytes, value: Any) -> None:
        """Set `key` to `value`."""
        try:
            self._batch.put(self._key(key), as_bytes(value))
        except cairndb.Error as error:
            raise translated(error) from None

    def delete(self, key: bytes) -> None:
        """Remove `key`."""
        try:
            self._batch.delete(self._key(key))
        except cairndb.Error as error:
            raise translated(error) from None

    def clear(self) -> None:
        """Remove all writes from the batch."""
        self._db._open()
        self._db._call(self._batch.clear)

    def write(self) -> None:
        """Apply the writes. The batch keeps them."""
        self._db._open()
        self._db._call(self._batch._write_and_keep)

    def approximate_size(self) -> int:
        """Return the size of the batch in bytes."""
        self._db._open()
        return self._HEADER_SIZE + self._batch.byte_len

    def append(self, source: WriteBatch) -> None:
        """Add the writes of another batch."""
        if not isinstance(source, WriteBatch):
            kind = type(source).__name__
            raise TypeError(
                f"Argument 'source' has incorrect type (expected WriteBatch, got {kind})"
            )
        self._db._open()
        self._db._call(self._batch._append, source._batch)

    def __enter__(self) -> WriteBatch:
        self._db._open()
        return self

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        self._db._open()
        if self._transaction and exc_type is not None:
            self.clear()
            return
        self.write()
        self.clear()


class Snapshot:
    """The database as it was."""

    __slots__ = ("_db", "_prefix", "_snapshot")

    def __init__(self, *, db: DB, prefix: Optional[bytes] = None) -> None:
        if not isinstance(db, DB):
            kind = type(db).__name__
            raise TypeError(f"Argument 'db' has incorrect type (expected DB, got {kind})")
        if db.closed:
            raise RuntimeError("Cannot operate on closed LevelDB database")
        self._db = db
        self._prefix = check_optional_bytes(prefix, "prefix")
        self._snapshot = db._call(db._db.snapshot)

    def close(self) -> None:
        """Release the snapshot."""
        self._snapshot.close()

    release = close

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> Literal[False]:
        self.close()
        return False

    def _open(self) -> Reader:
        if self._snapshot.closed:
            raise RuntimeError("Database or snapshot is closed")
        return self._snapshot  # type: ignore[no-any-return]

    def get(
        self,
        key: bytes,
        default: Any = None,
        *,
        verify_checksums: Optional[bool] = False,
        fill_cache: Optional[bool] = True,
    ) -> Any:
        """Return the value that `key` had, or `default`."""
        check_bytes(key, "key")
        check_bool(verify_checksums, "verify_checksums")
        check_bool(fill_cache, "fill_cache")
        if self._prefix is not None:
            key = self._prefix + key
        return self._db._call(self._open().get, key, default)

    def __iter__(self) -> Iterator:
        return self.iterator()

    def iterator(
        self,
        *,
        reverse: Optional[bool] = False,
        start: Optional[bytes] = None,
        stop: Optional[bytes] = None,
        include_start: Optional[bool] = True,
        include_stop: Optional[bool] = False,
        prefix: Optional[bytes] = None,
        include_key: Optional[bool] = True,
        include_value: Optional[bool] = True,
        verify_checksums: Optional[bool] = False,
        fill_cache: Optional[bool] = True,
    ) -> Iterator:
        """Return an iterator over a range."""
        check_bool(verify_checksums, "verify_checksums")
        check_bool(fill_cache, "fill_cache")
        flags = (include_start, include_stop, include_key, include_value)
        reader = self._open()
        return _iterator(self._db, reader, self._prefix, reverse, start, stop, prefix, flags)

    def raw_iterator(
        self, *, verify_checksums: Optional[bool] = False, fill_cache: Optional[bool] = True
    ) -> RawIterator:
        """Return LevelDB's iterator."""
        check_bool(verify_checksums, "verify_checksums")
        check_bool(fill_cache, "fill_cache")
        return _raw_iterator(self._db, self._open())


def _iterator(
    db: DB,
    reader: Reader,
    db_prefix: Optional[bytes],
    reverse: object,
    start: object,
    stop: object,
    prefix: object,
    flags: tuple[object, object, object, object],
) -> Iterator:
    reverse = check_bool(reverse, "reverse")
    first, last = check_optional_bytes(start, "start"), check_optional_bytes(stop, "stop")
    prefix = check_optional_bytes(prefix, "prefix")
    names = ("include_start", "include_stop", "include_key", "include_value")
    checked = [check_bool(flag, name) for flag, name in zip(flags, names)]
    if db.closed:
        raise RuntimeError("Database or iterator is closed")
    if db_prefix is not None:
        if prefix is not None:
            prefix = db_prefix + prefix
        else:
            if first is None:
                first = db_prefix
                checked[0] = True
            else:
                first = db_prefix + first
            if last is None:
                last = bytes_increment(db_prefix)
                checked[1] = False
            else:
                last = db_prefix + last
    if prefix is not None:
        if first is not None or last is not None:
            raise TypeError("'prefix' cannot be used together with 'start' or 'stop'")
        first, last = prefix, bytes_increment(prefix)
        checked[0], checked[1] = True, False
    include = (checked[0], checked[1], checked[2], checked[3])
    made: Iterator = db._call(Iterator, reader, db_prefix or b"", first, last, include, reverse)
    return made


def _raw_iterator(db: DB, reader: Reader) -> RawIterator:
    if db.closed:
        raise RuntimeError("Database or iterator is closed")
    made: RawIterator = db._call(RawIterator, reader)
    return made


def repair_db(
    name: Name,
    *,
    paranoid_checks: Optional[bool] = None,
    write_buffer_size: Optional[int] = None,
    max_open_files: Optional[int] = None,
    lru_cache_size: Optional[int] = None,
    block_size: Optional[int] = None,
    block_restart_interval: Optional[int] = None,
    max_file_size: Optional[int] = None,
    compression: Optional[str] = "snappy",
    bloom_filter_bits: int = 0,
    comparator: Optional[Callable[[bytes, bytes], int]] = None,
    comparator_name: Optional[bytes] = None,
) -> None:
    """Repair a database. The damaged directory stays beside it, as `NAME.damaged-N`."""
    path = file_system_name(name)
    options = open_options(
        paranoid_checks,
        write_buffer_size,
        max_open_files,
        lru_cache_size,
        block_size,
        block_restart_interval,
        max_file_size,
        compression,
        bloom_filter_bits,
        comparator,
        comparator_name,
    )
    try:
        repair(path, options["comparator"])
    except cairndb.Error as error:
        raise translated(error) from None
    except OSError as error:
        raise IOError(f"IO error: {error}") from None


def destroy_db(name: Name) -> None:
    """Remove a database, and LevelDB's files that its conversion has kept."""
    path = file_system_name(name)
    try:
        destroy(path)
    except cairndb.Error as error:
        raise translated(error) from None
    except OSError as error:
        raise IOError(f"IO error: {error}") from None


# Programs print the names of classes.
for _class in (DB, PrefixedDB, WriteBatch, Snapshot):
    _class.__module__ = "plyvel._plyvel"
del _class
