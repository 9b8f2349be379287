"""Names for the types of arguments, for annotations in programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Literal, Optional, TypedDict, Union

#: What keys and values may be given as. Any other object with the buffer protocol works, too.
Bytes = Union[bytes, bytearray, memoryview]

#: What paths may be given as.
Path = Union[str, bytes, "PathLike[str]", "PathLike[bytes]"]

#: What a write survives: nothing but a later `flush`, the death of the process, a power failure.
Durability = Literal["none", "os", "sync"]

#: What a transaction is protected from: "serializable", from every change of what it has read;
#: "snapshot", from changes of what it writes or has read with `get_for_update`.
Isolation = Literal["serializable", "snapshot"]

#: What a database is opened for, as in the standard library's `dbm`.
Flag = Literal["r", "w", "c", "n"]

#: How tables are compressed. None is "none".
Compression = Literal["fast", "none"]

#: What an open does with a log that was damaged after it had been synced: refuse it, or keep what
#: comes before the damage.
Recovery = Literal["strict", "point-in-time"]

#: The order of keys, or a name and a function that compares.
Comparator = Union[
    Literal["bytewise", "reverse", "indexeddb"], tuple[str, Callable[[bytes, bytes], int]]
]

#: What a long call calls now and then, with the bytes done and an estimate of all of them, which is
#: 0 while it is not known.
Progress = Callable[[int, int], object]

#: How operands are folded, or a name and a function of the key, the value or None, and the
#: operands, oldest first.
MergeOperator = Union[
    Literal["add", "append", "max"],
    tuple[str, Callable[[bytes, Optional[bytes], list[bytes]], bytes]],
]


class Options(TypedDict, total=False):
    """The keyword arguments of `cairndb.open`, which describes them."""

    memory: int
    durability: Durability
    compression: Optional[Compression]
    comparator: Optional[Comparator]
    merge_operator: Optional[MergeOperator]
    upgrade_leveldb: bool
    upgrade_without_log: bool
    recovery: Recovery
    filter_bits_per_key: int
    value_file_bytes: int
    mapped: Optional[bool]
    verify_always: bool
    comparators: Sequence[Comparator]
    merge_operators: Sequence[MergeOperator]
    follow: bool
    manual_refresh: bool
    reader_lease: Optional[float]
    reader_space_max: Optional[int]
    progress: Optional[Progress]


class KeyspaceOptions(TypedDict, total=False):
    """The keyword arguments of `cairndb.Database.create_keyspace`, which describes them."""

    comparator: Optional[str]
    merge_operator: Optional[str]
    compression: Optional[Compression]
    value_bytes: Optional[int]


class ChangesOptions(TypedDict, total=False):
    """The keyword arguments of `cairndb.Database.changes`, which describes them."""

    lease: Optional[str]
    bytes_max: int
    durability: Durability
    sync_interval: float
