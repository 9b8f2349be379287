"""plyvel's arguments: their checks, and what of them CairnDB has."""

from __future__ import annotations

import sys
from typing import Any, Callable, Optional, SupportsIndex, SupportsInt, Union

Name = Union[str, bytes]

#: LevelDB's defaults, in bytes: of its write buffer and of its cache.
_WRITE_BUFFER_SIZE = 4 << 20
_CACHE_SIZE = 8 << 20
_MEMORY_MIN = 256 << 10
_INT_MAX = 2**31 - 1
_SIZE_MAX = 2**64 - 1


def check_bytes(value: object, name: str) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(
            f"Argument '{name}' has incorrect type (expected bytes, got {type(value).__name__})"
        )
    return value


def as_bytes(value: Any) -> Any:
    """Return the bytes of a value, which plyvel takes from any buffer, whatever its items are.

    What is no buffer is returned as it is, for the store to refuse.
    """
    if isinstance(value, bytes):
        return value
    try:
        return memoryview(value).tobytes()
    except TypeError:
        return value


def check_optional_bytes(value: object, name: str) -> Optional[bytes]:
    return None if value is None else check_bytes(value, name)


def check_bool(value: object, name: str) -> bool:
    if value is not None and not isinstance(value, bool):
        raise TypeError(
            f"Argument '{name}' has incorrect type (expected bool, got {type(value).__name__})"
        )
    return bool(value)


def file_system_name(name: object) -> bytes:
    if isinstance(name, bytes):
        return name
    if not isinstance(name, str):
        raise TypeError("'name' arg must be a byte string or a unicode string")
    encoding = sys.getfilesystemencoding() or "ascii"
    try:
        return name.encode(encoding)
    except UnicodeEncodeError as exc:
        raise ValueError(f"Cannot convert unicode 'name' to a file system name: {exc}") from exc


def _integer(value: object, name: str, limit: int) -> int:
    # plyvel takes what has a number's conversions, so 1.5 is 1.
    if not isinstance(value, (SupportsIndex, SupportsInt)):
        raise TypeError(f"an integer is required for '{name}' (got {type(value).__name__})")
    number = int(value)
    if not -limit - 1 <= number <= limit:
        raise OverflowError(f"'{name}' is too large")
    return number


def open_options(
    paranoid_checks: object,
    write_buffer_size: object,
    max_open_files: object,
    lru_cache_size: object,
    block_size: object,
    block_restart_interval: object,
    max_file_size: object,
    compression: object,
    bloom_filter_bits: object,
    comparator: object,
    comparator_name: object,
) -> dict[str, Any]:
    """Return the arguments of `cairndb.open`, as the C library chooses them."""
    comparator_name = check_optional_bytes(comparator_name, "comparator_name")
    filter_bits = _integer(bloom_filter_bits, "bloom_filter_bits", _INT_MAX)
    write_buffer = _WRITE_BUFFER_SIZE
    if write_buffer_size is not None:
        write_buffer = _integer(write_buffer_size, "write_buffer_size", _SIZE_MAX)
    cache = _CACHE_SIZE
    if lru_cache_size is not None:
        cache = _integer(lru_cache_size, "lru_cache_size", _SIZE_MAX)
    # Accepted without effect: the sizes follow from the memory budget.
    ignored = (
        (max_open_files, "max_open_files", _INT_MAX),
        (block_size, "block_size", _SIZE_MAX),
        (block_restart_interval, "block_restart_interval", _INT_MAX),
        (max_file_size, "max_file_size", _SIZE_MAX),
    )
    for value, name, limit in ignored:
        if value is not None:
            _integer(value, name, limit)
    if isinstance(compression, bytes):
        compression = compression.decode("UTF-8")
    if compression is not None and not isinstance(compression, str):
        raise TypeError("'compression' must be None or a string")
    if compression not in (None, "snappy"):
        raise ValueError("'compression' must be None or 'snappy'")
    if (comparator is None) != (comparator_name is None):
        raise ValueError("'comparator' and 'comparator_name' must be specified together")
    order: Optional[tuple[str, Callable[[bytes, bytes], int]]] = None
    if comparator_name is not None:
        if not callable(comparator):
            raise TypeError("custom comparator object must be callable")
        order = (comparator_name.decode("UTF-8"), _comparison(comparator))
    memory = max(_MEMORY_MIN, min(write_buffer + cache, 2**63 - 1))
    options: dict[str, Any] = {
        "memory": memory,
        "compression": "fast" if compression else None,
        "comparator": order,
        "upgrade_leveldb": True,
    }
    if filter_bits > 0:
        options["filter_bits_per_key"] = min(filter_bits, 100)
    return options


def _comparison(comparator: Callable[[bytes, bytes], Any]) -> Callable[[bytes, bytes], int]:
    """Return `comparator` with its result, which may be any number, as -1, 0 or 1."""

    def compare(a: bytes, b: bytes) -> int:
        found = comparator(a, b)
        return 1 if found > 0 else -1 if found < 0 else 0

    return compare


def bytes_increment(prefix: bytes) -> Optional[bytes]:
    """Return the first byte string after all that start with `prefix`, or None."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
