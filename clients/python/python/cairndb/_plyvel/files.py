"""What `plyvel.repair_db` and `plyvel.destroy_db` do to files, as LevelDB's C library here."""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Optional

import cairndb

from .._cairndb import _exchange

_ORIGINALS = b"leveldb-original"
_OTHERS = (b"CURRENT", b"LOCK", b"LOG", b"LOG.old")
_LEVELDBS = re.compile(rb"[0-9]+\.(log|ldb|sst|dbtmp)|MANIFEST-[0-9]+")


def repair(path: bytes, comparator: Any) -> None:
    """Repair into a new directory beside `path`, and give that one its name."""
    target = _unused(path)
    cairndb.repair(path, target, comparator=comparator)
    _exchange(path, target)


def _unused(path: bytes) -> bytes:
    """Return a name beside `path` that nothing has."""
    path = path.rstrip(b"/") or path
    if os.path.basename(path) in (b"", b".", b".."):
        message = "a repair keeps the directory under a name beside it; name it"
        raise cairndb.InvalidArgumentError(message)
    number = 1
    while os.path.lexists(path + b".damaged-%d" % number):
        number += 1
    return path + b".damaged-%d" % number


def destroy(path: bytes) -> None:
    """Remove a database of CairnDB or LevelDB. A missing one is no error."""
    try:
        names = os.listdir(path)
    except FileNotFoundError:
        return
    if _ORIGINALS in names:
        with _locked(path):
            _remove_leveldbs(os.path.join(path, _ORIGINALS))
    try:
        cairndb.destroy(path)
        # LevelDB writes these two before it finds out that a directory is not its own.
        _remove_leveldbs(path, (b"LOG", b"LOG.old"))
    except cairndb.InvalidArgumentError:
        if not _is_leveldbs(path, names):
            raise
        with _locked(path):
            _remove_leveldbs(path)


def _is_leveldbs(path: bytes, names: list[bytes]) -> bool:
    """Return whether the manifest that `CURRENT` names begins as LevelDB's does."""
    if b"CURRENT" not in names or b"IDENTITY" in names:
        # RocksDB's manifests begin alike, but RocksDB has a file of its own beside them.
        return False
    with open(os.path.join(path, b"CURRENT"), "rb") as file:
        manifest = file.read(100).strip()
    if not _LEVELDBS.fullmatch(manifest) or manifest not in names:
        return False
    with open(os.path.join(path, manifest), "rb") as file:
        # The first record: checksum and length, its kind, and the tag of the comparator's name.
        start = file.read(8)
    return len(start) == 8 and start[6:] == b"\x01\x01"


@contextmanager
def _locked(path: bytes) -> Generator[None, None, None]:
    """Hold the lock of LevelDB and of CairnDB."""
    with open(os.path.join(path, b"LOCK"), "ab") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise
            message = f"the database is open (file LOCK in {os.fsdecode(path)})"
            raise cairndb.LockedError(errno.EAGAIN, message) from None
        yield


def _remove_leveldbs(path: bytes, only: Optional[tuple[bytes, ...]] = None) -> None:
    """Remove LevelDB's files in `path`, `CURRENT` last, and the directory if it is then empty."""
    if not os.path.isdir(path):
        return
    names = [name for name in os.listdir(path) if _LEVELDBS.fullmatch(name) or name in _OTHERS]
    if only is not None:
        names = [name for name in names if name in only]
    for name in sorted(names, key=lambda name: name in (b"CURRENT", b"LOCK")):
        os.unlink(os.path.join(path, name))
    try:
        os.rmdir(path)
    except OSError as error:
        if error.errno != errno.ENOTEMPTY:
            raise
