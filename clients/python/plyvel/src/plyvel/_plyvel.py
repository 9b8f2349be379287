"""The names of plyvel's extension module."""

from cairndb._plyvel import (
    DB,
    CorruptionError,
    Error,
    IOError,
    Iterator,
    IteratorInvalidError,
    PrefixedDB,
    RawIterator,
    Snapshot,
    WriteBatch,
    __leveldb_version__,
    destroy_db,
    repair_db,
)

__all__ = [
    "DB",
    "CorruptionError",
    "Error",
    "IOError",
    "Iterator",
    "IteratorInvalidError",
    "PrefixedDB",
    "RawIterator",
    "Snapshot",
    "WriteBatch",
    "__leveldb_version__",
    "destroy_db",
    "repair_db",
]
