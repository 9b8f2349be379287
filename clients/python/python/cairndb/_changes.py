"""What the feed of changes returns."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from itertools import starmap
from typing import Any, Literal, NamedTuple, Optional

from ._types import Durability

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class ChangedEntry(NamedTuple):
    """One entry of a batch that was written."""

    #: What it does.
    operation: Literal["put", "delete", "merge", "delete_range"]
    #: The name of the keyspace; None for the database's own keys.
    keyspace: Optional[str]
    #: The key; the first key of a range.
    key: bytes
    #: The value or operand; None of a deletion. The end of a range, None if it has none.
    value: Optional[bytes]


class Change(NamedTuple):
    """One change of a database."""

    #: The place after the change.
    place: str
    #: Time of the write in UTC, to within 100 ms. None if nobody needed the changes then.
    time: Optional[datetime]
    #: "sync" if no loss of power takes the change back, otherwise "os".
    durability: Durability
    #: A batch or a single write; entries of durability "none", whose contents are not known; or
    #: what happened to a keyspace.
    kind: Literal["batch", "unlogged", "keyspace_created", "keyspace_dropped"]
    #: The entries of a batch, in the order in which they were written.
    entries: tuple[ChangedEntry, ...] = ()
    #: The name of the keyspace that was created or dropped.
    keyspace: Optional[str] = None
    #: The number of entries that were not logged.
    unlogged: int = 0


class Lease(NamedTuple):
    """A lease: the log is kept for its consumer."""

    #: Its name.
    name: str
    #: Up to where the consumer has acknowledged.
    place: str
    #: Whether its limit was exceeded, so that nothing is kept for it any more.
    fell_off: bool


def make(
    place: str,
    ms: Optional[int],
    durability: Durability,
    kind: Literal["batch", "unlogged", "keyspace_created", "keyspace_dropped"],
    entries: Iterable[tuple[Any, ...]],
    keyspace: Optional[str],
    unlogged: int,
) -> Change:
    """Return a change with these parts, whose time is in milliseconds since 1970."""
    time = None if ms is None else _EPOCH + timedelta(milliseconds=ms)
    made = tuple(starmap(ChangedEntry, entries))
    return Change(place, time, durability, kind, made, keyspace, unlogged)


__all__ = ["Change", "ChangedEntry", "Lease", "make"]
