"""The exceptions. Each derives from `Error` and from the built-in class that programs catch."""

from __future__ import annotations

import errno as _errno
import re as _re
from typing import Optional


class Error(Exception):
    """Base class of all exceptions of this package, except `KeyError` and `TypeError`.

    Its text is the store's message: what happened, to which file or key, and what to do.
    """

    #: Name of the file that the message names, or None.
    file: Optional[str] = None
    #: Offset in that file, or None.
    offset: Optional[int] = None
    #: The key that the message names, or None. The message shows at most its first 64 bytes.
    key: Optional[bytes] = None

    def __str__(self) -> str:
        # `OSError` would show the number of the error besides, which the message has in words.
        return str(self.args[-1]) if self.args else ""


class IoError(Error, OSError):
    """The operating system refused an operation. `errno` has its number."""


class DeniedError(IoError, PermissionError):
    """The operating system did not permit an operation on a file."""


class NotADatabaseError(IoError, NotADirectoryError):
    """The path is a file. A database is a directory."""


class NoSpaceError(IoError):
    """The disk is full. Free some space and write again; the database need not be reopened."""


class CorruptionError(Error, OSError):
    """Bytes on disk are not those that were written, or a file of the database is missing."""


class InvalidArgumentError(Error, ValueError):
    """The call is invalid: a limit was exceeded, for example, or the comparator is another one."""


class NotSupportedError(Error, NotImplementedError):
    """This version or platform does not support the operation."""


class LockedError(Error, OSError):
    """Another handle or process has the database open."""


class ClosedError(Error, ValueError):
    """The database, the snapshot or the iterator was closed, or the transaction has ended."""


class PoisonedError(Error, OSError):
    """A sync, background work or a comparator failed earlier. Reads go on; writes need a reopen."""


class ForkedError(Error, RuntimeError):
    """The database was opened before a `fork`. The child must open it itself."""


class FormatTooNewError(Error, OSError):
    """A newer version wrote the files. Nothing was changed."""


class ReadOnlyError(Error, PermissionError):
    """The database was opened with flag 'r', or to follow."""


class ConflictError(Error):
    """Another writer changed what a transaction depends on. `key` names it. Nothing was written.

    Run the whole transaction again, as `Database.transact` does.
    """


class RevokedError(Error):
    """The writer has removed files that a snapshot or an iterator of a follower needs.

    Make a new one. The argument `reader_space_max` of the writer's open limits what it keeps.
    """


class InterruptedCallError(Error, InterruptedError):
    """A long call was stopped. What stopped it, as `KeyboardInterrupt`, is raised instead of this.

    So a program sees this class in the types of a library, and hardly ever an object of it.
    """


class NotFoundError(Error, FileNotFoundError):
    """The path holds no database, and the flag does not create one."""


_CLASSES: dict[str, tuple[type[Error], Optional[int]]] = {
    "io": (IoError, _errno.EIO),
    "corruption": (CorruptionError, None),
    "invalid argument": (InvalidArgumentError, None),
    "not supported": (NotSupportedError, None),
    "no space": (NoSpaceError, _errno.ENOSPC),
    "locked": (LockedError, _errno.EAGAIN),
    "closed": (ClosedError, None),
    "conflict": (ConflictError, None),
    "poisoned": (PoisonedError, None),
    "forked": (ForkedError, None),
    "format too new": (FormatTooNewError, None),
    "read-only": (ReadOnlyError, _errno.EROFS),
    "not found": (NotFoundError, _errno.ENOENT),
    "interrupted": (InterruptedCallError, _errno.EINTR),
    "revoked": (RevokedError, None),
}

_IO_CLASSES: dict[int, type[IoError]] = {
    _errno.EACCES: DeniedError,
    _errno.EPERM: DeniedError,
    _errno.ENOTDIR: NotADatabaseError,
}


#: Where a message names a setting as Rust programs know it.
_SETTING = _re.compile(r"Options::(\w+)( \(feature \w+\))?")


def make(
    kind: str,
    message: str,
    number: Optional[int],
    file: Optional[str],
    offset: Optional[int],
    key: Optional[bytes],
) -> Error:
    """Return the exception for an error of the store."""
    found, default = _CLASSES.get(kind, (Error, None))
    if found is IoError and number is not None:
        found = _IO_CLASSES.get(number, IoError)
    number = default if number is None else number
    message = _SETTING.sub(r"the argument '\1'", message)
    if number is not None and issubclass(found, OSError):
        error: Error = found(number, message)
    else:
        error = found(message)
    error.file = file
    error.offset = offset
    error.key = key
    return error
