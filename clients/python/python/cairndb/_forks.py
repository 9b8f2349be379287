"""Reports of forks, and what differs in two databases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Optional

from ._cairndb import Database, Diff


class ForkReport(NamedTuple):
    """How a fork has come to its files: tables and files of large values."""

    #: Number of files that are shared through hard links.
    shared: int
    #: Number of files that could not be linked, and are clones that share blocks.
    cloned: int
    #: Number of files that could be neither linked nor cloned, and were copied.
    copied: int
    #: Bytes of the copied files.
    copied_bytes: int


class Difference(NamedTuple):
    """A key whose values differ."""

    #: The name of the keyspace; None for the database's own keys.
    keyspace: Optional[str]
    #: The key.
    key: bytes
    #: The value in the first database; None if it does not have the key.
    before: Optional[bytes]
    #: The value in the second database; None if it does not have the key.
    after: Optional[bytes]


def diff(before: Database, after: Database) -> Iterator[Difference]:
    """Iterate over the keys whose values differ in two databases, as of this call.

    They are in order, the database's own keys first, then those of the keyspaces by name. Of a
    database and its fork, the files that both share are skipped, as long as they are most of both:
    only what one of them has alone is read and looked up in both. Otherwise both are read whole.

    Raises `InvalidArgumentError` if a keyspace has different comparators in the two; `ClosedError`
    once either was closed; `CorruptionError`, `IoError`. Ctrl-C ends a step that takes long.

    >>> db[b"slate"] = b"grey"
    >>> report = db.fork(path)
    >>> with cairndb.open(path) as fork:
    ...     fork[b"slate"] = b"blue"
    ...     for it in cairndb.diff(db, fork):
    ...         print(it.key, it.before, it.after)
    b'slate' b'grey' b'blue'
    """
    return Diff(before, after, Difference)


__all__ = ["Difference", "ForkReport", "diff"]
