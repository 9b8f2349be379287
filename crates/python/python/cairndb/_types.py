"""Names for the types of arguments, for annotations in programs."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Literal, Optional, Union

#: What keys and values may be given as. Any other object with the buffer protocol works, too.
Bytes = Union[bytes, bytearray, memoryview]

#: What paths may be given as.
Path = Union[str, bytes, "PathLike[str]", "PathLike[bytes]"]

#: What a write survives: nothing but a later `flush`, the death of the process, a power failure.
Durability = Literal["none", "os", "sync"]

#: What a transaction is protected from: "serializable", from every change of what it has read;
#: "snapshot", from changes of what it writes or has read with `get_for_update`.
Isolation = Literal["serializable", "snapshot"]

#: The order of keys: 'bytewise', 'reverse', 'indexeddb', or a name and a function that compares.
Comparator = Union[str, tuple[str, Callable[[bytes, bytes], int]]]

#: What a long call calls now and then, with the bytes done and an estimate of all of them, which is
#: 0 while it is not known.
Progress = Callable[[int, int], object]

#: How operands are folded: 'add', 'append', 'max', or a name and a function of the key, the value
#: or None, and the operands, oldest first.
MergeOperator = Union[str, tuple[str, Callable[[bytes, Optional[bytes], list[bytes]], bytes]]]
