"""plyvel's exceptions, and which of them stands for which error of the store."""

from __future__ import annotations

import cairndb


class Error(Exception):
    pass


class IOError(Error, OSError):
    pass


class CorruptionError(Error):
    pass


class IteratorInvalidError(Error):
    pass


_CLASSES: dict[str, type[Error]] = {
    "io": IOError,
    "no space": IOError,
    "locked": IOError,
    "poisoned": IOError,
    "read-only": IOError,
    "forked": IOError,
    "interrupted": IOError,
    "corruption": CorruptionError,
    "format too new": CorruptionError,
}


def make_error(kind: str, message: str) -> Error:
    """Return plyvel's exception for an error of the store."""
    return _CLASSES.get(kind, Error)(message)


def translated(error: cairndb.Error) -> Exception:
    """Return plyvel's exception for one of `cairndb`."""
    if isinstance(error, cairndb.ClosedError):
        return RuntimeError("Database is closed")
    if isinstance(error, (cairndb.CorruptionError, cairndb.FormatTooNewError)):
        return CorruptionError(str(error))
    if isinstance(error, cairndb.NotFoundError):
        return Error(str(error))
    if isinstance(error, (OSError, cairndb.ForkedError)):
        return IOError(str(error))
    return Error(str(error))


# Programs print the names of exceptions.
for _class in (Error, IOError, CorruptionError, IteratorInvalidError):
    _class.__module__ = "plyvel._plyvel"
del _class
