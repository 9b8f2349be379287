"""plyvel's interface, over CairnDB.

Behaves as plyvel 1.5. A LevelDB directory is converted when it is opened; LevelDB's files stay in
its subdirectory `leveldb-original`.
"""

from ._plyvel import (
    DB,
    CorruptionError,
    Error,
    IOError,
    IteratorInvalidError,
    __leveldb_version__,
    destroy_db,
    repair_db,
)
from ._version import __version__

__all__ = [
    "DB",
    "CorruptionError",
    "Error",
    "IOError",
    "IteratorInvalidError",
    "__leveldb_version__",
    "__version__",
    "destroy_db",
    "repair_db",
]
