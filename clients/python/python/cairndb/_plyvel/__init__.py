"""plyvel 1.5, over CairnDB. A separate package, in the folder `plyvel`, gives it plyvel's name.

The classes do what plyvel's do with the same arguments, and raise what they raise. The two
iterators are written in Rust.
"""

from .._cairndb import Iterator, RawIterator
from .database import DB, PrefixedDB, Snapshot, WriteBatch, destroy_db, repair_db
from .errors import CorruptionError, Error, IOError, IteratorInvalidError, make_error

#: The version of LevelDB whose interface this is.
__leveldb_version__ = "1.23"

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
    "make_error",
    "repair_db",
]
