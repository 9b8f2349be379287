"""CairnDB: an embedded, ordered key-value store.

A database is a directory, and in Python a mapping of `bytes` to `bytes`:

>>> import cairndb
>>> with cairndb.open(path) as db:
...     db[b"granite"] = b"grey"
...     db[b"slate"] = b"blue"
...     for stone, colour in db.prefix(b"s"):
...         print(stone, colour)
b'slate' b'blue'

`cairndb.aio` has the same for `asyncio`.
"""

from __future__ import annotations

import atexit as _atexit
import json as _json
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from . import _cairndb
from ._cairndb import Batch, Changes, Range, Savepoint, __version__
from ._changes import Change, ChangedEntry, Lease
from ._database import Database, Keyspace, Snapshot
from ._errors import (
    ClosedError,
    ConflictError,
    CorruptionError,
    DeniedError,
    Error,
    ForkedError,
    FormatTooNewError,
    InterruptedCallError,
    InvalidArgumentError,
    IoError,
    LockedError,
    NoSpaceError,
    NotADatabaseError,
    NotFoundError,
    NotSupportedError,
    PoisonedError,
    ReadOnlyError,
    RevokedError,
)
from ._forks import Difference, ForkReport, diff
from ._reads import Reader
from ._transaction import Transaction
from ._types import (
    Bytes,
    Comparator,
    Compression,
    Durability,
    Flag,
    Isolation,
    MergeOperator,
    Path,
    Progress,
    Recovery,
)
from ._views import Items, Keys, Values

__all__ = [
    "Batch",
    "Bytes",
    "Change",
    "ChangedEntry",
    "Changes",
    "ClosedError",
    "Comparator",
    "Compression",
    "ConflictError",
    "CorruptionError",
    "Database",
    "DeniedError",
    "Difference",
    "Durability",
    "Error",
    "Flag",
    "ForkReport",
    "ForkedError",
    "FormatTooNewError",
    "InterruptedCallError",
    "InvalidArgumentError",
    "IoError",
    "Isolation",
    "Items",
    "Keys",
    "Keyspace",
    "Lease",
    "LockedError",
    "MergeOperator",
    "NoSpaceError",
    "NotADatabaseError",
    "NotFoundError",
    "NotSupportedError",
    "Path",
    "PoisonedError",
    "Progress",
    "Range",
    "ReadOnlyError",
    "Reader",
    "Recovery",
    "RepairReport",
    "RevokedError",
    "Savepoint",
    "Snapshot",
    "Transaction",
    "Values",
    "__version__",
    "destroy",
    "diff",
    "open",
    "repair",
    "upgrade_leveldb",
    "verify",
]

# Background threads may need the interpreter, so no database outlives it.
_atexit.register(_cairndb._close_all)


def open(
    path: Path,
    flag: Flag = "c",
    *,
    memory: int = 64 << 20,
    durability: Durability = "os",
    compression: Optional[Compression] = "fast",
    comparator: Optional[Comparator] = None,
    merge_operator: Optional[MergeOperator] = None,
    upgrade_leveldb: bool = False,
    upgrade_without_log: bool = False,
    recovery: Recovery = "strict",
    filter_bits_per_key: int = 10,
    value_file_bytes: int = 256 << 20,
    mapped: Optional[bool] = None,
    verify_always: bool = False,
    comparators: Sequence[Comparator] = (),
    merge_operators: Sequence[MergeOperator] = (),
    follow: bool = False,
    manual_refresh: bool = False,
    reader_lease: Optional[float] = None,
    reader_space_max: Optional[int] = None,
    progress: Optional[Progress] = None,
) -> Database:
    """Open the database in the directory `path`.

    `flag` is that of the standard library's `dbm`: 'r' reads an existing database, 'w' reads and
    writes an existing one, 'c' (the default) creates it if it is missing, 'n' removes it first and
    creates it. Only one process may have a database open for writing, or several for reading. Any
    number may `follow` it at the same time.

    - `memory`: the budget in bytes for everything that the store keeps in memory; 64 MiB by
      default, 256 KiB at least.
    - `durability` of the writes that do not give their own. 'os', the default: survives the death
      of the process. 'sync': survives a power failure. 'none': survives once `flush` returned.
    - `compression`: 'fast' (the default), or None.
    - `comparator`: the order of the keys; bytewise by default. `('name', function)` is slow: each
      comparison calls the function, which returns a negative number, 0 or a positive one.
    - `merge_operator`: how `merge` folds operands: 'add' (little-endian counters), 'append', 'max',
      or `('name', function)`.
    - `upgrade_leveldb`: whether a LevelDB database at `path` is converted. LevelDB's files stay in
      its subdirectory `leveldb-original`.
    - `upgrade_without_log`: whether it is converted although a log that its manifest names is
      missing. Every write in that log is lost.
    - `recovery` after a crash: 'strict' (the default) refuses a log that was damaged after it had
      been synced, 'point-in-time' keeps what comes before the damage.
    - `filter_bits_per_key`: for absent keys; 10 by default, 0 for no filters.
    - `value_file_bytes`: length of the files that hold values of 8 KiB or more.
    - `mapped`: whether files are read through mappings; by default where that is safe and fast.
    - `verify_always`: whether checksums are verified at every read instead of the first.
    - `comparators`, `merge_operators`: those that keyspaces may name, as pairs.
    - `follow`: whether to read the database while another process may write it. `flag` is ignored:
      nothing is created or removed, and writes raise `ReadOnlyError`. Each read outside a snapshot
      sees every write that was acknowledged with durability 'os' or 'sync' before it began; writes
      of durability 'none' are seen after their flush. A follower keeps no writer out. It needs up
      to 256 MiB in addition to `memory`, for what is in no table yet.
    - `manual_refresh`: whether a follower shows the state of its last `refresh` or `wait_for`
      instead. False by default, because looking costs little if nothing is new.
    - `reader_lease`: seconds after a follower's last look for new writes, after which the writer
      may remove the files that it reads. Its snapshots and iterators then raise `RevokedError`;
      other reads look again. Without a limit by default.
    - `reader_space_max`: the bytes of files that this handle, as the writer, keeps only because
      followers need them. Beyond that it revokes the oldest snapshots and iterators. By default as
      many as the tables take, but at least 1 GiB.
    - `progress` is called while a log is replayed or a LevelDB database converted, as that of
      `verify`. An open that it, or a signal, stops can be repeated.

    Raises `NotFoundError`, `LockedError`, `CorruptionError`, `InvalidArgumentError`, `IoError`;
    with `follow`, `NotSupportedError` if the writer's version does not inform followers.

    >>> db = cairndb.open(path, "n")
    >>> db[b"k"] = b"v"
    >>> with cairndb.open(path, follow=True) as reader:  # or in another process
    ...     reader[b"k"]
    b'v'
    >>> db.close()
    >>> with cairndb.open(path, "r") as db:
    ...     db[b"k"]
    b'v'
    """
    return Database(
        path,
        flag,
        memory=memory,
        durability=durability,
        compression=compression,
        comparator=comparator,
        merge_operator=merge_operator,
        upgrade_leveldb=upgrade_leveldb,
        upgrade_without_log=upgrade_without_log,
        recovery=recovery,
        filter_bits_per_key=filter_bits_per_key,
        value_file_bytes=value_file_bytes,
        mapped=mapped,
        verify_always=verify_always,
        comparators=comparators,
        merge_operators=merge_operators,
        follow=follow,
        manual_refresh=manual_refresh,
        reader_lease=reader_lease,
        reader_space_max=reader_space_max,
        progress=progress,
    )


def verify(
    path: Path,
    *,
    comparator: Optional[Comparator] = None,
    merge_operator: Optional[MergeOperator] = None,
    comparators: Sequence[Comparator] = (),
    merge_operators: Sequence[MergeOperator] = (),
    progress: Optional[Progress] = None,
) -> dict[str, int]:
    """Check every byte of the database at `path`, which must not be open. Changes nothing.

    Returns what was read and found correct: `entries` that a scan returns; `tables`, their `bytes`
    and the `versions` stored in them, tombstones and older versions included; large `values`; and
    `log_versions` that the next open would replay.
    Raises `CorruptionError` for the first damage, with its file and offset.

    `progress(done, total)`, if given, is called up to twenty times a second on this thread, and at
    the end, with the bytes read so far and an estimate of all of them, 0 while it is not known. It
    must be quick. If it raises, or the handler of a signal does, as that of Ctrl-C, the call ends
    with that exception.

    >>> cairndb.open(path).close()
    >>> cairndb.verify(path)["entries"]
    0
    """
    return _cairndb.verify(
        path,
        comparator=comparator,
        merge_operator=merge_operator,
        comparators=comparators,
        merge_operators=merge_operators,
        progress=progress,
    )


class RepairReport(NamedTuple):
    """What a repair kept and what it lost. `str()` of it is text for people."""

    #: Whether every entry of the damaged database is known to be in the new one.
    complete: bool
    #: The text.
    text: str
    #: The same for programs. The guide's page "After damage" defines the fields.
    details: dict[str, Any]

    def __str__(self) -> str:
        return self.text


def repair(
    source: Path,
    target: Path,
    *,
    dry_run: bool = False,
    include_unnamed: bool = False,
    comparator: Optional[Comparator] = None,
    merge_operator: Optional[MergeOperator] = None,
    comparators: Sequence[Comparator] = (),
    merge_operators: Sequence[MergeOperator] = (),
    progress: Optional[Progress] = None,
) -> RepairReport:
    """Write what is intact of the damaged database `source` into a new one at `target`.

    `source`, which may be LevelDB's, is not changed. `target` must be missing or empty. With
    `dry_run` nothing is written. `include_unnamed` also keeps entries of tables that the manifest
    does not name; keys that were deleted may be back then. `progress` is that of `verify`; if it or
    a signal stops the call, there is nothing at `target`.

    >>> cairndb.open(path).close()
    >>> report = cairndb.repair(path, path + ".repaired")
    >>> report.complete
    True
    """
    complete, text, details = _cairndb.repair(
        source,
        target,
        dry_run=dry_run,
        include_unnamed=include_unnamed,
        comparator=comparator,
        merge_operator=merge_operator,
        comparators=comparators,
        merge_operators=merge_operators,
        progress=progress,
    )
    return RepairReport(complete, text, _json.loads(details))


def destroy(path: Path) -> None:
    """Remove the database at `path`, which must not be open. A missing one is no error.

    Files that are not of a database stay, and the directory with them.

    >>> cairndb.open(path).close()
    >>> cairndb.destroy(path)
    """
    _cairndb.destroy(path)


def upgrade_leveldb(
    path: Path,
    *,
    comparator: Optional[Comparator] = None,
    upgrade_without_log: bool = False,
    progress: Optional[Progress] = None,
) -> dict[str, Any]:
    """Convert the LevelDB database at `path` in place. LevelDB must not have it open.

    LevelDB's files stay in the subdirectory `leveldb-original`. Returns `converted`, which is False
    if the database was converted already, and the numbers `entries`, `raw_bytes`, `target_bytes`.
    `open` with `upgrade_leveldb=True` does the same first. `upgrade_without_log` is that of `open`,
    `progress` that of `verify`; a conversion that it or a signal stops can be repeated.
    """
    return _cairndb.upgrade_leveldb(
        path,
        comparator=comparator,
        upgrade_without_log=upgrade_without_log,
        progress=progress,
    )


def _publish() -> None:
    """Give classes the module in which programs find them, which tracebacks print."""
    for name in __all__:
        found = globals()[name]
        if isinstance(found, type) and found.__module__.startswith("cairndb._"):
            found.__module__ = "cairndb"


_publish()
